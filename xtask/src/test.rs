//! The one command that tests everything, and sets up what the tests need.
//!
//! Steps run in order, and a failed one does not stop the others, so that one run tells all there is to tell.
//! A step that could not run counts as failed, unless it is optional and says how to get it.

use std::path::Path;

use anyhow::bail;
use clap::Args;

use crate::out::say;
use crate::tree;

pub mod browser;
pub mod claude;
pub mod dependencies;
pub mod foreign;
pub mod machine;
pub mod mcp;
pub mod radicale;
pub mod report;
pub mod step;

use machine::Machine;
use report::Report;
use step::{Outcome, Program};

/// Runs every test there is, with all set-up on a fresh machine.
#[derive(Args, Debug)]
pub struct Test {
    /// Also the tests that take long; installs the tools that are otherwise only used when present.
    #[arg(long)]
    long: bool,
}

impl Test {
    /// Runs all steps; fails if one failed or could not run.
    pub fn run(&self) -> anyhow::Result<()> {
        let root = tree::root();
        let mut report = Report::default();
        let length = if self.long { Length::Long } else { Length::Usual };
        report.step("toolchain", || toolchain(&root));
        report.step("format", || cargo(&root, &["fmt", "--all", "--check"]).run());
        report.step("lints", || {
            cargo(&root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
        });
        report.step("build", || cargo(&root, &["build", "--workspace", "--bins"]).run());
        report.step("tmux", tmux);
        report.step("dovecot", dovecot);
        report.step("strace", strace);
        report.step("ssh-keygen", ssh_keygen);
        report.step("tests", || tests(&root, length));
        report.step("doc tests", || doc_tests(&root));
        report.step("documentation", || documentation(&root));
        browser::steps(&mut report, &root);
        claude::steps(&mut report, &root);
        radicale::steps(&mut report, &root, length);
        mcp::steps(&mut report, &root);
        if length == Length::Long {
            foreign::steps(&mut report, &root);
        }
        dependencies::steps(&mut report, &root);
        say(report.summary());
        match report.failures() {
            0 => Ok(()),
            1 => bail!("one step did not pass"),
            count => bail!("{count} steps did not pass"),
        }
    }
}

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// What every run tests.
    Usual,
    /// Also what takes long.
    Long,
}

fn cargo(root: &Path, words: &[&str]) -> Program {
    Program::new("cargo", words).within(root)
}

/// A toolchain installed with the least there is has neither the formatter nor the lints.
fn toolchain(root: &Path) -> Outcome {
    if Machine.has("cargo", &["fmt", "--version"]) && Machine.has("cargo", &["clippy", "--version"]) {
        return Outcome::Passed(Vec::new());
    }
    Program::new("rustup", &["component", "add", "rustfmt", "clippy"]).within(root).run()
}

/// The terminal is tested in a real one.
fn tmux() -> Outcome {
    match Machine.has("tmux", &["-V"]) {
        true => Outcome::Passed(Vec::new()),
        false => Machine.install(&["tmux"]),
    }
}

/// Versions are signed with real keys. It tells no version, and fails at anything that is no file of keys.
fn ssh_keygen() -> Outcome {
    match Machine.has("sh", &["-c", "command -v ssh-keygen"]) {
        true => Outcome::Passed(Vec::new()),
        false => Machine.install(&["openssh-client"]),
    }
}

/// What is made is looked at while it is made.
fn strace() -> Outcome {
    match Machine.has("strace", &["-V"]) {
        true => Outcome::Passed(Vec::new()),
        false => Machine.install(&["strace"]),
    }
}

/// Mail is read from a real server. It is no program of everybody's path, and its parts are packages of their own.
fn dovecot() -> Outcome {
    let is_there = |path: &str| Machine.has("test", &["-x", path]);
    match is_there("/usr/sbin/dovecot") && is_there("/usr/lib/dovecot/imap") {
        true => Outcome::Passed(Vec::new()),
        false => Machine.install(&["dovecot-imapd"]),
    }
}

fn tests(root: &Path, length: Length) -> Outcome {
    if !Machine.has("cargo", &["nextest", "--version"]) {
        if length == Length::Usual {
            return plain_tests(root);
        }
        let installed = cargo(root, &["install", "cargo-nextest", "--locked"]).run();
        if !installed.passed() {
            return installed;
        }
    }
    let mut words = vec!["nextest", "run", "--workspace", "--no-fail-fast", "--color", "never"];
    if length == Length::Long {
        // The real claude program and a real Radicale are tested in steps of their own, which install them first.
        words.extend([
            "--run-ignored",
            "all",
            "-E",
            "not binary(claude) and not test(/::claude$/) and not binary(radicale)",
        ]);
    }
    cargo(root, &words).counting(report::nextest).run()
}

/// Without nextest the same tests run one file after another: slower, and just as true.
fn plain_tests(root: &Path) -> Outcome {
    let words = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast", "--color", "never"];
    cargo(root, &words).counting(report::libtest).run()
}

fn doc_tests(root: &Path) -> Outcome {
    let words = ["test", "--workspace", "--doc", "--no-fail-fast", "--color", "never"];
    cargo(root, &words).counting(report::libtest).run()
}

fn documentation(root: &Path) -> Outcome {
    cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items"])
        .with("RUSTDOCFLAGS", "-D rustdoc::broken_intra_doc_links -D rustdoc::invalid_rust_codeblocks")
        .run()
}
