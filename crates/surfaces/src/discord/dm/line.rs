//! State of the connection to Discord, published through a watch channel.

use std::fmt;

use tokio::sync::watch;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// The first connection is being made.
    #[default]
    Connecting,
    Connected,
    /// The connection broke and is being made again.
    Away(String),
    /// Not tried again before the next start.
    Left(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Connected => f.write_str("connected"),
            Self::Away(why) => write!(f, "away, trying again: {why}"),
            Self::Left(why) => write!(f, "not connected: {why}"),
        }
    }
}

pub type Told = watch::Sender<Line>;

pub type Read = watch::Receiver<Line>;
