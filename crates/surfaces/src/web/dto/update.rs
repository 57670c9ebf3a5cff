//! Snapshot and updates as JSON for the event stream.

use domain::assistant::{ApprovalUpdate, CompactionUpdate, KeyNotice, SideUpdate, Update};
use domain::fork::{end_card, end_line, start_card};
use domain::turn::TurnEnding;
use serde::Serialize;

use super::EntryDto;
use super::approval::{ApprovalDto, ClosedApprovalDto, tool_state};
use super::card::CardDto;
use super::embed::EmbedDto;
use crate::event_hub::Snapshot;

/// The current state of running work.
#[derive(Serialize)]
pub struct SnapshotDto {
    pub running: Vec<RunningTurnDto>,
    pub compacting: Option<CompactionDto>,
    pub approvals: Vec<ApprovalDto>,
    pub fork: Option<ForkDto>,
    pub held: Option<String>,
}

/// The open fork.
#[derive(Serialize)]
pub struct ForkDto {
    pub branch: String,
    pub topic: Option<String>,
    pub card: EmbedDto,
}

/// The running compaction.
#[derive(Serialize)]
pub struct CompactionDto {
    pub turn: u64,
    pub tokens: Option<u64>,
}

/// A running turn.
#[derive(Serialize)]
pub struct RunningTurnDto {
    pub turn: u64,
    pub branch: String,
    pub answers: u64,
    pub text: String,
    pub note: Option<String>,
    pub tool: Option<String>,
    pub doing: Option<&'static str>,
}

impl From<Snapshot> for SnapshotDto {
    fn from(scene: Snapshot) -> Self {
        let running = scene.running.into_iter().map(|(turn, run)| RunningTurnDto {
            turn: turn.0,
            branch: run.branch.to_string(),
            answers: run.answers.0,
            text: run.text,
            note: run.note,
            doing: run.tool.as_ref().map(|(_, doing)| tool_state(*doing)),
            tool: run.tool.map(|(tool, _)| tool),
        });
        let compacting = scene.compacting.map(|(turn, tokens)| CompactionDto { turn: turn.0, tokens });
        let fork = scene.fork.map(|(branch, topic)| {
            let card = EmbedDto::from(&start_card(topic.as_deref()));
            ForkDto { branch: branch.to_string(), topic, card }
        });
        let approvals = scene.approvals.values().map(ApprovalDto::from).collect();
        let held = scene.blocked.into_values().next();
        Self { running: running.collect(), compacting, approvals, fork, held }
    }
}

/// An update. Its name is the event name.
#[derive(Serialize)]
#[serde(untagged)]
pub enum UpdateDto {
    Said { branch: String, entry: EntryDto },
    Began { turn: u64, branch: String, answers: u64 },
    Delta { turn: u64, text: String },
    Progress { turn: u64, note: String },
    Working { turn: u64, tool: String, doing: &'static str },
    Asked(ApprovalDto),
    Answered(ClosedApprovalDto),
    Waiting { turn: u64, seconds: u64 },
    Ended { turn: u64, branch: String, answers: u64, how: &'static str, why: Option<String> },
    Compacting { turn: u64, branch: String, tokens: Option<u64> },
    Compacted { turn: u64, branch: String, done: bool, text: String },
    Held { turn: u64, branch: String, newest: u64, first: bool, why: String },
    Undone { branch: String, summary: u64 },
    Forked { branch: String, topic: Option<String>, card: EmbedDto },
    Unforked { branch: String, why: &'static str, text: String, card: EmbedDto },
    Moved { why: &'static str },
    Sent { entry: EntryDto },
    PutAway { message: u64 },
    Card(CardDto),
    Notice { text: String },
}

impl UpdateDto {
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

impl From<&Update> for UpdateDto {
    fn from(update: &Update) -> Self {
        match update {
            Update::EntryAppended { branch, entry } => {
                Self::Said { branch: branch.to_string(), entry: entry.into() }
            }
            Update::TurnStarted { turn, branch, answers } => {
                Self::Began { turn: turn.0, branch: branch.to_string(), answers: answers.0 }
            }
            Update::Delta { turn, text } => Self::Delta { turn: turn.0, text: text.clone() },
            Update::ProgressNote { turn, note } => Self::Progress { turn: turn.0, note: note.clone() },
            Update::ToolProgress { turn, tool, phase: doing } => {
                Self::Working { turn: turn.0, tool: tool.clone(), doing: tool_state(*doing) }
            }
            Update::Approval(ApprovalUpdate::Open(approval)) => Self::Asked(approval.into()),
            Update::Approval(ApprovalUpdate::Closed(approval, closed)) => {
                Self::Answered(ClosedApprovalDto::new(approval, closed))
            }
            Update::ModelWait { turn, delay: time } => {
                Self::Waiting { turn: turn.0, seconds: time.as_secs().max(1) }
            }
            Update::TurnEnded { turn, branch, answers, ending } => {
                let (how, why) = match ending {
                    TurnEnding::Finished => ("finished", None),
                    TurnEnding::Interrupted => ("interrupted", None),
                    TurnEnding::Failed(failure) => ("failed", Some(failure.to_string())),
                };
                Self::Ended { turn: turn.0, branch: branch.to_string(), answers: answers.0, how, why }
            }
            Update::Compaction(CompactionUpdate::Started { turn, branch, tokens }) => {
                Self::Compacting { turn: turn.0, branch: branch.to_string(), tokens: *tokens }
            }
            Update::Compaction(CompactionUpdate::Ended { turn, branch, outcome }) => Self::Compacted {
                turn: turn.0,
                branch: branch.to_string(),
                done: outcome.is_ok(),
                text: outcome.clone().unwrap_or_else(|why| why),
            },
            Update::TurnBlocked { turn, branch, newest, notice: known, why } => Self::Held {
                turn: turn.0,
                branch: branch.to_string(),
                newest: newest.0,
                first: *known == KeyNotice::NotShown,
                why: why.to_string(),
            },
            Update::Compaction(CompactionUpdate::Undone { branch, summary }) => {
                Self::Undone { branch: branch.to_string(), summary: summary.0 }
            }
            Update::Side(aside) => Self::from(aside),
            Update::MainMoved(why) => Self::Moved { why: why.as_str() },
            Update::Notice(text) => Self::Notice { text: text.clone() },
        }
    }
}

impl From<&SideUpdate> for UpdateDto {
    fn from(aside: &SideUpdate) -> Self {
        match aside {
            SideUpdate::ForkStarted { branch, topic } => {
                let card = (&start_card(topic.as_deref())).into();
                Self::Forked { branch: branch.to_string(), topic: topic.clone(), card }
            }
            SideUpdate::ForkEnded { branch, why, note } => {
                let text = end_line(*why, note);
                let card = (&end_card(*why, note)).into();
                Self::Unforked { branch: branch.to_string(), why: why.as_str(), text, card }
            }
            SideUpdate::RunShowed { source, entry } => {
                Self::Sent { entry: EntryDto::from_run(source, entry) }
            }
            SideUpdate::MessagePutAway(message) => Self::PutAway { message: message.0 },
            SideUpdate::CardChanged(card) => Self::Card(card.into()),
        }
    }
}
