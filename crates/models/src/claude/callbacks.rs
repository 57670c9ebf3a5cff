//! The callbacks of the program: permissions for its own tools, hooks, notices and session
//! positions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::conversation::{Branch, Json};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

/// The callbacks of a [`Claude`](super::Claude) model. By default every tool is denied and stopping
/// is allowed.
#[derive(Clone)]
pub struct Callbacks {
    /// Decides about the program's own tools.
    pub permissions: Arc<dyn PermissionHandler>,
    /// Is called after each use of the program's own tools, and before the model stops.
    pub hooks: Arc<dyn TurnHooks>,
    /// Receives notices for the user.
    pub notices: Arc<dyn NoticeSink>,
    /// Stores the session position of each branch.
    pub sessions: Arc<dyn SessionStore>,
}

impl Default for Callbacks {
    fn default() -> Self {
        let callbacks = Arc::new(DefaultCallbacks);
        let sessions = Arc::new(InMemorySessions::default());
        Self { permissions: callbacks.clone(), hooks: callbacks.clone(), notices: callbacks, sessions }
    }
}

/// One use of a tool that is built into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The branch of the turn.
    pub branch: Branch,
    /// The tool's name, such as `Bash`.
    pub tool: String,
    /// The tool's input.
    pub input: Json,
}

/// The decision about the use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    /// The tool may run.
    Allow,
    /// The tool may not run; the model reads the reason.
    Deny(String),
}

/// The decision whether the model may stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopDecision {
    /// The model may stop.
    Allow,
    /// The model must continue in the same turn; it reads the reason.
    Block(String),
}

/// An attempt of the model to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopAttempt {
    /// The branch of the turn.
    pub branch: Branch,
    /// The last text of the model.
    pub last_text: Option<String>,
    /// True if an earlier attempt in this turn was blocked; blocking again may never end.
    pub already_blocked: bool,
}

/// Decides about the program's own tools. Our tools are authorized by the engine instead.
pub trait PermissionHandler: Send + Sync {
    /// Decides whether the tool may run.
    fn decide<'a>(&'a self, tool_use: &'a ToolUse) -> BoxFuture<'a, PermissionDecision>;
}

/// Callbacks at two points of a turn.
pub trait TurnHooks: Send + Sync {
    /// Is called after a tool ran, with its `response`.
    fn after_tool_use<'a>(&'a self, tool_use: &'a ToolUse, response: &'a Json) -> BoxFuture<'a, ()>;

    /// Is called when the model is about to stop.
    fn before_stop<'a>(&'a self, attempt: &'a StopAttempt) -> BoxFuture<'a, StopDecision>;
}

/// An event that the user may want to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program runs with this process id.
    Started(u32),
    /// It has begun to compact its session.
    Compacting,
    /// It has compacted its session.
    Compacted(CompactionBoundary),
    /// Its session was lost; the conversation was sent again. Contains the error.
    SessionLost(String),
}

/// A compaction of the program's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionBoundary {
    /// The cause of the compaction.
    pub trigger: CompactionTrigger,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
}

/// The cause of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionTrigger {
    /// The user.
    Manual,
    /// The program, because its context window was nearly full.
    Auto,
}

/// Receives notices. Must not block.
pub trait NoticeSink: Send + Sync {
    /// Receives a notice about `branch`.
    fn notice(&self, branch: &Branch, notice: Notice);
}

/// The program's session of a branch, and the part of the conversation in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPosition {
    /// The program's session id.
    pub session: String,
    /// The entries that the program has certainly received.
    pub received: HistoryMark,
    /// The entries that it may have received. Saved before they are sent, so that a crash in
    /// between loses nothing that the program may remember.
    pub sent: HistoryMark,
    /// Hash of the instructions that the session began with, or none if unknown.
    pub instructions_hash: Option<String>,
}

/// A prefix of the conversation's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryMark {
    /// The number of entries.
    pub count: usize,
    /// Hash of these entries, which detects a changed history.
    pub hash: String,
}

/// Stores the session position of each branch.
pub trait SessionStore: Send + Sync {
    /// Returns all positions, main first.
    fn all(&self) -> Vec<(Branch, SessionPosition)>;

    /// Saves the position. It is durable when this returns.
    fn save<'a>(&'a self, branch: &'a Branch, position: SessionPosition) -> BoxFuture<'a, ()>;

    /// Deletes the position.
    fn remove<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()>;
}

/// Positions stored in memory only.
#[derive(Debug, Default)]
pub struct InMemorySessions(Mutex<BTreeMap<Branch, SessionPosition>>);

impl SessionStore for InMemorySessions {
    fn all(&self) -> Vec<(Branch, SessionPosition)> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().map(|(branch, place)| (branch.clone(), place.clone())).collect()
    }

    fn save<'a>(&'a self, branch: &'a Branch, place: SessionPosition) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(branch.clone(), place);
        ready(()).boxed()
    }

    fn remove<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(branch);
        ready(()).boxed()
    }
}

/// The default reason for a denied tool, which the model reads.
const NOT_ALLOWED: &str = "this tool is not allowed here. do without it, or tell the human what you need.";

struct DefaultCallbacks;

impl PermissionHandler for DefaultCallbacks {
    fn decide<'a>(&'a self, _: &'a ToolUse) -> BoxFuture<'a, PermissionDecision> {
        ready(PermissionDecision::Deny(NOT_ALLOWED.to_owned())).boxed()
    }
}

impl TurnHooks for DefaultCallbacks {
    fn after_tool_use<'a>(&'a self, _: &'a ToolUse, _: &'a Json) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    fn before_stop<'a>(&'a self, _: &'a StopAttempt) -> BoxFuture<'a, StopDecision> {
        ready(StopDecision::Allow).boxed()
    }
}

impl NoticeSink for DefaultCallbacks {
    fn notice(&self, _: &Branch, _: Notice) {}
}
