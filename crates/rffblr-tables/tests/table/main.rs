//! Tables in and out: every format, every error.

mod arff;
mod arrow;
mod bombs;
mod common;
mod csv;
mod csv_errors;
mod files;
mod parquet;
mod robust;
mod stream;
mod write;
