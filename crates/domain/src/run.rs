//! Background runs: a job on a branch of its own, beside main, that nobody waits for.
//!
//! A run carries all that holds for it as a value: where it stands, what it may use, and the numbers of the
//! messages that it showed. Several run at once, and none knows of another.

use jiff::Timestamp;

use crate::assistant::Spot;
use crate::context::Reader;
use crate::conversation::{Branch, EntryId, SessionId};
use crate::cost::Source;
use crate::place::Aside;
use crate::schedule::{Prompt, Reporting, Terms};
use crate::sent::{End, Origin, SentId};
use crate::turn::TurnId;
use crate::wish::Urgency;

/// A job to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Whose it is, which is also how it is found again: `routine:mail`.
    pub source: Source,
    /// What the human calls it.
    pub name: String,
    /// What it stands on.
    pub aside: Aside,
    /// What holds while it runs.
    pub terms: Terms,
    /// What it is told to do.
    pub prompt: Prompt,
}

/// A run that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where.
    pub branch: Branch,
    /// Whose it is.
    pub source: Source,
    /// What the human calls it.
    pub name: String,
    /// When it was due: nothing, if no clock set it off.
    pub due: Option<Timestamp>,
    /// What it stands on.
    pub aside: Aside,
    /// What holds while it runs.
    pub terms: Terms,
    /// The entry of main at which it began: none, if it has nothing of main.
    pub root: Option<EntryId>,
    /// The session of main when it began, if it began there.
    pub parent: Option<SessionId>,
    /// The messages that it showed to the human.
    pub sent: Vec<SentId>,
    /// What it has done until now.
    pub doings: Doings,
}

/// BF-30: what a run has done until now, and what it found when it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doings {
    /// Whether the human was in the middle of talking when it began.
    pub busy: Busy,
    /// The pings that it was let have and that are not shown yet. A crash forgets them.
    pub asked: Vec<Urgency>,
    /// The pings that it has sent.
    pub pings: Vec<Urgency>,
    /// Whether it has reached the human and not told main since.
    pub untold: bool,
    /// How often it has told main.
    pub reports: u32,
    /// How often it was not let go because it had not told main.
    pub refusals: u32,
    /// Whether it was asked to put its words otherwise. A crash forgets that.
    pub wording: Wording,
    /// Who waits for what it does, if anybody. A crash forgets that.
    pub asker: Option<Asker>,
    /// RP-24: what is to be minded when its session is compacted after it ends, if that is wanted.
    pub compact: Option<String>,
}

/// Who waits for what a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The turn.
    pub turn: TurnId,
    /// Its call that this is the answer to.
    pub call: String,
}

/// Whether a run was asked to put its words otherwise, because they pressed the human.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// It was not.
    #[default]
    AsItLikes,
    /// It was, once: the next words go out as they are.
    AskedOnce,
}

/// MC-19: whether the human was in the middle of talking when a run began. It holds for the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    /// The human was not.
    #[default]
    No,
    /// The human was.
    Talking,
}

/// BF-28: how often a run is not let go before it is let go anyway.
pub const REFUSALS: u32 = 3;

/// What a run stands on, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fork of main.
    Forked,
    /// Nothing but its prompt.
    Isolated,
    /// A session of its own.
    Persistent,
}

impl Kind {
    /// The kind of a run that stands on `aside`.
    pub fn of(aside: Aside) -> Self {
        match aside {
            Aside::Forked(_) => Self::Forked,
            Aside::Isolated(_) => Self::Isolated,
            Aside::Persistent => Self::Persistent,
        }
    }

    /// The word under which it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forked => "forked",
            Self::Isolated => "isolated",
            Self::Persistent => "persistent",
        }
    }

    /// The kind that `word` names.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Forked, Self::Isolated, Self::Persistent].into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Run {
    /// PU-8: how it reads what waits for main.
    pub fn reader(&self) -> Reader {
        match Kind::of(self.aside) {
            Kind::Forked => Reader::Fork,
            Kind::Isolated | Kind::Persistent => Reader::Nobody,
        }
    }

    /// BF-26: whether it may stop now.
    pub fn may_stop(&self) -> bool {
        match self.terms.voice.reporting {
            Reporting::Always => self.doings.reports > 0,
            Reporting::OnPing => !self.doings.untold,
            Reporting::Freely | Reporting::Blocked => true,
        }
    }

    /// MT-1: the message `sent` was shown.
    pub fn track(&mut self, sent: SentId) {
        if !self.sent.contains(&sent) {
            self.sent.push(sent);
        }
    }

    /// MT-1, MT-3: all that it showed, now that it has ended at `entry` under `session`.
    pub fn flush(&self, session: &SessionId, Spot { entry, label }: Spot, at: Timestamp) -> Vec<Origin> {
        let end = End { source: self.source.clone(), root: self.root, entry, label };
        let origin = |id: &SentId| Origin {
            id: *id,
            session: session.clone(),
            parent: self.parent.clone(),
            at,
            end: Some(end.clone()),
        };
        self.sent.iter().map(origin).collect()
    }
}
