//! The side conversation that the human takes part in: at most one, and how it ends.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::{Branch, EntryId, Why};
use crate::effort::Effort;
use crate::embed::{Action, Button, Colour, Embed, Exiting, Style};
use crate::record::MessageId;
use crate::report::ReportId;
use crate::thinking::Thinking;

/// After how many quiet minutes a fork is idle, if nobody says otherwise.
pub const IDLE_MINUTES: u32 = 10;

/// A fork that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Where.
    pub branch: Branch,
    /// The entry of main at which it began: none, if it has nothing of main.
    pub root: Option<EntryId>,
    /// What it is about, if that is known.
    pub topic: Option<String>,
    /// After how many quiet minutes it is idle.
    pub idle_minutes: u32,
    /// When something last happened in it.
    pub active: Timestamp,
    /// When the human was last asked whether it is still needed.
    pub asked: Option<Timestamp>,
    /// The newest report it has seen.
    pub seen: Option<ReportId>,
    /// How it ends when the answer that goes on is finished.
    pub leaving: Leaving,
    /// How much is thought in it, from its first word to its last.
    pub thinking: Thinking,
    /// How much work goes into its answers, from the first to the last.
    pub effort: Effort,
    /// The first message that is not heard in it any more, if it ends because the human wants it to.
    pub until: MessageId,
}

/// A side conversation that was asked for, and begins when the answer that goes on is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entering {
    /// What it is about, if that is known.
    pub topic: Option<String>,
    /// After how many quiet minutes it is idle, if not the usual number.
    pub idle_minutes: Option<u32>,
    /// The first message that is not heard before it begins.
    pub until: MessageId,
}

/// How a fork ends when the answer that goes on is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Leaving {
    /// Not at all.
    #[default]
    Not,
    /// As the model wants it.
    So(Exit),
    /// The human wants a report: with the model's, or without one.
    WithReport,
}

/// The three ways out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It becomes the main conversation.
    Save,
    /// These words have gone to main, and the rest is dropped.
    Report(String),
    /// It is dropped.
    Drop,
}

/// What a quiet fork needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// Nothing, before this time.
    Until(Timestamp),
    /// The human is asked whether it is still needed.
    Ask,
    /// It ends.
    End,
}

impl Fork {
    /// A fork that has just begun on `branch`, at the entry `root` of main.
    pub fn begun(branch: Branch, root: Option<EntryId>, entering: Entering, at: Timestamp) -> Self {
        let Entering { topic, idle_minutes, .. } = entering;
        let idle_minutes = idle_minutes.filter(|minutes| *minutes > 0).unwrap_or(IDLE_MINUTES);
        let asked = None;
        let seen = None;
        let leaving = Leaving::Not;
        let until = MessageId(0);
        let thinking = Thinking::default();
        let effort = Effort::for_thinking(thinking);
        Self { branch, root, topic, idle_minutes, active: at, asked, seen, leaving, thinking, effort, until }
    }

    /// IF-27 to IF-31: what it needs at the time `now`, if nobody speaks in it.
    pub fn quiet(&self, now: Timestamp) -> Quiet {
        let patience = SignedDuration::from_mins(self.idle_minutes.into());
        let since = self.asked.map_or(self.active, |asked| asked.max(self.active));
        match (now.duration_since(since) >= patience, self.asked) {
            (false, _) => Quiet::Until(since.saturating_add(patience).unwrap_or(Timestamp::MAX)),
            (true, Some(asked)) if asked >= self.active => Quiet::End,
            (true, _) => Quiet::Ask,
        }
    }
}

/// XB-20: what is shown when a fork begins.
pub fn begun_card(topic: Option<&str>) -> Embed {
    let button = |label: &str, style, exit| {
        let label = label.to_owned();
        let action = Action::Leave(exit);
        Button { label, style, action }
    };
    let description = match topic {
        Some(topic) => format!("Topic: {topic}"),
        None => "what is said here stays apart from main.".to_owned(),
    };
    let buttons = vec![
        button("Save Context", Style::Success, Exiting::Save),
        button("Report", Style::Primary, Exiting::Report),
        button("Exit Fork", Style::Danger, Exiting::Drop),
    ];
    Embed { description, colour: Colour::Purple, buttons, ..Embed::titled("Forked Session") }.fitted()
}

/// XB-21: what is shown when a fork ended, with what there is to say of it.
pub fn ended_card(why: Why, note: &str) -> Embed {
    let Ended { title, colour, .. } = ended(why);
    Embed { description: note.to_owned(), colour, ..Embed::titled(title) }.fitted()
}

/// How a fork ended, in a line.
pub fn ended_line(why: Why, note: &str) -> String {
    match (ended(why).word, note) {
        (word, "") => format!("{word}."),
        (word, note) => format!("{word}: {note}"),
    }
}

struct Ended {
    word: &'static str,
    title: &'static str,
    colour: Colour,
}

fn ended(why: Why) -> Ended {
    match why {
        Why::Promoted => {
            Ended { word: "saved", title: "Fork Ended — saved to main", colour: Colour::Green }
        }
        Why::Reported => {
            Ended { word: "summary queued", title: "Fork Ended — summary queued", colour: Colour::Blue }
        }
        Why::Dropped
        | Why::Lapsed
        | Why::Ended
        | Why::Cleared
        | Why::Created
        | Why::Forked
        | Why::Compacted
        | Why::Undone => Ended { word: "discarded", title: "Fork Ended — discarded", colour: Colour::Grey },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-27, IF-28, IF-29, IF-31: ten quiet minutes, a question; ten more, the end; a word starts over.
    #[test]
    fn a_quiet_fork_is_asked_about_once_and_then_ended() {
        let start = Timestamp::constant(1_794_700_000, 0);
        let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
        let entering = Entering { topic: None, idle_minutes: None, until: MessageId(0) };
        let mut fork = Fork::begun(Branch::Main, None, entering, start);
        assert_eq!(fork.quiet(at(9)), Quiet::Until(at(10)));
        assert_eq!(fork.quiet(at(10)), Quiet::Ask);
        fork.asked = Some(at(10));
        assert_eq!(fork.quiet(at(19)), Quiet::Until(at(20)));
        assert_eq!(fork.quiet(at(20)), Quiet::End);
        fork.active = at(15);
        assert_eq!(fork.quiet(at(24)), Quiet::Until(at(25)));
        assert_eq!(fork.quiet(at(25)), Quiet::Ask);
    }

    /// IF-5, XB-19, XB-20: three buttons, and what it is about.
    #[test]
    fn a_fork_that_begins_shows_its_three_ways_out() {
        let card = begun_card(Some("taxes"));
        assert_eq!((card.title.as_str(), card.colour), ("Forked Session", Colour::Purple));
        assert_eq!(card.description, "Topic: taxes");
        let buttons =
            card.buttons.iter().map(|button| (button.label.as_str(), button.style, button.action.press()));
        let press = |name: &str| Some(format!("act:{name}:_"));
        let expected = [
            ("Save Context", Style::Success, press("fork_save")),
            ("Report", Style::Primary, press("fork_report")),
            ("Exit Fork", Style::Danger, press("fork_exit")),
        ];
        assert_eq!(buttons.collect::<Vec<_>>(), expected);
        assert!(begun_card(None).description.contains("apart from main"));
    }

    /// XB-21, IF-23: how it ended, and the summary if there is one.
    #[test]
    fn a_fork_that_ended_says_how() {
        let check = |why, note: &str, title: &str, colour, line: &str| {
            let card = ended_card(why, note);
            assert_eq!((card.title.as_str(), card.colour, card.description.as_str()), (title, colour, note));
            assert_eq!(ended_line(why, note), line);
        };
        check(Why::Promoted, "", "Fork Ended — saved to main", Colour::Green, "saved.");
        let queued = "Fork Ended — summary queued";
        check(Why::Reported, "it costs 80", queued, Colour::Blue, "summary queued: it costs 80");
        check(Why::Dropped, "", "Fork Ended — discarded", Colour::Grey, "discarded.");
        check(Why::Lapsed, "", "Fork Ended — discarded", Colour::Grey, "discarded.");
    }
}
