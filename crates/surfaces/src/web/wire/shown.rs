//! Snapshot and updates as JSON for the event stream.

use domain::assistant::{Aside, Asking, Compaction, Known, Shown};
use domain::fork::{begun_card, ended_card, ended_line};
use domain::turn::Ending;
use serde::Serialize;

use super::EntryWire;
use super::approval::{AnsweredWire, ApprovalWire, word};
use super::card::CardWire;
use super::embed::EmbedWire;
use crate::stage::Scene;

/// The current state of running work.
#[derive(Serialize)]
pub struct SceneWire {
    pub running: Vec<RunningWire>,
    pub compacting: Option<CompactingWire>,
    pub approvals: Vec<ApprovalWire>,
    pub fork: Option<ForkWire>,
    pub held: Option<String>,
}

/// The open fork.
#[derive(Serialize)]
pub struct ForkWire {
    pub branch: String,
    pub topic: Option<String>,
    pub card: EmbedWire,
}

/// The running compaction.
#[derive(Serialize)]
pub struct CompactingWire {
    pub turn: u64,
    pub tokens: Option<u64>,
}

/// A running turn.
#[derive(Serialize)]
pub struct RunningWire {
    pub turn: u64,
    pub branch: String,
    pub answers: u64,
    pub text: String,
    pub note: Option<String>,
    pub tool: Option<String>,
    pub doing: Option<&'static str>,
}

impl From<Scene> for SceneWire {
    fn from(scene: Scene) -> Self {
        let running = scene.running.into_iter().map(|(turn, run)| RunningWire {
            turn: turn.0,
            branch: run.branch.to_string(),
            answers: run.answers.0,
            text: run.words,
            note: run.note,
            doing: run.tool.as_ref().map(|(_, doing)| word(*doing)),
            tool: run.tool.map(|(tool, _)| tool),
        });
        let compacting = scene.compacting.map(|(turn, tokens)| CompactingWire { turn: turn.0, tokens });
        let fork = scene.fork.map(|(branch, topic)| {
            let card = EmbedWire::from(&begun_card(topic.as_deref()));
            ForkWire { branch: branch.to_string(), topic, card }
        });
        let approvals = scene.approvals.values().map(ApprovalWire::from).collect();
        let held = scene.held.into_values().next();
        Self { running: running.collect(), compacting, approvals, fork, held }
    }
}

/// An update. Its name is the event name.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownWire {
    Said { branch: String, entry: EntryWire },
    Began { turn: u64, branch: String, answers: u64 },
    Delta { turn: u64, text: String },
    Progress { turn: u64, note: String },
    Working { turn: u64, tool: String, doing: &'static str },
    Asked(ApprovalWire),
    Answered(AnsweredWire),
    Waiting { turn: u64, seconds: u64 },
    Ended { turn: u64, branch: String, answers: u64, how: &'static str, why: Option<String> },
    Compacting { turn: u64, branch: String, tokens: Option<u64> },
    Compacted { turn: u64, branch: String, done: bool, text: String },
    Held { turn: u64, branch: String, newest: u64, first: bool, why: String },
    Undone { branch: String, summary: u64 },
    Forked { branch: String, topic: Option<String>, card: EmbedWire },
    Unforked { branch: String, why: &'static str, text: String, card: EmbedWire },
    Moved { why: &'static str },
    Sent { entry: EntryWire },
    PutAway { message: u64 },
    Card(CardWire),
    Notice { text: String },
}

impl ShownWire {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Said { .. } => "said",
            Self::Began { .. } => "began",
            Self::Delta { .. } => "delta",
            Self::Progress { .. } => "progress",
            Self::Working { .. } => "working",
            Self::Asked(_) => "asked",
            Self::Answered(_) => "answered",
            Self::Waiting { .. } => "waiting",
            Self::Ended { .. } => "ended",
            Self::Compacting { .. } => "compacting",
            Self::Compacted { .. } => "compacted",
            Self::Held { .. } => "held",
            Self::Undone { .. } => "undone",
            Self::Forked { .. } => "forked",
            Self::Unforked { .. } => "unforked",
            Self::Moved { .. } => "moved",
            Self::Sent { .. } => "sent",
            Self::PutAway { .. } => "away",
            Self::Card(_) => "card",
            Self::Notice { .. } => "notice",
        }
    }
}

impl From<&Shown> for ShownWire {
    fn from(shown: &Shown) -> Self {
        match shown {
            Shown::Said { branch, entry } => Self::Said { branch: branch.to_string(), entry: entry.into() },
            Shown::Began { turn, branch, answers } => {
                Self::Began { turn: turn.0, branch: branch.to_string(), answers: answers.0 }
            }
            Shown::Delta { turn, text } => Self::Delta { turn: turn.0, text: text.clone() },
            Shown::Progress { turn, note } => Self::Progress { turn: turn.0, note: note.clone() },
            Shown::Working { turn, tool, doing } => {
                Self::Working { turn: turn.0, tool: tool.clone(), doing: word(*doing) }
            }
            Shown::Approval(Asking::Open(approval)) => Self::Asked(approval.into()),
            Shown::Approval(Asking::Closed(approval, closed)) => {
                Self::Answered(AnsweredWire::new(approval, closed))
            }
            Shown::Waiting { turn, time } => Self::Waiting { turn: turn.0, seconds: time.as_secs().max(1) },
            Shown::Ended { turn, branch, answers, ending } => {
                let (how, why) = match ending {
                    Ending::Finished => ("finished", None),
                    Ending::Interrupted => ("interrupted", None),
                    Ending::Failed(failure) => ("failed", Some(failure.to_string())),
                };
                Self::Ended { turn: turn.0, branch: branch.to_string(), answers: answers.0, how, why }
            }
            Shown::Compaction(Compaction::Began { turn, branch, tokens }) => {
                Self::Compacting { turn: turn.0, branch: branch.to_string(), tokens: *tokens }
            }
            Shown::Compaction(Compaction::Ended { turn, branch, outcome }) => Self::Compacted {
                turn: turn.0,
                branch: branch.to_string(),
                done: outcome.is_ok(),
                text: outcome.clone().unwrap_or_else(|why| why),
            },
            Shown::Held { turn, branch, newest, known, why } => Self::Held {
                turn: turn.0,
                branch: branch.to_string(),
                newest: newest.0,
                first: *known == Known::Unknown,
                why: why.to_string(),
            },
            Shown::Compaction(Compaction::Undone { branch, summary }) => {
                Self::Undone { branch: branch.to_string(), summary: summary.0 }
            }
            Shown::Aside(aside) => Self::from(aside),
            Shown::Moved(why) => Self::Moved { why: why.as_str() },
            Shown::Notice(text) => Self::Notice { text: text.clone() },
        }
    }
}

impl From<&Aside> for ShownWire {
    fn from(aside: &Aside) -> Self {
        match aside {
            Aside::Began { branch, topic } => {
                let card = (&begun_card(topic.as_deref())).into();
                Self::Forked { branch: branch.to_string(), topic: topic.clone(), card }
            }
            Aside::Ended { branch, why, note } => {
                let text = ended_line(*why, note);
                let card = (&ended_card(*why, note)).into();
                Self::Unforked { branch: branch.to_string(), why: why.as_str(), text, card }
            }
            Aside::Sent { source, entry } => Self::Sent { entry: EntryWire::sent(source, entry) },
            Aside::PutAway(message) => Self::PutAway { message: message.0 },
            Aside::Card(card) => Self::Card(card.into()),
        }
    }
}
