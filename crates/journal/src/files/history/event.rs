//! One event in the life of a session, and its line.

use domain::conversation::SessionId;
use domain::schedule::Moment;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// What happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEvent {
    /// The session.
    pub session: SessionId,
    /// What happened to it.
    pub kind: EventKind,
    /// When.
    pub at: Moment,
    /// The session it came from, if it did.
    pub parent: Option<SessionId>,
}

/// All that can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The main conversation began under it.
    Created,
    /// It stands for an older one.
    Compacted,
    /// A fork took the place of main.
    Swapped,
    /// The human started over, and it was dropped.
    Cleared,
    /// The human started a fork.
    InteractiveFork,
    /// A job ran in a fork of main.
    BgFork,
    /// A job ran alone.
    IsolatedBg,
    /// A routine ran in a session of its own.
    PersistentBg,
    /// The program is about to start anew under it.
    Restarting,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::Compacted,
        Self::Swapped,
        Self::Cleared,
        Self::InteractiveFork,
        Self::BgFork,
        Self::IsolatedBg,
        Self::PersistentBg,
        Self::Restarting,
    ];

    /// The name under which it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Compacted => "compacted",
            Self::Swapped => "swapped",
            Self::Cleared => "cleared",
            Self::InteractiveFork => "interactive_fork",
            Self::BgFork => "bg_fork",
            Self::IsolatedBg => "isolated_bg",
            Self::PersistentBg => "persistent_bg",
            Self::Restarting => "restarting",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    session_id: std::borrow::Cow<'a, str>,
    event: EventKind,
    timestamp: String,
    parent_session_id: Option<String>,
}

impl SessionEvent {
    /// The message under which it is committed.
    pub fn commit_message(&self) -> String {
        format!("session {}: {}", self.kind.as_str(), self.session.short())
    }

    pub(super) fn to_line(&self) -> String {
        let line = Line {
            session_id: self.session.as_str().into(),
            event: self.kind,
            timestamp: self.at.to_micros(),
            parent_session_id: self.parent.as_ref().map(SessionId::to_string),
        };
        // A line holds only text, which always has a JSON form.
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Reads a line: nothing, if it does not tell of an event.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let parent = match &line.parent_session_id {
            Some(parent) => Some(SessionId::read(parent)?),
            None => None,
        };
        let at = Moment::parse(&line.timestamp, &TimeZone::UTC).ok()?;
        Some(Self { session: SessionId::read(&line.session_id)?, kind: line.event, at, parent })
    }
}
