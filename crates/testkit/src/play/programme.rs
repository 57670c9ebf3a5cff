//! What is played next: scripted acts, then a closure, then what the server thinks of by itself.

use std::collections::VecDeque;

use serde_json::Value;

use super::act::Act;

/// Chooses the act for a request.
pub type Answer = Box<dyn FnMut(&Value) -> Act + Send>;

/// What is played next.
#[derive(Default)]
pub struct Programme {
    /// Acts, one to a request.
    pub script: VecDeque<Act>,
    /// Who answers after the last of them.
    pub answer: Option<Answer>,
}

impl Programme {
    /// The act for `request`; `otherwise`, if nobody has chosen one.
    pub fn next(&mut self, request: &Value, otherwise: impl FnOnce(&Value) -> Act) -> Act {
        match (self.script.pop_front(), &mut self.answer) {
            (Some(act), _) => act,
            (None, Some(answer)) => answer(request),
            (None, None) => otherwise(request),
        }
    }
}
