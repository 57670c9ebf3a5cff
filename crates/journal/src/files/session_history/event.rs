//! A session event and its line in the file.

use domain::conversation::SessionId;
use domain::schedule::Moment;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEvent {
    pub session: SessionId,
    pub kind: EventKind,
    pub at: Moment,
    /// The session it was forked or created from, if any.
    pub parent: Option<SessionId>,
}

/// Kind of a session event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The main conversation began with this session.
    Created,
    /// It replaces an older session after a compaction.
    Compacted,
    /// A fork replaced main.
    Swapped,
    /// The user cleared the conversation and the session ended.
    Cleared,
    /// The user started a fork.
    InteractiveFork,
    /// A job ran in a fork of main.
    BgFork,
    /// A job ran in an isolated session.
    IsolatedBg,
    /// A routine ran in its persistent session.
    PersistentBg,
    /// The program is about to restart with this session.
    Restarting,
}

impl EventKind {
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

    /// The name in the file.
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
struct EventLine<'a> {
    #[serde(borrow)]
    session_id: std::borrow::Cow<'a, str>,
    event: EventKind,
    timestamp: String,
    parent_session_id: Option<String>,
}

impl SessionEvent {
    /// The message of the git commit for this event.
    pub fn commit_message(&self) -> String {
        format!("session {}: {}", self.kind.as_str(), self.session.short())
    }

    pub(super) fn to_line(&self) -> String {
        let line = EventLine {
            session_id: self.session.as_str().into(),
            event: self.kind,
            timestamp: self.at.to_micros(),
            parent_session_id: self.parent.as_ref().map(SessionId::to_string),
        };
        // A line contains only text, so serialisation cannot fail.
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Parses a line. `None` if it is not an event.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line: EventLine<'_> = serde_json::from_slice(line).ok()?;
        let parent = match &line.parent_session_id {
            Some(parent) => Some(SessionId::parse(parent)?),
            None => None,
        };
        let at = Moment::parse(&line.timestamp, &TimeZone::UTC).ok()?;
        Some(Self { session: SessionId::parse(&line.session_id)?, kind: line.event, at, parent })
    }
}
