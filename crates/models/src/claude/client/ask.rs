//! What is wanted of a client, and what the one who wants it hears.

use domain::context::Context;
use domain::conversation::Usage;
use domain::failure::Failure;
use domain::turn::Reply;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::super::control::Answered;
use super::super::past::Past;

/// Something wanted of a client.
pub enum Order {
    /// A reply, or a summary.
    Ask(Box<Ask>),
    /// A request to the program, and who waits for its answer.
    Change(Value, oneshot::Sender<Answered>),
}

/// Something wanted of the model.
pub struct Ask {
    pub context: Context,
    pub past: Past,
    pub wanted: Wanted,
    pub news: mpsc::Sender<News>,
    pub attempts: u32,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An answer to what was said.
    Reply,
    /// That the program sums up, by this command.
    Summary(String),
}

/// What the one who asked hears.
pub enum News {
    /// A few words more.
    Words(String),
    /// What the reply has used so far, and the vendor's id of the model that says it.
    Used(Usage, String),
    /// The end.
    Done(Result<Outcome, Failure>),
}

/// What came of an ask.
#[derive(Debug)]
pub struct Outcome {
    pub reply: Reply,
    pub compaction: Compaction,
}

/// What the program's summing up came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// How often it happened: once, if it was asked for and worked.
    pub boundaries: u32,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
    /// The model calls of the turn.
    pub turns: u64,
}

impl Ask {
    /// Tells that nothing will come of it.
    pub async fn fail(self, failure: Failure) {
        // Whoever asked may have left.
        let _ = self.news.send(News::Done(Err(failure))).await;
    }
}
