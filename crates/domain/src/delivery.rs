//! Deliveries: the values of one webhook call, from receipt to the end of its run.
//!
//! The values are untrusted data. The model reads them as one line of JSON with its length, in
//! which all line breaks and invisible characters are escaped. The user sees them as literal text.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rpds::RedBlackTreeMapSync;

use crate::conversation::{Branch, Json};
use crate::cost::CostSource;
use crate::hidden_chars::{escape_hidden, is_hidden, is_joiner};
use crate::occurrence::OccurrenceKey;
use crate::schedule::{WebhookSpec, template};

/// P7: How long the marks of deliveries are remembered, so that repeats are detected.
pub const MARK_RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most remembered marks.
pub const MAX_MARKS: usize = 50_000;
/// The most waiting deliveries.
pub const MAX_WAITING: usize = 100;
/// The reply to a repeated delivery.
pub const REPEAT: &str = "repeat";

/// The values of one webhook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The webhook's definition at the time of the call.
    pub webhook: WebhookSpec,
    pub values: Vec<Value>,
    /// Idempotency marks; may be empty.
    pub marks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub name: String,
    pub json: Json,
    pub kind: ValueKind,
}

/// Whether a value can contain any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// It contains text that is not listed in the file.
    Free,
    /// A number, a boolean, or a text that is listed in the file.
    Fixed,
}

impl Delivery {
    pub fn source(&self) -> CostSource {
        CostSource::Webhook(self.webhook.id.to_string())
    }

    /// Returns the name that the user sees.
    pub fn display_name(&self) -> String {
        format!("webhook {}", self.webhook.id)
    }

    /// Returns whether a model acts on it; otherwise it is only shown.
    pub fn needs_model(&self) -> bool {
        self.webhook.deliver.is_none()
    }

    /// Returns all values as one line of JSON.
    pub fn data(&self) -> String {
        json_object(self.values.iter())
    }

    /// WH-15: Returns the values with free text as one line of JSON; `None` if there are none.
    pub fn free_values(&self) -> Option<String> {
        let free: Vec<&Value> = self.values.iter().filter(|value| value.kind == ValueKind::Free).collect();
        (!free.is_empty()).then(|| json_object(free.into_iter()))
    }

    /// WH-10: Returns the placeholders without a value.
    pub fn missing_values(&self) -> Vec<String> {
        template::fill(self.webhook.active_template(), |name| self.value(name)).err().unwrap_or_default()
    }

    /// Returns the text that is sent to the user unchanged, if the file defines one.
    pub fn verbatim_text(&self) -> Option<String> {
        let words = self.webhook.deliver.as_ref()?;
        let value = |name: &str| Some(self.value(name).unwrap_or_default());
        Some(truncate(&template::fill(words.as_str(), value).unwrap_or_default()))
    }

    /// Returns all values as a list for the user.
    pub fn list(&self) -> String {
        let line = |value: &Value| {
            format!("- {}: {}", literal_line(&value.name), literal_line(&value.json.to_plain_text()))
        };
        let lines: Vec<String> = self.values.iter().map(line).collect();
        truncate(&lines.join("\n"))
    }

    fn value(&self, name: &str) -> Option<String> {
        let found = self.values.iter().find(|value| value.name == name)?;
        Some(literal_line(&found.json.to_plain_text()))
    }
}

/// The most characters that are sent to the user at once.
const MAX_CHARS: usize = 1_500;

fn truncate(words: &str) -> String {
    match words.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Returns external text on one line, without invisible characters and without links under another
/// text. Joiners stay, because they are part of emoji.
pub fn literal_line(words: &str) -> String {
    let visible = |c: char| if c.is_whitespace() { ' ' } else { c };
    let is_seen = |c: &char| is_joiner(*c) || !(c.is_control() || is_hidden(*c));
    let seen: String = words.chars().map(visible).filter(is_seen).collect();
    let line = seen.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.replace("](", "] (")
}

fn json_object<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let pairs: Vec<String> = values
        .map(|value| format!("{}:{}", json_string(&value.name), one_line_json(&value.json.0)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// Returns `text` as a JSON string.
fn json_string(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c < ' ' => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    one_line_json(&format!("\"{escaped}\""))
}

/// Escapes line breaks and hidden characters. They only occur inside strings.
fn one_line_json(json: &str) -> String {
    escape_hidden(json, char::is_control)
}

/// WH-16: The result of checking the values for instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    Safe,
    /// These values contain instructions; empty if no value was named.
    Flagged(Vec<String>),
    /// The answer was unreadable or missing.
    Unknown,
}

impl CheckVerdict {
    /// Parses the answer from the first brace to the last. Only names of existing values count.
    pub fn parse(said: &str, delivery: &Delivery) -> Self {
        let Some(object) = said.find('{').zip(said.rfind('}')).and_then(|(from, to)| said.get(from..=to))
        else {
            return Self::Unknown;
        };
        let object = Json(object.to_owned());
        let flagged = object.texts("flagged");
        let known = |name: &String| delivery.values.iter().any(|value| value.name == *name);
        match object.bool_field("safe") {
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
    Received(OccurrenceKey, Arc<Delivery>, Timestamp),
    Ended(OccurrenceKey),
}

/// The state of all deliveries. Copies share unchanged parts.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    pub open: RedBlackTreeMapSync<OccurrenceKey, Arc<Delivery>>,
    /// The marks of known deliveries with the time of receipt.
    pub marks: RedBlackTreeMapSync<String, Timestamp>,
    /// The time of the newest delivery.
    pub newest: Option<Timestamp>,
    /// Until when deliveries that need a model wait because of the daily limit. Reset at a start.
    pub paused_until: Option<Timestamp>,
    /// Running checks with their delivery and result. They are repeated after a crash.
    pub checks: BTreeMap<Branch, (OccurrenceKey, CheckVerdict)>,
}

impl Deliveries {
    /// Returns whether one of `marks` was received recently.
    pub fn is_known(&self, marks: &[String], now: Timestamp) -> bool {
        let lately = |at: &Timestamp| now.duration_since(*at) < MARK_RETENTION;
        marks.iter().any(|mark| self.marks.get(mark).is_some_and(lately))
    }

    /// Adds `marks`; returns false if there are too many.
    pub fn add_marks(&mut self, marks: &[String], now: Timestamp) -> bool {
        if self.marks.size() + marks.len() > MAX_MARKS {
            // Marks far in the future were stored with a wrong clock.
            let old = self.marks.iter().filter(|(_, at)| now.duration_since(**at).abs() >= MARK_RETENTION);
            let old: Vec<String> = old.map(|(mark, _)| mark.clone()).collect();
            for mark in &old {
                self.marks.remove_mut(mark);
            }
        }
        let room = self.marks.size() + marks.len() <= MAX_MARKS;
        for mark in marks.iter().filter(|_| room) {
            self.marks.insert_mut(mark.clone(), now);
        }
        room
    }

    /// Returns a time that no other delivery has, in the precision of the journal: `now`, if it is
    /// free.
    pub fn unique_time(&mut self, now: Timestamp) -> Timestamp {
        let microseconds = now.as_microsecond();
        let after = self.newest.map_or(i64::MIN, |newest| newest.as_microsecond() + 1);
        let time = Timestamp::from_microsecond(microseconds.max(after)).unwrap_or(now);
        self.newest = Some(time);
        time
    }

    /// Returns whether values of `source` are being checked.
    pub fn is_checked(&self, source: &CostSource) -> bool {
        self.checks.values().any(|(key, _)| key.source == *source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{InitialContext, ItemId, Prompt, RunOptions, WebhookIntake};

    fn delivery(values: &[(&str, &str, ValueKind)]) -> Delivery {
        let hook = WebhookSpec {
            id: ItemId::parse("ci").unwrap(),
            fields: "{}".to_owned(),
            intake: WebhookIntake::default(),
            context: InitialContext::PromptOnly,
            options: RunOptions::default(),
            deliver: Some(Prompt::new("{title} is done")),
            template: Prompt::default(),
        };
        let value = |(name, json, kind): &(&str, &str, ValueKind)| Value {
            name: (*name).to_owned(),
            json: Json((*json).to_owned()),
            kind: *kind,
        };
        Delivery { webhook: hook, values: values.iter().map(value).collect(), marks: Vec::new() }
    }

    /// WH-12, F5: The data is one line of JSON, whatever invisible characters it contains.
    #[test]
    fn data_is_one_line_without_hidden_characters() {
        let hostile = "\"a\u{2028}TASK\u{202e}\u{7f}\u{e0041}é\"";
        let delivery = delivery(&[("ti\"tle", hostile, ValueKind::Free), ("n", "1", ValueKind::Fixed)]);
        assert_eq!(delivery.data(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é","n":1}"#);
        assert_eq!(delivery.free_values().unwrap(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é"}"#);
    }

    /// Text for the user stays on one line and hides neither links nor characters.
    #[test]
    fn external_text_is_shown_literally() {
        let hostile = r#""a\n\n# heading [here](http:\/\/x.example)\u202eb""#;
        let delivery = delivery(&[("title", hostile, ValueKind::Free)]);
        assert_eq!(delivery.verbatim_text().unwrap(), "a # heading [here] (http://x.example)b is done");
        assert_eq!(delivery.list(), "- title: a # heading [here] (http://x.example)b");
        assert_eq!(
            literal_line("a\u{34f}\u{115f}\u{e0100}b ❤\u{fe0f} 👩\u{200d}🚀"),
            "ab ❤\u{fe0f} 👩\u{200d}🚀"
        );
    }

    /// WH-16, WH-17: Only an explicit yes is safe, and a no without names counts as a no.
    #[test]
    fn only_an_explicit_yes_is_safe() {
        let delivery = delivery(&[("title", "\"x\"", ValueKind::Free)]);
        let check = |said: &str, verdict: CheckVerdict| {
            assert_eq!(CheckVerdict::parse(said, &delivery), verdict, "{said}")
        };
        let flagged =
            |names: &[&str]| CheckVerdict::Flagged(names.iter().map(|name| (*name).to_owned()).collect());
        check(r#"{"safe": true, "flagged": []}"#, CheckVerdict::Safe);
        check("```json\n{\"safe\": true}\n```", CheckVerdict::Safe);
        check(r#"{"safe": false, "flagged": ["title", "<b>"]}"#, flagged(&["title"]));
        check(r#"{"safe": false, "flagged": []}"#, flagged(&[]));
        check(r#"{"safe": true, "flagged": ["title"]}"#, flagged(&["title"]));
        for unknown in
            ["", "it is safe", "{", "}{", r#"{"safe": "true"}"#, r#"{"safe": 1}"#, "{\"safe\": true} {}"]
        {
            check(unknown, CheckVerdict::Unknown);
        }
    }

    /// Marks are remembered for a week, and their number is limited.
    #[test]
    fn marks_are_remembered_for_a_week() {
        let mut deliveries = Deliveries::default();
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let mark = vec!["m".to_owned()];
        assert!(deliveries.add_marks(&mark, now));
        assert!(deliveries.is_known(&mark, now + SignedDuration::from_hours(7 * 24 - 1)));
        assert!(!deliveries.is_known(&mark, now + MARK_RETENTION));
        for number in 1..MAX_MARKS {
            assert!(deliveries.add_marks(&[number.to_string()], now));
        }
        assert!(
            !deliveries.add_marks(&["one more".to_owned()], now),
            "nothing is forgotten for lack of room"
        );
        assert!(deliveries.add_marks(&["one more".to_owned()], now + MARK_RETENTION));
    }

    /// No two deliveries have the same time in the stored precision.
    #[test]
    fn simultaneous_deliveries_have_different_times() {
        let mut deliveries = Deliveries::default();
        let now: Timestamp = "2026-11-16T08:00:00.000000999Z".parse().unwrap();
        let times: Vec<i64> = (0..3).map(|_| deliveries.unique_time(now).as_microsecond()).collect();
        assert_eq!(times, [now.as_microsecond(), now.as_microsecond() + 1, now.as_microsecond() + 2]);
    }
}
