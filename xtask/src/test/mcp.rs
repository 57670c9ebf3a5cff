//! Tests our MCP server and client with the official SDK, which is installed outside the
//! repository: the current one, which supports both eras, and the last one that supports only the
//! handshake era.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::report::{self, Report};
use super::step::{NotRun, Outcome, Program, target_folder};

/// The folder of the tests and their requirements.
const FOLDER: &str = "tests/foreign";
/// The last SDK that knows only revisions with a handshake.
const HANDSHAKE_SDK: &str = "mcp==1.30.0";

/// Installs the client and runs its test. Without it the step fails.
pub fn run_steps(report: &mut Report, root: &Path) {
    report.step("mcp client", || {
        let Some(package) = sdk_requirement(root) else { return not_ready("the requirements name no mcp") };
        match Machine.cache_folder(&package.replace("==", "-client-")) {
            Some(home) => install(&home, &package).and(|| build(root)).and(|| run_server_test(&home, root)),
            None => not_ready("there is no home folder to install the client into"),
        }
    });
    report.step("mcp servers", || {
        let Some(package) = sdk_requirement(root) else { return not_ready("the requirements name no mcp") };
        let homes = Machine
            .cache_folder(&package.replace("==", "-client-"))
            .zip(Machine.cache_folder(&HANDSHAKE_SDK.replace("==", "-client-")));
        let Some((current, handshake)) = homes else {
            return not_ready("there is no home folder to install the servers into");
        };
        let installed = install(&current, &package).and(|| install(&handshake, HANDSHAKE_SDK));
        installed.and(|| run_client_tests(&current, &handshake, root))
    });
}

fn not_ready(why: &str) -> Outcome {
    Outcome::NotRun(NotRun::Required, why.to_owned())
}

/// Returns the SDK in the version that the other tests use.
fn sdk_requirement(root: &Path) -> Option<String> {
    let all = std::fs::read_to_string(root.join(FOLDER).join("requirements.txt")).ok()?;
    all.lines().find(|line| line.starts_with("mcp==")).map(|line| line.trim().to_owned())
}

fn python_path(home: &Path) -> PathBuf {
    home.join("bin/python")
}

fn install(home: &Path, package: &str) -> Outcome {
    let python = python_path(home).display().to_string();
    if Machine.has(&python, &["-c", "import mcp"]) {
        return Outcome::Passed(Vec::new());
    }
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
    let made = || Program::new("python3", &["-m", "venv", &home.display().to_string()]).run();
    Machine.ensure_python().and(made).and(|| Program::new(&python, &words).run())
}

/// Builds the tested program, so that a single step does not test an old one.
fn build(root: &Path) -> Outcome {
    Program::new("cargo", &["build", "--package", "ollim-bot", "--bins"]).in_folder(root).run()
}

fn run_server_test(home: &Path, root: &Path) -> Outcome {
    let Some(target) = target_folder(root) else { return not_ready("cargo does not say where it builds") };
    let words = ["-m", "unittest", "--verbose", "test_mcp"];
    let program = Program::new(&python_path(home).display().to_string(), &words);
    let program =
        program.in_folder(&root.join(FOLDER)).with_variable("OLLIM_TEST_BINS", target.join("debug"));
    let outcome =
        program.with_variable("PYTHONDONTWRITEBYTECODE", "1").with_summary(report::unittest_summary).run();
    // A run that found no test must not look like one that passed.
    if outcome == Outcome::Passed(report::unittest_summary("")) {
        return Outcome::Failed(Vec::new(), "the test of the mcp client was not found\n".to_owned());
    }
    outcome
}

/// Tests our client against both SDKs. These tests are otherwise ignored, because they need Python
/// packages.
fn run_client_tests(current: &Path, handshake: &Path, root: &Path) -> Outcome {
    let words =
        ["nextest", "run", "-p", "tools", "--run-ignored", "only", "-E", "test(mcp::tests::foreign::)"];
    let program = Program::new("cargo", &words).in_folder(root);
    let program = program.with_variable("OLLIM_MCP_PYTHON", python_path(current));
    program
        .with_variable("OLLIM_MCP_PYTHON_HANDSHAKE", python_path(handshake))
        .with_summary(report::nextest_summary)
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdk_version_comes_from_the_requirements() {
        let package = sdk_requirement(&crate::source_files::root()).unwrap();
        assert!(package.starts_with("mcp==") && package.len() > 5, "{package}");
    }
}
