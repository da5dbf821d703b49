//! Shapley values of kernels, for rows to explain against a background: eight training rows at a time.
//!
//! A family is Σ weight exp(−s Σ_j u_j) over one or many s. Each s is a game of products. Three things keep the many s of
//! the Laplace family cheap: with many inputs most go by power series, for all s at once ([`Series`]); each game stops at
//! the s beyond which no coalition is near its training row; and the few games that go on, because one of the two rows is
//! the training row, are collected and played eight at a time as well.

use super::game::{LANES, Lane, Rules, Scratch, play};
use super::series::{Games, Room, Series, decay};
#[cfg(target_arch = "x86_64")]
use crate::kernel::{Level, level};
use std::ops::Range;

/// A lane that needs so many nodes more than the others plays on elsewhere.
const FEW: usize = 6;

/// What one chunk of training rows is played with.
pub(super) struct Family<'a> {
    pub(super) players: usize,
    /// Distance of each row to explain along each input, to eight training rows: rows·players.
    pub(super) x: Vec<Lane>,
    /// The same of the background rows.
    pub(super) z: Vec<Lane>,
    pub(super) share: &'a [f64],
    /// Pairs (s, weight), s rising.
    pub(super) mixture: &'a [(f64, f64)],
    pub(super) rules: &'a Rules,
    /// For mixtures of many s over many inputs.
    pub(super) series: Option<&'a Series>,
}

/// What decides how a game is played: sums over inputs of the smaller distance and of the difference e.
struct Span {
    /// Σ min, in each lane, and the smallest of them.
    lowest: Lane,
    least: f64,
    /// Largest |e| of any lane and input.
    largest: f64,
    /// Some s, rising, each with the largest Σ min(s|e|, 1) of any lane.
    excess: [(f64, f64); POINTS],
}

/// Points at which the sum of min(s|e|, 1) is known.
const POINTS: usize = 6;

impl Span {
    fn new(a: &[Lane], b: &[Lane], mixture: &[(f64, f64)]) -> Span {
        let (mut lowest, mut largest) = ([0.0; LANES], [0.0f64; LANES]);
        smallest_and_largest(a, b, &mut lowest, &mut largest);
        let most = |lanes: &Lane| lanes.iter().copied().fold(0.0, f64::max);
        let (least, largest) = (lowest.iter().copied().fold(f64::INFINITY, f64::min), most(&largest));
        let excess_at = |s: f64| {
            let mut sums = [0.0; LANES];
            saturated(a, b, s, &mut sums);
            (s, most(&sums))
        };
        if let &[(s, _)] = mixture {
            return Span { lowest, least, largest, excess: [excess_at(s); POINTS] };
        }
        // From where differences begin to matter to where distances are too far, or the last node.
        let last = mixture.last().map_or(1.0, |node| node.0);
        let high = (30.0 / least).min(last).max(f64::MIN_POSITIVE);
        let low = (0.3 / largest).clamp(high * 1e-12, high);
        let step = (high / low).powf(1.0 / (POINTS - 1) as f64);
        let excess = std::array::from_fn(|i| excess_at(low * step.powi(i as i32)));
        Span { lowest, least, largest, excess }
    }

    /// Position of the rule for an s: 1 − exp(−s|e|), see [`Rules::for_products`], is at most min(s|e|, 1), whose sum
    /// rises with s, and more slowly than s.
    fn rule(&self, rules: &Rules, s: f64, size: f64, players: usize) -> usize {
        let above = self.excess.iter().find(|(at, _)| s <= *at).map_or(players as f64, |(_, excess)| *excess);
        let below = self.excess.iter().rev().find(|(at, _)| *at <= s).map(|(at, excess)| excess * s / at);
        let (first, excess) = self.excess[0];
        // As long as every difference counts in full the sum is proportional to s.
        let straight = (s <= first && first * self.largest <= 1.0).then(|| excess * s / first);
        rules.for_products(size, s * self.least, straight.or(below).map_or(above, |found| found.min(above)))
    }
}

#[inline(always)]
fn smallest_and_largest_body(a: &[Lane], b: &[Lane], lowest: &mut Lane, largest: &mut Lane) {
    let (mut low, mut high) = (*lowest, *largest);
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            let difference = (a[l] - b[l]).abs();
            low[l] += if a[l] < b[l] { a[l] } else { b[l] };
            high[l] = if difference > high[l] { difference } else { high[l] };
        }
    }
    (*lowest, *largest) = (low, high);
}

#[inline(always)]
fn saturated_body(a: &[Lane], b: &[Lane], s: f64, sums: &mut Lane) {
    let mut total = *sums;
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            let difference = s * (a[l] - b[l]).abs();
            total[l] += if difference < 1.0 { difference } else { 1.0 };
        }
    }
    *sums = total;
}

/// Adds Σ min(a, b) to `lowest` and puts the largest |a − b| into `largest`.
fn smallest_and_largest(a: &[Lane], b: &[Lane], lowest: &mut Lane, largest: &mut Lane) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(a: &[Lane], b: &[Lane], lowest: &mut Lane, largest: &mut Lane) {
            smallest_and_largest_body(a, b, lowest, largest);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(a: &[Lane], b: &[Lane], lowest: &mut Lane, largest: &mut Lane) {
            smallest_and_largest_body(a, b, lowest, largest);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(a, b, lowest, largest) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(a, b, lowest, largest) },
            Level::Plain => {}
        }
    }
    smallest_and_largest_body(a, b, lowest, largest);
}

/// Adds Σ min(s|a − b|, 1).
fn saturated(a: &[Lane], b: &[Lane], s: f64, sums: &mut Lane) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(a: &[Lane], b: &[Lane], s: f64, sums: &mut Lane) {
            saturated_body(a, b, s, sums);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(a: &[Lane], b: &[Lane], s: f64, sums: &mut Lane) {
            saturated_body(a, b, s, sums);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(a, b, s, sums) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(a, b, s, sums) },
            Level::Plain => {}
        }
    }
    saturated_body(a, b, s, sums);
}

/// A pair of rows and the node before which all its games are played together.
struct Plan {
    span: Span,
    end: usize,
}

/// A game that goes on alone from a node on.
struct Straggler {
    row: usize,
    from: usize,
    lane: usize,
    node: usize,
}

impl Family<'_> {
    /// Adds the Shapley values of all pairs of rows: rows·players lanes.
    pub(super) fn play(&self, out: &mut [Lane]) {
        let (rows, count) = (self.x.len() / self.players, self.share.len());
        let (mut room, mut stragglers) = (Room::new(self.players), Vec::new());
        let mut plans = Vec::with_capacity(rows * count);
        for row in 0..rows {
            for from in 0..count {
                let (x, z) = (self.of(&self.x, row), self.of(&self.z, from));
                let plan = self.plan(Span::new(x, z, self.mixture), |lane, node| {
                    stragglers.push(Straggler { row, from, lane, node });
                });
                plans.push(plan);
            }
        }
        match self.series {
            Some(series) => self.play_by_series(series, &plans, &mut room, out),
            None => self.play_by_products(&plans, out),
        }
        stragglers.chunks(LANES).for_each(|some| self.play_alone(some, &mut room, out));
    }

    fn of<'b>(&self, distances: &'b [Lane], row: usize) -> &'b [Lane] {
        &distances[self.place(row)]
    }

    fn place(&self, row: usize) -> Range<usize> {
        row * self.players..(row + 1) * self.players
    }

    /// One past the last node that counts for a game whose smallest distance is given.
    fn end(&self, lowest: f64) -> usize {
        let counts = |(s, weight): &(f64, f64)| weight * (-s * lowest).exp() > self.rules.tolerance;
        self.mixture.iter().rposition(counts).map_or(0, |last| last + 1)
    }

    fn plan(&self, span: Span, mut alone: impl FnMut(usize, usize)) -> Plan {
        if span.largest == 0.0 {
            // The two rows are the same to these training rows: nothing to share out.
            return Plan { span, end: 0 };
        }
        let ends = span.lowest.map(|lowest| self.end(lowest));
        let mut sorted = ends;
        sorted.sort_unstable();
        let most = sorted[LANES / 2] + FEW;
        let together = ends.into_iter().filter(|end| *end <= most).max().unwrap_or(0);
        for (lane, end) in ends.into_iter().enumerate() {
            if end > most {
                alone(lane, together);
            }
        }
        Plan { span, end: together }
    }

    /// Position of the rule for a node.
    fn rule(&self, span: &Span, node: usize) -> usize {
        let (s, weight) = self.mixture[node];
        span.rule(self.rules, s, weight, self.players)
    }

    fn play_by_series(&self, series: &Series, plans: &[Plan], room: &mut Room, out: &mut [Lane]) {
        let count = self.share.len();
        for (i, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.end > 0) {
            let (row, from) = (i / count, i % count);
            let games = Games {
                x: self.of(&self.x, row),
                z: self.of(&self.z, from),
                mixture: self.mixture,
                nodes: 0..plan.end,
                size: |node: usize| [self.mixture[node].1 * self.share[from]; LANES],
                order: |node: usize| self.rule(&plan.span, node),
            };
            series.play(&games, room, &mut out[self.place(row)]);
        }
    }

    /// Node after node, so that the exponentials of each row are computed once.
    fn play_by_products(&self, plans: &[Plan], out: &mut [Lane]) {
        let (rows, count) = (self.x.len() / self.players, self.share.len());
        let mut scratch = Scratch::new(self.players);
        let (mut to, mut back) = (vec![[0.0; LANES]; self.x.len()], vec![[0.0; LANES]; self.players]);
        for (node, &(s, weight)) in self.mixture.iter().enumerate() {
            let plan = |row: usize, from: usize| &plans[row * count + from];
            let counts = |row: usize, from: usize| node < plan(row, from).end;
            for row in (0..rows).filter(|&row| (0..count).any(|from| counts(row, from))) {
                decay(self.of(&self.x, row), s, &mut to[self.place(row)]);
            }
            for (from, share) in self.share.iter().enumerate() {
                if !(0..rows).any(|row| counts(row, from)) {
                    continue;
                }
                decay(self.of(&self.z, from), s, &mut back);
                for row in (0..rows).filter(|&row| counts(row, from)) {
                    let rule = self.rules.get(self.rule(&plan(row, from).span, node));
                    let (a, size) = (&to[self.place(row)], [weight * share; LANES]);
                    play(a, &back, &size, rule, &mut scratch, &mut out[self.place(row)]);
                }
            }
        }
    }

    /// Up to eight games of different rows, each from its own node on.
    fn play_alone(&self, some: &[Straggler], room: &mut Room, out: &mut [Lane]) {
        let lanes = || vec![[0.0; LANES]; self.players];
        let (mut x, mut z, mut values) = (lanes(), lanes(), lanes());
        for (l, game) in some.iter().enumerate() {
            for j in 0..self.players {
                x[j][l] = self.of(&self.x, game.row)[j][game.lane];
                z[j][l] = self.of(&self.z, game.from)[j][game.lane];
            }
        }
        let span = Span::new(&x, &z, self.mixture);
        let first = some.iter().map(|game| game.node).min().unwrap_or(0);
        let end = span.lowest[..some.len()].iter().map(|lowest| self.end(*lowest)).max().unwrap_or(0);
        let size = |node: usize| -> Lane {
            let share = |game: &&Straggler| if game.node <= node { self.share[game.from] } else { 0.0 };
            std::array::from_fn(|l| some.get(l).as_ref().map_or(0.0, share) * self.mixture[node].1)
        };
        let nodes = first..end.max(first);
        if let Some(series) = self.series {
            let order = |node: usize| self.rule(&span, node);
            series.play(&Games { x: &x, z: &z, mixture: self.mixture, nodes, size, order }, room, &mut values);
        } else {
            let (mut to, mut back, mut scratch) = (lanes(), lanes(), Scratch::new(self.players));
            for node in nodes {
                decay(&x, self.mixture[node].0, &mut to);
                decay(&z, self.mixture[node].0, &mut back);
                let rule = self.rules.get(self.rule(&span, node));
                play(&to, &back, &size(node), rule, &mut scratch, &mut values);
            }
        }
        for (l, game) in some.iter().enumerate() {
            for (out, value) in out[self.place(game.row)].iter_mut().zip(&values) {
                out[game.lane] += value[l];
            }
        }
    }
}
