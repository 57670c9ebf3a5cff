//! The side conversation that the human takes part in: at most one, and how it ends.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::Branch;
use crate::record::MessageId;
use crate::report::ReportId;

/// After how many quiet minutes a fork is idle, if nobody says otherwise.
pub const IDLE_MINUTES: u32 = 10;

/// A fork that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Where.
    pub branch: Branch,
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
    /// A fork that has just begun.
    pub fn begun(branch: Branch, entering: Entering, at: Timestamp) -> Self {
        let Entering { topic, idle_minutes, .. } = entering;
        let idle_minutes = idle_minutes.filter(|minutes| *minutes > 0).unwrap_or(IDLE_MINUTES);
        let (asked, seen, leaving, until) = (None, None, Leaving::Not, MessageId(0));
        Self { branch, topic, idle_minutes, active: at, asked, seen, leaving, until }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-27, IF-28, IF-29, IF-31: ten quiet minutes, a question; ten more, the end; a word starts over.
    #[test]
    fn a_quiet_fork_is_asked_about_once_and_then_ended() {
        let start = Timestamp::constant(1_794_700_000, 0);
        let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
        let entering = Entering { topic: None, idle_minutes: None, until: MessageId(0) };
        let mut fork = Fork::begun(Branch::Main, entering, start);
        assert_eq!(fork.quiet(at(9)), Quiet::Until(at(10)));
        assert_eq!(fork.quiet(at(10)), Quiet::Ask);
        fork.asked = Some(at(10));
        assert_eq!(fork.quiet(at(19)), Quiet::Until(at(20)));
        assert_eq!(fork.quiet(at(20)), Quiet::End);
        fork.active = at(15);
        assert_eq!(fork.quiet(at(24)), Quiet::Until(at(25)));
        assert_eq!(fork.quiet(at(25)), Quiet::Ask);
    }
}
