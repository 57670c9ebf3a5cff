//! The line to Discord: how it is, for whoever asks.

use std::fmt;

use tokio::sync::watch;

/// How the line to Discord is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// It is being made for the first time.
    #[default]
    Connecting,
    /// Everything comes and goes.
    Connected,
    /// It broke, and is made again.
    Away(String),
    /// It is not tried again before the next start.
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

/// Where the state of the line is told, and read by anybody.
pub type Told = watch::Sender<Line>;

/// Where it is read.
pub type Read = watch::Receiver<Line>;
