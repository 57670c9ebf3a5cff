//! Rules about files: their module comment and their name.

use super::Complaint;
use crate::tree::SourceFile;

/// Names without a subject, which attract unrelated code.
const DRAWERS: &[&str] =
    &["util", "utils", "helper", "helpers", "common", "misc", "shared", "core", "stuff", "base"];

/// Every Rust file begins with a `//!` line.
pub fn opens_with_its_reason(files: &[SourceFile]) -> Vec<Complaint> {
    let silent = |file: &&SourceFile| !file.text.starts_with("//! ");
    files
        .iter()
        .filter(|file| file.is_rust())
        .filter(silent)
        .map(|file| Complaint::at(file, 1, "open with a `//! ` line that says what the file is about"))
        .collect()
}

/// No file or folder has a name without a subject.
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
    fn a_drawer_is_found_as_file_and_as_folder() {
        for path in ["crates/x/src/utils.rs", "crates/core/src/lib.rs", "tests/browser/helpers.mjs"] {
            assert_eq!(has_a_subject(&file(path, "")).len(), 1, "{path}");
        }
        assert_eq!(has_a_subject(&file("crates/x/src/corer.rs", "")), []);
        assert_eq!(has_a_subject(&file(".gitignore", "")), []);
    }
}
