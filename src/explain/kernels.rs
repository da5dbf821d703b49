//! Shapley values of kernels, for rows to explain against a background: eight training rows at a time.
//!
//! A family is Σ weight exp(−s Σ_j u_j) over one or many s. Each s is a game of products. Three things keep the many s of
//! the Laplace family cheap: small s go by a power series, all of them at once ([`Series`]); each game stops at the s
//! beyond which no coalition is near its training row; and the few games that go on, because one of the two rows is the
//! training row, are collected and played eight at a time as well.

use super::game::{LANES, Lane, Rules, Scratch, products};
use super::series::Series;
use crate::kernel::exponentials;
#[cfg(target_arch = "x86_64")]
use crate::kernel::{Level, level};

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

/// Where the nodes of one pair of rows are played: those before `series` by the series, then up to `all` together.
struct Plan {
    series: usize,
    all: usize,
    span: Span,
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
        let mut scratch = Scratch::new(self.players);
        let mut stragglers = Vec::new();
        let mut plans = Vec::with_capacity(rows * count);
        for row in 0..rows {
            for from in 0..count {
                let (x, z) = (self.of(&self.x, row), self.of(&self.z, from));
                let plan = self.plan(Span::new(x, z, self.mixture), |lane, node| {
                    stragglers.push(Straggler { row, from, lane, node })
                });
                if let (Some(series), true) = (self.series, plan.series > 0) {
                    let order = |s: f64, weight: f64| plan.span.rule(self.rules, s, weight, self.players);
                    let place = row * self.players..(row + 1) * self.players;
                    let (nodes, largest) = (&self.mixture[..plan.series], plan.span.largest);
                    series.play((x, z), nodes, order, self.share[from], largest, &mut out[place]);
                }
                plans.push(plan);
            }
        }
        let (mut to, mut back) = (vec![[0.0; LANES]; self.x.len()], vec![[0.0; LANES]; self.players]);
        for (node, &(s, weight)) in self.mixture.iter().enumerate() {
            let plan = |row: usize, from: usize| &plans[row * count + from];
            let counts = |row: usize, from: usize| (plan(row, from).series..plan(row, from).all).contains(&node);
            for row in (0..rows).filter(|&row| (0..count).any(|from| counts(row, from))) {
                let place = row * self.players..(row + 1) * self.players;
                decay(&self.x[place.clone()], s, &mut to[place]);
            }
            for (from, share) in self.share.iter().enumerate() {
                if !(0..rows).any(|row| counts(row, from)) {
                    continue;
                }
                decay(self.of(&self.z, from), s, &mut back);
                for row in (0..rows).filter(|&row| counts(row, from)) {
                    let rule = self.rules.get(plan(row, from).span.rule(self.rules, s, weight, self.players));
                    let place = row * self.players..(row + 1) * self.players;
                    products(&to[place.clone()], &back, &[weight * share; LANES], rule, &mut scratch, &mut out[place]);
                }
            }
        }
        stragglers.chunks(LANES).for_each(|some| self.play_alone(some, &mut scratch, out));
    }

    fn of<'b>(&self, distances: &'b [Lane], row: usize) -> &'b [Lane] {
        &distances[row * self.players..(row + 1) * self.players]
    }

    /// One past the last node that counts for a game whose smallest distance is given.
    fn end(&self, lowest: f64) -> usize {
        let counts = |(s, weight): &(f64, f64)| weight * (-s * lowest).exp() > self.rules.tolerance;
        self.mixture.iter().rposition(counts).map_or(0, |last| last + 1)
    }

    fn plan(&self, span: Span, mut alone: impl FnMut(usize, usize)) -> Plan {
        if span.largest == 0.0 {
            // The two rows are the same to these training rows: nothing to share out.
            return Plan { series: 0, all: 0, span };
        }
        let ends = span.lowest.map(|lowest| self.end(lowest));
        let mut sorted = ends;
        sorted.sort_unstable();
        let most = sorted[LANES / 2] + FEW;
        let all = ends.into_iter().filter(|end| *end <= most).max().unwrap_or(0);
        for (lane, end) in ends.into_iter().enumerate() {
            if end > most {
                alone(lane, all);
            }
        }
        let beyond = |series: &Series| {
            let fits = |&(s, weight): &(f64, f64)| {
                series.reaches(s, span.largest, span.rule(self.rules, s, weight, self.players))
            };
            self.mixture[..all].iter().position(|node| !fits(node)).unwrap_or(all)
        };
        Plan { series: self.series.map_or(0, beyond), all, span }
    }

    /// Eight games of different rows, each from its own node on.
    fn play_alone(&self, games: &[Straggler], scratch: &mut Scratch, out: &mut [Lane]) {
        let mut gathered = [vec![[0.0; LANES]; self.players], vec![[0.0; LANES]; self.players]];
        for (l, game) in games.iter().enumerate() {
            let (x, z) = (self.of(&self.x, game.row), self.of(&self.z, game.from));
            for j in 0..self.players {
                (gathered[0][j][l], gathered[1][j][l]) = (x[j][game.lane], z[j][game.lane]);
            }
        }
        let [x, z] = gathered;
        let span = Span::new(&x, &z, self.mixture);
        let first = games.iter().map(|game| game.node).min().unwrap_or(0);
        let end = (0..games.len()).map(|l| self.end(span.lowest[l])).max().unwrap_or(0);
        let lanes = || vec![[0.0; LANES]; self.players];
        let (mut to, mut back, mut values) = (lanes(), lanes(), lanes());
        for (node, &(s, weight)) in self.mixture.iter().enumerate().take(end).skip(first) {
            decay(&x, s, &mut to);
            decay(&z, s, &mut back);
            let size = |l: usize| {
                games.get(l).filter(|game| game.node <= node).map_or(0.0, |game| weight * self.share[game.from])
            };
            let rule = self.rules.get(span.rule(self.rules, s, weight, self.players));
            products(&to, &back, &std::array::from_fn(size), rule, scratch, &mut values);
        }
        for (l, game) in games.iter().enumerate() {
            for (j, value) in values.iter().enumerate() {
                out[game.row * self.players + j][game.lane] += value[l];
            }
        }
    }
}

/// exp(−s distance).
fn decay(distance: &[Lane], s: f64, out: &mut [Lane]) {
    for (out, distance) in out.iter_mut().zip(distance) {
        *out = distance.map(|d| -s * d);
    }
    exponentials(out.as_flattened_mut());
}
