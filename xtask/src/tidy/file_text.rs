//! Rules about the text of files: forbidden calls and paths, and unused prompts.

use super::Violation;
use crate::source_files::SourceFile;

// Concatenated, so that the check does not report this file.
const SLEEP: &str = concat!("thread::", "sleep");
const MACHINE_FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];

/// No test waits for real time to pass.
pub fn check_test_sleeps(files: &[SourceFile]) -> Vec<Violation> {
    files.iter().filter(|file| file.is_rust()).flat_map(sleeps_in_tests).collect()
}

fn sleeps_in_tests(file: &SourceFile) -> Vec<Violation> {
    let all_tests = file.path.starts_with("tests/") || file.path.contains("/tests/");
    let first = if all_tests { 0 } else { file.text.lines().position(opens_tests).unwrap_or(usize::MAX) };
    file.text
        .lines()
        .enumerate()
        .skip(first)
        .filter(|(_, line)| line.contains(SLEEP) && !line.trim_start().starts_with("//"))
        .map(|(at, _)| {
            Violation::in_line(file, at + 1, "a test must not sleep: play the clock, or wait for an event")
        })
        .collect()
}

fn opens_tests(line: &str) -> bool {
    line.trim().starts_with("#[cfg(test)]")
}

/// No file names a folder of the machine it was written on.
pub fn check_machine_paths(files: &[SourceFile]) -> Vec<Violation> {
    let mut complaints = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(found) = find_machine_path(line) {
                let what =
                    format!("`{found}` is a folder of one machine: say it relative, or by its variable");
                complaints.push(Violation::in_line(file, at + 1, what));
            }
        }
    }
    complaints
}

/// Finds such a path at its start only; a folder with the same name further down is allowed.
fn find_machine_path(line: &str) -> Option<&'static str> {
    MACHINE_FOLDERS.iter().copied().find(|home| {
        line.match_indices(home).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let inside = before.is_some_and(|c| c.is_alphanumeric() || "_-.~/}>*".contains(c));
            let after = line[at + home.len()..].chars().next();
            let named = after.is_some_and(char::is_alphanumeric) || !home.contains("me/");
            !inside && named
        })
    })
}

/// Every file in `prompts/` is included by some source file.
pub fn check_prompt_use(files: &[SourceFile]) -> Vec<Violation> {
    let included = |prompt: &str| {
        let ending = format!("{prompt}\")");
        files
            .iter()
            .filter(|file| file.is_rust())
            .flat_map(|file| file.text.lines())
            .any(|line| line.contains("include_str!(") && line.contains(&ending))
    };
    files
        .iter()
        .filter(|file| file.path.starts_with("prompts/") && !included(&file.path))
        .map(|file| Violation::in_file(file, "nothing includes this prompt: use it or remove it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<SourceFile> {
        vec![SourceFile::new(path, text)]
    }

    #[test]
    fn sleep_in_a_test_is_found() {
        let call = format!("std::{SLEEP}(one_second);");
        assert_eq!(check_test_sleeps(&file("crates/a/tests/b.rs", &call)).len(), 1);
        assert_eq!(
            check_test_sleeps(&file("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{call}\n}}")))[0].line,
            3
        );
        assert_eq!(check_test_sleeps(&file("a.rs", &format!("fn f() {{ {call} }}"))), []);
        assert_eq!(check_test_sleeps(&file("crates/a/tests/b.rs", &format!("// Never {SLEEP}."))), []);
    }

    #[test]
    fn machine_path_is_found() {
        for home in MACHINE_FOLDERS {
            assert_eq!(check_machine_paths(&file("a.md", &format!("see `{home}x`"))).len(), 1, "{home}");
            assert_eq!(check_machine_paths(&file("a.md", &format!("in {home}x"))).len(), 1, "{home}");
            assert_eq!(check_machine_paths(&file("a.md", &format!("in target{home}x"))), [], "{home}");
        }
        assert_eq!(check_machine_paths(&file("a.md", &format!("{}<name>", MACHINE_FOLDERS[2]))), []);
    }

    #[test]
    fn unused_prompt_is_found() {
        let prompt = SourceFile::new("prompts/hello.md", "Hello.");
        let user = |text: &str| SourceFile::new("crates/a/src/lib.rs", text);
        assert_eq!(check_prompt_use(&[prompt.clone(), user("// prompts/hello.md")]).len(), 1);
        let used = user("const A: &str = include_str!(\"../../../prompts/hello.md\");");
        assert_eq!(check_prompt_use(&[prompt, used]), []);
    }
}
