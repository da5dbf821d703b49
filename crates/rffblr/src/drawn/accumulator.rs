//! Sums over blocks of rows, added in a fixed shape.

use super::bytes;
use super::features::Draw;
use super::map::FeatureMap;
use super::sums::{Sums, System, parts};
use super::tree::{Node, Place, Tree};
use crate::data::{RowSums, check_inputs, expect_count};
use crate::device::{Backend, Cuda, Host, caught, chosen};
use crate::error::{Error, Result};
use crate::fourier::Basis;
use crate::linalg::{Mat, MatRef, Threads, scale_rows, select_columns, select_rows};
use crate::model::transformed;
use crate::settings::Device;
use std::borrow::Cow;

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
    sums: Located,
    /// What was asked for, which holds for the model too.
    device: Device,
}

/// The sums, and where they are.
#[derive(Clone)]
enum Located {
    Host(Tree<Mat<f64>>),
    Cuda(Cuda, Tree<<Cuda as Backend>::Matrix>),
}

/// The features of a group of tasks.
#[derive(Clone)]
struct Lift {
    tasks: Vec<usize>,
    draw: Draw,
    basis: Basis,
}

/// What a group of tasks is solved from, and its features.
pub(super) type Solvable<M> = (Draw, Basis, Vec<System<M>>);

/// The processor, with the threads of the pool this is called in.
fn host() -> Host {
    Host(Threads::current())
}

impl Accumulator {
    /// For the features of a map, without rows.
    pub fn new(map: &FeatureMap) -> Accumulator {
        let lift = |(draw, group): (&Draw, &super::Group)| {
            let basis = draw.basis(&group.kernel);
            Lift { tasks: group.tasks.clone(), draw: draw.clone(), basis }
        };
        let lifts = map.draws.iter().zip(&map.groups).map(lift).collect();
        Accumulator { map: map.clone(), lifts, sums: Located::Host(Tree::new()), device: Device::Auto }
    }

    /// The same where a device adds up about so many rows, if that is asked for or quicker; `twice` if some of them apart from the
    /// others.
    pub fn on(self, device: Device, rows: f64, twice: bool) -> Result<Accumulator> {
        let columns = self.lifts.iter().map(|lift| lift.draw.columns() as f64);
        let (squares, work) = columns.fold((0.0, 0.0), |(all, work), k| (all + k * k, work + rows * k * k));
        // A node for every level of the tree, what they are solved from, and rows on their way.
        let levels = (rows / BLOCK as f64).max(1.0).log2() + 6.0;
        let trees = if twice { 2.0 } else { 1.0 };
        let bytes = 8.0 * squares * levels * trees + 3e9;
        match chosen(device, work, bytes, "sums over the rows")? {
            None => Ok(Accumulator { device, ..self }),
            Some(cuda) => caught(|| {
                let tree = self.on_host().into_owned().carried(|matrix| cuda.put(matrix.as_ref()));
                Ok(Accumulator { sums: Located::Cuda(cuda, tree), device, ..self })
            }),
        }
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
        let Accumulator { map, lifts, sums, .. } = self;
        match sums {
            Located::Host(tree) => {
                let node = sum(&host(), map, lifts, (inputs, targets, weights))?;
                tree.insert(&host(), (0, number), node)
            }
            Located::Cuda(cuda, tree) => caught(|| {
                let node = sum(cuda, map, lifts, (inputs, targets, weights))?;
                tree.insert(cuda, (0, number), node)
            }),
        }
    }

    /// Whether block `number` is in it.
    pub fn has(&self, number: u64) -> bool {
        match &self.sums {
            Located::Host(tree) => tree.has(number),
            Located::Cuda(_, tree) => tree.has(number),
        }
    }

    /// Number of rows that were added.
    pub fn rows(&self) -> u64 {
        self.seen().rows()
    }

    /// Sums of hashes over these rows, by which a model knows what it was fitted to.
    pub(super) fn seen(&self) -> RowSums {
        match &self.sums {
            Located::Host(tree) => tree.seen(),
            Located::Cuda(_, tree) => tree.seen(),
        }
    }

    /// What it and models made of it compute with.
    pub(super) fn device(&self) -> Device {
        self.device
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
        let other = caught(|| Ok(other.on_host().into_owned()))?;
        // All or nothing.
        other.nodes.keys().try_for_each(|&place| match &self.sums {
            Located::Host(tree) => tree.expect_new(place),
            Located::Cuda(_, tree) => tree.expect_new(place),
        })?;
        other.nodes.into_iter().try_for_each(|(place, node)| self.insert(place, node))
    }

    /// Takes away the sums of the blocks with this number, a power of two beyond those of others, or a higher one.
    pub(super) fn split_off(&mut self, number: u64) -> Accumulator {
        let Accumulator { map, lifts, device, .. } = &*self;
        let (map, lifts, device) = (map.clone(), lifts.clone(), *device);
        let sums = match &mut self.sums {
            Located::Host(tree) => Located::Host(tree.split_off(number)),
            Located::Cuda(cuda, tree) => Located::Cuda(cuda.clone(), tree.split_off(number)),
        };
        Accumulator { map, lifts, sums, device }
    }

    /// As bytes that [`from_bytes`](Accumulator::from_bytes) reads on any machine: a header with a version and the map,
    /// the sums, and a checksum.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        caught(|| bytes::write(&self.map, &self.on_host()))
    }

    /// An accumulator from its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Accumulator> {
        bytes::read(bytes)
    }

    /// Puts sums over some blocks in their place.
    pub(super) fn insert(&mut self, place: Place, node: Node<Mat<f64>>) -> Result<()> {
        match &mut self.sums {
            Located::Host(tree) => tree.insert(&host(), place, node),
            Located::Cuda(cuda, tree) => caught(|| {
                let mut carried = Tree { nodes: [(place, node)].into() }.carried(|matrix| cuda.put(matrix.as_ref()));
                carried.nodes.remove(&place).map_or(Ok(()), |node| tree.insert(cuda, place, node))
            }),
        }
    }

    /// The sums in the memory of the processor.
    fn on_host(&self) -> Cow<'_, Tree<Mat<f64>>> {
        match &self.sums {
            Located::Host(tree) => Cow::Borrowed(tree),
            Located::Cuda(cuda, tree) => Cow::Owned(tree.clone().carried(|matrix| cuda.get(&matrix))),
        }
    }

    /// Calls `host` or `cuda` with what to solve, for each group of tasks, where the sums are.
    pub(super) fn solve<T>(
        &self,
        on_host: impl FnOnce(&Host, Vec<Solvable<Mat<f64>>>) -> Result<T>,
        on_cuda: impl FnOnce(&Cuda, Vec<Solvable<<Cuda as Backend>::Matrix>>) -> Result<T>,
    ) -> Result<T> {
        match &self.sums {
            Located::Host(tree) => on_host(&host(), self.systems(&host(), tree)),
            Located::Cuda(cuda, tree) => caught(|| on_cuda(cuda, self.systems(cuda, tree))),
        }
    }

    fn systems<B: Backend>(&self, backend: &B, tree: &Tree<B::Matrix>) -> Vec<Solvable<B::Matrix>> {
        let sums = tree.total(backend).map_or(Vec::new(), |node| node.sums);
        let lifts = self.lifts.iter().map(|lift| (lift.draw.clone(), lift.basis.clone()));
        lifts.zip(sums).map(|((draw, basis), sums)| (draw, basis, sums.systems(backend))).collect()
    }

    /// Columns of features and the tasks of each group.
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, Vec<usize>)> {
        self.lifts.iter().map(|lift| (lift.draw.columns(), lift.tasks.clone()))
    }

    /// Columns of features and the number of tasks of each group.
    pub(super) fn shapes(&self) -> Vec<(usize, usize)> {
        self.lifts.iter().map(|lift| (lift.draw.columns(), lift.tasks.len())).collect()
    }
}

/// The sums of a block.
fn sum<B: Backend>(
    backend: &B,
    map: &FeatureMap,
    lifts: &[Lift],
    (inputs, targets, weights): (MatRef<'_, f64>, MatRef<'_, f64>, Option<&[f64]>),
) -> Result<Node<B::Matrix>> {
    expect_count("the block of inputs", "columns", inputs.ncols(), map.input_names.len())?;
    expect_count("the block of targets", "columns", targets.ncols(), map.target_names.len())?;
    expect_count("the block of targets", "rows", targets.nrows(), inputs.nrows())?;
    check_inputs(inputs, &map.input_names)?;
    let root = map.root_weights(inputs.nrows(), weights)?;
    let observed = |n: usize| root[n] > 0.0 && (0..targets.ncols()).any(|c| !targets[(n, c)].is_nan());
    let rows: Vec<usize> = (0..inputs.nrows()).filter(|&n| observed(n)).collect();
    let mut sums: Vec<Sums<B::Matrix>> =
        lifts.iter().map(|lift| Sums::new(lift.draw.columns(), lift.tasks.len())).collect();
    let most = lifts.iter().map(|lift| lift.draw.columns()).max().unwrap_or(0);
    let mut features = None;
    for rows in rows.chunks(backend.rows_at_once(ROWS, most)) {
        let x = map.input_scale.apply(select_rows(inputs, rows).as_ref(), &map.input_names)?;
        let y = transformed(select_rows(targets, rows).as_ref(), &map.transforms, &map.target_names)?;
        let mut y = map.target_scale.apply(y.as_ref(), &map.target_names)?;
        let root: Vec<f64> = rows.iter().map(|&n| root[n]).collect();
        scale_rows(&mut y, &root);
        for (lift, sums) in lifts.iter().zip(&mut sums) {
            let own = match lift.tasks.len() == y.ncols() {
                true => Cow::Borrowed(&y),
                false => Cow::Owned(select_columns(y.as_ref(), &lift.tasks)),
            };
            for part in parts(backend, x.as_ref(), own.as_ref().as_ref(), &root) {
                let features = part.features(backend, &lift.basis, &mut features);
                sums.add_rows(backend, &part, features);
            }
        }
    }
    Ok(Node { seen: RowSums::of_rows(&rows, inputs, Some(targets), weights), sums })
}
