//! `cargo xtask`: the development commands.

use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;
use xtask::bench::Bench;
use xtask::bench::footprint::Footprint;
use xtask::dist::Dist;
use xtask::out::print_line;
use xtask::requirements::Requirements;
use xtask::screenshots::Screenshots;
use xtask::test::Test;
use xtask::{source_files, tidy};

/// Tests, measures and tidies ollim-bot.
#[derive(Parser, Debug)]
#[command(
    name = "xtask",
    bin_name = "cargo xtask",
    after_help = "Examples:\n  cargo xtask test            run every test, with all set-up\n  cargo xtask tidy            hold the house style against the sources\n  cargo xtask requirements    show which requirements have a test\n  cargo xtask bench           measure, print one table, write docs/BENCHMARKS.md\n  cargo xtask screenshots     take the pictures in docs/screens anew\n  cargo xtask dist            build what people install"
)]
enum Task {
    Test(Test),
    /// Checks the sources against the style rules, as the tests do.
    Tidy,
    Requirements(Requirements),
    Bench(Bench),
    Footprint(Footprint),
    Screenshots(Screenshots),
    Dist(Dist),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test(test) => test.run(),
        Task::Tidy => run_tidy(),
        Task::Requirements(requirements) => requirements.run(),
        Task::Bench(bench) => bench.run(),
        Task::Footprint(footprint) => footprint.run(),
        Task::Screenshots(screenshots) => screenshots.run(),
        Task::Dist(dist) => dist.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run_tidy() -> anyhow::Result<()> {
    let complaints = tidy::violations(&source_files::read_all()?);
    for complaint in &complaints {
        print_line(complaint.to_string());
    }
    match complaints.len() {
        0 => Ok(()),
        count => bail!("{count} complaints"),
    }
}
