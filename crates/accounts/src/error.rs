//! The errors of accounts, by who must act.

/// An error of an account: one sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The request is invalid; the caller must change it.
    #[error("{0}")]
    InvalidRequest(String),
    /// There is no such item.
    #[error("{0}")]
    NotFound(String),
    /// The account is not or no longer connected; the user must connect it.
    #[error("{0}")]
    NotConnected(String),
    /// The service is unavailable; a later try may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The response or file cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
