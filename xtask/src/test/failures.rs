//! Extracts the failed tests from the output of their runner: each with its name and the first line
//! of its error.

/// Maximum number of listed tests.
const MAX_TESTS: usize = 40;
/// Maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 300;

/// The marks of a failed test at the beginning of a line of nextest.
const NEXTEST_MARKS: [&str; 7] = ["FAIL", "TIMEOUT", "ABORT", "SIGABRT", "SIGSEGV", "SIGKILL", "LEAK-FAIL"];

/// Returns the failed tests in the output of nextest, libtest, unittest or Node's runner.
pub fn failed_tests(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().collect();
    let mut found: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let entry = rust_test_name(line).map(|name| with_error(name, panic_message(&lines, name)));
        let entry =
            entry.or_else(|| node_test_name(line).map(|name| with_error(name, node_error(&lines[at + 1..]))));
        let entry = entry.or_else(|| python_test_name(line).map(str::to_owned));
        if let Some(entry) = entry.filter(|entry| !found.contains(entry)) {
            found.push(entry);
        }
    }
    let left_out = found.len().saturating_sub(MAX_TESTS);
    found.truncate(MAX_TESTS);
    if left_out > 0 {
        found.push(format!("and {left_out} more"));
    }
    found
}

/// Returns the name in a line of nextest (`FAIL [   1.5s] (3/9) package::binary module::test`) or
/// of libtest (`test module::test ... FAILED`).
fn rust_test_name(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
        return Some(name);
    }
    let (mark, rest) = line.trim_start().split_once(" [")?;
    let mark = mark.split_whitespace().last()?;
    let (_, rest) = rest.split_once("] ")?;
    let name = match rest.trim_start().strip_prefix('(') {
        Some(counted) => counted.split_once(") ")?.1,
        None => rest.trim_start(),
    };
    NEXTEST_MARKS.contains(&mark).then_some(name)
}

/// Returns the name in a line of the test anything protocol: `not ok 3 - a name`.
fn node_test_name(line: &str) -> Option<&str> {
    let (_, name) = line.trim_start().strip_prefix("not ok ")?.split_once(" - ")?;
    Some(name)
}

/// Returns the name in a line of unittest: `FAIL: test_name (module.ToolClass.test_name)`.
fn python_test_name(line: &str) -> Option<&str> {
    line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))
}

/// Returns the panic message: the line after `thread 'module::test' panicked at file:1:2:`.
fn panic_message<'a>(lines: &[&'a str], name: &str) -> Option<&'a str> {
    let test = name.rsplit(' ').next()?;
    let thread = format!("thread '{test}'");
    let at = lines.iter().position(|line| line.contains(&thread) && line.contains("panicked at"))?;
    lines.get(at + 1).copied()
}

/// Returns the error in the block below a failed test: after `error:`, or on the next line if a
/// multi-line text begins there.
fn node_error<'a>(block: &[&'a str]) -> Option<&'a str> {
    let block: Vec<&'a str> =
        block.iter().map(|line| line.trim()).take_while(|line| *line != "...").collect();
    let at = block.iter().position(|line| line.starts_with("error:"))?;
    let words = block[at].trim_start_matches("error:").trim();
    if words.starts_with('|') { block.get(at + 1).copied() } else { Some(words.trim_matches('\'')) }
}

fn with_error(name: &str, error: Option<&str>) -> String {
    let line = match error {
        Some(error) => format!("{name}: {}", error.trim()),
        None => name.to_owned(),
    };
    line.chars().take(MAX_LINE_CHARS).collect()
}

#[cfg(test)]
mod failed_tests {
    use super::failed_tests;

    #[test]
    fn nextest_failures_are_listed_once_with_their_panic() {
        let output = "\
        FAIL [   1.500s] (  3/120) ollim-bot::state updates_reach_the_next_message
  stderr ───
    thread 'updates_reach_the_next_message' (81) panicked at crates/daemon/tests/state.rs:113:5:
    assertion failed: listed
        PASS [   0.100s] (  4/120) ollim-bot::state another
     TIMEOUT [ 600.000s] (  5/120) ollim-bot::state a_third
     Summary [   9.000s] 120 tests run: 118 passed, 1 failed, 1 timed out, 0 skipped
        FAIL [   1.500s] (  3/120) ollim-bot::state updates_reach_the_next_message
error: test run failed
";
        assert_eq!(
            failed_tests(output),
            [
                "ollim-bot::state updates_reach_the_next_message: assertion failed: listed",
                "ollim-bot::state a_third"
            ]
        );
    }

    #[test]
    fn failures_of_the_other_runners_are_listed() {
        let libtest =
            "test a ... ok\ntest b::c ... FAILED\n\nthread 'b::c' panicked at src/b.rs:1:2:\nleft is right\n";
        assert_eq!(failed_tests(libtest), ["b::c: left is right"]);
        let python =
            "FAIL: test_one (test_mcp.Client.test_one)\nERROR: test_two (test_mcp.Client.test_two)\n";
        assert_eq!(
            failed_tests(python),
            ["test_one (test_mcp.Client.test_one)", "test_two (test_mcp.Client.test_two)"]
        );
    }

    #[test]
    fn browser_failures_are_listed_with_their_error() {
        let output = "\
ok 1 - a page that is fine
not ok 2 - a page that never comes
  ---
  duration_ms: 30000.1
  error: |-
    page.goto: Timeout 30000ms exceeded.
    Call log:
  ...
not ok 3 - /checkout/tests/browser/whole.test.js
  ---
  error: 'test timed out after 180000ms'
  ...
";
        assert_eq!(
            failed_tests(output),
            [
                "a page that never comes: page.goto: Timeout 30000ms exceeded.",
                "/checkout/tests/browser/whole.test.js: test timed out after 180000ms"
            ]
        );
    }

    #[test]
    fn surplus_failures_are_counted() {
        let output: String = (0..60).map(|number| format!("test t{number} ... FAILED\n")).collect();
        let named = failed_tests(&output);
        assert_eq!((named.len(), named.last().map(String::as_str)), (41, Some("and 20 more")));
    }
}
