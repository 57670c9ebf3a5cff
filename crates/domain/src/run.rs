//! Background runs: a job on a branch of its own, beside main, that nobody waits for.
//!
//! A run carries all that holds for it as a value: where it stands, what it may use, and the numbers of the
//! messages that it showed. Several run at once, and none knows of another.

use crate::context::Reader;
use crate::conversation::{Branch, EntryId, SessionId};
use crate::cost::{Account, Attended, Source};
use crate::place::Aside;
use crate::schedule::{Prompt, ToolRule};
use crate::sent::{End, Origin, SentId};

/// A job to run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Whose it is, which is also what it is called: `routine:mail`.
    pub source: Source,
    /// What it stands on.
    pub aside: Aside,
    /// Which tools it may use.
    pub tools: ToolRule,
    /// What it is told to do.
    pub prompt: Prompt,
}

/// A run that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where.
    pub branch: Branch,
    /// Whose it is, which is also what it is called.
    pub source: Source,
    /// What it stands on.
    pub aside: Aside,
    /// Which tools it may use.
    pub tools: ToolRule,
    /// The entry of main at which it began: none, if it has nothing of main.
    pub root: Option<EntryId>,
    /// The session of main when it began, if it began there.
    pub parent: Option<SessionId>,
    /// The messages that it showed to the human.
    pub sent: Vec<SentId>,
}

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
    /// Who pays for it.
    pub fn account(&self) -> Account {
        Account { source: self.source.clone(), attended: Attended::Unattended }
    }

    /// PU-8: how it reads what waits for main.
    pub fn reader(&self) -> Reader {
        match Kind::of(self.aside) {
            Kind::Forked => Reader::Fork,
            Kind::Isolated | Kind::Persistent => Reader::Nobody,
        }
    }

    /// MT-1: the message `sent` was shown.
    pub fn track(&mut self, sent: SentId) {
        if !self.sent.contains(&sent) {
            self.sent.push(sent);
        }
    }

    /// MT-1, MT-3: all that it showed, now that it has ended at `entry` under `session`.
    pub fn flush(&self, session: &SessionId, entry: EntryId, at: jiff::Timestamp) -> Vec<Origin> {
        let end = End { source: self.source.clone(), root: self.root, entry };
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
