//! Finds the requirement ids at the head of the doc lines of tests.
//!
//! Tests are found line by line and not by parsing, because many are inside a macro. An id counts
//! only in the head, before the first colon, so that a sentence can mention UTF-8 without covering
//! a requirement.

use crate::source_files::SourceFile;

/// The parameter of a story. A table in another file makes a test of it for each model kind.
const STORY_PARAMETER: &str = "(model: ModelKind)";

/// One id named by one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub id: String,
    /// The test with its file.
    pub test: String,
    pub path: String,
    /// The line of the id, from 1.
    pub line: usize,
}

/// Returns all ids named by the tests of a file.
pub fn find_in_file(file: &SourceFile) -> Vec<Mention> {
    if file.is_rust() {
        find_in_rust(file)
    } else if is_browser_test(&file.path) {
        find_in_browser_test(file)
    } else {
        Vec::new()
    }
}

fn is_browser_test(path: &str) -> bool {
    path.starts_with("tests/browser/") && [".js", ".mjs", ".ts"].iter().any(|end| path.ends_with(end))
}

/// The doc lines and attributes above the current line.
#[derive(Default)]
struct ItemHeader {
    ids: Vec<(usize, String)>,
    is_test: bool,
}

impl ItemHeader {
    fn add_doc_line(&mut self, line: usize, doc: &str) {
        self.ids.extend(ids_in_head(doc).into_iter().map(|id| (line, id)));
    }

    fn into_mentions(self, file: &SourceFile, name: &str) -> Vec<Mention> {
        let test = format!("{}::{name}", file.path);
        let mention = |(line, id)| Mention { id, test: test.clone(), path: file.path.clone(), line };
        self.ids.into_iter().map(mention).collect()
    }
}

fn find_in_rust(file: &SourceFile) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut above = ItemHeader::default();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if let Some(doc) = line.strip_prefix("///") {
            above.add_doc_line(at + 1, doc);
        } else if line.starts_with("#[") {
            above.is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some(name) = function_name(line) {
            let above = std::mem::take(&mut above);
            if above.is_test || line.contains(STORY_PARAMETER) {
                mentions.extend(above.into_mentions(file, name));
            }
        } else if line.is_empty() || line.ends_with(['{', '}', ';']) {
            // Another item or an empty line ends the block above. Any other line may continue an
            // attribute.
            above = ItemHeader::default();
        }
    }
    mentions
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line.strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

fn find_in_browser_test(file: &SourceFile) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut above = ItemHeader::default();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim();
        let comment = ["///", "//", "/**", "*/", "*"].iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(doc) = comment {
            above.add_doc_line(at + 1, doc.trim_end_matches("*/"));
            continue;
        }
        let above = std::mem::take(&mut above);
        let call = line.trim_start_matches("await ").trim_start_matches("t.");
        if let Some(rest) =
            ["test(", "it(", "test.skip("].iter().find_map(|call_of| call.strip_prefix(call_of))
        {
            let name = rest.trim_start_matches(['"', '\'', '`']).split(['"', '\'', '`']).next();
            mentions.extend(above.into_mentions(file, name.unwrap_or_default()));
        }
    }
    mentions
}

/// Returns the ids at the head of a doc line: before the colon, or the whole line if it contains
/// only ids.
fn ids_in_head(doc: &str) -> Vec<String> {
    let head = doc.split(':').next().unwrap_or_default().trim().trim_end_matches('.');
    let mut ids = Vec::new();
    for word in head.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and") {
        match expand_ids(word) {
            Some(some) => ids.extend(some),
            None => return Vec::new(),
        }
    }
    ids
}

/// Expands `SE-3`, `A1`, `I3b` or `SE-1..SE-5` to ids.
fn expand_ids(word: &str) -> Option<Vec<String>> {
    let Some((first, last)) = word.split_once("..") else {
        split_id(word)?;
        return Some(vec![word.to_owned()]);
    };
    let (letters, from) = split_id(first)?;
    let (other, to) = split_id(last.trim_start_matches('='))?;
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    (letters == other && from <= to).then(|| (from..=to).map(|n| format!("{letters}{n}")).collect())
}

/// Splits an id into its prefix with hyphen, and its number.
fn split_id(id: &str) -> Option<(&str, &str)> {
    let digits = id.find(|c: char| c.is_ascii_digit())?;
    let (letters, number) = id.split_at(digits);
    let capitals = letters.strip_suffix('-').unwrap_or(letters);
    let shaped = (1..=3).contains(&capitals.len())
        && capitals.chars().all(|c| c.is_ascii_uppercase())
        && number
            .strip_suffix(|c: char| c.is_ascii_lowercase())
            .unwrap_or(number)
            .chars()
            .all(|c| c.is_ascii_digit());
    shaped.then_some((letters, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids_in(path: &str, lines: &[&str]) -> Vec<String> {
        find_in_file(&SourceFile::new(path, lines.join("\n"))).into_iter().map(|mention| mention.id).collect()
    }

    #[test]
    fn ids_are_read_from_the_head_of_a_doc_line() {
        for (doc, ids) in [
            ("SE-3, SE-4: one sentence.", vec!["SE-3", "SE-4"]),
            ("SE-3 and A10: one sentence.", vec!["SE-3", "A10"]),
            ("SE-1..SE-3: all of them", vec!["SE-1", "SE-2", "SE-3"]),
            ("A1..A2, I3b.", vec!["A1", "A2", "I3b"]),
            ("Unlike SE-3: a sentence.", vec![]),
            ("It reads UTF-8 as it is.", vec![]),
            ("SE-3..DD-5: two sections.", vec![]),
        ] {
            assert_eq!(ids_in_head(doc), ids, "{doc}");
        }
    }

    #[test]
    fn only_tests_cover_requirements() {
        let doc = "/// SE-1: so it is.";
        assert_eq!(ids_in("a.rs", &[doc, "#[test]", "fn a() {}"]), ["SE-1"]);
        assert_eq!(
            ids_in("a.rs", &["#[tokio::test(start_paused = true)]", doc, "async fn a() {}"]),
            ["SE-1"]
        );
        assert_eq!(ids_in("a.rs", &["proptest! {", doc, "#[test]", "fn a(x in 0..9u8) {}", "}"]), ["SE-1"]);
        assert_eq!(ids_in("a.rs", &[doc, "pub fn a(model: ModelKind) {"]), ["SE-1"]);
        assert_eq!(ids_in("a.rs", &[doc, "fn a() {}"]), [""; 0]);
        assert_eq!(ids_in("a.rs", &[doc, "struct A;", "#[test]", "fn a() {}"]), [""; 0]);
    }

    #[test]
    fn browser_tests_name_ids_in_their_comments() {
        let path = "tests/browser/page.test.mjs";
        assert_eq!(ids_in(path, &["// K2: only this page.", "test('the page', async () => {"]), ["K2"]);
        assert_eq!(ids_in(path, &["/** K3: one", " * K4: two */", "await t.test(\"x\", f)"]), ["K3", "K4"]);
        assert_eq!(ids_in(path, &["// K2: a word about", "const a = 1;", "test('x')"]), [""; 0]);
        assert_eq!(ids_in("web/page.js", &["// K2: nothing.", "test('x')"]), [""; 0]);
    }

    #[test]
    fn mention_has_its_test_and_line() {
        let file = SourceFile::new("a.rs", ["", "/// SE-1: so.", "#[test]", "fn it_is_so() {}"].join("\n"));
        let mention = find_in_file(&file).remove(0);
        assert_eq!((mention.test.as_str(), mention.line), ("a.rs::it_is_so", 2));
    }
}
