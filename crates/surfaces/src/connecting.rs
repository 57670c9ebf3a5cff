//! Connecting an account elsewhere from where the human is: the address that they open, and what they bring back.

use futures_util::future::BoxFuture;

/// An account elsewhere that the human can connect. Only one attempt is waited for: a new one takes its place.
pub trait Connecting: Send + Sync {
    /// Begins to wait for the user's consent to one service, or to the usual ones.
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, Begun>;

    /// Offers something that the human wrote to whoever waits.
    fn offer(&self, text: &str) -> Offered;

    /// Explains why access ended and what to do, until the user has been told.
    fn ended_grant(&self) -> Option<String>;

    /// They have been told.
    fn told_so(&self);
}

/// What came of beginning.
pub enum Begun {
    /// There is nothing to wait for: this is why.
    Told(String),
    /// The human is waited for.
    Waiting {
        /// What they open.
        address: String,
        /// How it ended, in a few words; nothing, if nobody came or another attempt took its place.
        ended: BoxFuture<'static, Option<String>>,
    },
}

/// What became of something that the human wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It was what is waited for.
    Taken,
    /// It looks like that, but answers another question.
    Stranger,
    /// It has nothing to do with it.
    NotForUs,
}
