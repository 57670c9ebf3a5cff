//! The tests with the real claude program, which is installed outside the repository.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program};

/// The version the tests were written for.
const VERSION: &str = "2.1.325";

/// The variable with the path of the program; set it to use another installation.
pub const VARIABLE: &str = "OLLIM_TEST_CLAUDE";

/// Installs the program and runs the tests that need it. A machine where it cannot be installed is
/// no failure, but the summary says that these tests did not run.
pub fn run_steps(report: &mut Report, root: &Path) {
    let Some(program) = program_path() else {
        let why = "there is no home folder to install the claude program into";
        report.step("claude tests", || Outcome::NotRun(NotRun::Optional, why.into()));
        return;
    };
    report.step("claude tests", || match install(&program) {
        Outcome::Passed(_) => run_tests(&program, root),
        Outcome::Failed(_, why) => not_ready(&why),
        Outcome::NotRun(_, why) => not_ready(&why),
    });
}

/// Returns the program after installing it, or None if that fails.
pub fn ensure_installed() -> Option<PathBuf> {
    program_path().filter(|program| install(program).passed())
}

fn not_ready(why: &str) -> Outcome {
    let why = why.lines().last().unwrap_or_default();
    Outcome::NotRun(NotRun::Optional, format!("the claude program could not be installed: {why}"))
}

/// Returns the path of the program, installed or not.
fn program_path() -> Option<PathBuf> {
    if let Some(path) = Machine.variable(VARIABLE) {
        return Some(path.into());
    }
    Machine.cache_folder(&format!("claude-code-{VERSION}/node_modules/.bin/claude"))
}

fn install(program: &Path) -> Outcome {
    if version(program) == Some(VERSION.to_owned()) {
        return Outcome::Passed(Vec::new());
    }
    let Some(folder) = program.ancestors().nth(3) else { return not_ready("no folder for it") };
    if !Machine.has("npm", &["--version"]) {
        let installed = Machine.install(&["nodejs", "npm"]);
        if !installed.passed() {
            return installed;
        }
    }
    let prefix = folder.display().to_string();
    let package = format!("@anthropic-ai/claude-code@{VERSION}");
    let words = ["install", "--prefix", &prefix, "--no-audit", "--no-fund", &package];
    let installed = Program::new("npm", &words).run();
    match version(program) {
        Some(found) if found == VERSION => installed,
        Some(found) => Outcome::Failed(Vec::new(), format!("wanted version {VERSION}, found {found}\n")),
        None => match installed {
            Outcome::Passed(_) => {
                Outcome::Failed(Vec::new(), format!("{} does not run\n", program.display()))
            }
            Outcome::Failed(..) | Outcome::NotRun(..) => installed,
        },
    }
}

fn version(program: &Path) -> Option<String> {
    let output = Program::new(&program.display().to_string(), &["--version"]).stdout()?;
    output.split_whitespace().next().map(str::to_owned)
}

/// Runs the tests of the client, of the whole application, and the stories with this model.
fn run_tests(program: &Path, root: &Path) -> Outcome {
    let packages = ["--package", "models", "--package", "ollim-bot", "--test", "claude"];
    let include_ignored = ["--include-ignored", "--skip", "measure::"];
    let run = |what: &[&str], which: &[&str]| {
        let words: Vec<_> = ["test", "--no-fail-fast", "--color", "never"]
            .iter()
            .chain(what)
            .chain(&["--"])
            .chain(which)
            .copied()
            .collect();
        Program::new("cargo", &words)
            .in_folder(root)
            .with_variable(VARIABLE, program)
            .with_summary(report::libtest_summary)
            .run()
    };
    run(&packages, &include_ignored)
        .and(|| run(&["--package", "engine", "--test", "stories"], &["--ignored", "claude"]))
}
