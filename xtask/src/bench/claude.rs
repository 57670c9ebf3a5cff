//! Latency and memory of the claude program, compared with our own client. These rows have no
//! targets, because we cannot optimize the program.

use super::amount::Unit;
use super::rows::after;
use super::table::Line;
use crate::test::claude;
use crate::test::step::{Outcome, Program};
use crate::tree;

/// The text before each number in the output of the test, and the name of the row.
const LINES: [(&str, &str, Unit); 7] = [
    ("our own client, fresh, to its request: ", "our own client, fresh, to its request", Unit::Time),
    ("our own client, warm, to its request: ", "our own client, warm, to its request", Unit::Time),
    ("claude program, fresh, to its request: ", "claude program, spawned, to its request", Unit::Time),
    ("claude program, warm, to its request: ", "claude program, warm, to its request", Unit::Time),
    ("claude program, fork, to its request: ", "claude program, forked, to its request", Unit::Time),
    ("claude program, resumed, to its request: ", "claude program, resumed, to its request", Unit::Time),
    ("claude program, memory: ", "claude program, memory of one client", Unit::Size),
];

/// Returns the lines whose names are `wanted`; unmeasured if the program cannot be installed.
pub fn lines(wanted: impl Fn(&str) -> bool) -> Vec<Line> {
    let lines: Vec<_> = LINES.into_iter().filter(|(_, name, _)| wanted(name)).collect();
    let said = if lines.is_empty() { String::new() } else { said() };
    let line = |(words, name, unit): (&str, &str, Unit)| Line {
        name: name.to_owned(),
        target: None,
        measured: after(&said, words, unit),
    };
    lines.into_iter().map(line).collect()
}

fn said() -> String {
    let Some(program) = claude::ready() else { return String::new() };
    let words = [
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
    let words: Vec<_> = words.into_iter().chain(["--nocapture", "--test-threads=1", "measure::"]).collect();
    let keep_all = |said: &str| vec![said.to_owned()];
    let run = Program::new("cargo", &words).within(&tree::root()).with(claude::VARIABLE, program);
    match run.counting(keep_all).run() {
        Outcome::Passed(said) => said.concat(),
        Outcome::Failed(..) | Outcome::NotRun(..) => String::new(),
    }
}
