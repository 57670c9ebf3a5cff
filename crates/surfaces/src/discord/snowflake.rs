//! Discord ids: numbers that contain their creation time, serialized as text.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Creation time of the smallest id, in milliseconds.
const EPOCH_MILLIS: i64 = 1_420_070_400_000;

/// Id of any Discord object. Later ids are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Snowflake(pub u64);

impl Snowflake {
    /// Returns the creation time.
    pub fn created_at(self) -> Timestamp {
        let millis = i64::try_from(self.0 >> 22).unwrap_or(i64::MAX).saturating_add(EPOCH_MILLIS);
        Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
    }

    /// Returns the smallest id that can have been created at `time`.
    pub fn first_at(time: Timestamp) -> Self {
        let millis = time.as_millisecond().saturating_sub(EPOCH_MILLIS);
        Self(u64::try_from(millis).unwrap_or_default() << 22)
    }
}

impl fmt::Display for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Error for a text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Discord id; it is a number like 175928847299117063")]
pub struct InvalidSnowflake(String);

impl FromStr for Snowflake {
    type Err = InvalidSnowflake;

    fn from_str(text: &str) -> Result<Self, InvalidSnowflake> {
        text.trim().parse().map(Self).map_err(|_| InvalidSnowflake(text.chars().take(40).collect()))
    }
}

impl Serialize for Snowflake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Snowflake {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_contains_its_creation_time() {
        let id: Snowflake = "175928847299117063".parse().unwrap();
        assert_eq!(id.created_at().to_string(), "2016-04-30T11:18:25.796Z");
        assert!(Snowflake::first_at(id.created_at()) <= id);
        assert_eq!(Snowflake::first_at(id.created_at()).created_at(), id.created_at());
    }

    #[test]
    fn the_error_for_an_invalid_id_shows_an_example() {
        let error = "ollim".parse::<Snowflake>().unwrap_err();
        assert_eq!(error.to_string(), "`ollim` is not a Discord id; it is a number like 175928847299117063");
        assert!("-1".parse::<Snowflake>().is_err());
    }
}
