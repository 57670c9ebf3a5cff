//! The vendors' own clients against our played servers: they are installed outside the repository first.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program, target_folder};

/// Where the tests are, and which packages they need.
const FOLDER: &str = "tests/foreign";

/// Installs the clients and runs the tests. A machine that cannot have them is no failure of ours, but the
/// summary says that these tests did not run.
pub fn steps(report: &mut Report, root: &Path) {
    report.step("foreign tests", || match Machine.cache("foreign-clients") {
        Some(home) => match install(&home, root) {
            Outcome::Passed(_) => tests(&home, root),
            Outcome::Failed(_, why) | Outcome::NotRun(_, why) => unready(&why),
        },
        None => unready("there is no home folder to install them into"),
    });
}

fn unready(why: &str) -> Outcome {
    let why = why.trim_end().lines().last().unwrap_or_default();
    Outcome::NotRun(NotRun::Optional, format!("the vendors' clients could not be installed: {why}"))
}

fn install(home: &Path, root: &Path) -> Outcome {
    let made = Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    if !made.passed() {
        return made;
    }
    let wanted = root.join(FOLDER).join("requirements.txt").display().to_string();
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", &wanted];
    Program::new(&python(home), &words).run()
}

/// The packages of Node, for the bot that is written in its language. Without Node the test says that it was skipped.
fn node_modules(home: &Path, root: &Path) -> Option<PathBuf> {
    let home = home.join("node");
    std::fs::create_dir_all(&home).ok()?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(root.join(FOLDER).join(file), home.join(file)).ok()?;
    }
    let words = ["ci", "--no-audit", "--no-fund", "--prefer-offline"];
    Program::new("npm", &words).within(&home).run().passed().then(|| home.join("node_modules"))
}

fn tests(home: &Path, root: &Path) -> Outcome {
    let Some(target) = target_folder(root) else { return unready("cargo does not say where it builds") };
    let words = ["-m", "unittest", "--verbose"];
    let program = Program::new(&python(home), &words).within(&root.join(FOLDER));
    let mut program =
        program.with("OLLIM_TEST_BINS", target.join("debug")).with("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(modules) = node_modules(home, root) {
        program = program.with("OLLIM_NODE_MODULES", modules);
    }
    let outcome = program.counting(report::unittest).run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::unittest("")) {
        return Outcome::Failed(Vec::new(), format!("no test was found in {FOLDER}\n"));
    }
    outcome
}

fn python(home: &Path) -> String {
    home.join("bin/python").display().to_string()
}
