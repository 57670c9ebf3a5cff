//! Attention: limits on notifications, and what is deferred because of them.
//!
//! Notifications that the user requested are delivered on time. Those that the assistant initiates
//! are deferred during quiet hours and focus, and when the daily cap is reached; a digest delivers
//! them later, once.

mod deferred;
mod encouragement;
mod limits;
mod notification_settings;
mod pressure;
mod quiet_command;
mod routine_moves;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

pub use deferred::{DeferReason, Deferred, DeferredId, Digest, MISSED_HEADING};
pub use encouragement::Encouragements;
pub use limits::PingLimits;
pub use notification_settings::{DigestTimes, NotificationSettings, PushCaps, QuietHours};
pub use pressure::{find_blame, find_pressure};
pub use quiet_command::{MAX_FOCUS_MINUTES, QuietCommand};
pub use routine_moves::{Firing, MoveSuggestion, RoutineMoves};

use crate::cost::CostSource;
use crate::ping_budget::PingBudget;
use crate::record::{MessageChange, Record};

/// A snapshot of the attention state for surfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    pub settings: NotificationSettings,
    /// The end of the current quiet time, by quiet hours or by command.
    pub quiet_until: Option<Timestamp>,
    pub focus: Option<Focus>,
    /// The time of the next digest, if digests are on.
    pub next_digest: Option<Timestamp>,
    /// Deferred items, oldest first.
    pub deferred: Vec<Deferred>,
    /// Notifications initiated by the assistant today.
    pub push_count: PushCount,
    /// The remaining pings.
    pub pings: PingBudget,
    /// Sources that the user disliked, most often first.
    pub disliked: Vec<DislikeCount>,
}

/// A focus session of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    pub since: Timestamp,
    pub until: Timestamp,
    /// The topic; may be empty.
    pub topic: String,
    pub midpoint: MidpointNotice,
}

/// Whether the midpoint of a focus was announced with the remaining time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MidpointNotice {
    Pending,
    /// Announced, or not needed.
    Done,
}

/// The shortest focus with a midpoint announcement.
const MIN_FOCUS_WITH_MIDPOINT: SignedDuration = SignedDuration::from_mins(20);

impl Focus {
    /// The time of the midpoint announcement, if it is pending.
    pub fn midpoint_due(&self) -> Option<Timestamp> {
        let length = self.until.duration_since(self.since);
        (self.midpoint == MidpointNotice::Pending && length >= MIN_FOCUS_WITH_MIDPOINT)
            .then(|| self.since + length / 2)
    }
}

/// A daily counter of notifications initiated by the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushCount {
    /// The counted day, in the user's zone.
    pub day: Date,
    pub count: u32,
    /// The time of the last notification.
    pub last: Option<Timestamp>,
}

impl Default for PushCount {
    fn default() -> Self {
        Self { day: Date::ZERO, count: 0, last: None }
    }
}

impl PushCount {
    /// Resets the count if `today` is another day.
    #[must_use]
    pub fn for_day(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0, ..self } }
    }
}

/// A source whose notifications the user disliked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DislikeCount {
    pub source: CostSource,
    pub count: u32,
}

/// The attention state of the assistant, with deferred items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttentionStore {
    pub state: AttentionState,
    /// Deferred items, oldest first, shared between clones.
    pub deferred: Arc<Vec<Deferred>>,
    /// The id of the next deferred item.
    pub next_id: DeferredId,
    /// The number of dislikes per source.
    pub disliked: BTreeMap<CostSource, u32>,
}

/// The small attention values that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttentionState {
    /// The end of a quiet time set by command.
    pub quiet_until: Option<Timestamp>,
    pub focus: Option<Focus>,
    pub push_count: PushCount,
    /// The encouragements of the last active day.
    pub encouragements: Encouragements,
    /// Recent moves of routine times.
    pub moves: RoutineMoves,
}

/// A change of the attention state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttentionChange {
    State(Box<AttentionState>),
    Deferred(Deferred),
    DigestDelivered(Digest),
    /// These items no longer need a digest, because the user dealt with them.
    DeferredResolved(Vec<DeferredId>, Timestamp),
    /// The new number of dislikes of a source.
    Disliked(CostSource, u32),
}

impl From<AttentionChange> for Record {
    fn from(change: AttentionChange) -> Self {
        Self::Message(MessageChange::Attention(change))
    }
}
