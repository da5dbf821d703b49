//! The methods as their users call them.

#[path = "../../../rffblr/tests/library/common.rs"]
mod common;
mod conformance;
mod weights;

use common::{assert_tables, normal, smooth, with_gaps};
