//! Every promise names existing tests.

use super::Violation;
use crate::source_files::SourceFile;

/// The page with the promises.
const PAGE: &str = "docs/PROMISES.md";
/// The number of promises.
const PROMISE_COUNT: usize = 10;

/// Every promise is on the page, with existing tests and the command that runs them.
pub fn check_promises(files: &[SourceFile]) -> Vec<Violation> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let promises = parse_promises(page);
    let named: Vec<_> = promises.iter().map(|promise| promise.name).collect();
    let mut complaints: Vec<_> = (1..=PROMISE_COUNT)
        .map(|nth| format!("P{nth}"))
        .filter(|name| !named.contains(&name.as_str()))
        .map(|name| Violation::in_file(page, format!("{name} is not promised here")))
        .collect();
    for promise in promises.iter().filter(|promise| promise.not_kept.is_none()) {
        if promise.tests.is_empty() {
            let what = format!("{} names no test: write `path/to/file.rs::name_of_the_test`", promise.name);
            complaints.push(Violation::in_line(page, promise.line, what));
        }
        if promise.command.is_none() {
            let what = format!("{} does not say how its tests are run: `cargo nextest run …`", promise.name);
            complaints.push(Violation::in_line(page, promise.line, what));
        }
        let missing = promise.tests.iter().filter(|(_, test)| !test_exists(files, test));
        complaints.extend(missing.map(|(line, test)| {
            Violation::in_line(
                page,
                *line,
                format!("there is no test `{test}`; name the one that is behind this now"),
            )
        }));
    }
    complaints
}

struct Promise<'a> {
    name: &'a str,
    line: usize,
    tests: Vec<(usize, &'a str)>,
    command: Option<usize>,
    /// The line that says that the promise is not kept yet.
    not_kept: Option<usize>,
}

fn parse_promises(page: &SourceFile) -> Vec<Promise<'_>> {
    let mut promises: Vec<Promise<'_>> = Vec::new();
    for (at, text) in page.text.lines().enumerate() {
        let line = at + 1;
        if let Some(title) = text.strip_prefix("## ") {
            let name = title.split([' ', ':']).next().unwrap_or_default();
            promises.push(Promise { name, line, tests: Vec::new(), command: None, not_kept: None });
        }
        let Some(promise) = promises.last_mut() else { continue };
        promise.not_kept = promise.not_kept.or(text.starts_with("Not kept yet: ").then_some(line));
        promise.command = promise.command.or(text.contains("cargo nextest run ").then_some(line));
        let tests = text.split('`').skip(1).step_by(2).filter(|code| code.contains(".rs::"));
        promise.tests.extend(tests.map(|test| (line, test)));
    }
    promises.retain(|promise| promise.name.starts_with('P'));
    promises
}

fn test_exists(files: &[SourceFile], test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Some(file) = files.iter().find(|file| file.path == path) else { return false };
    let heads = [format!("fn {name}()"), format!("fn {name}(model: ModelKind)"), format!("fn {name}(\n")];
    heads.iter().any(|head| file.text.contains(head.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(page: &str) -> Vec<String> {
        let whole: String = (1..=PROMISE_COUNT)
            .map(|nth| format!("## P{nth} It\n- `a.rs::it_is_so`\n`cargo nextest run a`\n"))
            .collect::<String>()
            .replace("## P3 It\n- `a.rs::it_is_so`\n`cargo nextest run a`\n", page);
        let files = [SourceFile::new(PAGE, whole), SourceFile::new("a.rs", "#[test]\nfn it_is_so() {}\n")];
        check_promises(&files).into_iter().map(|complaint| complaint.message).collect()
    }

    #[test]
    fn promise_with_test_and_command_is_accepted() {
        assert_eq!(complaints("## P3 It\n- `a.rs::it_is_so`, run by `cargo nextest run a`\n"), [""; 0]);
    }

    #[test]
    fn missing_parts_are_reported() {
        assert_eq!(complaints(""), ["P3 is not promised here"]);
        assert_eq!(complaints("## P3 It\nNot kept yet: it is to come.\n"), [""; 0]);
        let nothing = complaints("## P3 It\n");
        assert!(nothing[0].contains("P3 names no test") && nothing[1].contains("how its tests are run"));
        let gone = complaints("## P3 It\n- `a.rs::it_was_so`\n- `b.rs::it_is_so`\n`cargo nextest run a`\n");
        assert!(gone[0].contains("`a.rs::it_was_so`") && gone[1].contains("`b.rs::it_is_so`"), "{gone:?}");
    }
}
