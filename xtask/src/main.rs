//! Placeholder until every command is there.
fn main() {}
