//! Deferred notifications, their reasons, and the digest that delivers them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cost::Source;
use crate::label::Label;

/// The heading of missed times in a digest.
pub const PASSED: &str = "while i was away these times passed, and it is too late for them now";

/// The id of a deferred item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeldId(pub u64);

/// A deferred notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub id: HeldId,
    /// The time at which it was deferred.
    pub at: Timestamp,
    pub source: Source,
    /// The display name of the source.
    pub name: String,
    pub words: String,
    pub why: HeldFor,
    /// The provenance of the text.
    pub label: Label,
}

/// Why a notification was deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldFor {
    /// Quiet hours or quiet time.
    Quiet,
    Focus,
    /// The previous notification was too recent.
    Soon,
    /// The daily cap was reached.
    Enough,
    /// It was shown twice without an answer.
    Unanswered,
    /// The user was in a conversation with the assistant.
    Talking,
    /// Its time passed while the assistant was not running.
    Missed,
}

impl HeldFor {
    pub const ALL: [Self; 7] =
        [Self::Quiet, Self::Focus, Self::Soon, Self::Enough, Self::Unanswered, Self::Talking, Self::Missed];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Focus => "focus",
            Self::Soon => "soon",
            Self::Enough => "enough",
            Self::Unanswered => "unanswered",
            Self::Talking => "talking",
            Self::Missed => "missed",
        }
    }

    /// The reason with this stored name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }

    /// A description for the user.
    pub fn tell(self) -> &'static str {
        match self {
            Self::Quiet => "it was quiet",
            Self::Focus => "you were focused",
            Self::Soon => "something else had just rung",
            Self::Enough => "enough had rung that day",
            Self::Unanswered => "no answer yet",
            Self::Talking => "we were talking",
            Self::Missed => "i was away",
        }
    }
}

/// Deferred items that are delivered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    pub held: Vec<Held>,
    pub at: Timestamp,
    pub text: String,
}

impl Telling {
    /// The joined label of all items.
    pub fn label(&self) -> Label {
        self.held.iter().fold(Label::PLAIN, |all, one| all.join(one.label))
    }

    /// Renders `held` with times in `zone`.
    pub fn of(held: Vec<Held>, at: Timestamp, zone: &TimeZone) -> Self {
        let (asked, rest): (Vec<&Held>, Vec<&Held>) =
            held.iter().partition(|held| held.why == HeldFor::Unanswered);
        let (passed, waited): (Vec<&Held>, Vec<&Held>) =
            rest.into_iter().partition(|held| held.why == HeldFor::Missed);
        let time = |held: &Held| held.at.to_zoned(zone.clone()).strftime("%H:%M").to_string();
        let mut lines = Vec::new();
        if !waited.is_empty() {
            lines.push(format!("{} waited for a good moment:", things(waited.len())));
            let line = |held: &&Held| {
                format!("- {}: {} ({}, {})", held.name, held.words, time(held), held.why.tell())
            };
            lines.extend(waited.iter().map(line));
        }
        if !passed.is_empty() {
            lines.push(format!("{PASSED}:"));
            lines.extend(passed.iter().map(|held| format!("- {}: {}", held.name, held.words)));
        }
        if !asked.is_empty() {
            lines.push(format!("{} without an answer. keep, move or drop?", things(asked.len())));
            lines.extend(asked.iter().map(|held| format!("- {}", held.words)));
        }
        let text = lines.join("\n");
        Self { held, at, text }
    }
}

fn things(count: usize) -> String {
    match count {
        1 => "1 thing".to_owned(),
        count => format!("{count} things"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digest lists deferred items with name, time and reason, and asks about unanswered
    /// reminders.
    #[test]
    fn a_digest_tells_what_waited_and_asks_about_the_rest() {
        let held = |id, time: &str, words: &str, why| Held {
            id: HeldId(id),
            at: format!("2026-11-16T{time}+01:00").parse().unwrap(),
            source: Source::Routine("mail".to_owned()),
            name: "my mail".to_owned(),
            words: words.to_owned(),
            why,
            label: Label::PLAIN,
        };
        let all = vec![
            held(1, "02:10", "two mails", HeldFor::Quiet),
            held(2, "07:00", "call the dentist", HeldFor::Unanswered),
            held(3, "07:10", "mon 16 nov 03:00", HeldFor::Missed),
        ];
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        let told = Telling::of(all, Timestamp::UNIX_EPOCH, &zone);
        assert_eq!(
            told.text,
            "1 thing waited for a good moment:\n- my mail: two mails (02:10, it was quiet)\n\
             while i was away these times passed, and it is too late for them now:\n- my mail: mon 16 nov 03:00\n\
             1 thing without an answer. keep, move or drop?\n- call the dentist"
        );
    }

    /// Every reason round-trips through its stored name.
    #[test]
    fn a_reason_is_found_again_by_its_word() {
        for why in HeldFor::ALL {
            assert_eq!(HeldFor::named(why.as_str()), Some(why));
        }
        assert_eq!(HeldFor::named("boredom"), None);
    }
}
