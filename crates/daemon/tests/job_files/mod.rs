//! Helpers for tests of commands on job files.
#![expect(clippy::expect_used, reason = "a fixture that cannot be built stops the test")]

use std::path::Path;
use std::process::{Command, Output};

use expect_test::Expect;
use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Creates a program that was never started, with a git repository in its data directory.
pub fn program() -> Program {
    let program = Program::offline(BINARY);
    std::fs::create_dir_all(program.data()).expect("a directory");
    assert!(git(program.data(), &["init", "--quiet"]).status.success());
    program
}

pub fn git(data: &Path, arguments: &[&str]) -> Output {
    Command::new("git").current_dir(data).args(arguments).output().expect("git")
}

pub fn write(program: &Program, file: &str, text: &str) {
    let path = program.data().join(file);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

pub fn read(program: &Program, file: &str) -> String {
    std::fs::read_to_string(program.data().join(file)).unwrap_or_default()
}

/// Runs a command that must succeed, and returns its output.
pub fn output_of(program: &Program, arguments: &[&str]) -> String {
    let output = program.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output).trim_end().to_owned()
}

/// Runs a command that must fail with `code` and this error output.
pub fn expect_failure(program: &Program, arguments: &[&str], code: i32, expected: Expect) {
    let output = program.run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    expected.assert_eq(stderr(&output).trim_end());
}

pub fn json_of(program: &Program, arguments: &[&str]) -> Value {
    let output = output_of(program, &[arguments, &["--json"]].concat());
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
}
