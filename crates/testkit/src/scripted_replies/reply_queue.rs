//! The source of replies: scripted ones, then a closure, then the server's default.

use std::collections::VecDeque;

use serde_json::Value;

use super::reply::ScriptedReply;

/// Chooses the reply for a request.
pub type ReplyFn = Box<dyn FnMut(&Value) -> ScriptedReply + Send>;

/// The scripted replies and the fallback.
#[derive(Default)]
pub struct ReplyQueue {
    /// Scripted replies, one per request.
    pub scripted: VecDeque<ScriptedReply>,
    /// Used after the last scripted reply.
    pub fallback: Option<ReplyFn>,
}

impl ReplyQueue {
    /// Returns the reply for `request`; `otherwise` is used without a script and a closure.
    pub fn next(
        &mut self,
        request: &Value,
        otherwise: impl FnOnce(&Value) -> ScriptedReply,
    ) -> ScriptedReply {
        match (self.scripted.pop_front(), &mut self.fallback) {
            (Some(act), _) => act,
            (None, Some(answer)) => answer(request),
            (None, None) => otherwise(request),
        }
    }
}
