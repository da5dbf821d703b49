//! The library as its users call it.

mod checksum;
mod common;
mod dates;
mod determinism;
mod edge_cases;
mod encode;
mod errors;
mod file;
mod fit;
mod formats;
mod large;
mod prediction;
mod reference;
mod suspicions;
mod training;
mod transforms;
mod weights;

use common::{assert_close, assert_tables, normal, smooth, with_gaps};
