//! An accumulator as bytes: `RFFBLRAC`, the version, the map as JSON, the sums as little-endian numbers, and a SHA-256 of
//! all of it.

use super::accumulator::Accumulator;
use super::map::FeatureMap;
use super::sums::{Class, Sums};
use super::tree::{Node, Tree};
use crate::data::RowSums;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"RFFBLRAC";
const VERSION: u64 = 2;

pub(super) fn write(map: &FeatureMap, tree: &Tree<Mat<f64>>) -> Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    let map = map.to_json()?;
    put(&mut out, VERSION);
    put(&mut out, map.len() as u64);
    out.extend_from_slice(map.as_bytes());
    put(&mut out, tree.nodes.len() as u64);
    for ((level, index), node) in &tree.nodes {
        [u64::from(*level), *index].into_iter().chain(node.seen.numbers()).for_each(|number| put(&mut out, number));
        for sums in &node.sums {
            put(&mut out, sums.classes.len() as u64);
            for (tasks, class) in &sums.classes {
                put(&mut out, tasks.len() as u64);
                tasks.iter().for_each(|&task| put(&mut out, task as u64));
                let mut numbers = |values: &[f64]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
                numbers(&[class.rows, class.mass]);
                numbers(&class.square);
                (0..tasks.len()).for_each(|c| numbers(class.cross.col_as_slice(c)));
                (0..class.gram.ncols()).for_each(|j| numbers(&class.gram.col_as_slice(j)[j..]));
            }
        }
    }
    let sum = Sha256::digest(&out);
    out.extend_from_slice(&sum);
    Ok(out)
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

pub(super) fn read(bytes: &[u8]) -> Result<Accumulator> {
    let damaged = || Error::Accumulator("its bytes are damaged or cut off".into());
    let body = bytes.strip_prefix(MAGIC).ok_or_else(|| Error::Accumulator("these are no bytes of one".into()))?;
    let version = body.first_chunk().map(|version| u64::from_le_bytes(*version)).ok_or_else(damaged)?;
    if version != VERSION {
        return Err(Error::Accumulator(format!("written in version {version}; this program reads {VERSION}")));
    }
    let (content, sum) = bytes.split_last_chunk::<32>().ok_or_else(damaged)?;
    if Sha256::digest(content).as_slice() != sum {
        return Err(damaged());
    }
    let mut reader = Reader { rest: content.get(16..).unwrap_or(&[]) };
    reader.accumulator().unwrap_or_else(|| Err(damaged()))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(first)
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let (numbers, _) = self.take(count.checked_mul(8)?)?.as_chunks::<8>();
        Some(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    fn accumulator(&mut self) -> Option<Result<Accumulator>> {
        let length = usize::try_from(self.number()?).ok()?;
        let map = match FeatureMap::from_json(std::str::from_utf8(self.take(length)?).ok()?) {
            Ok(map) => map,
            Err(problem) => return Some(Err(problem)),
        };
        let mut out = Accumulator::new(&map);
        for _ in 0..self.number()? {
            let place = (u32::try_from(self.number()?).ok().filter(|level| *level < 64)?, self.number()?);
            let mut seen = [0; 9];
            for number in &mut seen {
                *number = self.number()?;
            }
            let seen = RowSums::from_numbers(seen);
            let sums = out.shapes().into_iter().map(|shape| self.sums(shape)).collect::<Option<Vec<_>>>()?;
            if let Err(problem) = out.insert(place, Node { seen, sums }) {
                return Some(Err(problem));
            }
        }
        self.rest.is_empty().then_some(Ok(out))
    }

    fn sums(&mut self, (columns, tasks): (usize, usize)) -> Option<Sums<Mat<f64>>> {
        let mut sums = Sums::new(columns, tasks);
        for _ in 0..self.number()? {
            let count = usize::try_from(self.number()?).ok().filter(|count| *count <= tasks)?;
            let key: Vec<usize> = (0..count).map(|_| self.number().map(|task| task as usize)).collect::<Option<_>>()?;
            if key.iter().any(|task| *task >= tasks) || !key.is_sorted_by(|a, b| a < b) {
                return None;
            }
            let (totals, square) = (self.numbers(2)?, self.numbers(count)?);
            let cross = self.numbers(columns * count)?;
            let mut gram = Mat::zeros(columns, columns);
            for j in 0..columns {
                gram.col_as_slice_mut(j)[j..].copy_from_slice(&self.numbers(columns - j)?);
            }
            let cross = Mat::from_fn(columns, count, |k, c| cross[c * columns + k]);
            sums.classes.insert(key, Class { gram, cross, square, rows: totals[0], mass: totals[1] });
        }
        Some(sums)
    }
}
