//! The tests of the page in a real browser: Node, a browser and the packages first, then the tests.

use std::path::Path;
use std::time::SystemTime;

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program, built_binary};

/// Where they are.
const FOLDER: &str = "tests/browser";

/// What a browser is called, by system.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Sets up what the browser tests need and runs them.
pub fn steps(report: &mut Report, root: &Path) {
    let folder = root.join(FOLDER);
    if !folder.is_dir() {
        let why = format!("there is no {FOLDER}");
        report.step("browser tests", || Outcome::NotRun(NotRun::Optional, why));
        return;
    }
    let ready = report.step("node", || Machine.node())
        && report.step("browser", browser)
        && report.step("packages", || packages(&folder));
    report.step("browser tests", || if ready { tests(&folder, root) } else { unready() });
}

fn unready() -> Outcome {
    Outcome::NotRun(NotRun::Required, "what they need could not be set up".into())
}

fn browser() -> Outcome {
    match Machine.first(BROWSERS) {
        Some(_) => Outcome::Passed(Vec::new()),
        None => Machine.install(&["chromium"]),
    }
}

fn packages(folder: &Path) -> Outcome {
    let lock = folder.join("package-lock.json");
    let installed = folder.join("node_modules/.package-lock.json");
    if !lock.exists() || changed(&installed) >= changed(&lock) {
        return Outcome::Passed(Vec::new());
    }
    // The browser comes from the system, so that the tests use the one a human would.
    Program::new("npm", &["ci", "--no-audit", "--no-fund"])
        .within(folder)
        .with("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .with("PUPPETEER_SKIP_DOWNLOAD", "1")
        .run()
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// The tests learn from two variables which binary to start and which browser to open.
fn tests(folder: &Path, root: &Path) -> Outcome {
    // One file at a time: several browsers at once on a small machine run into each other's timeouts.
    // A test that hangs must fail, not wait for ever.
    let words = ["--test", "--test-concurrency=1", "--test-timeout=180000", "--test-reporter=tap"];
    let mut program = Program::new("node", &words).within(folder);
    if let Some(binary) = built_binary(root) {
        program = program.with("OLLIM_BOT_BIN", binary);
    }
    if let Some(browser) = Machine.first(BROWSERS) {
        program = program.with("OLLIM_TEST_BROWSER", browser);
    }
    let outcome = program.counting(report::node).run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::node("")) {
        return Outcome::Failed(Vec::new(), format!("no test was found in {FOLDER}\n"));
    }
    outcome
}
