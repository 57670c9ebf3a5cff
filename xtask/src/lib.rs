//! Development tasks: style checks, the requirements table, the test command, benchmarks and
//! releases.

pub mod bench;
pub mod dist;
pub mod out;
pub mod requirements;
pub mod screenshots;
pub mod source_files;
pub mod test;
pub mod tidy;
