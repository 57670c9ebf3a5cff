//! L1: checks licences, sources and known vulnerabilities of our dependencies.

use std::path::Path;

use super::machine::Machine;
use super::report::Report;
use super::step::{NotRun, Outcome, Program};

/// The version whose messages are known here.
const VERSION: &str = "0.20.2";
/// The messages if the advisory database cannot be fetched, and if there is no local copy or only
/// an old one.
const FETCH_FAILED: &str = "failed to fetch advisory database";
const NEVER_FETCHED: &str = "failed to get 'FETCH_HEAD' metadata";
const TOO_OLD: &str = "repository is stale";

/// Checks all dependencies, including those for build and tests.
pub fn run_steps(report: &mut Report, root: &Path) {
    if report.step("cargo-deny", || ensure_cargo_deny(root)) {
        report.step("dependencies", || run_deny(root, &["check", "licenses", "bans", "sources"]));
        report.step("advisories", || check_advisories(root));
    }
}

fn ensure_cargo_deny(root: &Path) -> Outcome {
    if Machine.has("cargo", &["deny", "--version"]) {
        Outcome::Passed(Vec::new())
    } else {
        let words = ["install", "cargo-deny", "--locked", "--version", VERSION];
        Program::new("cargo", &words).in_folder(root).run()
    }
}

/// Checks against the current database. If it cannot be fetched, uses the local copy; without a
/// recent one the step does not run.
fn check_advisories(root: &Path) -> Outcome {
    match run_deny(root, &["check", "advisories"]) {
        Outcome::Failed(_, said) if said.contains(FETCH_FAILED) => {
            offline_result(run_deny(root, &["--offline", "check", "advisories"]))
        }
        outcome @ (Outcome::Passed(_) | Outcome::Failed(..) | Outcome::NotRun(..)) => outcome,
    }
}

/// Interprets a check against the local copy.
fn offline_result(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(_, said) if [NEVER_FETCHED, TOO_OLD].iter().any(|none| said.contains(none)) => {
            let why = "the list of known faults cannot be fetched from here, and there is no recent one";
            Outcome::NotRun(NotRun::Optional, why.into())
        }
        outcome @ (Outcome::Passed(_) | Outcome::Failed(..) | Outcome::NotRun(..)) => outcome,
    }
}

fn run_deny(root: &Path, words: &[&str]) -> Outcome {
    Program::new("cargo", &[&["deny", "--workspace"], words].concat()).in_folder(root).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: only a missing database is excused; a vulnerability in the local copy is a failure.
    #[test]
    fn missing_database_is_excused_and_a_vulnerability_fails() {
        let failed = |output: &str| offline_result(Outcome::Failed(Vec::new(), output.into()));
        for none in [NEVER_FETCHED, TOO_OLD] {
            assert!(matches!(failed(none), Outcome::NotRun(NotRun::Optional, _)), "{none}");
        }
        assert!(matches!(failed("error[vulnerability]: reads beyond the end"), Outcome::Failed(..)));
        assert!(offline_result(Outcome::Passed(Vec::new())).passed());
    }
}
