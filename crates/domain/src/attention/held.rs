//! What is held: why it waits, and how it is told when its time comes.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cost::Source;
use crate::label::Label;

/// What is said before times that nobody kept.
pub const PASSED: &str = "while i was away these times passed, and it is too late for them now";

/// The number of something that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeldId(pub u64);

/// Something that waits to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its number.
    pub id: HeldId,
    /// When it came about.
    pub at: Timestamp,
    /// Whose it is.
    pub source: Source,
    /// What the human calls that.
    pub name: String,
    /// What it says.
    pub words: String,
    /// Why it waits.
    pub why: HeldFor,
    /// What is known of what it says.
    pub label: Label,
}

/// Why something waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldFor {
    /// It was quiet.
    Quiet,
    /// The human had their mind on something.
    Focus,
    /// Something else had rung a short while before.
    Soon,
    /// Enough had rung that day.
    Enough,
    /// It rang twice, and nobody answered.
    Unanswered,
    /// The human was in the middle of talking with us.
    Talking,
    /// Its time passed while nobody was there.
    Missed,
}

impl HeldFor {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Quiet, Self::Focus, Self::Soon, Self::Enough, Self::Unanswered, Self::Talking, Self::Missed];

    /// The word under which it is kept.
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

    /// The reason that `word` names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }

    /// The reason in words, as the human reads it.
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

/// Things that were held and are told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// What is told.
    pub held: Vec<Held>,
    /// When.
    pub at: Timestamp,
    /// In these words.
    pub text: String,
}

impl Telling {
    /// What is known of all that is told.
    pub fn label(&self) -> Label {
        self.held.iter().fold(Label::PLAIN, |all, one| all.join(one.label))
    }

    /// Tells all of `held`, where the human lives in `zone`.
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

    /// What waited is told with whose it is, when it came and why it waited; what rang in vain is asked about.
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

    /// Every reason has a word under which it is kept.
    #[test]
    fn a_reason_is_found_again_by_its_word() {
        for why in HeldFor::ALL {
            assert_eq!(HeldFor::named(why.as_str()), Some(why));
        }
        assert_eq!(HeldFor::named("boredom"), None);
    }
}
