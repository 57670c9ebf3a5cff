//! Changes one key of a hand-written file and preserves the rest.
//!
//! The lines of the key are edited as text. Then a parser compares both texts: unless all other
//! keys are unchanged, the edit is refused.

use std::collections::BTreeMap;

use super::read::strict_options;
use super::scan::{self, KeyEntry, is_blank_or_comment, split_comment, with_hyphens};
use super::write::key_lines;
use super::{BadText, Value, split};

/// A change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the value, adding the key if it is missing.
    Set(Value),
    Remove,
}

/// Changes `key` in the text of a file and preserves other keys, comments, order and body.
pub fn edit(text: &str, key: &str, change: &Change) -> Result<String, BadText> {
    let parts = split(text)?;
    let before = parse_mapping(parts.yaml)?;
    let yaml = apply_change(parts.yaml, key, change);
    let after = parse_mapping(&yaml).map_err(|_| refusal(key))?;
    if !others_unchanged(&before, &after, key) || !is_applied(&after, key, change) {
        return Err(refusal(key));
    }
    Ok([parts.opening, &yaml, parts.closing, parts.body].concat())
}

type Mapping = BTreeMap<String, serde_json::Value>;

fn parse_mapping(yaml: &str) -> Result<Mapping, BadText> {
    let read: Option<Mapping> = serde_saphyr::from_str_with_options(yaml, strict_options())
        .map_err(|error| BadText::whole(format!("the settings cannot be read: {error}")))?;
    Ok(read.unwrap_or_default().into_iter().map(|(key, value)| (with_hyphens(&key), value)).collect())
}

fn others_unchanged(before: &Mapping, after: &Mapping, but: &str) -> bool {
    let others = |meaning: &Mapping| -> Mapping {
        meaning
            .iter()
            .filter(|(key, _)| *key != but)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    others(before) == others(after)
}

fn is_applied(after: &Mapping, key: &str, change: &Change) -> bool {
    match change {
        Change::Remove => !after.contains_key(key),
        Change::Set(value) => {
            let alone = parse_mapping(&key_lines(key, value).join("\n"));
            alone.is_ok_and(|alone| alone.get(key) == after.get(key))
        }
    }
}

fn refusal(key: &str) -> BadText {
    BadText {
        field: Some(key.to_owned()),
        ..BadText::whole("it is written in a way that cannot be changed safely; change it by hand")
    }
}

fn apply_change(yaml: &str, key: &str, change: &Change) -> String {
    let ending = if yaml.contains("\r\n") { "\r\n" } else { "\n" };
    let indent = " ".repeat(scan::indent(yaml));
    let old: Vec<&str> = yaml.split_inclusive('\n').collect();
    let entry = scan::entries(yaml).into_iter().find(|entry| entry.key == key);
    let (spelled, first, next) = match &entry {
        Some(entry) => (entry.spelled.as_str(), entry.first, entry.last + 1),
        None => (key, old.len(), old.len()),
    };
    let comments = entry.as_ref().map(|entry| comments(&old, entry)).unwrap_or_default();
    let new = replacement(change, spelled, &comments).into_iter();
    let new: String = new.map(|line| format!("{indent}{line}{ending}")).collect();
    [old[..first].concat(), new, old[next..].concat()].concat()
}

/// The comments of a key: the one on its line, and those below it without the values before them.
#[derive(Default)]
struct Comments {
    trailing: String,
    below: Vec<String>,
}

fn comments(lines: &[&str], entry: &KeyEntry) -> Comments {
    let line = lines[entry.first];
    let value = line.split_once(&entry.spelled).map_or(line, |(_, rest)| rest);
    let value = value.trim_start().strip_prefix(':').unwrap_or(value);
    let beside = split_comment(value).1.to_owned();
    if value.trim_start().starts_with(['|', '>']) {
        return Comments { trailing: beside, below: Vec::new() };
    }
    let below = lines[entry.first + 1..=entry.last].iter().map(|line| {
        if is_blank_or_comment(line) {
            line.trim()
        } else {
            split_comment(line.trim_start().trim_start_matches("- ")).1.trim()
        }
    });
    Comments { trailing: beside, below: below.filter(|said| !said.is_empty()).map(str::to_owned).collect() }
}

fn replacement(change: &Change, spelled: &str, comments: &Comments) -> Vec<String> {
    let mut new = match change {
        Change::Set(value) => key_lines(spelled, value),
        Change::Remove => vec![String::new()],
    };
    new[0].push_str(&comments.trailing);
    new[0] = new[0].trim().to_owned();
    if new[0].is_empty() {
        new.remove(0);
    }
    new.extend(comments.below.iter().cloned());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAND_WRITTEN: &str = "---\r\n# my morning\r\nid: 00123456   # keep\r\nmood: [calm, \"a # b\"]\r\n\
        allow_ping: true # it's loud\r\nallowed-tools: # few\r\n- Bash(x) # why\r\n# own line\r\n- Read\r\n\r\n\
        notes: |\r\n  # not a comment\r\n  id: no\r\n---\r\n\r\nBody --- here \r\n---\r\nid: x";

    fn check(key: &str, change: Change, from: &str, to: &str) {
        let edited = edit(HAND_WRITTEN, key, &change).unwrap();
        assert!(HAND_WRITTEN.contains(from));
        assert_eq!(edited, HAND_WRITTEN.replacen(from, to, 1));
    }

    fn set(text: &str) -> Change {
        Change::Set(Value::Text(text.to_owned()))
    }

    /// B9, DD-22: one key changes; comments, unknown keys, order, line ends and body are preserved
    /// byte for byte.
    #[test]
    fn one_key_changes_and_the_rest_of_the_file_is_preserved() {
        check("id", set("a\"b"), "id: 00123456   # keep", "id: \"a\\\"b\"   # keep");
        check("allow-ping", Change::Set(Value::Flag(false)), "true # it's", "false # it's");
        check("allow-ping", Change::Remove, "allow_ping: true # it's loud", "# it's loud");
        check("session", set("persistent"), "id: no\r\n", "id: no\r\nsession: \"persistent\"\r\n");
        check("notes", Change::Remove, "notes: |\r\n  # not a comment\r\n  id: no\r\n", "");
        check("mood", set("x"), "[calm, \"a # b\"]", "\"x\"");
        check(
            "allowed-tools",
            Change::Set(Value::List(vec!["Write".into()])),
            "- Bash(x) # why\r\n# own line\r\n- Read\r\n",
            "  - \"Write\"\r\n# why\r\n# own line\r\n",
        );
        check("absent", Change::Remove, "", "");
    }

    /// B9: a change that would touch anything else is refused.
    #[test]
    fn a_change_that_would_touch_another_setting_is_refused() {
        let refused = [
            ("---\nid: &a x\nb: *a\n---\n", "id", Change::Remove),
            ("---\na: &a 1\nid: &a x\nb: *a\n---\n", "id", set("y")),
            ("---\n{id: x, b: c}\n---\n", "b", set("y")),
            ("---\nid: x\nb: c\nid: y\n---\n", "b", set("y")),
            ("---\n? id\n: x\n---\n", "id", set("y")),
            ("no frontmatter", "id", set("y")),
        ];
        for (text, key, change) in refused {
            assert!(edit(text, key, &change).is_err(), "{text:?}");
        }
    }
}
