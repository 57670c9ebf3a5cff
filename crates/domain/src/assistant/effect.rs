//! What happens to the assistant, and what it wants done.

use std::sync::Arc;
use std::time::Duration;

use super::Known;
use crate::approval::{Approval, ApprovalId, Closed};
use crate::card::Card;
use crate::compaction::{Gate, Summary};
use crate::context::Window;
use crate::context::skills::{Loaded, NamedSkills};
use crate::conversation::{Branch, Entry, EntryId, Said, Usage, Why};
use crate::cost::{Account, Call, Source};
use crate::effort::Effort;
use crate::failure::Failure;
use crate::occurrence::Key;
use crate::permission::Decision;
use crate::record::{Charge, MessageId, Record, SurfaceName};
use crate::schedule::FileNews;
use crate::sent::SentId;
use crate::thinking::Thinking;
use crate::tool::ToolResult;
use crate::turn::{Ending, Task, TurnId};

/// Something that happened. Nobody waits for an answer.
#[derive(Clone, Debug)]
pub enum Event {
    /// The program is up.
    Started,
    /// A turn ended.
    TurnEnded(TurnId, Ended),
    /// The time came for which the assistant wanted to be woken.
    Woke,
    /// The key of the model is another one than it refused.
    KeyRenewed,
    /// Files that plan something changed.
    Files(Vec<FileNews>, Look),
    /// What this was charged for did not reach the human.
    Undelivered(Charge),
    /// The human did something on this surface.
    Seen(SurfaceName),
    /// The program has this to say of itself.
    Told(String),
    /// This came of a call that was carried out.
    Carried(ApprovalId, ToolResult),
    /// The skills of an occurrence that waits for them are loaded.
    SkillsLoaded(Key, Loaded),
}

impl Event {
    /// Whether who hears `later` need not hear this: it is the same, and only the last time of it counts.
    pub fn is_outdated_by(&self, later: &Self) -> bool {
        match self {
            Self::Woke => matches!(later, Self::Woke),
            Self::KeyRenewed => matches!(later, Self::KeyRenewed),
            Self::Seen(surface) => matches!(later, Self::Seen(again) if again == surface),
            Self::Started
            | Self::TurnEnded(..)
            | Self::Files(..)
            | Self::Undelivered(_)
            | Self::Told(_)
            | Self::Carried(..)
            | Self::SkillsLoaded(..) => false,
        }
    }
}

/// Whether files were looked at before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// All of them, for the first time since the start.
    First,
    /// Those that changed since.
    Again,
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What it leaves.
    pub left: Left,
    /// How it ended.
    pub ending: Ending,
    /// What it used in all.
    pub usage: Usage,
    /// Its calls that are not written down yet.
    pub spent: Vec<Call>,
}

impl Ended {
    /// One that failed before it could say anything.
    pub fn failed(failure: Failure) -> Self {
        let left = Left::Said(Vec::new());
        let usage = Usage::default();
        let spent = Vec::new();
        Self { left, ending: Ending::Failed(failure), usage, spent }
    }
}

/// What a turn leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// What was said and is not written down yet.
    Said(Vec<Said>),
    /// A summary that may stand for what was said.
    Summary(Summary),
}

/// Something the assistant wants done. Effects happen in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Write these down, all or none. If that fails, nothing after it happens.
    Write(Vec<Record>),
    /// Start a turn.
    StartTurn(Start),
    /// Tell a turn what was decided about a call that it asked for under this number.
    Decide(TurnId, ApprovalId, Decision),
    /// Tell a turn what came of a call that somebody else worked on.
    Answer(TurnId, ToolResult),
    /// Carry out a call that the human said yes to after its run had gone on.
    Carry(Approval),
    /// Load the skills of an occurrence that waits for them.
    LoadSkills(Key, NamedSkills),
    /// Ask a turn to end; what was said stays said.
    Interrupt(TurnId),
    /// Tell a turn that nobody waited for that now somebody does.
    Hurry(TurnId),
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
    /// What for.
    pub purpose: Purpose,
    /// On whose account, and whether somebody waits.
    pub account: Account,
    /// The vendor's id of the model; nothing, for the usual one.
    pub model: Option<String>,
    /// How much it thinks.
    pub thinking: Thinking,
    /// How much work it puts into the answer.
    pub effort: Effort,
    /// How much the model reads at once.
    pub window: Window,
    /// The name of the user, for the instructions.
    pub human: String,
    /// The entry it follows.
    pub from: EntryId,
    /// What its dice are seeded with.
    pub seed: u64,
}

/// What a turn is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To answer the last words.
    Answer,
    /// To sum up what was said, with these wishes of the human in mind.
    Compact(String),
}

impl Purpose {
    /// What the turn has to do with what was `said`.
    pub fn task(&self, said: &[Arc<Said>]) -> Task {
        match self {
            Self::Answer => Task::Answer,
            Self::Compact(instructions) => Task::Summarise(Gate::new(said, instructions)),
        }
    }
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
    /// The progress note of a turn, as far as it has arrived. It replaces the note before, and ends with the next words of
    /// the answer or with the turn. It is shown only: neither the journal nor the answer contains it.
    Progress {
        /// The turn.
        turn: TurnId,
        /// One line, as `progress::Note` makes it.
        note: String,
    },
    /// A tool is about to do something, or is kept from it.
    Working {
        /// The turn.
        turn: TurnId,
        /// The tool.
        tool: String,
        /// What it does.
        doing: Doing,
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
    /// The conversation is being summed up, or was, or the summary is taken back.
    Compaction(Compaction),
    /// The model refuses our key, so a turn waits, and all words up to the newest wait behind it.
    Held {
        /// The turn.
        turn: TurnId,
        /// Where.
        branch: Branch,
        /// The newest message that waits.
        newest: MessageId,
        /// Whether the human was told before.
        known: Known,
        /// What the model says, and what to do.
        why: Failure,
    },
    /// The human is asked for a yes, or no longer.
    Approval(Asking),
    /// A side conversation began or ended, or a background run shows something.
    Aside(Aside),
    /// Main stands elsewhere now: what the human has before them is not what the model reads.
    Moved(Why),
    /// Something the human should know.
    Notice(String),
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs.
    Runs,
    /// It waits for the human's yes or no.
    Waits,
    /// It is not run, because it is not allowed.
    Denied,
}

/// What becomes of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It can be answered, and this is how it stands.
    Open(Approval),
    /// It was closed.
    Closed(Approval, Closed),
}

/// What goes on beside the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Aside {
    /// A side conversation began: what is said next is said there.
    Began {
        /// Where.
        branch: Branch,
        /// What it is about.
        topic: Option<String>,
    },
    /// It ended: what is said next is said on main.
    Ended {
        /// Where it was.
        branch: Branch,
        /// How.
        why: Why,
        /// What there is to say of it: the summary, for one that left one; may be empty.
        note: String,
    },
    /// A background run shows this.
    Sent {
        /// Whose run it is.
        source: Source,
        /// The entry that holds it.
        entry: Entry,
    },
    /// The human put this away.
    PutAway(SentId),
    /// A reminder rang, or the human did something with one that did.
    Card(Card),
}

/// What becomes of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// It goes on. New words wait.
    Began {
        /// The number of this work.
        turn: TurnId,
        /// Where.
        branch: Branch,
        /// How many tokens there are, if anybody knows.
        tokens: Option<u64>,
    },
    /// It ended.
    Ended {
        /// Its number.
        turn: TurnId,
        /// Where.
        branch: Branch,
        /// What it came to, or why the conversation stays as it was.
        outcome: Result<String, String>,
    },
    /// It was taken back: its summary no longer stands for anything.
    Undone {
        /// Where.
        branch: Branch,
        /// The entry of the summary.
        summary: EntryId,
    },
}
