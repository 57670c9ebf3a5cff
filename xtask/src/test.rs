//! The command that runs all tests, and sets up what they need.
//!
//! Steps run in order, and a failure does not stop the next ones, so that one run reports
//! everything. A step that could not run counts as failed, unless it is optional.

use std::path::Path;

use anyhow::bail;
use clap::Args;

use crate::out::say;
use crate::tree;

pub mod browser;
pub mod checkout;
pub mod claude;
pub mod dependencies;
pub mod failed;
pub mod foreign;
pub mod litestream;
pub mod machine;
pub mod mcp;
pub mod radicale;
pub mod report;
pub mod step;

use checkout::Checkout;
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
        let root = tree::root();
        let length = if self.long { Length::Long } else { Length::Usual };
        check_names(&self.only, &names(&root, length), &names(&root, Length::Long))?;
        let mut report = Report::of(self.only.clone());
        steps(&mut report, &root, length);
        say(report.summary());
        match report.failures() {
            0 => Ok(()),
            1 => bail!("one step did not pass"),
            count => bail!("{count} steps did not pass"),
        }
    }
}

/// Runs all steps in order.
fn steps(report: &mut Report, root: &Path, length: Length) {
    let checkout = Checkout::look(root);
    report.step("toolchain", || toolchain(root));
    report.step("format", || cargo(root, &["fmt", "--all", "--check"]).run());
    report.step("lints", || {
        cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
    });
    report.step("build", || cargo(root, &["build", "--workspace", "--bins"]).run());
    report.step("tmux", tmux);
    report.step("dovecot", dovecot);
    report.step("strace", strace);
    report.step("ssh-keygen", ssh_keygen);
    report.step("tests", || tests(root, length));
    report.step("doc tests", || doc_tests(root));
    report.step("documentation", || documentation(root));
    browser::steps(report, root);
    claude::steps(report, root);
    radicale::steps(report, root, length);
    mcp::steps(report, root);
    if length == Length::Long {
        foreign::steps(report, root);
        litestream::steps(report, root);
    }
    dependencies::steps(report, root);
    report.step("clean checkout", || checkout.compare(&Checkout::look(root)));
}

/// Returns the names of all steps of a run, in order.
fn names(root: &Path, length: Length) -> Vec<String> {
    let mut report = Report::listing();
    steps(&mut report, root, length);
    report.names()
}

/// Fails with the list of steps if one of the `wanted` names is not a step of this run.
fn check_names(wanted: &[String], usual: &[String], all: &[String]) -> anyhow::Result<()> {
    let Some(name) = wanted.iter().find(|name| !usual.contains(name)) else { return Ok(()) };
    if all.contains(name) {
        bail!("the step \"{name}\" runs only with --long");
    }
    let quoted: Vec<String> = all.iter().map(|name| format!("\"{name}\"")).collect();
    bail!("there is no step \"{name}\". The steps are: {}", quoted.join(", "))
}

/// The amount of testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The tests of every run.
    Usual,
    /// Also the slow tests.
    Long,
}

fn cargo(root: &Path, words: &[&str]) -> Program {
    Program::new("cargo", words).within(root)
}

/// A minimal toolchain has neither the formatter nor the lints.
fn toolchain(root: &Path) -> Outcome {
    if Machine.has("cargo", &["fmt", "--version"]) && Machine.has("cargo", &["clippy", "--version"]) {
        return Outcome::Passed(Vec::new());
    }
    Program::new("rustup", &["component", "add", "rustfmt", "clippy"]).within(root).run()
}

/// The terminal UI is tested in tmux.
fn tmux() -> Outcome {
    if Machine.has("tmux", &["-V"]) { Outcome::Passed(Vec::new()) } else { Machine.install(&["tmux"]) }
}

/// Signed versions are tested with real keys. ssh-keygen has no version option.
fn ssh_keygen() -> Outcome {
    if Machine.has("sh", &["-c", "command -v ssh-keygen"]) {
        Outcome::Passed(Vec::new())
    } else {
        Machine.install(&["openssh-client"])
    }
}

/// File modes are tested with strace.
fn strace() -> Outcome {
    if Machine.has("strace", &["-V"]) { Outcome::Passed(Vec::new()) } else { Machine.install(&["strace"]) }
}

/// Mail is tested with a real server. Dovecot is not on the PATH, and IMAP is a package of its own.
fn dovecot() -> Outcome {
    let is_there = |path: &str| Machine.has("test", &["-x", path]);
    if is_there("/usr/sbin/dovecot") && is_there("/usr/lib/dovecot/imap") {
        Outcome::Passed(Vec::new())
    } else {
        Machine.install(&["dovecot-imapd"])
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
        // The real claude program, Radicale and Litestream have their own steps, which install them
        // first.
        words.extend([
            "--run-ignored",
            "all",
            "-E",
            "not binary(claude) and not test(/::claude$/) and not binary(radicale) and not binary(litestream)",
        ]);
    }
    cargo(root, &words).counting(report::nextest).run()
}

/// Without nextest the test binaries run one after another, which is slower.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &[&str], length: Length) -> Result<(), String> {
        let root = tree::root();
        let wanted: Vec<String> = wanted.iter().map(|name| String::from(*name)).collect();
        let checked = check_names(&wanted, &names(&root, length), &names(&root, Length::Long));
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_step_is_chosen_by_its_name_and_an_unknown_name_lists_all_steps() {
        assert_eq!(check(&[], Length::Usual), Ok(()));
        assert_eq!(check(&["tests", "radicale tests", "clean checkout"], Length::Usual), Ok(()));
        assert_eq!(check(&["foreign tests"], Length::Long), Ok(()));
        let only_long = "the step \"foreign tests\" runs only with --long".to_owned();
        assert_eq!(check(&["tests", "foreign tests"], Length::Usual), Err(only_long));
        let unknown = check(&["tests", "foreign"], Length::Usual).unwrap_err();
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
