//! Source: on whose account a call is made.

use std::fmt;
use std::str::FromStr;

use crate::conversation::Branch;

/// Why a turn runs, and whether somebody waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// On whose account.
    pub source: Source,
    /// Whether somebody waits.
    pub attended: Attended,
}

impl Account {
    /// An answer to the human on `branch`.
    pub fn answer_on(branch: &Branch) -> Self {
        let source = match branch {
            Branch::Main => Source::Main,
            Branch::Fork(_) => Source::Fork,
        };
        Self { source, attended: Attended::Waited }
    }

    /// A web search for a turn on the account of which `attended` is taken.
    pub fn search(attended: Attended) -> Self {
        Self { source: Source::Search, attended }
    }

    /// A summary that makes room.
    pub fn compaction(attended: Attended) -> Self {
        Self { source: Source::Compaction, attended }
    }
}

/// Whether somebody waits for what comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attended {
    /// The human does.
    Waited,
    /// Nobody does: the daily limit holds.
    Unattended,
}

impl Attended {
    /// The word under which it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waited => "waited",
            Self::Unattended => "unattended",
        }
    }
}

/// On whose account a call is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The main conversation.
    Main,
    /// A side conversation.
    Fork,
    /// A summary that makes room.
    Compaction,
    /// The routine of this id.
    Routine(String),
    /// The reminder of this id.
    Reminder(String),
    /// The webhook of this id.
    Webhook(String),
    /// The agent of this name.
    Agent(String),
    /// Who reads words from outside.
    Reader,
    /// Web searches at the model's vendor.
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

/// Nobody spends on such an account.
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
