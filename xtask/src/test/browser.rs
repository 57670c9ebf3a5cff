//! The tests of the page in a real browser: sets up Node, a browser and the packages, then runs the
//! tests.

use std::path::Path;
use std::time::SystemTime;

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program, target_folder};

/// The folder of the tests.
const FOLDER: &str = "tests/browser";

/// Names of browsers on different systems.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Sets up what the browser tests need and runs them.
pub fn run_steps(report: &mut Report, root: &Path) {
    let folder = root.join(FOLDER);
    if !folder.is_dir() {
        let why = format!("there is no {FOLDER}");
        report.step("browser tests", || Outcome::NotRun(NotRun::Optional, why));
        return;
    }
    let ready = report.step("node", || Machine.ensure_node())
        && report.step("browser", ensure_browser)
        && report.step("packages", || install_packages(&folder))
        && report.step("page programs", || build(root));
    report.step("browser tests", || if ready { run_tests(&folder, root) } else { not_ready() });
}

fn not_ready() -> Outcome {
    Outcome::NotRun(NotRun::Required, "what they need could not be set up".into())
}

fn ensure_browser() -> Outcome {
    match Machine.first_available(BROWSERS) {
        Some(_) => Outcome::Passed(Vec::new()),
        None => Machine.install(&["chromium"]),
    }
}

fn install_packages(folder: &Path) -> Outcome {
    let lock = folder.join("package-lock.json");
    let installed = folder.join("node_modules/.package-lock.json");
    if !lock.exists() || modified(&installed) >= modified(&lock) {
        return Outcome::Passed(Vec::new());
    }
    // The browser of the system is used, as by a user.
    Program::new("npm", &["ci", "--no-audit", "--no-fund"])
        .in_folder(folder)
        .with_variable("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .with_variable("PUPPETEER_SKIP_DOWNLOAD", "1")
        .run()
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Builds the programs that the tests start, once for all files.
fn build(root: &Path) -> Outcome {
    let run = |words: &[&str]| Program::new("cargo", words).in_folder(root).run();
    run(&["build", "--package", "ollim-bot", "--package", "testkit", "--bins"])
        .and(|| run(&["build", "--package", "surfaces", "--example", "page"]))
}

/// The tests get the paths of the programs and of the build folder, for their pictures, in
/// variables.
fn run_tests(folder: &Path, root: &Path) -> Outcome {
    // One file at a time: several browsers at once slow each other down on a small machine.
    // The timeout applies to each test and to each file. It ends hung tests; each wait in a test
    // has its own limit.
    let words = ["--test", "--test-concurrency=1", "--test-timeout=3600000", "--test-reporter=tap"];
    let Some(target) = target_folder(root) else {
        return Outcome::NotRun(NotRun::Required, "cargo does not say where it builds".into());
    };
    let program = Program::new("node", &words).in_folder(folder);
    let program = program
        .with_variable("OLLIM_TEST_BINS", target.join("debug"))
        .with_variable("CARGO_TARGET_DIR", target);
    let outcome = program.with_summary(report::node_summary).run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::node_summary("")) {
        return Outcome::Failed(Vec::new(), format!("no test was found in {FOLDER}\n"));
    }
    outcome
}
