//! Sums over blocks of rows, added in a fixed shape.

use super::bytes;
use super::features::Draw;
use super::map::FeatureMap;
use super::sums::{Sums, System};
use crate::data::{check_inputs, expect_count};
use crate::error::{Error, Result};
use crate::fourier::Basis;
use crate::linalg::{Mat, MatRef, Threads, scale_rows, select_columns, select_rows};
use crate::model::transformed;
use std::collections::BTreeMap;

/// Rows of a block, unless its maker has a reason for another number.
pub const BLOCK: usize = 32_768;
/// Rows whose features are held at once.
const ROWS: usize = 2048;

/// What the posterior needs of the rows, added up block by block.
///
/// Every block has a number. Sums are added in the shape of a binary tree over the numbers: those of blocks 2i and 2i + 1
/// first, then those of four blocks, and so on. So the result has the same bits in whatever order blocks come, on any
/// number of threads, and however they are divided over processes whose accumulators are merged. For blocks in order, at
/// most log₂ of their number sums are held: each takes M(M + 1) numbers for M features.
#[derive(Clone)]
pub struct Accumulator {
    map: FeatureMap,
    lifts: Vec<Lift>,
    /// By level of the tree and place in it: node (l, i) has the blocks i·2ˡ to (i + 1)·2ˡ − 1. One entry per group of tasks.
    pub(super) nodes: BTreeMap<(u32, u64), Node>,
}

/// Sums of some blocks, for each group of tasks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) rows: u64,
    pub(super) sums: Vec<Sums>,
}

/// The features of a group of tasks.
#[derive(Clone)]
struct Lift {
    tasks: Vec<usize>,
    draw: Draw,
    basis: Basis,
}

impl Accumulator {
    /// For the features of a map, without rows.
    pub fn new(map: &FeatureMap) -> Accumulator {
        let lift = |(draw, group): (&Draw, &super::Group)| {
            let basis = draw.basis(&group.kernel);
            Lift { tasks: group.tasks.clone(), draw: draw.clone(), basis }
        };
        let lifts = map.draws.iter().zip(&map.groups).map(lift).collect();
        Accumulator { map: map.clone(), lifts, nodes: BTreeMap::new() }
    }

    /// Adds block `number`: inputs and targets on their original scale, NaN for a target that was not observed, and
    /// weights if the map was learned with weights. Rows of weight zero or without a target are passed over.
    pub fn update(
        &mut self,
        number: u64,
        inputs: MatRef<'_, f64>,
        targets: MatRef<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        let node = self.sum(inputs, targets, weights)?;
        self.insert((0, number), node)
    }

    /// Whether block `number` is in it.
    pub fn has(&self, number: u64) -> bool {
        (0..64).any(|level| self.nodes.contains_key(&(level, number >> level)))
    }

    /// Number of rows that were added.
    pub fn rows(&self) -> u64 {
        self.nodes.values().map(|node| node.rows).sum()
    }

    /// The map it was made for.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// Adds the blocks of another accumulator of the same map.
    pub fn merge(&mut self, other: Accumulator) -> Result<()> {
        if other.map != self.map {
            return Err(Error::Accumulator("it is for features of another map".into()));
        }
        // All or nothing.
        other.nodes.keys().try_for_each(|&place| self.expect_new(place))?;
        other.nodes.into_iter().try_for_each(|(place, node)| self.insert(place, node))
    }

    /// As bytes that [`from_bytes`](Accumulator::from_bytes) reads on any machine: a header with a version and the map,
    /// the sums, and a checksum.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes::write(self)
    }

    /// An accumulator from its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Accumulator> {
        bytes::read(bytes)
    }

    /// The sums of a block.
    fn sum(&self, inputs: MatRef<'_, f64>, targets: MatRef<'_, f64>, weights: Option<&[f64]>) -> Result<Node> {
        let (map, threads) = (&self.map, Threads::current());
        expect_count("the block of inputs", "columns", inputs.ncols(), map.input_names.len())?;
        expect_count("the block of targets", "columns", targets.ncols(), map.target_names.len())?;
        expect_count("the block of targets", "rows", targets.nrows(), inputs.nrows())?;
        check_inputs(inputs, &map.input_names)?;
        let root = map.root_weights(inputs.nrows(), weights)?;
        let observed = |n: usize| root[n] > 0.0 && (0..targets.ncols()).any(|c| !targets[(n, c)].is_nan());
        let rows: Vec<usize> = (0..inputs.nrows()).filter(|&n| observed(n)).collect();
        let mut sums: Vec<Sums> =
            self.lifts.iter().map(|lift| Sums::new(lift.draw.columns(), lift.tasks.len())).collect();
        let mut features = Mat::new();
        for rows in rows.chunks(ROWS) {
            let x = map.input_scale.apply(select_rows(inputs, rows).as_ref(), &map.input_names)?;
            let y = transformed(select_rows(targets, rows).as_ref(), &map.transforms, &map.target_names)?;
            let mut y = map.target_scale.apply(y.as_ref(), &map.target_names)?;
            let root: Vec<f64> = rows.iter().map(|&n| root[n]).collect();
            scale_rows(&mut y, &root);
            for (lift, sums) in self.lifts.iter().zip(&mut sums) {
                if features.shape() != (rows.len(), lift.draw.columns()) {
                    features = Mat::zeros(rows.len(), lift.draw.columns());
                }
                lift.basis.features_into(&mut features, x.as_ref(), threads);
                if self.map.is_weighted() {
                    scale_rows(&mut features, &root);
                }
                match lift.tasks.len() == y.ncols() {
                    true => sums.add_rows(&features, &y, &root, threads),
                    false => sums.add_rows(&features, &select_columns(y.as_ref(), &lift.tasks), &root, threads),
                }
            }
        }
        Ok(Node { rows: rows.len() as u64, sums })
    }

    /// Puts sums in their place and adds them to their neighbour's as long as that is there.
    pub(super) fn insert(&mut self, mut place: (u32, u64), mut node: Node) -> Result<()> {
        self.expect_new(place)?;
        while let Some(neighbour) = self.nodes.remove(&(place.0, place.1 ^ 1)) {
            let (mut left, right) = if place.1.is_multiple_of(2) { (node, neighbour) } else { (neighbour, node) };
            left.add(right);
            (node, place) = (left, (place.0 + 1, place.1 / 2));
        }
        self.nodes.insert(place, node);
        Ok(())
    }

    /// An error if some of the blocks of a node are there already.
    fn expect_new(&self, place: (u32, u64)) -> Result<()> {
        let overlaps = |(level, index): &(u32, u64)| match *level >= place.0 {
            true => place.1.checked_shr(level - place.0) == Some(*index),
            false => index.checked_shr(place.0 - level) == Some(place.1),
        };
        match self.nodes.keys().any(overlaps) {
            true => Err(Error::Accumulator(format!("block {} was added before", place.1 << place.0))),
            false => Ok(()),
        }
    }

    /// Everything together, for each group of tasks: with its features, what to solve.
    pub(super) fn systems(&self) -> Vec<(Draw, Basis, Vec<System>)> {
        // What is left of the tree, in the order of the blocks.
        let mut left: Vec<(&(u32, u64), &Node)> = self.nodes.iter().collect();
        left.sort_by_key(|((level, index), _)| index << level);
        let mut total: Option<Node> = None;
        for (_, node) in left {
            match &mut total {
                None => total = Some(node.clone()),
                Some(total) => total.add(node.clone()),
            }
        }
        let sums = total.map_or(Vec::new(), |node| node.sums);
        let lifts = self.lifts.iter().map(|lift| (lift.draw.clone(), lift.basis.clone()));
        lifts.zip(sums).map(|((draw, basis), sums)| (draw, basis, sums.systems())).collect()
    }

    /// Features and tasks of each group.
    pub(super) fn shapes(&self) -> Vec<(usize, usize)> {
        self.lifts.iter().map(|lift| (lift.draw.columns(), lift.tasks.len())).collect()
    }
}

impl Node {
    fn add(&mut self, other: Node) {
        self.rows += other.rows;
        self.sums.iter_mut().zip(other.sums).for_each(|(own, other)| own.merge(other));
    }
}
