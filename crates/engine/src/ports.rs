//! What the engine needs from the world: a model, hands, a journal, surfaces and a clock.

mod history;
mod rate_limits;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::Shown;
use domain::context::skills::{Loaded, NamedSkills};
use domain::context::{Context, Opening};
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry, Usage};
use domain::cost::{Report as Spending, Source};
use domain::explanation::{Explained, Subject};
use domain::failure::Failure;
use domain::model::Abilities;
use domain::occurrence::Occurrence;
use domain::post::{Post, PostKey};
use domain::record::{Charge, Record};
use domain::report::Report;
use domain::sent::SentId;
use domain::tool::{Caption, ServerKinds, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Reply, TurnId};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::desk::Desk;
use crate::drive::CALLS;
pub use history::{Fate, Found, History, LookedFor, Order, Pinged, Spoken, Within};
pub use rate_limits::{Head, RateLimit, Unit};
pub use search::{Findings, FoundPage, SearchFailure, Searched, VendorSearch};

/// Hears a reply as it comes.
pub trait Hearing: Send + Sync {
    /// A few words more.
    fn words(&self, text: &str);

    /// A piece of a note about the work in progress, which the model writes between tool calls. It appends to the current
    /// note; an empty piece starts a new one. Notes are not part of the answer.
    fn progress(&self, _text: &str) {}

    /// What the call has used so far. It is told as soon as it is known, because a reply may break off.
    fn used(&self, _usage: Usage) {}

    /// The head of an answer of the vendor, also of one that refuses the request. Models without a wire have none.
    fn answered(&self, _head: &Head) {}
}

impl<F: Fn(&str) + Send + Sync> Hearing for F {
    fn words(&self, text: &str) {
        self(text);
    }
}

/// Who hears a reply as it comes.
pub type Listener<'a> = &'a dyn Hearing;

/// Something that answers.
pub trait Model: Send + Sync {
    /// What it is called, for people: `offline`, `anthropic:sonnet`.
    fn name(&self) -> &str;

    /// Who answers `context`: its name, or that of the model which the context asks for.
    fn name_for(&self, _context: &Context) -> String {
        self.name().to_owned()
    }

    /// Replies to `context`, telling `listener` the words as they come. Dropping the future ends the call.
    ///
    /// A failure is a value with words for the human; this never panics on what came over the wire.
    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>>;

    /// Whether its key is another one than it was last refused with.
    fn renewed(&self) -> bool {
        false
    }

    /// The most calls at a time. It bounds connections and memory; the vendor's rate limits are kept besides.
    fn most_calls(&self) -> usize {
        CALLS
    }

    /// Whether nothing is used when it replies: nobody's tokens, and nobody's money.
    fn is_free(&self) -> bool {
        false
    }

    /// What the human should know about it since this was last asked: most models have nothing to say.
    fn notice(&self) -> Option<String> {
        None
    }

    /// What its vendor and its refusals said about models, by id, if something was learned since this was last asked.
    /// Most models learn nothing.
    fn learned(&self) -> Option<BTreeMap<String, Abilities>> {
        None
    }

    /// Ends what it keeps running, and waits until that is gone: most models keep nothing.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What can be done to the world.
pub trait Hands: Send + Sync {
    /// The tools there are.
    fn tools(&self) -> Arc<[ToolSpec]>;

    /// What the human reads while `call` runs.
    fn caption(&self, call: &ToolCall) -> String {
        Caption::of(&call.name, |_| None).plain()
    }

    /// Runs one call of `turn` that was allowed. Whatever goes wrong is a result the model can read.
    fn run<'a>(&'a self, turn: TurnId, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult>;

    /// Returns the kinds of the tools of servers that `calls` name, as far as the user accepted them. Most hands know none.
    fn kinds<'a>(&'a self, _calls: &'a [ToolCall]) -> BoxFuture<'a, ServerKinds> {
        Box::pin(std::future::ready(ServerKinds::new()))
    }

    /// Loads the skills that a job wants. What is missing or broken is left out: most hands know none.
    fn skills<'a>(&'a self, _wanted: &'a NamedSkills) -> BoxFuture<'a, Loaded> {
        Box::pin(std::future::ready(Loaded::default()))
    }
}

/// Where facts are kept.
pub trait Journal: Send + Sync {
    /// Writes all of `records` or none. When this returns `Ok` they survive a power cut.
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>>;

    /// What was said on the way to `head`, oldest first, from the last summary on.
    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>>;

    /// The beginning of the conversation whose first entry is `root`: nothing, if none is kept.
    fn opening(&self, _root: EntryId) -> BoxFuture<'_, Result<Option<Opening>, Unreadable>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Keeps the beginning of a conversation. Those of conversations that began long ago are dropped.
    fn keep_opening(&self, _opening: Opening) -> BoxFuture<'_, Result<(), Unwritten>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The newest `limit` entries on the way to where `branch` is, older than `before`, oldest first.
    fn recent(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>>;

    /// The newest `limit` moves of the names, with the beginnings of the branches in them.
    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>>;

    /// The entry `id`: nothing, if there is none.
    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>>;

    /// What stands beside the entries from `from` on that are older than `before`.
    fn beside(&self, from: EntryId, before: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>>;
}

/// What stands beside the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margin {
    /// What background runs showed to the human, oldest first, each with whose run it was.
    pub sent: Vec<(Source, Entry)>,
    /// What the human put away.
    pub put_away: BTreeSet<SentId>,
}

/// Where facts are looked up again, beside everything that goes on.
pub trait Archive: Send + Sync {
    /// The reports that main has not read, oldest first.
    fn reports(&self) -> BoxFuture<'_, Result<Vec<Report>, Unreadable>>;

    /// What was spent until `now`, with lists of the last `days`.
    fn spent(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<Spending, Unreadable>>;

    /// How `subject` came about, with its times in `zone`: nothing, if nobody knows of it.
    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<Explained>, Unreadable>>;

    /// The newest occurrences, of one job if one is named, newest first.
    fn occurrences(
        &self,
        of: Option<Source>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, Unreadable>>;
}

/// A part of the outbox that waits for no other part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Reminders that were not sent yet. They overtake everything else.
    Reminders,
    /// All other posts, and what changes about any.
    Others,
}

/// What is to be sent to the human elsewhere, and what became of it.
pub trait Outbox: Send + Sync {
    /// The oldest `limit` posts of `queue` that wait.
    fn waiting(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<Outgoing>, Unreadable>>;

    /// The messages that `key` became, by part.
    fn receipts(&self, key: PostKey) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>>;

    /// The receipts whose key begins so.
    fn receipts_of(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>>;

    /// What was shown of words that were never posted.
    fn unfinished(&self) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>>;

    /// Keeps what a part became.
    fn became(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>>;

    /// Forgets what a part became: it is not there any more.
    fn is_gone(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), Unwritten>>;

    /// Settles the post with this number; gives what was charged for one that did not arrive.
    fn settle(&self, id: u64, how: Settled) -> BoxFuture<'_, Result<Option<Charge>, Unwritten>>;

    /// What the message with this number is to us: nothing, if it is none of ours.
    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, Unreadable>>;

    /// What is kept under `name` for a restart.
    fn keepsake(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, Unreadable>>;

    /// Keeps `value` under `name`.
    fn keep(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), Unwritten>>;

    /// Forgets what was sent long ago.
    fn forget(&self, now: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>>;
}

/// What a message elsewhere is to us: the post, and the message that it is, if it can be replied to.
pub type PostedAs = (PostKey, Option<SentId>);

/// A post that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Its number.
    pub id: u64,
    /// What is to be done with it.
    pub work: Work,
    /// The post.
    pub post: Post,
}

/// What is to be done with a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It is sent.
    New,
    /// What was sent under its key says this from now on.
    Says,
}

/// What a part of a post became elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The post.
    pub key: PostKey,
    /// Which part of it.
    pub part: u32,
    /// The number of the message there.
    pub message: u64,
}

/// What became of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was sent, and there are receipts.
    Sent,
    /// It can never be sent, for this reason.
    Failed(String),
    /// It is not worth sending any more, for this reason.
    Dropped(String),
}

/// The journal cannot be written. The human must act: it says what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unwritten(pub String);

/// The journal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// Where the human is.
pub trait Surface: Send + Sync {
    /// Shows something. It must not wait: a surface that is slow loses words, never others' time.
    fn show(&self, shown: &Shown);
}

/// What time it is.
pub trait Clock: Send + Sync {
    /// The time on the wall, in the human's zone.
    fn now(&self) -> Zoned;

    /// The time since the machine started, sleep included.
    fn boot(&self) -> Duration;
}
