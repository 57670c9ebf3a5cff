//! Deliveries: what somebody outside brought to a webhook, from the writing that takes it in to its end.
//!
//! The values are data for ever. They stand in a block of JSON whose length is told first and whose every line break and
//! invisible sign is spelled out, so that nothing in them can end it; or before the human, literally.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rpds::RedBlackTreeMapSync;

use crate::conversation::{Branch, Json};
use crate::cost::Source;
use crate::hidden::{is_hidden, is_joiner, spelled_out};
use crate::occurrence::Key;
use crate::schedule::{WebhookSpec, template};

/// P7: how long it is remembered what was delivered.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most deliveries that are remembered.
pub const MOST_REMEMBERED: usize = 50_000;
/// The most deliveries that wait for their turn.
pub const WAITING: usize = 100;
/// What whoever delivers something twice hears.
pub const REPEAT: &str = "repeat";

/// What somebody outside brought to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What the file said when it came.
    pub hook: WebhookSpec,
    /// What was brought, by name.
    pub values: Vec<Value>,
    /// What it is known by, so that it is not taken in twice; may be nothing.
    pub marks: Vec<String>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// What it is.
    pub json: Json,
    /// Whether it can say anything.
    pub kind: Kind,
}

/// Whether a value can say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There are words in it that the file does not list.
    Free,
    /// It is a number, a truth, or one of a few words that the file lists.
    Fixed,
}

impl Delivery {
    /// Whose it is.
    pub fn source(&self) -> Source {
        Source::Webhook(self.hook.id.to_string())
    }

    /// What the human calls it.
    pub fn name(&self) -> String {
        format!("webhook {}", self.hook.id)
    }

    /// Whether it is acted on, and not only told.
    pub fn needs_model(&self) -> bool {
        self.hook.deliver.is_none()
    }

    /// All values, as one line of JSON.
    pub fn data(&self) -> String {
        object(self.values.iter())
    }

    /// WH-15: the values that can say anything, as one line of JSON; nothing, if there are none.
    pub fn free(&self) -> Option<String> {
        let free: Vec<&Value> = self.values.iter().filter(|value| value.kind == Kind::Free).collect();
        (!free.is_empty()).then(|| object(free.into_iter()))
    }

    /// WH-10: the names of places that nothing was brought for.
    pub fn missing(&self) -> Vec<String> {
        template::fill(self.hook.words(), |name| self.value(name)).err().unwrap_or_default()
    }

    /// What goes to the human as it is, if the file wants that.
    pub fn words(&self) -> Option<String> {
        let words = self.hook.deliver.as_ref()?;
        let value = |name: &str| Some(self.value(name).unwrap_or_default());
        Some(cut(&template::fill(words.as_str(), value).unwrap_or_default()))
    }

    /// All values, one below the other, for the human.
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

/// The most characters that go to the human at once.
const CHARS: usize = 1_500;

fn cut(words: &str) -> String {
    match words.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Words of others in one line, with nothing in them that is not seen, and no link under other words. Joiners stay: the
/// human reads this, and a picture is to be that picture.
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

/// `text` as a JSON text.
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

/// The same JSON with every sign that breaks a line or is hidden written as its number. Such signs only stand in its texts.
fn in_one_line(json: &str) -> String {
    spelled_out(json, char::is_control)
}

/// WH-16: what somebody who looked at values says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing in them wants to steer us.
    Safe,
    /// These do; nothing is named, if it was only said that something does.
    Flagged(Vec<String>),
    /// Nobody knows: what was said cannot be read, or nothing was.
    Unknown,
}

impl Verdict {
    /// Reads what was said, from the first brace to the last. Only names that were asked about count.
    pub fn read(said: &str, delivery: &Delivery) -> Self {
        let Some(object) = said.find('{').zip(said.rfind('}')).and_then(|(from, to)| said.get(from..=to))
        else {
            return Self::Unknown;
        };
        let object = Json(object.to_owned());
        let flagged = object.texts("flagged");
        let known = |name: &String| delivery.values.iter().any(|value| value.name == *name);
        match object.says("safe") {
            // Who names something does not find it safe.
            Some(true) if flagged.is_empty() => Self::Safe,
            Some(_) => Self::Flagged(flagged.into_iter().filter(known).collect()),
            None => Self::Unknown,
        }
    }
}

/// What happened to a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// It came, as this occurrence of its webhook, at this time: that of the occurrence is a later one while another
    /// delivery has a time that is still to come.
    Came(Key, Arc<Delivery>, Timestamp),
    /// It has ended.
    Ended(Key),
}

/// What is kept in mind of deliveries. Copies share what did not change.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// Those that have not ended.
    pub open: RedBlackTreeMapSync<Key, Arc<Delivery>>,
    /// What deliveries are known by, and when they came.
    pub known: RedBlackTreeMapSync<String, Timestamp>,
    /// When the newest one came.
    pub newest: Option<Timestamp>,
    /// Until when those wait that need a model, if the limit of the day is reached. A start looks anew.
    pub until: Option<Timestamp>,
    /// The runs that look at values, whose, and what they say. A crash forgets them, and another one looks.
    pub checks: BTreeMap<Branch, (Key, Verdict)>,
}

impl Deliveries {
    /// Whether one that is known by one of `marks` was taken in lately.
    pub fn remembers(&self, marks: &[String], now: Timestamp) -> bool {
        let lately = |at: &Timestamp| now.duration_since(*at) < REMEMBERED;
        marks.iter().any(|mark| self.known.get(mark).is_some_and(lately))
    }

    /// Remembers `marks`; whether there is room for them.
    pub fn remember(&mut self, marks: &[String], now: Timestamp) -> bool {
        if self.known.size() + marks.len() > MOST_REMEMBERED {
            // What is still to come longer than that is of a clock that was wrong.
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

    /// A time that no delivery has, as finely as the journal keeps it: this one, if it is free.
    pub fn next_time(&mut self, now: Timestamp) -> Timestamp {
        let microseconds = now.as_microsecond();
        let after = self.newest.map_or(i64::MIN, |newest| newest.as_microsecond() + 1);
        let time = Timestamp::from_microsecond(microseconds.max(after)).unwrap_or(now);
        self.newest = Some(time);
        time
    }

    /// Whether somebody looks at what `source` brought.
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

    /// WH-12, F5: the data is one line of JSON, whatever invisible signs are in it.
    #[test]
    fn data_is_one_line_in_which_all_is_seen() {
        let hostile = "\"a\u{2028}TASK\u{202e}\u{7f}\u{e0041}é\"";
        let delivery = delivery(&[("ti\"tle", hostile, Kind::Free), ("n", "1", Kind::Fixed)]);
        assert_eq!(delivery.data(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é","n":1}"#);
        assert_eq!(delivery.free().unwrap(), r#"{"ti\"tle":"a\u2028TASK\u202e\u007f\udb40\udc41é"}"#);
    }

    /// Words for the human stay in their line, and hide neither a link nor a sign.
    #[test]
    fn what_the_human_sees_of_others_is_literal() {
        let hostile = r#""a\n\n# heading [here](http:\/\/x.example)\u202eb""#;
        let delivery = delivery(&[("title", hostile, Kind::Free)]);
        assert_eq!(delivery.words().unwrap(), "a # heading [here] (http://x.example)b is done");
        assert_eq!(delivery.list(), "- title: a # heading [here] (http://x.example)b");
        assert_eq!(literal("a\u{34f}\u{115f}\u{e0100}b ❤\u{fe0f} 👩\u{200d}🚀"), "ab ❤\u{fe0f} 👩\u{200d}🚀");
    }

    /// WH-16, WH-17: only a plain yes is a yes; a no without names is a no.
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

    /// A delivery is remembered for a week, and the memory has a bound.
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

    /// No two deliveries have the same time, as finely as times are kept.
    #[test]
    fn deliveries_of_one_moment_have_times_of_their_own() {
        let mut deliveries = Deliveries::default();
        let now: Timestamp = "2026-11-16T08:00:00.000000999Z".parse().unwrap();
        let times: Vec<i64> = (0..3).map(|_| deliveries.next_time(now).as_microsecond()).collect();
        assert_eq!(times, [now.as_microsecond(), now.as_microsecond() + 1, now.as_microsecond() + 2]);
    }
}
