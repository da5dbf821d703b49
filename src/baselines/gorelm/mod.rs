//! GOR-ELM.
mod admm;
mod path;
mod system;
#[cfg(test)]
mod tests;
