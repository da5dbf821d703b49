//! MMR.
mod kernel;
mod solver;
#[cfg(test)]
mod tests;
