//! What happens to the assistant, and what it wants done.

use std::time::Duration;

use crate::conversation::{Branch, Entry, EntryId, Said, Usage};
use crate::cost::{Call, Errand};
use crate::record::{MessageId, Record};
use crate::turn::{Ending, TurnId};

/// Something that happened. Nobody waits for an answer.
#[derive(Clone, Debug)]
pub enum Event {
    /// The program is up.
    Started,
    /// A turn ended.
    TurnEnded(TurnId, Ended),
}

/// What a turn leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What was said and is not written down yet.
    pub said: Vec<Said>,
    /// How it ended.
    pub ending: Ending,
    /// What it used in all.
    pub usage: Usage,
    /// Its calls that are not written down yet.
    pub spent: Vec<Call>,
}

/// Something the assistant wants done. Effects happen in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Write these down, all or none. If that fails, nothing after it happens.
    Write(Vec<Record>),
    /// Start a turn.
    StartTurn(Start),
    /// Ask a turn to end; what was said stays said.
    Interrupt(TurnId),
    /// Show something wherever the human is.
    Show(Shown),
}

/// A turn to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its number.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The entry it follows.
    pub from: EntryId,
    /// On whose account, and whether somebody waits.
    pub errand: Errand,
    /// What its dice are seeded with.
    pub seed: u64,
}

/// What a surface is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Something was said, and is on disk.
    Said {
        /// Where.
        branch: Branch,
        /// What.
        entry: Entry,
    },
    /// A turn began.
    Began {
        /// Its number.
        turn: TurnId,
        /// Where.
        branch: Branch,
        /// The message it answers.
        answers: MessageId,
    },
    /// The model says a few words more. Losing one is harmless: the whole text follows.
    Delta {
        /// The turn.
        turn: TurnId,
        /// The words.
        text: String,
    },
    /// A tool runs.
    Working {
        /// The turn.
        turn: TurnId,
        /// The tool.
        tool: String,
    },
    /// The model is not there, and is called again after this time.
    Waiting {
        /// The turn.
        turn: TurnId,
        /// The time.
        time: Duration,
    },
    /// A turn ended.
    Ended {
        /// Its number.
        turn: TurnId,
        /// Where.
        branch: Branch,
        /// The message it answered.
        answers: MessageId,
        /// How.
        ending: Ending,
    },
    /// Something the human should know.
    Notice(String),
}
