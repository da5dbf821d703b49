//! What the other crates of this project need beside the public interface. It carries no promise of stability: anything
//! here may change or go in any release.

pub use crate::adam::Adam;
pub use crate::data::dataset::{check_inputs, expect_count};
pub use crate::data::encode::{coordinates, names_time};
pub use crate::data::order::{group_labels, times_of};
pub use crate::data::roles::numbers;
pub use crate::files::{WholeFile, folder_of, hex, is_device, read_text_within, read_within, write_whole};
pub use crate::interrupt::{Interrupted, ended_by, flag, go_on};
pub use crate::kernel::ascent::{Tolerance, climb};
pub use crate::linalg::cholesky::Cholesky;
pub use crate::linalg::columns::{dot, map_columns, scale_columns, scale_rows, select_columns, select_rows};
pub use crate::linalg::product::{Accumulate, fill_upper, multiply, outer, product};
pub use crate::linalg::spectral::Spectral;
pub use crate::linalg::threads::alone;
pub use crate::model::file::{file_value, with_checksum};
pub use crate::model::plain::{Plain, PlainPart, Spread, SpreadTask, Terms, plain, plain_size};
pub use crate::model::{Widening, widening};
pub use crate::packed::{doubles, from_doubles};
pub use crate::problem::{Group, Problem};
pub use crate::table::cells::{Cells, Levels};
pub use crate::table::check_names;
pub use crate::table::pattern::matches;
pub use crate::table::words::{
    MISSING_WORDS, did_you_mean, excerpt, has_comma_inside, how_to_correct, how_to_predict, is_percentage, number_text,
};
pub use crate::words::{plural, significant};
