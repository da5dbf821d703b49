//! Files as rows to fit a model to.

use super::{Parts, Types};
use rffblr::Result;
use rffblr::drawn::{BLOCK, BlockSource};
use rffblr::table::Table;
use std::ops::Range;

/// Files whose columns have known types: a source of rows that are never all in memory.
pub struct TypedParts {
    parts: Parts,
    types: Types,
}

impl Parts {
    /// These files with the types that a first pass found.
    pub fn typed(self, types: Types) -> TypedParts {
        TypedParts { parts: self, types }
    }
}

impl BlockSource for TypedParts {
    fn each(&self, f: &mut dyn FnMut(u64, &Table, Range<usize>) -> Result<()>) -> Result<()> {
        for block in self.parts.blocks(&self.types, BLOCK) {
            let block = block?;
            f(block.first_row, &block.table, 0..block.table.rows()).map_err(|problem| block.placed(problem))?;
        }
        Ok(())
    }
}
