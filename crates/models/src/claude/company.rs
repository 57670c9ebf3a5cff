//! Who the program's questions go to: may it use a tool of its own, may it stop, and where was it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::conversation::{Branch, Json};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

/// Everybody the program can ask or tell. By default nobody has an opinion, and nothing is allowed.
#[derive(Clone)]
pub struct Company {
    /// Decides about the program's own tools.
    pub permissions: Arc<dyn Permissions>,
    /// Hears what the program's own tools did, and whether it may stop.
    pub hooks: Arc<dyn Hooks>,
    /// Is told what the human may want to know.
    pub notices: Arc<dyn Notices>,
    /// Knows where the program is on each branch.
    pub sessions: Arc<dyn Sessions>,
}

impl Default for Company {
    fn default() -> Self {
        let nobody = Arc::new(Nobody);
        let sessions = Arc::new(Remembered::default());
        Self { permissions: nobody.clone(), hooks: nobody.clone(), notices: nobody, sessions }
    }
}

/// One use of a tool that the program brings with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where.
    pub branch: Branch,
    /// The tool: `Bash`.
    pub tool: String,
    /// What it is given.
    pub input: Json,
}

/// Whether a tool may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not; the model reads why.
    Deny(String),
}

/// Whether the model may stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// None: it may.
    None,
    /// Not yet; the model reads why, and goes on in the same turn.
    Block(String),
}

/// The model is about to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// Where.
    pub branch: Branch,
    /// What it said last.
    pub last: Option<String>,
    /// Whether it was held back before in this turn: who blocks again may block for ever.
    pub again: bool,
}

/// Decides about the program's own tools. Ours do not come here: they go through the one door.
pub trait Permissions: Send + Sync {
    /// Whether this may happen.
    fn may_use<'a>(&'a self, wanted: &'a Use) -> BoxFuture<'a, Verdict>;
}

/// Is called at two moments of a turn.
pub trait Hooks: Send + Sync {
    /// A tool was used; `response` is what came of it.
    fn used<'a>(&'a self, used: &'a Use, response: &'a Json) -> BoxFuture<'a, ()>;

    /// The model is about to stop.
    fn stopping<'a>(&'a self, stopping: &'a Stopping) -> BoxFuture<'a, Opinion>;
}

/// What the human may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program runs, as this process.
    Started(u32),
    /// It has begun to sum up.
    Compacting,
    /// It has summed up what came before.
    Compacted(Boundary),
    /// Its session is gone; it was told the conversation anew.
    SessionLost(String),
}

/// Where a summary stands for what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Who wanted it.
    pub trigger: Trigger,
    /// The tokens before, if known.
    pub pre_tokens: Option<u64>,
    /// The tokens after, if known.
    pub post_tokens: Option<u64>,
}

/// Who wanted a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The human.
    Manual,
    /// The program, because the conversation grew too long.
    Auto,
}

/// Is told things. It must not wait.
pub trait Notices: Send + Sync {
    /// Something happened on `branch`.
    fn notice(&self, branch: &Branch, notice: Notice);
}

/// How far the program has heard a branch, and under which name it remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The program's own id.
    pub session: String,
    /// What it has certainly heard.
    pub heard: Mark,
    /// What it may have heard: written down before it is told, so that whoever dies in between does not forget
    /// what the program may remember.
    pub told: Mark,
    /// Fingerprint of the instructions that the session began with; nothing, if they are not known.
    pub instructions: Option<String>,
}

/// The beginning of what was said, up to some point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How many things said.
    pub said: usize,
    /// What these were, as a fingerprint: a past that was changed is not the past that was heard.
    pub print: String,
}

/// Where the program is on each branch.
pub trait Sessions: Send + Sync {
    /// All that is known, main first.
    fn all(&self) -> Vec<(Branch, Place)>;

    /// It is here now. When this returns, that is known after a crash too.
    fn keep<'a>(&'a self, branch: &'a Branch, place: Place) -> BoxFuture<'a, ()>;

    /// It is nowhere any more.
    fn forget<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()>;
}

/// Places that are kept as long as the program that asks runs.
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

/// What the model reads when it may not use a tool, and nobody was there to say why.
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
