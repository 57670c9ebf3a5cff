//! Tests our fake servers with the vendors' own clients, which are installed outside the
//! repository.

use std::path::Path;

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program, target_folder};

/// The folder of the tests and their package lists.
const FOLDER: &str = "tests/foreign";

/// Installs the clients for Python and Node and runs the tests. Without one of them the step fails.
pub fn run_steps(report: &mut Report, root: &Path) {
    report.step("foreign tests", || match Machine.cache_folder("foreign-clients") {
        Some(home) => install_python_packages(&home, root)
            .and(|| install_node_packages(&home, root))
            .and(|| build(root))
            .and(|| run_tests(&home, root)),
        None => not_ready("there is no home folder to install the vendors' clients into"),
    });
}

fn not_ready(why: &str) -> Outcome {
    Outcome::NotRun(NotRun::Required, why.to_owned())
}

fn install_python_packages(home: &Path, root: &Path) -> Outcome {
    let made = || Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    let wanted = root.join(FOLDER).join("requirements.txt").display().to_string();
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", &wanted];
    Machine.ensure_python().and(made).and(|| Program::new(&python(home), &words).run())
}

/// Installs the Node packages: the types of the TypeScript clients, and the Discord library.
fn install_node_packages(home: &Path, root: &Path) -> Outcome {
    let home = home.join("node");
    let copy = || {
        std::fs::create_dir_all(&home)?;
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(root.join(FOLDER).join(file), home.join(file))?;
        }
        Ok::<(), std::io::Error>(())
    };
    if let Err(error) = copy() {
        return not_ready(&format!("cannot write into {}: {error}", home.display()));
    }
    let words = ["ci", "--no-audit", "--no-fund", "--prefer-offline"];
    Machine.ensure_node().and(|| Program::new("npm", &words).in_folder(&home).run())
}

/// Builds the programs that the tests start, so that a single step does not test old ones.
fn build(root: &Path) -> Outcome {
    let programs = ["build", "--package", "ollim-bot", "--package", "testkit", "--bins"];
    let example = ["build", "--package", "domain", "--example", "fires"];
    let run = |words: &[&str]| Program::new("cargo", words).in_folder(root).run();
    run(&programs).and(|| run(&example))
}

fn run_tests(home: &Path, root: &Path) -> Outcome {
    let Some(target) = target_folder(root) else { return not_ready("cargo does not say where it builds") };
    let words = ["-m", "unittest", "--verbose"];
    let program = Program::new(&python(home), &words).in_folder(&root.join(FOLDER));
    let program = program
        .with_variable("OLLIM_TEST_BINS", target.join("debug"))
        .with_variable("OLLIM_NODE_MODULES", home.join("node/node_modules"))
        .with_variable("PYTHONDONTWRITEBYTECODE", "1");
    require_complete(program.with_summary(report::unittest_summary).run())
}

/// Treats a run without tests, with a skipped one or with an expected failure as failed.
fn require_complete(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Passed(counts) if counts == report::unittest_summary("") => {
            Outcome::Failed(counts, format!("no test was found in {FOLDER}\n"))
        }
        Outcome::Passed(counts) if counts.iter().any(|line| !line.contains(", 0 failed, 0 skipped")) => {
            Outcome::Failed(counts, format!("a test in {FOLDER} was skipped, or is expected to fail\n"))
        }
        outcome @ (Outcome::Passed(_) | Outcome::Failed(..) | Outcome::NotRun(..)) => outcome,
    }
}

fn python(home: &Path) -> String {
    home.join("bin/python").display().to_string()
}

#[cfg(test)]
mod run_tests {
    use super::*;

    #[test]
    fn run_without_tests_or_with_a_skipped_one_fails() {
        let passed = |output: &str| require_complete(Outcome::Passed(report::unittest_summary(output)));
        assert!(passed("Ran 6 tests in 3.6s\n\nOK\n").passed());
        assert!(matches!(passed("Ran 6 tests in 3.6s\n\nOK (skipped=1)\n"), Outcome::Failed(..)));
        assert!(matches!(passed("Ran 6 tests in 3.6s\n\nOK (expected failures=1)\n"), Outcome::Failed(..)));
        assert!(matches!(passed("Ran 0 tests in 0.0s\n\nOK\n"), Outcome::Failed(..)));
    }

    #[test]
    fn vendor_clients_are_pinned() {
        let folder = crate::source_files::root().join(FOLDER);
        let python = std::fs::read_to_string(folder.join("requirements.txt")).unwrap();
        for package in ["anthropic", "openai", "mcp", "agentdojo"] {
            assert!(python.lines().any(|line| line.starts_with(&format!("{package}=="))), "{package}");
        }
        let node = std::fs::read_to_string(folder.join("package.json")).unwrap();
        let node: serde_json::Value = serde_json::from_str(&node).unwrap();
        for package in ["@anthropic-ai/sdk", "openai"] {
            let version = node["dependencies"][package].as_str().unwrap_or_default();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{package}: {version}");
        }
    }
}
