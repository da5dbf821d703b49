//! A summary as bytes: `RFFBLRSU`, the version, all but the numbers of the sample as JSON, these numbers, and a SHA-256 of all
//! of it. Numbers are little-endian.

use super::{ColumnSummary, Summary};
use crate::error::Error;
use crate::table::Values;
use crate::table::cells::Cells;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"RFFBLRSU";
const VERSION: u64 = 1;

/// All that is not of the length of the sample.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    most_rows: usize,
    seed: u64,
    rows: u64,
    columns: Vec<ColumnSummary>,
    ignored: Vec<String>,
    largest: u64,
    candidates: usize,
    /// Levels of the cells of each column; `None` for numbers.
    levels: Vec<Option<Vec<String>>>,
}

fn wrong(problem: impl ToString) -> Error {
    Error::Json { what: "the summary of a table", problem: problem.to_string() }
}

pub(super) fn write(summary: &Summary) -> Result<Vec<u8>, Error> {
    let cells: Vec<Values> = summary.cells.iter().map(|cells| cells.clone().finish()).collect();
    let levels = |values: &Values| match values {
        Values::Numeric(_) => None,
        Values::Text { levels, .. } => Some(levels.clone()),
    };
    let head = serde_json::to_vec(&Head {
        most_rows: summary.most_rows,
        seed: summary.seed,
        rows: summary.rows,
        columns: summary.columns.clone(),
        ignored: summary.ignored.clone(),
        largest: summary.largest,
        candidates: summary.candidates.len(),
        levels: cells.iter().map(levels).collect(),
    });
    let head = head.map_err(wrong)?;
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend((head.len() as u64).to_le_bytes());
    out.extend(head);
    summary
        .candidates
        .iter()
        .for_each(|(hash, number)| [hash, number].iter().for_each(|n| out.extend(n.to_le_bytes())));
    for values in &cells {
        match values {
            Values::Numeric(numbers) => numbers.iter().for_each(|number| out.extend(number.to_le_bytes())),
            Values::Text { codes, .. } => codes.iter().for_each(|code| out.extend(code.to_le_bytes())),
        }
    }
    let sum = Sha256::digest(&out);
    out.extend_from_slice(&sum);
    Ok(out)
}

pub(super) fn read(bytes: &[u8]) -> Result<Summary, Error> {
    let damaged = || wrong("its bytes are damaged or cut off");
    let body = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("these are no bytes of one"))?;
    let (version, _) = body.split_first_chunk().ok_or_else(damaged)?;
    let version = u64::from_le_bytes(*version);
    if version != VERSION {
        return Err(wrong(format!("written in version {version}; this program reads {VERSION}")));
    }
    let (content, sum) = bytes.split_last_chunk::<32>().ok_or_else(damaged)?;
    if Sha256::digest(content).as_slice() != sum {
        return Err(damaged());
    }
    let (length, rest) = content.get(16..).and_then(|rest| rest.split_first_chunk()).ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (head, mut rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let head: Head = serde_json::from_slice(head).map_err(wrong)?;
    let mut take = |size: usize| -> Result<&[u8], Error> {
        let size = head.candidates.checked_mul(size).ok_or_else(damaged)?;
        let (part, left) = rest.split_at_checked(size).ok_or_else(damaged)?;
        rest = left;
        Ok(part)
    };
    let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let (pairs, _) = take(16)?.as_chunks::<8>();
    let candidates = pairs.chunks_exact(2).map(|pair| (number(&pair[0]), number(&pair[1]))).collect();
    if head.levels.len() != head.columns.len() {
        return Err(damaged());
    }
    let mut cells = Vec::with_capacity(head.columns.len());
    for (levels, column) in head.levels.into_iter().zip(&head.columns) {
        if levels.is_some() != column.is_text() {
            return Err(damaged());
        }
        let values = match levels {
            None => {
                Values::Numeric(take(8)?.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
            }
            Some(levels) => {
                let codes = take(4)?.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
                Values::Text { levels, codes }
            }
        };
        let mut column = Cells::empty(column.is_text());
        column.extend(&values, 0..values.len());
        cells.push(column);
    }
    let Head { most_rows, seed, rows, columns, ignored, largest, .. } = head;
    Ok(Summary { most_rows, seed, rows, columns, ignored, candidates, cells, largest })
}
