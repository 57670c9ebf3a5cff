//! Deliveries: the values of one webhook call, from receipt to the end of its run.
//!
//! The values are untrusted data. The model reads them as one line of JSON with its length, in
//! which all line breaks and invisible characters are escaped. The user sees them as literal text.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rpds::RedBlackTreeMapSync;

use crate::conversation::{Branch, Json};
use crate::cost::Source;
use crate::hidden::{is_hidden, is_joiner, spelled_out};
use crate::occurrence::Key;
use crate::schedule::{WebhookSpec, template};

/// P7: How long the marks of deliveries are remembered, so that repeats are detected.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most remembered marks.
pub const MOST_REMEMBERED: usize = 50_000;
/// The most waiting deliveries.
pub const WAITING: usize = 100;
/// The reply to a repeated delivery.
pub const REPEAT: &str = "repeat";

/// The values of one webhook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The webhook's definition at the time of the call.
    pub hook: WebhookSpec,
    pub values: Vec<Value>,
    /// Idempotency marks; may be empty.
    pub marks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub name: String,
    pub json: Json,
    pub kind: Kind,
}

/// Whether a value can contain any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It contains text that is not listed in the file.
    Free,
    /// A number, a boolean, or a text that is listed in the file.
    Fixed,
}

impl Delivery {
    pub fn source(&self) -> Source {
        Source::Webhook(self.hook.id.to_string())
    }

    /// Returns the name that the user sees.
    pub fn name(&self) -> String {
        format!("webhook {}", self.hook.id)
    }

    /// Returns whether a model acts on it; otherwise it is only shown.
    pub fn needs_model(&self) -> bool {
        self.hook.deliver.is_none()
    }

    /// Returns all values as one line of JSON.
    pub fn data(&self) -> String {
        object(self.values.iter())
    }

    /// WH-15: Returns the values with free text as one line of JSON; `None` if there are none.
    pub fn free(&self) -> Option<String> {
        let free: Vec<&Value> = self.values.iter().filter(|value| value.kind == Kind::Free).collect();
        (!free.is_empty()).then(|| object(free.into_iter()))
    }

    /// WH-10: Returns the placeholders without a value.
    pub fn missing(&self) -> Vec<String> {
        template::fill(self.hook.words(), |name| self.value(name)).err().unwrap_or_default()
    }

    /// Returns the text that is sent to the user unchanged, if the file defines one.
    pub fn words(&self) -> Option<String> {
        let words = self.hook.deliver.as_ref()?;
        let value = |name: &str| Some(self.value(name).unwrap_or_default());
        Some(cut(&template::fill(words.as_str(), value).unwrap_or_default()))
    }

    /// Returns all values as a list for the user.
    pub fn list(&self) -> String {
        let line = |value: &Value| format!("- {}: {}", literal(&value.name), literal(&value.json.plainly()));
        let lines: Vec<String> = self.values.iter().map(line).collect();
        cut(&lines.join("\n"))
    }

    fn value(&self, name: &str) -> Option<String> {
        let found = self.values.iter().find(|value| value.name == name)?;
        Some(literal(&found.json.plainly()))
    }
}

/// The most characters that are sent to the user at once.
const CHARS: usize = 1_500;

fn cut(words: &str) -> String {
    match words.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Returns external text on one line, without invisible characters and without links under another
/// text. Joiners stay, because they are part of emoji.
pub fn literal(words: &str) -> String {
    let visible = |c: char| if c.is_whitespace() { ' ' } else { c };
    let is_seen = |c: &char| is_joiner(*c) || !(c.is_control() || is_hidden(*c));
    let seen: String = words.chars().map(visible).filter(is_seen).collect();
    let line = seen.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.replace("](", "] (")
}

fn object<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let pairs: Vec<String> =
        values.map(|value| format!("{}:{}", quoted(&value.name), in_one_line(&value.json.0))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c < ' ' => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    in_one_line(&format!("\"{escaped}\""))
}

/// Escapes line breaks and hidden characters. They only occur inside strings.
fn in_one_line(json: &str) -> String {
    spelled_out(json, char::is_control)
}

/// WH-16: The result of checking the values for instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Safe,
    /// These values contain instructions; empty if no value was named.
    Flagged(Vec<String>),
    /// The answer was unreadable or missing.
    Unknown,
}

impl Verdict {
    /// Parses the answer from the first brace to the last. Only names of existing values count.
    pub fn read(said: &str, delivery: &Delivery) -> Self {
        let Some(object) = said.find('{').zip(said.rfind('}')).and_then(|(from, to)| said.get(from..=to))
        else {
            return Self::Unknown;
        };
        let object = Json(object.to_owned());
        let flagged = object.texts("flagged");
        let known = |name: &String| delivery.values.iter().any(|value| value.name == *name);
        match object.says("safe") {
            // An answer that flags a value is not safe.
            Some(true) if flagged.is_empty() => Self::Safe,
            Some(_) => Self::Flagged(flagged.into_iter().filter(known).collect()),
            None => Self::Unknown,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// It was received as this occurrence at this time. The time of the occurrence is later if
    /// another delivery has a time in the future.
    Came(Key, Arc<Delivery>, Timestamp),
    Ended(Key),
}

/// The state of all deliveries. Copies share unchanged parts.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    pub open: RedBlackTreeMapSync<Key, Arc<Delivery>>,
    /// The marks of known deliveries with the time of receipt.
    pub known: RedBlackTreeMapSync<String, Timestamp>,
    /// The time of the newest delivery.
    pub newest: Option<Timestamp>,
    /// Until when deliveries that need a model wait because of the daily limit. Reset at a start.
    pub until: Option<Timestamp>,
    /// Running checks with their delivery and result. They are repeated after a crash.
    pub checks: BTreeMap<Branch, (Key, Verdict)>,
}

impl Deliveries {
    /// Returns whether one of `marks` was received recently.
    pub fn remembers(&self, marks: &[String], now: Timestamp) -> bool {
        let lately = |at: &Timestamp| now.duration_since(*at) < REMEMBERED;
        marks.iter().any(|mark| self.known.get(mark).is_some_and(lately))
    }

    /// Adds `marks`; returns false if there are too many.
    pub fn remember(&mut self, marks: &[String], now: Timestamp) -> bool {
        if self.known.size() + marks.len() > MOST_REMEMBERED {
            // Marks far in the future were stored with a wrong clock.
            let old = self.known.iter().filter(|(_, at)| now.duration_since(**at).abs() >= REMEMBERED);
            let old: Vec<String> = old.map(|(mark, _)| mark.clone()).collect();
            for mark in &old {
                self.known.remove_mut(mark);
            }
        }
        let room = self.known.size() + marks.len() <= MOST_REMEMBERED;
        for mark in marks.iter().filter(|_| room) {
            self.known.insert_mut(mark.clone(), now);
        }
        room
    }

    /// Returns a time that no other delivery has, in the precision of the journal: `now`, if it is
    /// free.
    pub fn next_time(&mut self, now: Timestamp) -> Timestamp {
        let microseconds = now.as_microsecond();
        let after = self.newest.map_or(i64::MIN, |newest| newest.as_microsecond() + 1);
        let time = Timestamp::from_microsecond(microseconds.max(after)).unwrap_or(now);
        self.newest = Some(time);
        time
    }

    /// Returns whether values of `source` are being checked.
    pub fn is_checked(&self, source: &Source) -> bool {
        self.checks.values().any(|(key, _)| key.source == *source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Entrance, ItemId, Knowing, Prompt, Terms};

    fn delivery(values: &[(&str, &str, Kind)]) -> Delivery {
        let hook = WebhookSpec {
            id: ItemId::parse("ci").unwrap(),
            fields: "{}".to_owned(),
            entrance: Entrance::default(),
            knowing: Knowing::Itself,
            terms: Terms::default(),
            deliver: Some(Prompt::new("{title} is done")),
            template: Prompt::default(),
        };
        let value = |(name, json, kind): &(&str, &str, Kind)| Value {
            name: (*name).to_owned(),
            json: Json((*json).to_owned()),
            kind: *kind,
        };
        Delivery { hook, values: values.iter().map(value).collect(), marks: Vec::new() }
    }

    /// WH-12, F5: The data is one line of JSON, whatever invisible characters it contains.
    #[test]
    fn data_is_one_line_in_which_all_is_seen() {
        let hostile = "\"a\u{2028}TASK\u{202e}\u{7f}\u{e0041}é\"";
        let delivery = delivery(&[("ti\"tle", hostile, Kind::Free), ("n", "1", Kind::Fixed)]);
        assert_eq!(delivery.data(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é","n":1}"#);
        assert_eq!(delivery.free().unwrap(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é"}"#);
    }

    /// Text for the user stays on one line and hides neither links nor characters.
    #[test]
    fn what_the_human_sees_of_others_is_literal() {
        let hostile = r#""a\n\n# heading [here](http:\/\/x.example)\u202eb""#;
        let delivery = delivery(&[("title", hostile, Kind::Free)]);
        assert_eq!(delivery.words().unwrap(), "a # heading [here] (http://x.example)b is done");
        assert_eq!(delivery.list(), "- title: a # heading [here] (http://x.example)b");
        assert_eq!(literal("a\u{34f}\u{115f}\u{e0100}b ❤\u{fe0f} 👩\u{200d}🚀"), "ab ❤\u{fe0f} 👩\u{200d}🚀");
    }

    /// WH-16, WH-17: Only an explicit yes is safe, and a no without names counts as a no.
    #[test]
    fn only_what_is_found_safe_is_safe() {
        let delivery = delivery(&[("title", "\"x\"", Kind::Free)]);
        let check =
            |said: &str, verdict: Verdict| assert_eq!(Verdict::read(said, &delivery), verdict, "{said}");
        let flagged =
            |names: &[&str]| Verdict::Flagged(names.iter().map(|name| (*name).to_owned()).collect());
        check(r#"{"safe": true, "flagged": []}"#, Verdict::Safe);
        check("```json\n{\"safe\": true}\n```", Verdict::Safe);
        check(r#"{"safe": false, "flagged": ["title", "<b>"]}"#, flagged(&["title"]));
        check(r#"{"safe": false, "flagged": []}"#, flagged(&[]));
        check(r#"{"safe": true, "flagged": ["title"]}"#, flagged(&["title"]));
        for unknown in
            ["", "it is safe", "{", "}{", r#"{"safe": "true"}"#, r#"{"safe": 1}"#, "{\"safe\": true} {}"]
        {
            check(unknown, Verdict::Unknown);
        }
    }

    /// Marks are remembered for a week, and their number is limited.
    #[test]
    fn what_was_delivered_is_remembered_for_a_week() {
        let mut deliveries = Deliveries::default();
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let mark = vec!["m".to_owned()];
        assert!(deliveries.remember(&mark, now));
        assert!(deliveries.remembers(&mark, now + SignedDuration::from_hours(7 * 24 - 1)));
        assert!(!deliveries.remembers(&mark, now + REMEMBERED));
        for number in 1..MOST_REMEMBERED {
            assert!(deliveries.remember(&[number.to_string()], now));
        }
        assert!(!deliveries.remember(&["one more".to_owned()], now), "nothing is forgotten for lack of room");
        assert!(deliveries.remember(&["one more".to_owned()], now + REMEMBERED));
    }

    /// No two deliveries have the same time in the stored precision.
    #[test]
    fn deliveries_of_one_moment_have_times_of_their_own() {
        let mut deliveries = Deliveries::default();
        let now: Timestamp = "2026-11-16T08:00:00.000000999Z".parse().unwrap();
        let times: Vec<i64> = (0..3).map(|_| deliveries.next_time(now).as_microsecond()).collect();
        assert_eq!(times, [now.as_microsecond(), now.as_microsecond() + 1, now.as_microsecond() + 2]);
    }
}
