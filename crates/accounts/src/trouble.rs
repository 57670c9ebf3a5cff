//! What can go wrong with an account, sorted by who must act.

/// What went wrong, in one plain line that also says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// What was asked for makes no sense: whoever asked must ask otherwise.
    #[error("{0}")]
    Wrong(String),
    /// There is nothing of that name.
    #[error("{0}")]
    Missing(String),
    /// It is not connected, or not any more: the human must connect it.
    #[error("{0}")]
    Unconnected(String),
    /// It does not answer now: later may be better.
    #[error("{0}")]
    Away(String),
    /// It answered something that cannot be read.
    #[error("{0}")]
    Garbled(String),
}
