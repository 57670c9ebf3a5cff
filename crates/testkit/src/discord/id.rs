//! Snowflakes: ids that carry the time, the same in every run that goes the same way.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::Value;

/// The first moment Discord counts from.
const EPOCH: i64 = 1_420_070_400_000;

/// The id of anything on Discord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

/// The id of a message.
pub type MessageId = Id;

/// The id of an interaction.
pub type InteractionId = Id;

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Id {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Id {
    /// An id that a client sent, which may do so as a number too.
    pub(super) fn read(value: &Value) -> Option<Self> {
        value.as_u64().or_else(|| value.as_str()?.parse().ok()).map(Self)
    }
}

/// Gives ids, each greater than all before it.
#[derive(Debug, Default)]
pub(super) struct Ids {
    last: u64,
}

impl Ids {
    /// The next id, made at `wall`.
    pub fn next(&mut self, wall: Timestamp) -> Id {
        let passed = u64::try_from(wall.as_millisecond() - EPOCH).unwrap_or(0);
        self.last = (passed << 22).max(self.last + 1);
        Id(self.last)
    }
}
