//! The account of a call: its source, and whether the user waits.

use std::fmt;
use std::str::FromStr;

use crate::conversation::Branch;

/// The account of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub source: Source,
    pub attended: Attended,
}

impl Account {
    /// Returns the account of an answer on `branch`.
    pub fn answer_on(branch: &Branch) -> Self {
        let source = match branch {
            Branch::Main => Source::Main,
            Branch::Fork(_) => Source::Fork,
        };
        Self { source, attended: Attended::Waited }
    }

    /// Returns the account of a web search in a turn with this attendance.
    pub fn search(attended: Attended) -> Self {
        Self { source: Source::Search, attended }
    }

    /// Returns the account of a compaction.
    pub fn compaction(attended: Attended) -> Self {
        Self { source: Source::Compaction, attended }
    }
}

/// Whether the user waits for the result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attended {
    Waited,
    /// The user does not wait, so the daily limit applies.
    Unattended,
}

impl Attended {
    /// Returns the stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waited => "waited",
            Self::Unattended => "unattended",
        }
    }
}

/// The source of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
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

impl fmt::Display for Source {
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

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
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
            _ => return Err(UnknownSource(text.to_owned())),
        };
        Ok(source)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody spends on the account of `{0}`")]
pub struct UnknownSource(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_reads_back_as_it_was_written() {
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
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        assert!("nobody".parse::<Source>().is_err());
    }
}
