//! Detects misspelled keys. Other programs write their own keys, so an unknown key alone is not an
//! error.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::scan::{KeyEntry, entries};
use super::split::{LINES_BEFORE_YAML, split};
use super::{BadText, wire};

/// Up to this length only one typo is assumed.
const SHORT_KEY: usize = 5;

/// The unknown keys in the head of `text` that resemble one of `known`.
pub fn find_typos(text: &str, known: &[&str]) -> Vec<BadText> {
    let found = split(text).map(|split| entries(split.yaml)).unwrap_or_default();
    let is_there = |key: &str| found.iter().any(|entry| entry.key == key);
    let slip = |entry: &KeyEntry| {
        let most = if entry.key.chars().count() > SHORT_KEY { 2 } else { 1 };
        let near = known.iter().filter(|key| !is_there(key)).map(|key| (edit_distance(&entry.key, key), key));
        let (_, meant) = near.filter(|(slips, _)| (1..=most).contains(slips)).min()?;
        let line = Some(entry.first + 1 + LINES_BEFORE_YAML);
        let field = Some(entry.key.clone());
        Some(BadText { line, field, reason: format!("there is no such key. did you mean `{meant}`?") })
    };
    found.iter().filter(|entry| !known.contains(&entry.key.as_str())).filter_map(slip).collect()
}

/// The edit distance: insertions, deletions, substitutions and swaps of adjacent letters.
fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let swapped = i > 0 && j > 0 && one[i - 1] == *b && other[j - 1] == *a;
            let swap = if swapped { rows[i - 1][j - 1] + 1 } else { usize::MAX };
            let other_letter = rows[i][j] + usize::from(a != b);
            row.push(swap.min(other_letter).min(rows[i][j + 1] + 1).min(row[j] + 1));
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

pub(crate) fn routine_keys() -> &'static [&'static str] {
    field_names::<wire::RoutineKeys>()
}

pub(crate) fn reminder_keys() -> &'static [&'static str] {
    field_names::<wire::ReminderKeys>()
}

pub(crate) fn webhook_keys() -> &'static [&'static str] {
    field_names::<wire::WebhookKeys>()
}

/// The keys that `T` deserialises.
fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut named: &'static [&'static str] = &[];
    let _ = T::deserialize(FieldCollector(&mut named));
    named
}

/// A deserialiser that only records the names of the requested fields.
struct FieldCollector<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldCollector<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only the keys are asked for"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = keys;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A misspelled key is reported; foreign keys are ignored.
    #[test]
    fn a_misspelled_key_is_reported() {
        let check = |line: &str, meant: Option<&str>| {
            let text = format!("---\nid: a\n{line}\n---\nx\n");
            let told: Vec<String> =
                find_typos(&text, routine_keys()).iter().map(ToString::to_string).collect();
            let key = line.split(':').next().unwrap();
            let right =
                meant.map(|meant| format!("line 3: `{key}`: there is no such key. did you mean `{meant}`?"));
            assert_eq!(told, right.into_iter().collect::<Vec<_>>(), "{line}");
        };
        check("bakground: true", Some("background"));
        check("corn: 0 8 * * *", Some("cron"));
        check("allow-pings: true", Some("allow-ping"));
        check("modle: opus", Some("model"));
        check("background: true", None);
        check("allow_ping: true", None);
        for others in ["mood: calm", "tags: [a]", "icon: x", "title: x", "aliases: x", "created: x"] {
            check(others, None);
        }
        assert!(find_typos("---\nid: a\ndelivr: x\n---\n", webhook_keys()).len() == 1);
        assert!(find_typos("---\nid: a\nrun-att: x\n---\n", reminder_keys()).len() == 1);
        assert!(find_typos("no head", reminder_keys()).is_empty());
    }
}
