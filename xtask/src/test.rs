//! The command that runs all tests, and sets up what they need.
//!
//! Steps run in order, and a failure does not stop the next ones, so that one run reports
//! everything. A step that could not run counts as failed, unless it is optional.

use std::path::Path;

use anyhow::bail;
use clap::Args;

use crate::out::print_line;
use crate::source_files;

pub mod browser;
pub mod checkout;
pub mod claude;
pub mod dependencies;
pub mod failures;
pub mod foreign;
pub mod litestream;
pub mod machine;
pub mod mcp;
pub mod radicale;
pub mod report;
pub mod step;

use checkout::CheckoutState;
use machine::Machine;
use report::Report;
use step::{Outcome, Program};

/// Runs every test there is, with all set-up on a fresh machine.
#[derive(Args, Debug)]
pub struct Test {
    /// Also the tests that take long; installs the tools that are otherwise only used when present.
    #[arg(long)]
    long: bool,
    /// Run only this step, such as `tests` or "foreign tests". Can be repeated; a wrong name lists all steps.
    #[arg(long = "step", value_name = "NAME")]
    only: Vec<String>,
}

impl Test {
    /// Runs all steps; fails if one failed or could not run.
    pub fn run(&self) -> anyhow::Result<()> {
        let root = source_files::root();
        let length = if self.long { TestScope::Long } else { TestScope::Default };
        check_names(&self.only, &step_names(&root, length), &step_names(&root, TestScope::Long))?;
        let mut report = Report::of_steps(self.only.clone());
        run_steps(&mut report, &root, length);
        print_line(report.summary());
        match report.failures() {
            0 => Ok(()),
            1 => bail!("one step did not pass"),
            count => bail!("{count} steps did not pass"),
        }
    }
}

/// Runs all steps in order.
fn run_steps(report: &mut Report, root: &Path, length: TestScope) {
    let checkout = CheckoutState::read(root);
    report.step("toolchain", || ensure_toolchain(root));
    report.step("format", || cargo_command(root, &["fmt", "--all", "--check"]).run());
    report.step("lints", || {
        cargo_command(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
    });
    report.step("build", || cargo_command(root, &["build", "--workspace", "--bins"]).run());
    report.step("tmux", ensure_tmux);
    report.step("dovecot", ensure_dovecot);
    report.step("strace", ensure_strace);
    report.step("ssh-keygen", ensure_ssh_keygen);
    report.step("tests", || run_tests(root, length));
    report.step("doc tests", || run_doc_tests(root));
    report.step("documentation", || check_documentation(root));
    browser::run_steps(report, root);
    claude::run_steps(report, root);
    radicale::run_steps(report, root, length);
    mcp::run_steps(report, root);
    if length == TestScope::Long {
        foreign::run_steps(report, root);
        litestream::run_steps(report, root);
    }
    dependencies::run_steps(report, root);
    report.step("clean checkout", || checkout.compare(&CheckoutState::read(root)));
}

/// Returns the names of all steps of a run, in order.
fn step_names(root: &Path, length: TestScope) -> Vec<String> {
    let mut report = Report::list_only();
    run_steps(&mut report, root, length);
    report.names()
}

/// Fails with the list of steps if one of the `wanted` names is not a step of this run.
fn check_names(wanted: &[String], available: &[String], all: &[String]) -> anyhow::Result<()> {
    let Some(name) = wanted.iter().find(|name| !available.contains(name)) else { return Ok(()) };
    if all.contains(name) {
        bail!("the step \"{name}\" runs only with --long");
    }
    let quoted: Vec<String> = all.iter().map(|name| format!("\"{name}\"")).collect();
    bail!("there is no step \"{name}\". The steps are: {}", quoted.join(", "))
}

/// The amount of testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestScope {
    /// The tests of every run.
    Default,
    /// Also the slow tests.
    Long,
}

fn cargo_command(root: &Path, words: &[&str]) -> Program {
    Program::new("cargo", words).in_folder(root)
}

/// A minimal toolchain has neither the formatter nor the lints.
fn ensure_toolchain(root: &Path) -> Outcome {
    if Machine.has("cargo", &["fmt", "--version"]) && Machine.has("cargo", &["clippy", "--version"]) {
        return Outcome::Passed(Vec::new());
    }
    Program::new("rustup", &["component", "add", "rustfmt", "clippy"]).in_folder(root).run()
}

/// The terminal UI is tested in tmux.
fn ensure_tmux() -> Outcome {
    if Machine.has("tmux", &["-V"]) { Outcome::Passed(Vec::new()) } else { Machine.install(&["tmux"]) }
}

/// Signed versions are tested with real keys. ssh-keygen has no version option.
fn ensure_ssh_keygen() -> Outcome {
    if Machine.has("sh", &["-c", "command -v ssh-keygen"]) {
        Outcome::Passed(Vec::new())
    } else {
        Machine.install(&["openssh-client"])
    }
}

/// File modes are tested with strace.
fn ensure_strace() -> Outcome {
    if Machine.has("strace", &["-V"]) { Outcome::Passed(Vec::new()) } else { Machine.install(&["strace"]) }
}

/// Mail is tested with a real server. Dovecot is not on the PATH, and IMAP is a package of its own.
fn ensure_dovecot() -> Outcome {
    let is_there = |path: &str| Machine.has("test", &["-x", path]);
    if is_there("/usr/sbin/dovecot") && is_there("/usr/lib/dovecot/imap") {
        Outcome::Passed(Vec::new())
    } else {
        Machine.install(&["dovecot-imapd"])
    }
}

fn run_tests(root: &Path, length: TestScope) -> Outcome {
    if !Machine.has("cargo", &["nextest", "--version"]) {
        if length == TestScope::Default {
            return run_tests_without_nextest(root);
        }
        let installed = cargo_command(root, &["install", "cargo-nextest", "--locked"]).run();
        if !installed.passed() {
            return installed;
        }
    }
    let mut words = vec!["nextest", "run", "--workspace", "--no-fail-fast", "--color", "never"];
    if length == TestScope::Long {
        // The real claude program, Radicale and Litestream have their own steps, which install them
        // first.
        words.extend([
            "--run-ignored",
            "all",
            "-E",
            "not binary(claude) and not test(/::claude$/) and not binary(radicale) and not binary(litestream)",
        ]);
    }
    cargo_command(root, &words).with_summary(report::nextest_summary).run()
}

/// Without nextest the test binaries run one after another, which is slower.
fn run_tests_without_nextest(root: &Path) -> Outcome {
    let words = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast", "--color", "never"];
    cargo_command(root, &words).with_summary(report::libtest_summary).run()
}

fn run_doc_tests(root: &Path) -> Outcome {
    let words = ["test", "--workspace", "--doc", "--no-fail-fast", "--color", "never"];
    cargo_command(root, &words).with_summary(report::libtest_summary).run()
}

fn check_documentation(root: &Path) -> Outcome {
    cargo_command(root, &["doc", "--workspace", "--no-deps", "--document-private-items"])
        .with_variable(
            "RUSTDOCFLAGS",
            "-D rustdoc::broken_intra_doc_links -D rustdoc::invalid_rust_codeblocks",
        )
        .run()
}

#[cfg(test)]
mod run_tests {
    use super::*;

    fn check(wanted: &[&str], length: TestScope) -> Result<(), String> {
        let root = source_files::root();
        let wanted: Vec<String> = wanted.iter().map(|name| String::from(*name)).collect();
        let checked = check_names(&wanted, &step_names(&root, length), &step_names(&root, TestScope::Long));
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_step_name_lists_all_steps() {
        assert_eq!(check(&[], TestScope::Default), Ok(()));
        assert_eq!(check(&["tests", "radicale tests", "clean checkout"], TestScope::Default), Ok(()));
        assert_eq!(check(&["foreign tests"], TestScope::Long), Ok(()));
        let only_long = "the step \"foreign tests\" runs only with --long".to_owned();
        assert_eq!(check(&["tests", "foreign tests"], TestScope::Default), Err(only_long));
        let unknown = check(&["tests", "foreign"], TestScope::Default).unwrap_err();
        assert!(
            unknown.starts_with("there is no step \"foreign\". The steps are: \"toolchain\", "),
            "{unknown}"
        );
        for name in [
            "\"mcp servers\"",
            "\"foreign tests\"",
            "\"litestream tests\"",
            "\"claude tests\"",
            "\"advisories\"",
        ] {
            assert!(unknown.contains(name), "{unknown}");
        }
    }
}
