//! Port for connecting an external account from a chat: the address to open and the response that
//! the user pastes.

use futures_util::future::BoxFuture;

/// An external account that the user can connect. A new attempt replaces the previous one.
pub trait Connecting: Send + Sync {
    /// Starts an attempt for one service, or for the usual ones.
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, Begun>;

    /// Passes a text of the user to the waiting attempt.
    fn offer(&self, text: &str) -> Offered;

    /// Returns why access ended and what to do, until `mark_notified` is called.
    fn ended_grant(&self) -> Option<String>;

    /// Records that the user has seen the notice.
    fn told_so(&self);
}

/// Result of starting an attempt.
pub enum Begun {
    /// There is nothing to wait for, with the reason.
    Told(String),
    /// The attempt waits for the user.
    Waiting {
        /// Address for the user to open.
        address: String,
        /// Resolves to a short result, or to `None` if the attempt timed out or was replaced.
        ended: BoxFuture<'static, Option<String>>,
    },
}

/// Result of offering a text to the waiting attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The text was the expected response.
    Taken,
    /// The text looks like a response, but belongs to another attempt.
    Stranger,
    /// The text is unrelated.
    NotForUs,
}
