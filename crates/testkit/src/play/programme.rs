//! The source of replies: scripted ones, then a closure, then the server's default.

use std::collections::VecDeque;

use serde_json::Value;

use super::act::Act;

/// Chooses the reply for a request.
pub type Answer = Box<dyn FnMut(&Value) -> Act + Send>;

/// The scripted replies and the fallback.
#[derive(Default)]
pub struct Programme {
    /// Scripted replies, one per request.
    pub script: VecDeque<Act>,
    /// Used after the last scripted reply.
    pub answer: Option<Answer>,
}

impl Programme {
    /// Returns the reply for `request`; `otherwise` is used without a script and a closure.
    pub fn next(&mut self, request: &Value, otherwise: impl FnOnce(&Value) -> Act) -> Act {
        match (self.script.pop_front(), &mut self.answer) {
            (Some(act), _) => act,
            (None, Some(answer)) => answer(request),
            (None, None) => otherwise(request),
        }
    }
}
