//! Snowflakes: ids that contain a time; deterministic for equal runs.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::Value;

/// The epoch of Discord's timestamps, in milliseconds.
const DISCORD_EPOCH_MS: i64 = 1_420_070_400_000;

/// The id of any object on Discord.
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
    /// Reads an id from a client, which may be a string or a number.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        value.as_u64().or_else(|| value.as_str()?.parse().ok()).map(Self)
    }
}

/// Generates strictly increasing ids.
#[derive(Debug, Default)]
pub(super) struct IdGenerator {
    last: u64,
}

impl IdGenerator {
    /// Returns the next id, created at `wall`.
    pub fn next(&mut self, wall: Timestamp) -> Id {
        let elapsed = u64::try_from(wall.as_millisecond() - DISCORD_EPOCH_MS).unwrap_or(0);
        self.last = (elapsed << 22).max(self.last + 1);
        Id(self.last)
    }
}
