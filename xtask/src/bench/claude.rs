//! Latency and memory of the claude program, compared with our own client. These rows have no
//! targets, because we cannot optimize the program.

use super::amount::Unit;
use super::rows::number_after;
use super::table::TableLine;
use crate::source_files;
use crate::test::claude;
use crate::test::step::{Outcome, Program};

/// The text before each number in the output of the test, and the name of the row.
const MEASUREMENTS: [(&str, &str, Unit); 7] = [
    ("our own client, fresh, to its request: ", "our own client, fresh, to its request", Unit::Time),
    ("our own client, warm, to its request: ", "our own client, warm, to its request", Unit::Time),
    ("claude program, fresh, to its request: ", "claude program, spawned, to its request", Unit::Time),
    ("claude program, warm, to its request: ", "claude program, warm, to its request", Unit::Time),
    ("claude program, fork, to its request: ", "claude program, forked, to its request", Unit::Time),
    ("claude program, resumed, to its request: ", "claude program, resumed, to its request", Unit::Time),
    ("claude program, memory: ", "claude program, memory of one client", Unit::Size),
];

/// Returns the lines whose names are `wanted`; unmeasured if the program cannot be installed.
pub fn lines(wanted: impl Fn(&str) -> bool) -> Vec<TableLine> {
    let lines: Vec<_> = MEASUREMENTS.into_iter().filter(|(_, name, _)| wanted(name)).collect();
    let output = if lines.is_empty() { String::new() } else { test_output() };
    let line = |(words, name, unit): (&str, &str, Unit)| TableLine {
        name: name.to_owned(),
        target: None,
        measured: number_after(&output, words, unit),
    };
    lines.into_iter().map(line).collect()
}

fn test_output() -> String {
    let Some(program) = claude::ensure_installed() else { return String::new() };
    let arguments = [
        "test",
        "--quiet",
        "--profile",
        "bench",
        "--package",
        "models",
        "--test",
        "claude",
        "--",
        "--ignored",
    ];
    let arguments: Vec<_> =
        arguments.into_iter().chain(["--nocapture", "--test-threads=1", "measure::"]).collect();
    let keep_all = |output: &str| vec![output.to_owned()];
    let run = Program::new("cargo", &arguments)
        .in_folder(&source_files::root())
        .with_variable(claude::VARIABLE, program);
    match run.with_summary(keep_all).run() {
        Outcome::Passed(output) => output.concat(),
        Outcome::Failed(..) | Outcome::NotRun(..) => String::new(),
    }
}
