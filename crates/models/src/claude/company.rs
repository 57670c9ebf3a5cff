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
pub struct Company {
    /// Decides about the program's own tools.
    pub permissions: Arc<dyn Permissions>,
    /// Is called after each use of the program's own tools, and before the model stops.
    pub hooks: Arc<dyn Hooks>,
    /// Receives notices for the user.
    pub notices: Arc<dyn Notices>,
    /// Stores the session position of each branch.
    pub sessions: Arc<dyn Sessions>,
}

impl Default for Company {
    fn default() -> Self {
        let nobody = Arc::new(Nobody);
        let sessions = Arc::new(Remembered::default());
        Self { permissions: nobody.clone(), hooks: nobody.clone(), notices: nobody, sessions }
    }
}

/// One use of a tool that is built into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The branch of the turn.
    pub branch: Branch,
    /// The tool's name, such as `Bash`.
    pub tool: String,
    /// The tool's input.
    pub input: Json,
}

/// The decision about the use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tool may run.
    Allow,
    /// The tool may not run; the model reads the reason.
    Deny(String),
}

/// The decision whether the model may stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The model may stop.
    None,
    /// The model must continue in the same turn; it reads the reason.
    Block(String),
}

/// An attempt of the model to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// The branch of the turn.
    pub branch: Branch,
    /// The last text of the model.
    pub last: Option<String>,
    /// True if an earlier attempt in this turn was blocked; blocking again may never end.
    pub again: bool,
}

/// Decides about the program's own tools. Our tools are authorized by the engine instead.
pub trait Permissions: Send + Sync {
    /// Decides whether the tool may run.
    fn may_use<'a>(&'a self, wanted: &'a Use) -> BoxFuture<'a, Verdict>;
}

/// Callbacks at two points of a turn.
pub trait Hooks: Send + Sync {
    /// Is called after a tool ran, with its `response`.
    fn used<'a>(&'a self, used: &'a Use, response: &'a Json) -> BoxFuture<'a, ()>;

    /// Is called when the model is about to stop.
    fn stopping<'a>(&'a self, stopping: &'a Stopping) -> BoxFuture<'a, Opinion>;
}

/// An event that the user may want to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program runs with this process id.
    Started(u32),
    /// It has begun to compact its session.
    Compacting,
    /// It has compacted its session.
    Compacted(Boundary),
    /// Its session was lost; the conversation was sent again. Contains the error.
    SessionLost(String),
}

/// A compaction of the program's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The cause of the compaction.
    pub trigger: Trigger,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
}

/// The cause of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The user.
    Manual,
    /// The program, because its context window was nearly full.
    Auto,
}

/// Receives notices. Must not block.
pub trait Notices: Send + Sync {
    /// Receives a notice about `branch`.
    fn notice(&self, branch: &Branch, notice: Notice);
}

/// The program's session of a branch, and the part of the conversation in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The program's session id.
    pub session: String,
    /// The entries that the program has certainly received.
    pub heard: Mark,
    /// The entries that it may have received. Saved before they are sent, so that a crash in
    /// between loses nothing that the program may remember.
    pub told: Mark,
    /// Hash of the instructions that the session began with, or none if unknown.
    pub instructions: Option<String>,
}

/// A prefix of the conversation's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number of entries.
    pub said: usize,
    /// Hash of these entries, which detects a changed history.
    pub print: String,
}

/// Stores the session position of each branch.
pub trait Sessions: Send + Sync {
    /// Returns all positions, main first.
    fn all(&self) -> Vec<(Branch, Place)>;

    /// Saves the position. It is durable when this returns.
    fn keep<'a>(&'a self, branch: &'a Branch, place: Place) -> BoxFuture<'a, ()>;

    /// Deletes the position.
    fn forget<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()>;
}

/// Positions stored in memory only.
#[derive(Debug, Default)]
pub struct Remembered(Mutex<BTreeMap<Branch, Place>>);

impl Sessions for Remembered {
    fn all(&self) -> Vec<(Branch, Place)> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().map(|(branch, place)| (branch.clone(), place.clone())).collect()
    }

    fn keep<'a>(&'a self, branch: &'a Branch, place: Place) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(branch.clone(), place);
        ready(()).boxed()
    }

    fn forget<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(branch);
        ready(()).boxed()
    }
}

/// The default reason for a denied tool, which the model reads.
const NOT_ALLOWED: &str = "this tool is not allowed here. do without it, or tell the human what you need.";

struct Nobody;

impl Permissions for Nobody {
    fn may_use<'a>(&'a self, _: &'a Use) -> BoxFuture<'a, Verdict> {
        ready(Verdict::Deny(NOT_ALLOWED.to_owned())).boxed()
    }
}

impl Hooks for Nobody {
    fn used<'a>(&'a self, _: &'a Use, _: &'a Json) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    fn stopping<'a>(&'a self, _: &'a Stopping) -> BoxFuture<'a, Opinion> {
        ready(Opinion::None).boxed()
    }
}

impl Notices for Nobody {
    fn notice(&self, _: &Branch, _: Notice) {}
}
