//! Style rules that are checked by a test.
//!
//! A rule reads all files and returns violations. Rules about the structure of Rust code parse it
//! with `syn`; rules that must see inside macros, or that concern other files, work line by line.
//! There is no list of exceptions.

use std::fmt;

use crate::source_files::SourceFile;

pub mod attributes;
pub mod crate_dependencies;
pub mod file_text;
pub mod layout;
pub mod links;
pub mod promises;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub path: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The problem and its fix.
    pub message: String,
}

impl Violation {
    /// Creates a violation in one line.
    pub fn in_line(file: &SourceFile, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, message: what.into() }
    }

    /// Creates a violation in a whole file.
    pub fn in_file(file: &SourceFile, what: impl Into<String>) -> Self {
        Self::in_line(file, 0, what)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// A rule: returns the violations in all files.
pub type Rule = fn(&[SourceFile]) -> Vec<Violation>;

/// All rules, each with its sentence.
pub const RULES: &[(&str, Rule)] = &[
    ("every Rust file opens with its reason", layout::check_module_comments),
    ("no file or folder is named like a drawer", layout::check_file_names),
    ("a test that is ignored says why", attributes::check_ignore_reasons),
    ("a lint is expected with a reason, never allowed", attributes::check_lint_attributes),
    ("no test sleeps", file_text::check_test_sleeps),
    ("no file names a folder of somebody's machine", file_text::check_machine_paths),
    ("every prompt is used", file_text::check_prompt_use),
    ("every link between documents resolves", links::check_links),
    ("every promise has its tests", promises::check_promises),
    ("the domain depends on value types alone", crate_dependencies::check_domain),
    ("the arrows between crates hold", crate_dependencies::check_crates),
];

/// Returns the violations of all rules.
pub fn violations(files: &[SourceFile]) -> Vec<Violation> {
    RULES.iter().flat_map(|(_, rule)| rule(files)).collect()
}
