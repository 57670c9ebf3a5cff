//! The ports of the engine: model, tools, journal, archive, outbox, surface and clock.
//!
//! Other crates implement them. The engine knows no vendor, file or network behind them.

mod history;
mod rate_limits;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::Update;
use domain::context::skills::{LoadedSkills, NamedSkills};
use domain::context::{Context, PromptPrefix};
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry, Usage};
use domain::cost::{CostReport as Spending, CostSource};
use domain::explanation::{ExplanationReport, Subject};
use domain::failure::Failure;
use domain::model::ModelAbilities;
use domain::occurrence::Occurrence;
use domain::outbox::{OutboxKey, OutboxMessage};
use domain::pending_update::PendingUpdate;
use domain::record::{PingCharge, Record};
use domain::sent_messages::SentId;
use domain::tool::{Caption, ServerToolKinds, ToolCall, ToolResult, ToolSpec};
use domain::turn::{ModelReply, TurnId};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::driver::MAX_CONCURRENT_CALLS;
use crate::handle::AssistantHandle;
pub use history::{
    EntryOrigin, History, PingOutcome, PingRecord, SearchFilter, SearchHit, SearchOrder, SearchQuery,
};
pub use rate_limits::{RateLimit, RateLimitUnit, ResponseHead};
pub use search::{ResultPage, SearchFailure, SearchOutcome, SearchResults, VendorSearch};

/// Receives a reply while it is streamed.
pub trait StreamSink: Send + Sync {
    /// Receives the next piece of text.
    fn text(&self, text: &str);

    /// A piece of a note about the work in progress, which the model writes between tool calls. It appends to the current
    /// note; an empty piece starts a new one. Notes are not part of the answer.
    fn progress(&self, _text: &str) {}

    /// Receives the usage of the call so far, as soon as it is known, because a reply may break
    /// off.
    fn usage(&self, _usage: Usage) {}

    /// Receives the head of a vendor's response, also of one that refuses the request. Models
    /// without a network protocol have none.
    fn response_head(&self, _head: &ResponseHead) {}
}

impl<F: Fn(&str) + Send + Sync> StreamSink for F {
    fn text(&self, text: &str) {
        self(text);
    }
}

/// The receiver of a streamed reply.
pub type StreamSinkRef<'a> = &'a dyn StreamSink;

/// A model that replies to a context.
pub trait Model: Send + Sync {
    /// Returns the display name, such as `offline` or `anthropic:sonnet`.
    fn name(&self) -> &str;

    /// Returns the name of the model that replies to `context`: its own, or the one that the
    /// context asks for.
    fn name_for(&self, _context: &Context) -> String {
        self.name().to_owned()
    }

    /// Replies to `context` and streams the text to `sink`. Dropping the future ends the call.
    ///
    /// A failure is a value with a text for the user; no received data may cause a panic.
    fn reply<'a>(
        &'a self,
        context: &'a Context,
        sink: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>>;

    /// Returns whether the key has changed since it was last refused.
    fn has_new_key(&self) -> bool {
        false
    }

    /// Returns the limit of concurrent calls. It bounds connections and memory; the vendor's rate
    /// limits apply besides.
    fn max_concurrent_calls(&self) -> usize {
        MAX_CONCURRENT_CALLS
    }

    /// Returns whether replies use no tokens and cost nothing.
    fn is_free(&self) -> bool {
        false
    }

    /// Takes a new notice for the user, if there is one. Most models have none.
    fn take_notice(&self) -> Option<String> {
        None
    }

    /// Takes what was learned about models from the vendor, by model id, if anything is new. Most
    /// models learn nothing.
    fn take_learned_abilities(&self) -> Option<BTreeMap<String, ModelAbilities>> {
        None
    }

    /// Stops background processes and waits until they have ended. Most models have none.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Runs tools.
pub trait ToolRunner: Send + Sync {
    fn tools(&self) -> Arc<[ToolSpec]>;

    /// Returns the text that the user reads while `call` runs.
    fn caption(&self, call: &ToolCall) -> String {
        Caption::new(&call.name, |_| None).plain()
    }

    /// Runs an allowed call of `turn`. Every failure becomes a result that the model can read.
    fn run<'a>(
        &'a self,
        turn: TurnId,
        call: &'a ToolCall,
        assistant: &'a AssistantHandle,
    ) -> BoxFuture<'a, ToolResult>;

    /// Returns the kinds of the server tools that `calls` name, as far as the user accepted them.
    /// Most tool runners know none.
    fn server_tool_kinds<'a>(&'a self, _calls: &'a [ToolCall]) -> BoxFuture<'a, ServerToolKinds> {
        Box::pin(std::future::ready(ServerToolKinds::new()))
    }

    /// Loads the skills of a job. Missing or broken skills are left out. Most tool runners know
    /// none.
    fn load_skills<'a>(&'a self, _wanted: &'a NamedSkills) -> BoxFuture<'a, LoadedSkills> {
        Box::pin(std::future::ready(LoadedSkills::default()))
    }
}

/// Stores records and reads the conversation.
pub trait Journal: Send + Sync {
    /// Writes all of `records` or none. After `Ok` they survive a power cut.
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>>;

    /// Returns the path to `head`, oldest entry first, starting with the last summary.
    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>>;

    /// Returns the stored opening of the conversation whose first entry is `root`.
    fn opening(&self, _root: EntryId) -> BoxFuture<'_, Result<Option<PromptPrefix>, ReadError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Stores the opening of a conversation. Openings of old conversations are deleted.
    fn save_opening(&self, _opening: PromptPrefix) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the newest `limit` entries on the path to the head of `branch` that are older than
    /// `before`, oldest first.
    fn recent_entries(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>>;

    /// Returns the newest `limit` moves of branch names, with the starting points of their
    /// branches.
    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>>;

    /// Returns the entry `id`.
    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>>;

    /// Returns the side messages between entry `from` and entry `before`.
    fn side_messages(
        &self,
        from: EntryId,
        before: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>>;
}

/// The messages shown beside the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideMessages {
    /// The entries that background runs showed to the user, oldest first, each with the source of
    /// its run.
    pub sent: Vec<(CostSource, Entry)>,
    /// The messages that the user dismissed.
    pub put_away: BTreeSet<SentId>,
}

/// Read-only queries that run concurrently with the event loop.
pub trait Archive: Send + Sync {
    /// Returns the updates that main has not read, oldest first.
    fn reports(&self) -> BoxFuture<'_, Result<Vec<PendingUpdate>, ReadError>>;

    /// Returns the spending until `now`, with lists of the last `days`.
    fn spending(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<Spending, ReadError>>;

    /// Explains how `subject` came about, with times in `zone`. `None` if it is unknown.
    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<ExplanationReport>, ReadError>>;

    /// Returns the newest occurrences, optionally of one job, newest first.
    fn occurrences(
        &self,
        of: Option<CostSource>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, ReadError>>;
}

/// A part of the outbox that is sent independently of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Reminders that were not sent yet. They overtake everything else.
    Reminders,
    /// All other posts, and all edits.
    Others,
}

/// The messages to send to external surfaces, and their receipts.
pub trait Outbox: Send + Sync {
    /// Returns the oldest `limit` pending posts of `queue`.
    fn pending(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<PendingPost>, ReadError>>;

    /// Returns the receipts of the messages sent for `key`, by part.
    fn receipts(&self, key: OutboxKey) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>>;

    /// Returns the receipts whose key starts with `kind`.
    fn receipts_of_kind(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>>;

    /// Returns the receipts of streamed texts that were never posted.
    fn unposted_receipts(&self) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>>;

    /// Stores the receipt of a sent part.
    fn save_receipt(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), WriteError>>;

    /// Deletes the receipt of a part whose message no longer exists.
    fn delete_receipt(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), WriteError>>;

    /// Settles the post `id`. Returns the charge to refund if it was not delivered.
    fn settle(&self, id: u64, outcome: PostOutcome) -> BoxFuture<'_, Result<Option<PingCharge>, WriteError>>;

    /// Returns the post that the external message `message` belongs to, if it is one of ours.
    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, ReadError>>;

    /// Returns the value stored under `name`.
    fn kv_get(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, ReadError>>;

    /// Stores `value` under `name`. It survives restarts.
    fn kv_set(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), WriteError>>;

    /// Deletes old records of sent messages.
    fn prune(&self, now: Timestamp) -> BoxFuture<'_, Result<(), WriteError>>;
}

/// The post of an external message, and the sent message that it can be replied to as.
pub type PostedAs = (OutboxKey, Option<SentId>);

/// A pending post.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingPost {
    pub id: u64,
    /// The action to perform.
    pub action: PostAction,
    pub post: OutboxMessage,
}

/// The action for a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAction {
    /// Sends a new message.
    Send,
    /// Edits the messages sent under its key.
    Edit,
}

/// Links a part of a post to the message sent for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub key: OutboxKey,
    /// The index of the part.
    pub part: u32,
    /// The message id on the external surface.
    pub message: u64,
}

/// The outcome of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostOutcome {
    /// It was sent, and receipts are stored.
    Sent,
    /// It can never be sent, for this reason.
    Failed(String),
    /// Sending it is no longer useful, for this reason.
    Dropped(String),
}

/// The journal cannot be written. The text says what is wrong and how the user can repair it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(pub String);

/// The journal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// Shows updates to the user.
pub trait Surface: Send + Sync {
    /// Shows an update. Must not block: a slow surface loses updates instead of delaying others.
    fn show(&self, shown: &Update);
}

/// The source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the wall time in the user's time zone.
    fn now(&self) -> Zoned;

    /// Returns the monotonic time since the machine booted, including sleep.
    fn since_boot(&self) -> Duration;
}
