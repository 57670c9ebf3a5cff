//! Style rules that are checked by a test.
//!
//! A rule reads all files and returns violations. Rules about the structure of Rust code parse it
//! with `syn`; rules that must see inside macros, or that concern other files, work line by line.
//! There is no list of exceptions.

use std::fmt;

use crate::tree::SourceFile;

pub mod arrows;
pub mod attributes;
pub mod layout;
pub mod links;
pub mod promises;
pub mod words;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub path: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The problem and its fix.
    pub what: String,
}

impl Complaint {
    /// Creates a violation in one line.
    pub fn at(file: &SourceFile, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }

    /// Creates a violation in a whole file.
    pub fn of(file: &SourceFile, what: impl Into<String>) -> Self {
        Self::at(file, 0, what)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// A rule: returns the violations in all files.
pub type Rule = fn(&[SourceFile]) -> Vec<Complaint>;

/// All rules, each with its sentence.
pub const RULES: &[(&str, Rule)] = &[
    ("every Rust file opens with its reason", layout::opens_with_its_reason),
    ("no file or folder is named like a drawer", layout::has_a_subject),
    ("a test that is ignored says why", attributes::ignored_says_why),
    ("a lint is expected with a reason, never allowed", attributes::expects_never_allows),
    ("no test sleeps", words::no_test_sleeps),
    ("no file names a folder of somebody's machine", words::no_machine_paths),
    ("every prompt is used", words::every_prompt_is_used),
    ("every link between documents resolves", links::resolve),
    ("every promise has its tests", promises::are_kept),
    ("the domain depends on value types alone", arrows::domain_is_pure),
    ("the arrows between crates hold", arrows::hold),
];

/// Returns the violations of all rules.
pub fn complaints(files: &[SourceFile]) -> Vec<Complaint> {
    RULES.iter().flat_map(|(_, rule)| rule(files)).collect()
}
