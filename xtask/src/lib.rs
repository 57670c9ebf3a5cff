//! What keeps the house in order: its style as tests, the requirements table, the test command, the benches.

pub mod bench;
pub mod dist;
pub mod out;
pub mod requirements;
pub mod screenshots;
pub mod test;
pub mod tidy;
pub mod tree;
