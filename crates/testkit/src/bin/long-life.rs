//! Creates a data directory with a long history, for benchmarks that measure the program from
//! outside.

use std::path::PathBuf;

use clap::Parser;
use testkit::long_history::create;

/// Makes a data directory in which much was said.
#[derive(Parser)]
struct Arguments {
    /// Where; it must not hold a journal yet.
    dir: PathBuf,
    /// How many things were said.
    #[arg(long, default_value_t = 1_000_000)]
    entries: u64,
}

fn main() -> anyhow::Result<()> {
    let Arguments { dir, entries } = Arguments::parse();
    create(&dir, entries)
}
