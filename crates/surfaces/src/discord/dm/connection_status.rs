//! State of the connection to Discord, published through a watch channel.

use std::fmt;

use tokio::sync::watch;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// The first connection is being made.
    #[default]
    Connecting,
    Connected,
    /// The connection broke and is being made again.
    Reconnecting(String),
    /// Not tried again before the next start.
    Failed(String),
}

impl fmt::Display for ConnectionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Connected => f.write_str("connected"),
            Self::Reconnecting(why) => write!(f, "away, trying again: {why}"),
            Self::Failed(why) => write!(f, "not connected: {why}"),
        }
    }
}

pub type StatusSender = watch::Sender<ConnectionStatus>;

pub type StatusReceiver = watch::Receiver<ConnectionStatus>;
