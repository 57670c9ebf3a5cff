//! Coverage of the requirements: the list of all requirements, compared with the ids in the doc
//! lines of tests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use clap::Args;

use crate::out::print_line;
use crate::source_files::{self, SourceFile};

pub mod catalogue;
pub mod formatting;
pub mod mention;

use catalogue::Catalogue;
use mention::Mention;

/// The path of the list.
pub const LIST_PATH: &str = "docs/requirements.txt";

/// Shows which requirements have a test.
#[derive(Args, Debug)]
pub struct Requirements {
    /// Only this section, with the tests of each id (DD, SE, A, ...).
    #[arg(long, value_name = "LETTERS")]
    section: Option<String>,
    /// Only the ids without a test, one to a line.
    #[arg(long, conflicts_with = "json")]
    missing: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// The list, and its coverage by tests.
#[derive(Debug)]
pub struct Coverage {
    /// All requirements.
    pub catalogue: Catalogue,
    /// The tests of each id.
    pub tests: BTreeMap<String, BTreeSet<String>>,
    /// Ids in tests that are not in the list.
    pub unknown: Vec<Mention>,
}

impl Coverage {
    /// Compares the tests in `files` with the list.
    pub fn compute(catalogue: Catalogue, files: &[SourceFile]) -> Self {
        let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for mention in files.iter().flat_map(mention::find_in_file) {
            if catalogue.contains(&mention.id) {
                tests.entry(mention.id).or_default().insert(mention.test);
            } else {
                unknown.push(mention);
            }
        }
        Self { catalogue, tests, unknown }
    }

    /// Returns the coverage of this repository.
    pub fn of_repository() -> anyhow::Result<Self> {
        let files = source_files::read_all()?;
        let list = files
            .iter()
            .find(|file| file.path == LIST_PATH)
            .with_context(|| format!("{LIST_PATH} is missing"))?;
        Ok(Self::compute(Catalogue::parse(&list.text)?, &files))
    }

    /// Returns one line for each unknown id.
    pub fn complaints(&self) -> Vec<String> {
        let line =
            |m: &Mention| format!("{}:{}: `{}` is no requirement (in {})", m.path, m.line, m.id, m.test);
        self.unknown.iter().map(line).collect()
    }
}

impl Requirements {
    /// Prints the requested output; fails if a test names an unknown id.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut coverage = Coverage::of_repository()?;
        if let Some(letters) = &self.section {
            coverage.catalogue = coverage.catalogue.section_only(letters)?;
        }
        let text = match (self.json, self.missing, &self.section) {
            (true, _, _) => formatting::format_json(&coverage)?,
            (false, true, _) => formatting::format_missing(&coverage),
            (false, false, Some(_)) => formatting::format_section(&coverage),
            (false, false, None) => formatting::format_table(&coverage),
        };
        print_line(text.trim_end());
        let complaints = coverage.complaints();
        if !complaints.is_empty() {
            bail!("tests name ids that do not exist:\n  {}", complaints.join("\n  "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(doc: &str) -> Coverage {
        let catalogue =
            Catalogue::parse("[behaviour]\nSE 1-4 Sessions\n[reliability]\nA 1,1b Time\n").unwrap();
        let text = [doc, "#[test]", "fn it_holds() {}"].join("\n");
        Coverage::compute(catalogue, &[SourceFile::new("crates/x/src/a.rs", text)])
    }

    #[test]
    fn ids_named_by_a_test_are_covered() {
        let coverage = coverage("/// SE-1..SE-3, A1b: all of it.");
        assert_eq!(coverage.tests.keys().collect::<Vec<_>>(), ["A1b", "SE-1", "SE-2", "SE-3"]);
        assert_eq!(coverage.complaints(), [""; 0]);
    }

    #[test]
    fn unknown_id_is_an_error() {
        let coverage = coverage("/// SE-4, SE-5: one too many.");
        assert_eq!(
            coverage.complaints(),
            ["crates/x/src/a.rs:1: `SE-5` is no requirement (in crates/x/src/a.rs::it_holds)"]
        );
    }

    #[test]
    fn list_of_this_repository_is_complete() {
        let coverage = Coverage::of_repository().unwrap();
        let count =
            |group| coverage.catalogue.sections().filter(|s| s.group == group).map(|s| s.ids.len()).sum();
        let counts: (usize, usize) = (count("behaviour"), count("reliability"));
        assert_eq!(counts, (575, 92));
    }
}
