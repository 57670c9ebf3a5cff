//! The commands for a client, and the updates that it sends back.

use domain::context::Context;
use domain::conversation::Usage;
use domain::failure::Failure;
use domain::turn::ModelReply;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::super::control::ControlResponse;
use super::super::history::HistoryHashes;

/// A command for a client.
pub enum ClientCommand {
    /// Run a turn: a reply or a summary.
    RunTurn(Box<TurnRequest>),
    /// Send a request to the program and its answer to the channel.
    Control(Value, oneshot::Sender<ControlResponse>),
}

/// A request for a turn.
pub struct TurnRequest {
    pub context: Context,
    pub history: HistoryHashes,
    pub goal: TurnGoal,
    pub updates: mpsc::Sender<TurnUpdate>,
    pub attempts: u32,
}

/// The goal of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnGoal {
    /// An answer to the conversation.
    Reply,
    /// A summary of the session, started with this command.
    Summary(String),
}

/// An update about a running turn.
pub enum TurnUpdate {
    /// More text.
    Text(String),
    /// The usage so far, and the vendor's id of the model.
    Usage(Usage, String),
    /// The turn ended.
    Done(Result<TurnOutput, Failure>),
}

/// The result of a completed turn.
#[derive(Debug)]
pub struct TurnOutput {
    pub reply: ModelReply,
    pub compaction: CompactionStats,
}

/// Statistics of a compaction by the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// The number of compactions: one, if it was requested and succeeded.
    pub boundaries: u32,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
    /// The model calls of the turn.
    pub turns: u64,
}

impl TurnRequest {
    /// Reports `failure` to the requester.
    pub async fn fail(self, failure: Failure) {
        // The requester may have left.
        let _ = self.updates.send(TurnUpdate::Done(Err(failure))).await;
    }
}
