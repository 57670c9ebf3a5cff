//! A line to a server: one thing is asked at a time, and its answer comes or the line is broken.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// The most bytes of one message.
pub(super) const MESSAGE: usize = 4 << 20;
/// The most messages that come before the one that is waited for.
pub(super) const BESIDE: usize = 1_000;

/// A way to talk to a server.
pub(super) trait Line: Send + Sync {
    /// Asks something, and gives the answer.
    fn ask<'a>(&'a mut self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Trouble>>;

    /// Tells something, to which there is no answer.
    fn tell<'a>(&'a mut self, method: &'a str) -> BoxFuture<'a, Result<(), Trouble>>;

    /// Whether the server said, since this was last asked, that its tools are others now.
    fn tools_changed(&mut self) -> bool;
}

/// Why something that was asked has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The server refuses it, and can be asked other things.
    Refused(String),
    /// Nothing can be asked on this line any more: half a sentence about the server.
    Broken(String),
}

impl Trouble {
    pub(super) fn broken(why: impl Into<String>) -> Self {
        Self::Broken(why.into())
    }
}
