//! The interactive fork: at most one, with its exits and its idle timeout.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::{Branch, EntryId, MoveReason};
use crate::effort::Effort;
use crate::embed::{Button, ButtonAction, ButtonStyle, Colour, Embed, ForkExitChoice};
use crate::pending_update::UpdateId;
use crate::record::MessageId;
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
    pub last_activity: Timestamp,
    /// The last time when the user was asked whether the fork is still needed.
    pub asked_at: Option<Timestamp>,
    /// The newest pending update that it has read.
    pub last_read_update: Option<UpdateId>,
    /// The exit after the current answer.
    pub pending_exit: PendingExit,
    /// The thinking mode of all its answers.
    pub thinking: Thinking,
    /// The effort of all its answers.
    pub effort: Effort,
    /// The first message that no longer belongs to the fork, if the user ends it.
    pub end_message: MessageId,
}

/// A requested fork. It begins after the current answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRequest {
    /// Its topic, if known.
    pub topic: Option<String>,
    /// The idle timeout in minutes, if not the default.
    pub idle_minutes: Option<u32>,
    /// The first message that belongs to the fork.
    pub start_message: MessageId,
}

/// The exit of a fork after the current answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PendingExit {
    #[default]
    Stay,
    /// The exit that the model chose.
    Chosen(ForkExit),
    /// The user wants a report: the model's, or none if it writes none.
    ReportRequested,
}

/// The exits of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkExit {
    Save,
    /// This report was left for main, and the fork is discarded.
    Report(String),
    Discard,
}

/// The next action for an idle fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAction {
    WaitUntil(Timestamp),
    /// The user is asked whether the fork is still needed.
    Ask,
    End,
}

impl Fork {
    /// Creates a fork on `branch`, at the entry `root` of main.
    pub fn new(branch: Branch, root: Option<EntryId>, request: ForkRequest, at: Timestamp) -> Self {
        let ForkRequest { topic, idle_minutes, .. } = request;
        let idle_minutes = idle_minutes.filter(|minutes| *minutes > 0).unwrap_or(IDLE_MINUTES);
        let asked = None;
        let seen = None;
        let leaving = PendingExit::Stay;
        let until = MessageId(0);
        let thinking = Thinking::default();
        let effort = Effort::for_thinking(thinking);
        Self {
            branch,
            root,
            topic,
            idle_minutes,
            last_activity: at,
            asked_at: asked,
            last_read_update: seen,
            pending_exit: leaving,
            thinking,
            effort,
            end_message: until,
        }
    }

    /// IF-27 to IF-31: Returns the action for the fork at `now`.
    pub fn idle_action(&self, now: Timestamp) -> IdleAction {
        let timeout = SignedDuration::from_mins(self.idle_minutes.into());
        let since = self.asked_at.map_or(self.last_activity, |asked| asked.max(self.last_activity));
        match (now.duration_since(since) >= timeout, self.asked_at) {
            (false, _) => IdleAction::WaitUntil(since.saturating_add(timeout).unwrap_or(Timestamp::MAX)),
            (true, Some(asked)) if asked >= self.last_activity => IdleAction::End,
            (true, _) => IdleAction::Ask,
        }
    }
}

/// XB-20: Returns the embed for the start of a fork.
pub fn start_card(topic: Option<&str>) -> Embed {
    let button = |label: &str, style, exit| {
        let label = label.to_owned();
        let action = ButtonAction::LeaveFork(exit);
        Button { label, style, action }
    };
    let description = match topic {
        Some(topic) => format!("Topic: {topic}"),
        None => "what is said here stays apart from main.".to_owned(),
    };
    let buttons = vec![
        button("Save Context", ButtonStyle::Success, ForkExitChoice::Save),
        button("Report", ButtonStyle::Primary, ForkExitChoice::Report),
        button("Exit Fork", ButtonStyle::Danger, ForkExitChoice::Discard),
    ];
    Embed { description, colour: Colour::Purple, buttons, ..Embed::with_title("Forked Session") }.fitted()
}

/// XB-21: Returns the embed for the end of a fork, with a note.
pub fn end_card(why: MoveReason, note: &str) -> Embed {
    let EndText { title, colour, .. } = end_text(why);
    Embed { description: note.to_owned(), colour, ..Embed::with_title(title) }.fitted()
}

/// Returns the line for the end of a fork.
pub fn end_line(why: MoveReason, note: &str) -> String {
    match (end_text(why).word, note) {
        (word, "") => format!("{word}."),
        (word, note) => format!("{word}: {note}"),
    }
}

struct EndText {
    word: &'static str,
    title: &'static str,
    colour: Colour,
}

fn end_text(why: MoveReason) -> EndText {
    match why {
        MoveReason::Promoted => {
            EndText { word: "saved", title: "Fork Ended — saved to main", colour: Colour::Green }
        }
        MoveReason::Reported => {
            EndText { word: "summary queued", title: "Fork Ended — summary queued", colour: Colour::Blue }
        }
        MoveReason::Dropped
        | MoveReason::Lapsed
        | MoveReason::Ended
        | MoveReason::Cleared
        | MoveReason::Created
        | MoveReason::Forked
        | MoveReason::Compacted
        | MoveReason::Undone => {
            EndText { word: "discarded", title: "Fork Ended — discarded", colour: Colour::Grey }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-27, IF-28, IF-29, IF-31: A question is asked after ten idle minutes and the fork ends
    /// after ten more; a message restarts the time.
    #[test]
    fn idle_fork_is_asked_once_and_then_ended() {
        let start = Timestamp::constant(1_794_700_000, 0);
        let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
        let entering = ForkRequest { topic: None, idle_minutes: None, start_message: MessageId(0) };
        let mut fork = Fork::new(Branch::Main, None, entering, start);
        assert_eq!(fork.idle_action(at(9)), IdleAction::WaitUntil(at(10)));
        assert_eq!(fork.idle_action(at(10)), IdleAction::Ask);
        fork.asked_at = Some(at(10));
        assert_eq!(fork.idle_action(at(19)), IdleAction::WaitUntil(at(20)));
        assert_eq!(fork.idle_action(at(20)), IdleAction::End);
        fork.last_activity = at(15);
        assert_eq!(fork.idle_action(at(24)), IdleAction::WaitUntil(at(25)));
        assert_eq!(fork.idle_action(at(25)), IdleAction::Ask);
    }

    /// IF-5, XB-19, XB-20: The start of a fork shows its topic and three buttons.
    #[test]
    fn new_fork_shows_its_three_exits() {
        let card = start_card(Some("taxes"));
        assert_eq!((card.title.as_str(), card.colour), ("Forked Session", Colour::Purple));
        assert_eq!(card.description, "Topic: taxes");
        let buttons = card
            .buttons
            .iter()
            .map(|button| (button.label.as_str(), button.style, button.action.button_id()));
        let press = |name: &str| Some(format!("act:{name}:_"));
        let expected = [
            ("Save Context", ButtonStyle::Success, press("fork_save")),
            ("Report", ButtonStyle::Primary, press("fork_report")),
            ("Exit Fork", ButtonStyle::Danger, press("fork_exit")),
        ];
        assert_eq!(buttons.collect::<Vec<_>>(), expected);
        assert!(start_card(None).description.contains("apart from main"));
    }

    /// XB-21, IF-23: The end of a fork shows its exit, and the report if there is one.
    #[test]
    fn ended_fork_shows_its_exit() {
        let check = |why, note: &str, title: &str, colour, line: &str| {
            let card = end_card(why, note);
            assert_eq!((card.title.as_str(), card.colour, card.description.as_str()), (title, colour, note));
            assert_eq!(end_line(why, note), line);
        };
        check(MoveReason::Promoted, "", "Fork Ended — saved to main", Colour::Green, "saved.");
        let queued = "Fork Ended — summary queued";
        check(MoveReason::Reported, "it costs 80", queued, Colour::Blue, "summary queued: it costs 80");
        check(MoveReason::Dropped, "", "Fork Ended — discarded", Colour::Grey, "discarded.");
        check(MoveReason::Lapsed, "", "Fork Ended — discarded", Colour::Grey, "discarded.");
    }
}
