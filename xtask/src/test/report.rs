//! The report of a run: a line for each step as it ends, and a summary with the counts of the
//! runners and the failed tests.

use std::time::{Duration, Instant};

use super::failures;
use super::step::{NotRun, Outcome};
use crate::out::{print_line, print_partial};

/// Number of output lines shown for a failed step.
const LINES_SHOWN: usize = 300;

/// The completed steps.
#[derive(Debug, Default)]
pub struct Report {
    steps: Vec<CompletedStep>,
    selection: StepSelection,
}

/// The steps to run.
#[derive(Debug, Default)]
enum StepSelection {
    #[default]
    All,
    /// The steps with these names.
    Only(Vec<String>),
    /// None; collects their names.
    List(Vec<String>),
}

#[derive(Debug)]
struct CompletedStep {
    name: String,
    outcome: Outcome,
    duration: Duration,
}

impl Report {
    /// Creates a report of the steps with the names in `only`, or of all steps if it is empty.
    pub fn of_steps(only: Vec<String>) -> Self {
        let chosen = if only.is_empty() { StepSelection::All } else { StepSelection::Only(only) };
        Self { steps: Vec::new(), selection: chosen }
    }

    /// Creates a report that runs nothing and collects the names of the steps.
    pub fn list_only() -> Self {
        Self { steps: Vec::new(), selection: StepSelection::List(Vec::new()) }
    }

    /// Returns the collected names.
    pub fn names(self) -> Vec<String> {
        match self.selection {
            StepSelection::List(names) => names,
            StepSelection::All | StepSelection::Only(_) => Vec::new(),
        }
    }

    /// Runs a step and prints its result. Returns whether it passed. A step that was not selected
    /// is not run, and counts as passed for the steps that need it.
    pub fn step(&mut self, name: &str, run: impl FnOnce() -> Outcome) -> bool {
        match &mut self.selection {
            StepSelection::All => {}
            StepSelection::Only(names) if names.iter().any(|chosen| chosen == name) => {}
            StepSelection::Only(_) => return true,
            StepSelection::List(names) => {
                names.push(name.to_owned());
                return true;
            }
        }
        print_partial(format!("{name:<14} "));
        let start = Instant::now();
        let outcome = run();
        let done = CompletedStep { name: name.into(), outcome, duration: start.elapsed() };
        print_line(done.status_line());
        if let Outcome::Failed(_, said) = &done.outcome {
            print_line(last_lines(said));
        }
        let passed = done.outcome.passed();
        self.steps.push(done);
        passed
    }

    /// Returns the number of steps that failed, or were required and did not run.
    pub fn failures(&self) -> usize {
        self.steps.iter().filter(|done| done.is_failure()).count()
    }

    /// Formats the steps that did not pass, the counts of the runners, the failed tests, and the
    /// totals. Failed tests come last, because often only the end of a long log is visible.
    pub fn summary(&self) -> String {
        let mut text = String::from("\n");
        for done in self.steps.iter().filter(|done| !done.outcome.passed()) {
            text.push_str(&format!("{:<14} {}\n", done.name, done.status_line()));
        }
        for line in self.steps.iter().flat_map(CompletedStep::counts) {
            text.push_str(&format!("{line}\n"));
        }
        for done in &self.steps {
            for test in done.failed_tests() {
                text.push_str(&format!("failed in {}: {test}\n", done.name));
            }
        }
        let passed = self.steps.iter().filter(|done| done.outcome.passed()).count();
        let failed = self.failures();
        let skipped = self.steps.len() - passed - failed;
        let took: Duration = self.steps.iter().map(|done| done.duration).sum();
        let seconds = took.as_secs_f64();
        text + &format!(
            "{} steps in {seconds:.1} s: {passed} ok, {failed} not ok, {skipped} left out",
            self.steps.len()
        )
    }
}

impl CompletedStep {
    fn status_line(&self) -> String {
        let took = self.duration.as_secs_f64();
        match &self.outcome {
            Outcome::Passed(_) => format!("ok       {took:>7.1} s"),
            Outcome::Failed(..) => format!("FAILED   {took:>7.1} s"),
            Outcome::NotRun(NotRun::Required, why) => format!("NOT RUN  {why}"),
            Outcome::NotRun(NotRun::Optional, why) => format!("NOT RUN  (optional) {why}"),
        }
    }

    fn is_failure(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(..) | Outcome::NotRun(NotRun::Required, _))
    }

    fn failed_tests(&self) -> Vec<String> {
        match &self.outcome {
            Outcome::Failed(_, said) => failures::failed_tests(said),
            Outcome::Passed(_) | Outcome::NotRun(..) => Vec::new(),
        }
    }

    fn counts(&self) -> &[String] {
        match &self.outcome {
            Outcome::Passed(counts) | Outcome::Failed(counts, _) => counts,
            Outcome::NotRun(..) => &[],
        }
    }
}

fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.trim_end().lines().collect();
    let first = lines.len().saturating_sub(LINES_SHOWN);
    let left_out = if first > 0 { format!("... {first} lines before\n") } else { String::new() };
    left_out + &lines[first..].join("\n")
}

/// Returns the summary line of nextest.
pub fn nextest_summary(output: &str) -> Vec<String> {
    output.lines().filter(|line| line.trim_start().starts_with("Summary [")).map(str::to_owned).collect()
}

/// Returns the summary lines of libtest, without those of empty runs.
pub fn libtest_summary(output: &str) -> Vec<String> {
    output
        .lines()
        .filter(|line| line.starts_with("test result:"))
        .filter(|line| !line.contains(" 0 passed; 0 failed; 0 ignored;"))
        .map(str::to_owned)
        .collect()
}

/// Returns the counts of Node's runner in a similar format.
pub fn node_summary(output: &str) -> Vec<String> {
    let count = |what: &str| {
        let mark = format!("# {what} ");
        output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(&mark)?.trim().parse::<u32>().ok())
            .unwrap_or(0)
    };
    let failed = count("fail") + count("cancelled");
    vec![format!(
        "{} passed, {failed} failed, {} skipped (browser)",
        count("pass"),
        count("skipped") + count("todo")
    )]
}

/// Returns the counts of unittest in a similar format.
pub fn unittest_summary(output: &str) -> Vec<String> {
    let count = |words: &str, end: &str| {
        let number =
            output.lines().rev().find_map(|line| line.split_once(words)?.1.split(end).next()?.parse().ok());
        number.unwrap_or(0_u32)
    };
    let failed = count("failures=", ")").max(count("failures=", ",")) + count("errors=", ")");
    let ran = count("Ran ", " ");
    let skipped = count("skipped=", ")");
    vec![format!(
        "{} passed, {failed} failed, {skipped} skipped (foreign)",
        ran.saturating_sub(failed + skipped)
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let summary = "     Summary [   0.5s] 3 tests run: 3 passed, 0 skipped".to_owned();
        let done = |(name, outcome): (&str, Outcome)| CompletedStep {
            name: name.into(),
            outcome,
            duration: Duration::ZERO,
        };
        let steps = [
            ("tests", Outcome::Passed(vec![summary])),
            ("format", Outcome::Failed(vec![], "a diff".into())),
            ("browser", Outcome::NotRun(NotRun::Required, "no chromium".into())),
            ("dependencies", Outcome::NotRun(NotRun::Optional, "no cargo-deny".into())),
        ];
        Report { steps: steps.into_iter().map(done).collect(), selection: StepSelection::All }
    }

    #[test]
    fn only_selected_steps_run_and_a_listing_runs_none() {
        let mut report = Report::of_steps(vec!["tests".to_owned()]);
        assert!(report.step("format", || Outcome::Failed(Vec::new(), String::new())));
        assert!(!report.step("tests", || Outcome::Failed(Vec::new(), String::new())));
        assert_eq!((report.steps.len(), report.failures()), (1, 1));

        let mut listing = Report::list_only();
        assert!(listing.step("format", || Outcome::Failed(Vec::new(), String::new())));
        assert_eq!((listing.failures(), listing.names()), (0, vec!["format".to_owned()]));
    }

    #[test]
    fn failed_and_required_steps_that_did_not_run_count() {
        assert_eq!(report().failures(), 2);
    }

    #[test]
    fn summary_has_the_counts_and_the_steps_not_run() {
        let summary = report().summary();
        assert!(summary.contains("\n     Summary [   0.5s] 3 tests run: 3 passed, 0 skipped\n"), "{summary}");
        assert!(summary.contains("browser        NOT RUN  no chromium\n"), "{summary}");
        assert!(summary.contains("dependencies   NOT RUN  (optional) no cargo-deny\n"), "{summary}");
        assert!(summary.ends_with("1 ok, 2 not ok, 1 left out"), "{summary}");
    }

    #[test]
    fn summary_ends_with_the_failed_tests() {
        let mut report = report();
        let output = "not ok 3 - a draft survives a reload\n  ---\n  error: 'not so'\n".to_owned();
        let outcome = Outcome::Failed(vec!["123 passed, 1 failed, 0 skipped (browser)".into()], output);
        report.steps.push(CompletedStep { name: "browser tests".into(), outcome, duration: Duration::ZERO });
        let summary = report.summary();
        let end: Vec<_> = summary.lines().rev().take(2).collect();
        assert_eq!(end[1], "failed in browser tests: a draft survives a reload: not so", "{summary}");
    }

    #[test]
    fn summaries_of_all_runners_are_read() {
        let output = "noise\n     Summary [   0.5s] 3 tests run: 2 passed, 1 failed, 0 skipped\n";
        assert_eq!(
            nextest_summary(output),
            ["     Summary [   0.5s] 3 tests run: 2 passed, 1 failed, 0 skipped"]
        );

        let output = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n";
        assert_eq!(libtest_summary(output), ["test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured"]);

        let output = "# tests 4\n# pass 2\n# fail 1\n# cancelled 1\n# skipped 0\n# todo 0\n";
        assert_eq!(node_summary(output), ["2 passed, 2 failed, 0 skipped (browser)"]);
        assert_eq!(node_summary(""), ["0 passed, 0 failed, 0 skipped (browser)"]);

        assert_eq!(
            unittest_summary("Ran 6 tests in 3.6s\n\nOK\n"),
            ["6 passed, 0 failed, 0 skipped (foreign)"]
        );
        let output = "Ran 6 tests in 3.6s\n\nFAILED (failures=1, errors=2)\n";
        assert_eq!(unittest_summary(output), ["3 passed, 3 failed, 0 skipped (foreign)"]);
        assert_eq!(unittest_summary(""), ["0 passed, 0 failed, 0 skipped (foreign)"]);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_shown() {
        let output = "line\n".repeat(LINES_SHOWN + 7);
        assert!(last_lines(&output).starts_with("... 7 lines before\nline\n"));
    }
}
