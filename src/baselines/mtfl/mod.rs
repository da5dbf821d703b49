//! MTFL.
mod solver;
#[cfg(test)]
mod tests;
