//! Approvals: calls that wait for the user's yes or no.
//!
//! An approval has a number, shows the whole call, and is answered once. While its turn waits, the
//! answer decides whether the call runs. Once the turn has gone on, a yes becomes a grant: exactly
//! this call, once, within a day. "Always" also creates a narrow standing approval.

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

/// The time for which a turn waits for an answer.
pub const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// The time during which an approval can be answered, and during which a grant is valid.
pub const OPEN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// The most approvals that are open at the same time.
pub const OPEN: usize = 50;
/// The number of closed approvals that are remembered, so that a second answer gets a useful reply.
pub const REMEMBERED: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(pub u64);

/// A call that the user is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub id: ApprovalId,
    /// The first approval of the same model step; all approvals of a step share one card.
    pub step: ApprovalId,
    pub at: Timestamp,
    pub turn: TurnId,
    pub branch: Branch,
    pub call: ToolCall,
    /// The label of the conversation at the time of the call.
    pub knows: Label,
    pub waits: Waits,
}

/// The receiver of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    Turn,
    /// The turn has gone on without an answer; a yes becomes a grant.
    Nobody,
    /// No turn ever waited: a background run asked, and a yes carries the call out.
    Card,
}

impl Approval {
    /// Returns the call in a few words.
    pub fn caption(&self) -> String {
        Caption::of(&self.call.name, |key| self.call.input.text(key)).plain()
    }

    /// Returns the time after which it cannot be answered.
    pub fn until(&self) -> Timestamp {
        later(self.at, OPEN_FOR)
    }

    /// Returns the time of the next timeout if it is not answered.
    pub fn wakes(&self) -> Timestamp {
        match self.waits {
            Waits::Turn => later(self.at, PATIENCE),
            Waits::Nobody | Waits::Card => self.until(),
        }
    }
}

/// The user's answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny,
    /// Yes, and also for the same calls in the next days.
    Always,
}

/// An answer of the user with the approvals that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The selection as it was typed; blank means the only card.
    pub which: String,
    pub verdict: Verdict,
    /// The surface on which it was given.
    pub by: SurfaceName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Allowed,
    Always,
    Denied,
    /// Another message or a stop came first.
    Cancelled,
    Expired,
}

impl How {
    const ALL: [Self; 5] = [Self::Allowed, Self::Always, Self::Denied, Self::Cancelled, Self::Expired];

    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Always => "always allowed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Parses a stored word.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub id: ApprovalId,
    pub turn: TurnId,
    pub call: ToolCall,
    pub how: How,
    /// The surface of the answer; the program itself for a timeout.
    pub by: SurfaceName,
    pub at: Timestamp,
}

/// A yes that came after its turn had gone on; valid for exactly this call, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: ApprovalId,
    pub call: ToolCall,
    pub until: Timestamp,
}

/// The user's permissions that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Standing approvals, oldest first.
    pub always: Vec<Standing>,
    /// Unused grants, oldest first.
    pub grants: Vec<Grant>,
}

impl Consent {
    /// Returns the permission for `call`. Grants are checked first, so that they are used up.
    pub fn to(&self, call: &ToolCall) -> Option<Allowed> {
        let exactly =
            |grant: &&Grant| grant.call.name == call.name && grant.call.input.says_the_same_as(&call.input);
        let granted = self.grants.iter().find(exactly).map(|grant| Allowed::Granted(grant.id));
        granted.or_else(|| self.standing(call).map(Allowed::Standing))
    }
}

/// All approvals that are open or remembered.
#[derive(Clone, Debug)]
pub struct Approvals {
    /// Open approvals, oldest first.
    pub open: Vec<Approval>,
    /// The most recently closed approvals, oldest first; shared between copies.
    pub closed: Arc<VecDeque<Closed>>,
    pub consent: Consent,
    /// Approved calls that were running when the program stopped.
    pub carried: Vec<Approval>,
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
    /// Returns the time of the next timeout or expiry.
    pub fn wakes(&self) -> Option<Timestamp> {
        let grants = self.consent.grants.iter().map(|grant| grant.until);
        let standing = self.consent.always.iter().map(|standing| standing.until);
        self.open.iter().map(Approval::wakes).chain(grants).chain(standing).min()
    }

    /// Returns why `call` of `turn` is known not to have run; `None` if it may have run. Compares
    /// the whole call, because some models use one call id twice.
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

    /// Adds a closed approval and forgets the oldest one beyond the limit.
    pub(crate) fn remember(&mut self, closed: Closed) {
        let all = Arc::make_mut(&mut self.closed);
        all.push_back(closed);
        if all.len() > REMEMBERED {
            all.pop_front();
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalChange {
    Asked(Approval),
    Left(ApprovalId),
    /// It was closed. A yes without a waiting turn creates a grant.
    Closed(Closed),
    /// A grant ended: it was used by the call with this id, or it expired.
    Spent(ApprovalId, Option<String>, Timestamp),
    Stands(Standing),
    /// A standing approval was revoked or expired.
    Withdrawn(ApprovalId, Timestamp),
}

/// Returns `at` plus `by`, saturating.
pub(crate) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
