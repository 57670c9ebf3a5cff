//! Port for connecting an external account from a chat: the address to open and the response that
//! the user pastes.

use futures_util::future::BoxFuture;

/// An external account that the user can connect. A new attempt replaces the previous one.
pub trait AccountConnector: Send + Sync {
    /// Starts an attempt for one service, or for the usual ones.
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, ConnectStart>;

    /// Passes a text of the user to the waiting attempt.
    fn offer(&self, text: &str) -> OfferOutcome;

    /// Returns why access ended and what to do, until `mark_notified` is called.
    fn ended_access_notice(&self) -> Option<String>;

    /// Records that the user has seen the notice.
    fn mark_notified(&self);
}

/// Result of starting an attempt.
pub enum ConnectStart {
    /// There is nothing to wait for, with the reason.
    Unavailable(String),
    /// The attempt waits for the user.
    Waiting {
        /// Address for the user to open.
        address: String,
        /// Resolves to a short result, or to `None` if the attempt timed out or was replaced.
        outcome: BoxFuture<'static, Option<String>>,
    },
}

/// Result of offering a text to the waiting attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferOutcome {
    /// The text was the expected response.
    Accepted,
    /// The text looks like a response, but belongs to another attempt.
    WrongAttempt,
    /// The text is unrelated.
    Unrelated,
}
