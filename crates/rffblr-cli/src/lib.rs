//! What the command `rffblr` knows beside the libraries it is made of: the data sets it can fetch by name, and settings in a
//! file.

#![warn(missing_docs)]

pub mod catalogue;
pub mod settings_file;
