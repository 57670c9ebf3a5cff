//! Rules about files as files: how they open, how long they are, what they are called.

use super::Complaint;
use crate::tree::SourceFile;

/// The most lines a file may have before its tests.
const LINES: usize = 400;

/// Names that say nothing about what is inside, so that everything ends up there.
const DRAWERS: &[&str] =
    &["util", "utils", "helper", "helpers", "common", "misc", "shared", "core", "stuff", "base"];

/// Every Rust file opens with a `//!` line.
pub fn opens_with_its_reason(files: &[SourceFile]) -> Vec<Complaint> {
    let silent = |file: &&SourceFile| !file.text.starts_with("//! ");
    files
        .iter()
        .filter(|file| file.is_rust())
        .filter(silent)
        .map(|file| Complaint::at(file, 1, "open with a `//! ` line that says what the file is about"))
        .collect()
}

/// A Rust file has at most 400 lines before its tests.
pub fn is_short(files: &[SourceFile]) -> Vec<Complaint> {
    files.iter().filter(|file| file.is_rust()).filter_map(too_long).collect()
}

fn too_long(file: &SourceFile) -> Option<Complaint> {
    let lines = lines_before_tests(&file.text);
    (lines > LINES).then(|| {
        Complaint::of(file, format!("{lines} lines before its tests, {LINES} at most: split it by subject"))
    })
}

/// Only a test module with a body ends the count: `#[cfg(test)] mod tests;` may stand anywhere.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let opens_tests = |at: usize| {
        lines[at] == "#[cfg(test)]"
            && lines[at + 1..]
                .iter()
                .find(|line| !line.starts_with("#["))
                .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    (0..lines.len()).find(|at| opens_tests(*at)).unwrap_or(lines.len())
}

/// No file or folder is named like a drawer.
pub fn has_a_subject(files: &[SourceFile]) -> Vec<Complaint> {
    files
        .iter()
        .filter_map(|file| {
            let drawer = file.path.split('/').map(stem).find(|part| DRAWERS.contains(part))?;
            Some(Complaint::of(file, format!("`{drawer}` names no subject: say what is inside")))
        })
        .collect()
}

fn stem(part: &str) -> &str {
    match part.split_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<SourceFile> {
        vec![SourceFile::new(path, text)]
    }

    #[test]
    fn a_file_without_a_reason_is_found() {
        assert_eq!(opens_with_its_reason(&file("a.rs", "use std::fmt;\n")).len(), 1);
        assert_eq!(opens_with_its_reason(&file("a.rs", "\n//! Late.\n")).len(), 1);
        assert_eq!(opens_with_its_reason(&file("a.rs", "//! A reason.\n")), []);
        assert_eq!(opens_with_its_reason(&file("a.md", "No Rust.\n")), []);
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_are_not_counted() {
        let long = "//! Long.\n".repeat(LINES + 1);
        assert_eq!(is_short(&file("a.rs", &long)).len(), 1);

        let just = "//! Just.\n".repeat(LINES);
        assert_eq!(is_short(&file("a.rs", &just)), []);
        assert_eq!(is_short(&file("a.rs", &format!("{just}#[cfg(test)]\nmod tests {{\n{long}}}\n"))), []);
    }

    #[test]
    fn a_test_module_in_another_file_does_not_end_the_count() {
        let text = format!("#[cfg(test)]\nmod tests;\n{}", "// More.\n".repeat(LINES));
        assert_eq!(is_short(&file("a.rs", &text)).len(), 1);
    }

    #[test]
    fn a_drawer_is_found_as_file_and_as_folder() {
        for path in ["crates/x/src/utils.rs", "crates/core/src/lib.rs", "tests/browser/helpers.mjs"] {
            assert_eq!(has_a_subject(&file(path, "")).len(), 1, "{path}");
        }
        assert_eq!(has_a_subject(&file("crates/x/src/corer.rs", "")), []);
        assert_eq!(has_a_subject(&file(".gitignore", "")), []);
    }
}
