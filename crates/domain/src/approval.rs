//! Approvals: calls that wait for the user's yes or no.
//!
//! An approval has a number, shows the whole call, and is answered once. While its turn waits, the
//! answer decides whether the call runs. Once the turn has gone on, a yes becomes a grant: exactly
//! this call, once, within a day. "Always" also creates a narrow standing approval.

mod lookup;
mod rendering;
mod standing;

pub(crate) use rendering::{answered_post, step_question};
pub use standing::{MAX_STANDING, STANDING_DURATION, Scope, StandingApproval};

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::conversation::Branch;
use crate::label::Label;
use crate::permission::{AllowReason, RefusalReason};
use crate::record::SurfaceName;
use crate::tool::{Caption, ToolCall};
use crate::turn::TurnId;

/// The time for which a turn waits for an answer.
pub const ANSWER_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// The time during which an approval can be answered, and during which a grant is valid.
pub const OPEN_DURATION: SignedDuration = SignedDuration::from_hours(24);
/// The most approvals that are open at the same time.
pub const MAX_OPEN: usize = 50;
/// The number of closed approvals that are remembered, so that a second answer gets a useful reply.
pub const MAX_CLOSED: usize = 100;

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
    pub label: Label,
    pub waiter: Waiter,
}

/// The receiver of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    Turn,
    /// The turn has gone on without an answer; a yes becomes a grant.
    Detached,
    /// No turn ever waited: a background run asked, and a yes carries the call out.
    Card,
}

impl Approval {
    /// Returns the call in a few words.
    pub fn caption(&self) -> String {
        Caption::new(&self.call.name, |key| self.call.input.text(key)).plain()
    }

    /// Returns the time after which it cannot be answered.
    pub fn expires_at(&self) -> Timestamp {
        saturating_later(self.at, OPEN_DURATION)
    }

    /// Returns the time of the next timeout if it is not answered.
    pub fn next_timeout(&self) -> Timestamp {
        match self.waiter {
            Waiter::Turn => saturating_later(self.at, ANSWER_TIMEOUT),
            Waiter::Detached | Waiter::Card => self.expires_at(),
        }
    }
}

/// The user's answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    Allow,
    Deny,
    /// Yes, and also for the same calls in the next days.
    Always,
}

/// An answer of the user with the approvals that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalReply {
    /// The selection as it was typed; blank means the only card.
    pub selector: String,
    pub answer: ApprovalAnswer,
    /// The surface on which it was given.
    pub surface: SurfaceName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalOutcome {
    Allowed,
    Always,
    Denied,
    /// Another message or a stop came first.
    Cancelled,
    Expired,
}

impl ApprovalOutcome {
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
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|how| how.as_str() == name)
    }
}

impl From<ApprovalAnswer> for ApprovalOutcome {
    fn from(verdict: ApprovalAnswer) -> Self {
        match verdict {
            ApprovalAnswer::Allow => Self::Allowed,
            ApprovalAnswer::Deny => Self::Denied,
            ApprovalAnswer::Always => Self::Always,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedApproval {
    pub id: ApprovalId,
    pub turn: TurnId,
    pub call: ToolCall,
    pub outcome: ApprovalOutcome,
    /// The surface of the answer; the program itself for a timeout.
    pub surface: SurfaceName,
    pub at: Timestamp,
}

/// A yes that came after its turn had gone on; valid for exactly this call, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: ApprovalId,
    pub call: ToolCall,
    pub expires_at: Timestamp,
}

/// The user's permissions that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Standing approvals, oldest first.
    pub standing: Vec<StandingApproval>,
    /// Unused grants, oldest first.
    pub grants: Vec<Grant>,
}

impl Consent {
    /// Returns the permission for `call`. Grants are checked first, so that they are used up.
    pub fn permission_for(&self, call: &ToolCall) -> Option<AllowReason> {
        let is_same_call =
            |grant: &&Grant| grant.call.name == call.name && grant.call.input.is_equivalent(&call.input);
        let granted = self.grants.iter().find(is_same_call).map(|grant| AllowReason::Granted(grant.id));
        granted.or_else(|| self.standing_for(call).map(AllowReason::Standing))
    }
}

/// All approvals that are open or remembered.
#[derive(Clone, Debug)]
pub struct Approvals {
    /// Open approvals, oldest first.
    pub open: Vec<Approval>,
    /// The most recently closed approvals, oldest first; shared between copies.
    pub closed: Arc<VecDeque<ClosedApproval>>,
    pub consent: Consent,
    /// Approved calls that were running when the program stopped.
    pub interrupted: Vec<Approval>,
    pub next_id: ApprovalId,
}

impl Default for Approvals {
    fn default() -> Self {
        let open = Vec::new();
        let closed = Arc::default();
        let consent = Consent::default();
        Self { open, closed, consent, interrupted: Vec::new(), next_id: ApprovalId(1) }
    }
}

impl Approvals {
    /// Returns the time of the next timeout or expiry.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let grants = self.consent.grants.iter().map(|grant| grant.expires_at);
        let standing = self.consent.standing.iter().map(|standing| standing.expires_at);
        self.open.iter().map(Approval::next_timeout).chain(grants).chain(standing).min()
    }

    /// Returns why `call` of `turn` is known not to have run; `None` if it may have run. Compares
    /// the whole call, because some models use one call id twice.
    pub fn refusal_of(&self, turn: TurnId, call: &ToolCall) -> Option<RefusalReason> {
        let open = self.open.iter().find(|open| open.turn == turn && open.call == *call);
        if let Some(open) = open {
            return Some(RefusalReason::Unanswered(open.id));
        }
        let closed = self.closed.iter().rfind(|closed| closed.turn == turn && closed.call == *call)?;
        match closed.outcome {
            ApprovalOutcome::Allowed | ApprovalOutcome::Always => None,
            ApprovalOutcome::Denied => Some(RefusalReason::Denied(closed.id)),
            ApprovalOutcome::Cancelled | ApprovalOutcome::Expired => {
                Some(RefusalReason::Cancelled(closed.id))
            }
        }
    }

    /// Adds a closed approval and forgets the oldest one beyond the limit.
    pub(crate) fn add_closed(&mut self, closed: ClosedApproval) {
        let all = Arc::make_mut(&mut self.closed);
        all.push_back(closed);
        if all.len() > MAX_CLOSED {
            all.pop_front();
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalChange {
    Asked(Approval),
    Detached(ApprovalId),
    /// It was closed. A yes without a waiting turn creates a grant.
    Closed(ClosedApproval),
    /// A grant ended: it was used by the call with this id, or it expired.
    GrantSpent(ApprovalId, Option<String>, Timestamp),
    StandingAdded(StandingApproval),
    /// A standing approval was revoked or expired.
    StandingEnded(ApprovalId, Timestamp),
}

/// Returns `at` plus `by`, saturating.
pub(crate) fn saturating_later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
