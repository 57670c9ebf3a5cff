//! The interactive fork: at most one, with its exits and its idle timeout.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::{Branch, EntryId, Why};
use crate::effort::Effort;
use crate::embed::{Action, Button, Colour, Embed, Exiting, Style};
use crate::record::MessageId;
use crate::report::ReportId;
use crate::thinking::Thinking;

/// The default idle timeout in minutes.
pub const IDLE_MINUTES: u32 = 10;

/// An open fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub branch: Branch,
    /// The entry of main at which it began; `None` if it has no history of main.
    pub root: Option<EntryId>,
    /// Its topic, if known.
    pub topic: Option<String>,
    /// The idle timeout in minutes.
    pub idle_minutes: u32,
    pub active: Timestamp,
    /// The last time when the user was asked whether the fork is still needed.
    pub asked: Option<Timestamp>,
    /// The newest pending update that it has read.
    pub seen: Option<ReportId>,
    /// The exit after the current answer.
    pub leaving: Leaving,
    /// The thinking mode of all its answers.
    pub thinking: Thinking,
    /// The effort of all its answers.
    pub effort: Effort,
    /// The first message that no longer belongs to the fork, if the user ends it.
    pub until: MessageId,
}

/// A requested fork. It begins after the current answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entering {
    /// Its topic, if known.
    pub topic: Option<String>,
    /// The idle timeout in minutes, if not the default.
    pub idle_minutes: Option<u32>,
    /// The first message that belongs to the fork.
    pub until: MessageId,
}

/// The exit of a fork after the current answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Leaving {
    #[default]
    Not,
    /// The exit that the model chose.
    So(Exit),
    /// The user wants a report: the model's, or none if it writes none.
    WithReport,
}

/// The exits of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    Save,
    /// This report was left for main, and the fork is discarded.
    Report(String),
    Drop,
}

/// The next action for an idle fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    Until(Timestamp),
    /// The user is asked whether the fork is still needed.
    Ask,
    End,
}

impl Fork {
    /// Creates a fork on `branch`, at the entry `root` of main.
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

    /// IF-27 to IF-31: Returns the action for the fork at `now`.
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

/// XB-20: Returns the embed for the start of a fork.
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

/// XB-21: Returns the embed for the end of a fork, with a note.
pub fn ended_card(why: Why, note: &str) -> Embed {
    let Ended { title, colour, .. } = ended(why);
    Embed { description: note.to_owned(), colour, ..Embed::titled(title) }.fitted()
}

/// Returns the line for the end of a fork.
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

    /// IF-27, IF-28, IF-29, IF-31: A question is asked after ten idle minutes and the fork ends
    /// after ten more; a message restarts the time.
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

    /// IF-5, XB-19, XB-20: The start of a fork shows its topic and three buttons.
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

    /// XB-21, IF-23: The end of a fork shows its exit, and the report if there is one.
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
