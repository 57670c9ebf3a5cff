//! Rules about files: their module comment and their name.

use super::Violation;
use crate::source_files::SourceFile;

/// Names without a subject, which attract unrelated code.
const VAGUE_NAMES: &[&str] =
    &["util", "utils", "helper", "helpers", "common", "misc", "shared", "core", "stuff", "base"];

/// Every Rust file begins with a `//!` line.
pub fn check_module_comments(files: &[SourceFile]) -> Vec<Violation> {
    let silent = |file: &&SourceFile| !file.text.starts_with("//! ");
    files
        .iter()
        .filter(|file| file.is_rust())
        .filter(silent)
        .map(|file| Violation::in_line(file, 1, "open with a `//! ` line that says what the file is about"))
        .collect()
}

/// No file or folder has a name without a subject.
pub fn check_file_names(files: &[SourceFile]) -> Vec<Violation> {
    files
        .iter()
        .filter_map(|file| {
            let drawer = file.path.split('/').map(stem).find(|part| VAGUE_NAMES.contains(part))?;
            Some(Violation::in_file(file, format!("`{drawer}` names no subject: say what is inside")))
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
    fn file_without_a_module_comment_is_found() {
        assert_eq!(check_module_comments(&file("a.rs", "use std::fmt;\n")).len(), 1);
        assert_eq!(check_module_comments(&file("a.rs", "\n//! Late.\n")).len(), 1);
        assert_eq!(check_module_comments(&file("a.rs", "//! A reason.\n")), []);
        assert_eq!(check_module_comments(&file("a.md", "No Rust.\n")), []);
    }

    #[test]
    fn vague_file_and_folder_names_are_found() {
        for path in ["crates/x/src/utils.rs", "crates/core/src/lib.rs", "tests/browser/helpers.mjs"] {
            assert_eq!(check_file_names(&file(path, "")).len(), 1, "{path}");
        }
        assert_eq!(check_file_names(&file("crates/x/src/corer.rs", "")), []);
        assert_eq!(check_file_names(&file(".gitignore", "")), []);
    }
}
