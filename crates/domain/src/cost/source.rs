//! The account of a call: its source, and whether the user waits.

use std::fmt;
use std::str::FromStr;

use crate::conversation::Branch;

/// The account of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub source: CostSource,
    pub attended: Attendance,
}

impl Account {
    /// Returns the account of an answer on `branch`.
    pub fn answer_on(branch: &Branch) -> Self {
        let source = match branch {
            Branch::Main => CostSource::Main,
            Branch::Fork(_) => CostSource::Fork,
        };
        Self { source, attended: Attendance::Attended }
    }

    /// Returns the account of a web search in a turn with this attendance.
    pub fn search(attended: Attendance) -> Self {
        Self { source: CostSource::Search, attended }
    }

    /// Returns the account of a compaction.
    pub fn compaction(attended: Attendance) -> Self {
        Self { source: CostSource::Compaction, attended }
    }
}

/// Whether the user waits for the result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    Attended,
    /// The user does not wait, so the daily limit applies.
    Unattended,
}

impl Attendance {
    /// Returns the stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attended => "waited",
            Self::Unattended => "unattended",
        }
    }
}

/// The source of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostSource {
    Main,
    Fork,
    Compaction,
    /// The routine with this id.
    Routine(String),
    /// The reminder with this id.
    Reminder(String),
    /// The webhook with this id.
    Webhook(String),
    /// The agent with this name.
    Agent(String),
    /// The reader of text from outside.
    Reader,
    Search,
}

impl fmt::Display for CostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Fork => f.write_str("fork"),
            Self::Compaction => f.write_str("compaction"),
            Self::Routine(id) => write!(f, "routine:{id}"),
            Self::Reminder(id) => write!(f, "reminder:{id}"),
            Self::Webhook(id) => write!(f, "webhook:{id}"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Reader => f.write_str("reader"),
            Self::Search => f.write_str("search"),
        }
    }
}

impl FromStr for CostSource {
    type Err = UnknownCostSource;

    fn from_str(text: &str) -> Result<Self, UnknownCostSource> {
        let (kind, id) = text.split_once(':').unwrap_or((text, ""));
        let source = match kind {
            "main" => Self::Main,
            "fork" => Self::Fork,
            "compaction" => Self::Compaction,
            "routine" => Self::Routine(id.to_owned()),
            "reminder" => Self::Reminder(id.to_owned()),
            "webhook" => Self::Webhook(id.to_owned()),
            "agent" => Self::Agent(id.to_owned()),
            "reader" => Self::Reader,
            "search" => Self::Search,
            _ => return Err(UnknownCostSource(text.to_owned())),
        };
        Ok(source)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody spends on the account of `{0}`")]
pub struct UnknownCostSource(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_round_trips() {
        for text in [
            "main",
            "fork",
            "compaction",
            "routine:mail-8am",
            "reminder:a:b",
            "webhook:x",
            "agent:guide",
            "reader",
            "search",
        ] {
            assert_eq!(text.parse::<CostSource>().unwrap().to_string(), text);
        }
        assert!("nobody".parse::<CostSource>().is_err());
    }
}
