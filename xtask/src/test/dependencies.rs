//! L1: checks licences, sources and known vulnerabilities of our dependencies.

use std::path::Path;

use super::machine::Machine;
use super::report::Report;
use super::step::{NotRun, Outcome, Program};

/// The version whose messages are known here.
const VERSION: &str = "0.20.2";
/// The messages if the advisory database cannot be fetched, and if there is no local copy or only
/// an old one.
const UNREACHED: &str = "failed to fetch advisory database";
const NEVER_FETCHED: &str = "failed to get 'FETCH_HEAD' metadata";
const TOO_OLD: &str = "repository is stale";

/// Checks all dependencies, including those for build and tests.
pub fn steps(report: &mut Report, root: &Path) {
    if report.step("cargo-deny", || installed(root)) {
        report.step("dependencies", || deny(root, &["check", "licenses", "bans", "sources"]));
        report.step("advisories", || advisories(root));
    }
}

fn installed(root: &Path) -> Outcome {
    if Machine.has("cargo", &["deny", "--version"]) {
        Outcome::Passed(Vec::new())
    } else {
        let words = ["install", "cargo-deny", "--locked", "--version", VERSION];
        Program::new("cargo", &words).within(root).run()
    }
}

/// Checks against the current database. If it cannot be fetched, uses the local copy; without a
/// recent one the step does not run.
fn advisories(root: &Path) -> Outcome {
    match deny(root, &["check", "advisories"]) {
        Outcome::Failed(_, said) if said.contains(UNREACHED) => {
            from_memory(deny(root, &["--offline", "check", "advisories"]))
        }
        outcome @ (Outcome::Passed(_) | Outcome::Failed(..) | Outcome::NotRun(..)) => outcome,
    }
}

/// Interprets a check against the local copy.
fn from_memory(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(_, said) if [NEVER_FETCHED, TOO_OLD].iter().any(|none| said.contains(none)) => {
            let why = "the list of known faults cannot be fetched from here, and there is no recent one";
            Outcome::NotRun(NotRun::Optional, why.into())
        }
        outcome @ (Outcome::Passed(_) | Outcome::Failed(..) | Outcome::NotRun(..)) => outcome,
    }
}

fn deny(root: &Path, words: &[&str]) -> Outcome {
    Program::new("cargo", &[&["deny", "--workspace"], words].concat()).within(root).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: only a missing database is excused; a vulnerability in the local copy is a failure.
    #[test]
    fn without_a_list_nothing_is_claimed_and_with_one_a_fault_fails() {
        let failed = |said: &str| from_memory(Outcome::Failed(Vec::new(), said.into()));
        for none in [NEVER_FETCHED, TOO_OLD] {
            assert!(matches!(failed(none), Outcome::NotRun(NotRun::Optional, _)), "{none}");
        }
        assert!(matches!(failed("error[vulnerability]: reads beyond the end"), Outcome::Failed(..)));
        assert!(from_memory(Outcome::Passed(Vec::new())).passed());
    }
}
