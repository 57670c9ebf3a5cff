//! A test step: a program that runs with captured output, and its outcome.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Passed, with the summary lines of its runner.
    Passed(Vec<String>),
    /// Failed, with the summary lines of its runner and its whole output.
    Failed(Vec<String>, String),
    /// Could not run, with the reason.
    NotRun(NotRun, String),
}

impl Outcome {
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed(_))
    }

    /// Runs `next` if this passed, and returns an outcome with the summary lines of both.
    pub fn and(self, next: impl FnOnce() -> Self) -> Self {
        let Self::Passed(mut counts) = self else { return self };
        match next() {
            Self::Passed(more) => {
                counts.extend(more);
                Self::Passed(counts)
            }
            Self::Failed(more, said) => {
                counts.extend(more);
                Self::Failed(counts, said)
            }
            not_run @ Self::NotRun(..) => not_run,
        }
    }
}

/// The severity of a step that could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// A failure, so that it is not taken for a pass.
    Required,
    /// No failure: a documented reason.
    Optional,
}

/// Extracts the summary lines of a test runner from its output.
pub type SummaryLines = fn(&str) -> Vec<String>;

/// A program with its arguments.
#[derive(Debug)]
pub struct Program {
    name: String,
    command: Command,
    count: SummaryLines,
}

impl Program {
    /// Creates a program. Variables that `cargo run` sets for xtask are removed, because build
    /// scripts that watch them would run again each time.
    pub fn new(name: &str, words: &[&str]) -> Self {
        let mut command = Command::new(name);
        command.args(words).stdin(Stdio::null());
        for (variable, _) in std::env::vars_os() {
            if is_set_by_cargo(&variable) {
                command.env_remove(variable);
            }
        }
        Self { name: name.into(), command, count: |_| Vec::new() }
    }

    /// Sets the working directory.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets an environment variable.
    pub fn with_variable(mut self, variable: &str, value: impl Into<OsString>) -> Self {
        self.command.env(variable, value.into());
        self
    }

    /// Sets how its summary lines are found.
    pub fn with_summary(mut self, count: SummaryLines) -> Self {
        self.count = count;
        self
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Outcome {
        match self.command.output() {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                let counts = (self.count)(&text);
                if output.status.success() { Outcome::Passed(counts) } else { Outcome::Failed(counts, text) }
            }
            Err(error) => Outcome::NotRun(NotRun::Required, format!("cannot start {}: {error}", self.name)),
        }
    }

    /// Returns its trimmed stdout, if it succeeds.
    pub fn stdout(self) -> Option<String> {
        Some(self.stdout_untrimmed()?.trim().to_owned())
    }

    /// Returns its stdout, if it succeeds.
    pub fn stdout_untrimmed(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn is_set_by_cargo(variable: &OsString) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Returns the build folder.
pub fn target_folder(root: &Path) -> Option<PathBuf> {
    let words = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata = Program::new("cargo", &words).in_folder(root).stdout()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).ok()?;
    Some(PathBuf::from(metadata.get("target_directory")?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::new("sh", &["-c", script])
    }

    #[test]
    fn successful_program_passes_with_its_summary() {
        let count: SummaryLines =
            |output| output.lines().filter(|line| line.contains("passed")).map(str::to_owned).collect();
        let outcome = shell("echo noise; echo 3 passed >&2").with_summary(count).run();
        assert_eq!(outcome, Outcome::Passed(vec!["3 passed".into()]));
    }

    #[test]
    fn failed_program_keeps_its_output() {
        assert_eq!(shell("echo why; exit 3").run(), Outcome::Failed(vec![], "why\n".into()));
    }

    #[test]
    fn second_run_needs_the_first_and_outcomes_are_joined() {
        let passed = |count: &str| Outcome::Passed(vec![count.to_owned()]);
        let failed = Outcome::Failed(vec!["2".into()], "why".into());
        assert_eq!(passed("1").and(|| passed("2")), Outcome::Passed(vec!["1".into(), "2".into()]));
        assert_eq!(
            passed("1").and(|| failed.clone()),
            Outcome::Failed(vec!["1".into(), "2".into()], "why".into())
        );
        assert_eq!(failed.clone().and(|| passed("1")), failed);
    }

    #[test]
    fn missing_program_is_a_failure() {
        let outcome = Program::new("no-such-program-anywhere", &[]).run();
        assert!(matches!(outcome, Outcome::NotRun(NotRun::Required, _)), "{outcome:?}");
    }

    #[test]
    fn program_does_not_get_variables_of_cargo() {
        assert_eq!(shell("echo ${CARGO_PKG_NAME-nothing}").stdout().as_deref(), Some("nothing"));
    }

    #[test]
    fn build_folder_is_found() {
        assert!(target_folder(&crate::source_files::root()).is_some_and(|path| path.is_absolute()));
    }
}
