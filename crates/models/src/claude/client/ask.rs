//! The commands for a client, and the updates that it sends back.

use domain::context::Context;
use domain::conversation::Usage;
use domain::failure::Failure;
use domain::turn::Reply;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::super::control::Answered;
use super::super::past::Past;

/// A command for a client.
pub enum Order {
    /// Run a turn: a reply or a summary.
    Ask(Box<Ask>),
    /// Send a request to the program and its answer to the channel.
    Change(Value, oneshot::Sender<Answered>),
}

/// A request for a turn.
pub struct Ask {
    pub context: Context,
    pub past: Past,
    pub wanted: Wanted,
    pub news: mpsc::Sender<News>,
    pub attempts: u32,
}

/// The goal of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An answer to the conversation.
    Reply,
    /// A summary of the session, started with this command.
    Summary(String),
}

/// An update about a running turn.
pub enum News {
    /// More text.
    Words(String),
    /// The usage so far, and the vendor's id of the model.
    Used(Usage, String),
    /// The turn ended.
    Done(Result<Outcome, Failure>),
}

/// The result of a completed turn.
#[derive(Debug)]
pub struct Outcome {
    pub reply: Reply,
    pub compaction: Compaction,
}

/// Statistics of a compaction by the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// The number of compactions: one, if it was requested and succeeded.
    pub boundaries: u32,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
    /// The model calls of the turn.
    pub turns: u64,
}

impl Ask {
    /// Reports `failure` to the requester.
    pub async fn fail(self, failure: Failure) {
        // The requester may have left.
        let _ = self.news.send(News::Done(Err(failure))).await;
    }
}
