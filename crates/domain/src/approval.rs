//! Approvals: calls that wait for the human's yes or no, and what a late yes is good for.
//!
//! An approval has a number and shows the whole call. It is answered once. While its turn waits, the answer lets the
//! call run or not; once the turn has gone on, a yes becomes a grant: exactly this call, once, within a day. An "always"
//! is also a standing yes to one narrow thing.

mod finding;
mod posted;
mod standing;

pub(crate) use posted::{answered, question_of};
pub use standing::{STANDING, STANDING_FOR, Scope, Standing};

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::conversation::Branch;
use crate::label::Label;
use crate::permission::{Allowed, Refused};
use crate::record::SurfaceName;
use crate::tool::{Caption, ToolCall};
use crate::turn::TurnId;

/// How long a turn waits for an answer.
pub const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// How long an approval can be answered, and how long a late yes is good for.
pub const OPEN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// The most approvals that are open at a time.
pub const OPEN: usize = 50;
/// How many answered approvals are remembered, for whoever answers again.
pub const REMEMBERED: usize = 100;

/// The number of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(pub u64);

/// A call that the human is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Its number.
    pub id: ApprovalId,
    /// The first approval of the same step of the model: they share one card.
    pub step: ApprovalId,
    /// When it was asked.
    pub at: Timestamp,
    /// The turn that asked.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The call, whole.
    pub call: ToolCall,
    /// What was known where it was called.
    pub knows: Label,
    /// Who waits for the answer.
    pub waits: Waits,
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The turn that asked.
    Turn,
    /// Nobody: the turn has gone on without it.
    Nobody,
    /// Nobody ever did: a run asked, and a yes carries it out.
    Card,
}

impl Approval {
    /// The call in a few words.
    pub fn caption(&self) -> String {
        Caption::of(&self.call.name, |key| self.call.input.text(key)).plain()
    }

    /// Until when it can be answered.
    pub fn until(&self) -> Timestamp {
        later(self.at, OPEN_FOR)
    }

    /// When something is to be done about it, if nobody answers.
    pub fn wakes(&self) -> Timestamp {
        match self.waits {
            Waits::Turn => later(self.at, PATIENCE),
            Waits::Nobody | Waits::Card => self.until(),
        }
    }
}

/// What the human says to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, this once.
    Allow,
    /// No.
    Deny,
    /// Yes, and to the same for a while.
    Always,
}

/// An answer of the human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the approval as it was typed; blank, if there is only one.
    pub which: String,
    /// Yes or no.
    pub verdict: Verdict,
    /// Where it was said.
    pub by: SurfaceName,
}

/// How an approval was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With a yes.
    Allowed,
    /// With a yes for a while.
    Always,
    /// With a no.
    Denied,
    /// Something else happened first.
    Cancelled,
    /// Nobody answered in time.
    Expired,
}

impl How {
    const ALL: [Self; 5] = [Self::Allowed, Self::Always, Self::Denied, Self::Cancelled, Self::Expired];

    /// The word for it, as it is kept and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Always => "always allowed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// What that word means.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|how| how.as_str() == name)
    }
}

impl From<Verdict> for How {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allowed,
            Verdict::Deny => Self::Denied,
            Verdict::Always => Self::Always,
        }
    }
}

/// An approval that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its number.
    pub id: ApprovalId,
    /// The turn that asked.
    pub turn: TurnId,
    /// The call.
    pub call: ToolCall,
    /// How.
    pub how: How,
    /// By whom: the house, if nobody answered.
    pub by: SurfaceName,
    /// When.
    pub at: Timestamp,
}

/// A yes that came after its turn had gone on: good for exactly this call, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The approval.
    pub id: ApprovalId,
    /// The call.
    pub call: ToolCall,
    /// Until when.
    pub until: Timestamp,
}

/// What the human has said yes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// What is always allowed, oldest first.
    pub always: Vec<Standing>,
    /// Late answers that were not used yet, oldest first.
    pub grants: Vec<Grant>,
}

impl Consent {
    /// Why `call` is allowed by it. A grant comes first, so that it is used up.
    pub fn to(&self, call: &ToolCall) -> Option<Allowed> {
        let exactly =
            |grant: &&Grant| grant.call.name == call.name && grant.call.input.says_the_same_as(&call.input);
        let granted = self.grants.iter().find(exactly).map(|grant| Allowed::Granted(grant.id));
        granted.or_else(|| self.standing(call).map(Allowed::Standing))
    }
}

/// All approvals that matter still.
#[derive(Clone, Debug)]
pub struct Approvals {
    /// Those that can be answered, oldest first.
    pub open: Vec<Approval>,
    /// The newest of those that were closed, oldest first, shared with every copy of this.
    pub closed: Arc<VecDeque<Closed>>,
    /// What came of them.
    pub consent: Consent,
    /// Cards that were being carried out when the program died.
    pub carried: Vec<Approval>,
    /// The number of the next one.
    pub next: ApprovalId,
}

impl Default for Approvals {
    fn default() -> Self {
        let open = Vec::new();
        let closed = Arc::default();
        let consent = Consent::default();
        Self { open, closed, consent, carried: Vec::new(), next: ApprovalId(1) }
    }
}

impl Approvals {
    /// When something is to be done, if nobody answers.
    pub fn wakes(&self) -> Option<Timestamp> {
        let grants = self.consent.grants.iter().map(|grant| grant.until);
        let standing = self.consent.always.iter().map(|standing| standing.until);
        self.open.iter().map(Approval::wakes).chain(grants).chain(standing).min()
    }

    /// Why `call` of `turn` is known not to have run: nothing, if it may have. The whole call is compared, because
    /// there are models that use a name for their calls twice.
    pub fn kept_from(&self, turn: TurnId, call: &ToolCall) -> Option<Refused> {
        let open = self.open.iter().find(|open| open.turn == turn && open.call == *call);
        if let Some(open) = open {
            return Some(Refused::Unanswered(open.id));
        }
        let closed = self.closed.iter().rfind(|closed| closed.turn == turn && closed.call == *call)?;
        match closed.how {
            How::Allowed | How::Always => None,
            How::Denied => Some(Refused::Denied(closed.id)),
            How::Cancelled | How::Expired => Some(Refused::Cancelled(closed.id)),
        }
    }

    /// Remembers how an approval was closed.
    pub(crate) fn remember(&mut self, closed: Closed) {
        let all = Arc::make_mut(&mut self.closed);
        all.push_back(closed);
        if all.len() > REMEMBERED {
            all.pop_front();
        }
    }
}

/// What happened to an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalChange {
    /// The human is asked.
    Asked(Approval),
    /// The turn that asked has gone on without an answer.
    Left(ApprovalId),
    /// It was closed. A yes that nobody waited for is a grant.
    Closed(Closed),
    /// A grant is good for nothing any more: this call used it, or its time is over.
    Spent(ApprovalId, Option<String>, Timestamp),
    /// The yes is a standing one.
    Stands(Standing),
    /// A standing yes was taken back, or its time is over.
    Withdrawn(ApprovalId, Timestamp),
}

/// The time so much later than `at`.
pub(crate) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
