//! Deferred notifications, their reasons, and the digest that delivers them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cost::CostSource;
use crate::label::Label;

/// The heading of missed times in a digest.
pub const MISSED_HEADING: &str = "while i was away these times passed, and it is too late for them now";

/// The id of a deferred item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeferredId(pub u64);

/// A deferred notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    pub id: DeferredId,
    /// The time at which it was deferred.
    pub at: Timestamp,
    pub source: CostSource,
    /// The display name of the source.
    pub name: String,
    pub text: String,
    pub reason: DeferReason,
    /// The provenance of the text.
    pub label: Label,
}

/// Why a notification was deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferReason {
    /// Quiet hours or quiet time.
    Quiet,
    Focus,
    /// The previous notification was too recent.
    MinimumGap,
    /// The daily cap was reached.
    DailyCap,
    /// It was shown twice without an answer.
    Unanswered,
    /// The user was in a conversation with the assistant.
    Talking,
    /// Its time passed while the assistant was not running.
    Missed,
}

impl DeferReason {
    pub const ALL: [Self; 7] = [
        Self::Quiet,
        Self::Focus,
        Self::MinimumGap,
        Self::DailyCap,
        Self::Unanswered,
        Self::Talking,
        Self::Missed,
    ];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Focus => "focus",
            Self::MinimumGap => "soon",
            Self::DailyCap => "enough",
            Self::Unanswered => "unanswered",
            Self::Talking => "talking",
            Self::Missed => "missed",
        }
    }

    /// The reason with this stored name.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }

    /// A description for the user.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Quiet => "it was quiet",
            Self::Focus => "you were focused",
            Self::MinimumGap => "something else had just rung",
            Self::DailyCap => "enough had rung that day",
            Self::Unanswered => "no answer yet",
            Self::Talking => "we were talking",
            Self::Missed => "i was away",
        }
    }
}

/// Deferred items that are delivered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub items: Vec<Deferred>,
    pub at: Timestamp,
    pub text: String,
}

impl Digest {
    /// The joined label of all items.
    pub fn label(&self) -> Label {
        self.items.iter().fold(Label::PLAIN, |all, one| all.join(one.label))
    }

    /// Renders `held` with times in `zone`.
    pub fn new(held: Vec<Deferred>, at: Timestamp, zone: &TimeZone) -> Self {
        let (asked, rest): (Vec<&Deferred>, Vec<&Deferred>) =
            held.iter().partition(|held| held.reason == DeferReason::Unanswered);
        let (passed, waited): (Vec<&Deferred>, Vec<&Deferred>) =
            rest.into_iter().partition(|held| held.reason == DeferReason::Missed);
        let time = |held: &Deferred| held.at.to_zoned(zone.clone()).strftime("%H:%M").to_string();
        let mut lines = Vec::new();
        if !waited.is_empty() {
            lines.push(format!("{} waited for a good moment:", count_things(waited.len())));
            let line = |held: &&Deferred| {
                format!("- {}: {} ({}, {})", held.name, held.text, time(held), held.reason.describe())
            };
            lines.extend(waited.iter().map(line));
        }
        if !passed.is_empty() {
            lines.push(format!("{MISSED_HEADING}:"));
            lines.extend(passed.iter().map(|held| format!("- {}: {}", held.name, held.text)));
        }
        if !asked.is_empty() {
            lines.push(format!("{} without an answer. keep, move or drop?", count_things(asked.len())));
            lines.extend(asked.iter().map(|held| format!("- {}", held.text)));
        }
        let text = lines.join("\n");
        Self { items: held, at, text }
    }
}

fn count_things(count: usize) -> String {
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
    fn a_digest_lists_deferred_items_and_asks_about_unanswered_ones() {
        let held = |id, time: &str, words: &str, why| Deferred {
            id: DeferredId(id),
            at: format!("2026-11-16T{time}+01:00").parse().unwrap(),
            source: CostSource::Routine("mail".to_owned()),
            name: "my mail".to_owned(),
            text: words.to_owned(),
            reason: why,
            label: Label::PLAIN,
        };
        let all = vec![
            held(1, "02:10", "two mails", DeferReason::Quiet),
            held(2, "07:00", "call the dentist", DeferReason::Unanswered),
            held(3, "07:10", "mon 16 nov 03:00", DeferReason::Missed),
        ];
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        let told = Digest::new(all, Timestamp::UNIX_EPOCH, &zone);
        assert_eq!(
            told.text,
            "1 thing waited for a good moment:\n- my mail: two mails (02:10, it was quiet)\n\
             while i was away these times passed, and it is too late for them now:\n- my mail: mon 16 nov 03:00\n\
             1 thing without an answer. keep, move or drop?\n- call the dentist"
        );
    }

    /// Every reason round-trips through its stored name.
    #[test]
    fn reasons_round_trip_through_their_names() {
        for why in DeferReason::ALL {
            assert_eq!(DeferReason::from_name(why.as_str()), Some(why));
        }
        assert_eq!(DeferReason::from_name("boredom"), None);
    }
}
