//! The CalDAV tests with a real Radicale server, which is installed outside the repository.

use std::path::{Path, PathBuf};

use super::TestScope;
use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program};

/// The version the tests were written for.
const VERSION: &str = "3.9.0";

/// The variable with a python that has Radicale; set it to use another installation.
const VARIABLE: &str = "OLLIM_TEST_RADICALE";

/// Installs the server and runs the tests that need it. Without it the step fails.
pub fn run_steps(report: &mut Report, root: &Path, length: TestScope) {
    report.step("radicale tests", || {
        let named = Machine.variable(VARIABLE).map(PathBuf::from);
        match (named, Machine.cache_folder(&format!("radicale-{VERSION}"))) {
            (Some(python), _) if is_installed(&python) => run_tests(&python, root, length),
            (Some(python), _) => not_ready(format!("{VARIABLE}: {} has no radicale", python.display())),
            (None, Some(home)) => install(&home).and(|| run_tests(&python_path(&home), root, length)),
            (None, None) => not_ready("there is no home folder to install radicale into".to_owned()),
        }
    });
}

fn not_ready(why: String) -> Outcome {
    Outcome::NotRun(NotRun::Required, why)
}

fn python_path(home: &Path) -> PathBuf {
    home.join("bin/python")
}

fn is_installed(python: &Path) -> bool {
    Machine.has(&python.display().to_string(), &["-m", "radicale", "--version"])
}

fn install(home: &Path) -> Outcome {
    let python = python_path(home);
    if is_installed(&python) {
        return Outcome::Passed(Vec::new());
    }
    let package = format!("radicale=={VERSION}");
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &package];
    let made = || Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    Machine.ensure_python().and(made).and(|| Program::new(&python.display().to_string(), &words).run())
}

fn run_tests(python: &Path, root: &Path, length: TestScope) -> Outcome {
    let packages = ["--package", "accounts", "--package", "ollim-bot"];
    let mut words = [&["test"][..], &packages, &["--test", "radicale", "--color", "never", "--"]].concat();
    words.push("--include-ignored");
    if length == TestScope::Default {
        words.extend(["--skip", "long::"]);
    }
    let outcome = Program::new("cargo", &words)
        .in_folder(root)
        .with_variable(VARIABLE, python)
        .with_summary(report::libtest_summary)
        .run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::libtest_summary("")) {
        return Outcome::Failed(Vec::new(), "no test with radicale was found\n".to_owned());
    }
    outcome
}
