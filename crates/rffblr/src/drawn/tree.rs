//! Sums over blocks, added in the shape of a binary tree over the numbers of the blocks.

use super::sums::Sums;
use crate::data::RowSums;
use crate::device::Backend;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Level of the tree and place in it: node (l, i) has the blocks i·2ˡ to (i + 1)·2ˡ − 1.
pub(super) type Place = (u32, u64);

/// Sums of some blocks, for each group of tasks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node<M> {
    pub(super) seen: RowSums,
    pub(super) sums: Vec<Sums<M>>,
}

/// What was added so far: nodes of which none is the neighbour of another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree<M> {
    pub(super) nodes: BTreeMap<Place, Node<M>>,
}

impl<M: Clone> Tree<M> {
    pub(super) fn new() -> Tree<M> {
        Tree { nodes: BTreeMap::new() }
    }

    /// Puts sums in their place and adds them to their neighbour's as long as that is there.
    pub(super) fn insert<B: Backend<Matrix = M>>(
        &mut self,
        backend: &B,
        mut place: Place,
        mut node: Node<M>,
    ) -> Result<()> {
        self.expect_new(place)?;
        while let Some(neighbour) = self.nodes.remove(&(place.0, place.1 ^ 1)) {
            let (mut left, right) = if place.1.is_multiple_of(2) { (node, neighbour) } else { (neighbour, node) };
            left.add(backend, right);
            (node, place) = (left, (place.0 + 1, place.1 / 2));
        }
        self.nodes.insert(place, node);
        Ok(())
    }

    /// An error if some of the blocks of a node are there already.
    pub(super) fn expect_new(&self, place: Place) -> Result<()> {
        let overlaps = |(level, index): &Place| match *level >= place.0 {
            true => place.1.checked_shr(level - place.0) == Some(*index),
            false => index.checked_shr(place.0 - level) == Some(place.1),
        };
        match self.nodes.keys().any(overlaps) {
            true => Err(Error::Accumulator(format!("block {} was added before", place.1 << place.0))),
            false => Ok(()),
        }
    }

    /// Takes away the nodes of blocks with this number or a higher one.
    pub(super) fn split_off(&mut self, number: u64) -> Tree<M> {
        let (apart, own) =
            std::mem::take(&mut self.nodes).into_iter().partition(|((l, index), _)| index << l >= number);
        self.nodes = own;
        Tree { nodes: apart }
    }

    /// Whether block `number` is in it.
    pub(super) fn has(&self, number: u64) -> bool {
        (0..64).any(|level| self.nodes.contains_key(&(level, number >> level)))
    }

    pub(super) fn seen(&self) -> RowSums {
        self.nodes.values().map(|node| node.seen).fold(RowSums::default(), RowSums::merged)
    }

    /// Everything together, in the order of the blocks.
    pub(super) fn total<B: Backend<Matrix = M>>(&self, backend: &B) -> Option<Node<M>> {
        let mut left: Vec<(&Place, &Node<M>)> = self.nodes.iter().collect();
        left.sort_by_key(|((level, index), _)| index << level);
        let mut nodes = left.into_iter().map(|(_, node)| node.clone());
        let mut total = nodes.next()?;
        nodes.for_each(|node| total.add(backend, node));
        Some(total)
    }

    /// The same tree where matrices are brought elsewhere by `carry`.
    pub(super) fn carried<N>(self, carry: impl Fn(M) -> N) -> Tree<N> {
        let node = |Node { seen, sums }: Node<M>| {
            let sums = sums.into_iter().map(|sums| sums.carried(&carry)).collect();
            Node { seen, sums }
        };
        Tree { nodes: self.nodes.into_iter().map(|(place, sums)| (place, node(sums))).collect() }
    }
}

impl<M: Clone> Node<M> {
    fn add<B: Backend<Matrix = M>>(&mut self, backend: &B, other: Node<M>) {
        self.seen = self.seen.merged(other.seen);
        self.sums.iter_mut().zip(other.sums).for_each(|(own, other)| own.merge(backend, other));
    }
}
