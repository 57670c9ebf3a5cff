//! What the assistant tends by itself: turns cut by a crash, the inbox, and how things stand.

use std::sync::Arc;

use jiff::Zoned;

use super::{
    ATTEMPTS, Answer, Assistant, Effect, Ending, Minutes, Owed, Record, Sending, Shown, Turned, Unfinished,
};
use crate::context::UNKNOWN_OUTCOME;
use crate::conversation::{Branch, Said, Usage};
use crate::failure::Failure;
use crate::inbox::{Kept, KeptId, read_out};
use crate::tool::{Outcome, ToolCall, ToolResult};

impl Assistant {
    /// Goes on with a turn that the program died under, or gives it up after too many tries.
    pub(super) fn resume(&mut self, left: Unfinished, minutes: &mut Minutes) {
        self.tell_unknown(&left.branch, &left.unanswered, minutes);
        let Unfinished { turn, branch, answers, attempts, .. } = left;
        if attempts < ATTEMPTS {
            let turned = Turned { turn, branch, message: answers, sending: Sending::First };
            return self.open(turned, Owed::SinceBefore, minutes);
        }
        let text = match self.memory.turns.runs.contains_key(&branch) {
            true => format!("i stopped {ATTEMPTS} times in the middle of it, so i left it."),
            false => format!("i stopped {ATTEMPTS} times while answering this, so i left it. say it again."),
        };
        let ending = Ending::Failed(Failure::Stopped(text));
        minutes.close(turn, ending.clone(), Usage::default());
        self.run_ended(&branch, &ending, minutes);
        minutes.shown.push(Shown::Ended { turn, branch, answers: answers.id, ending });
    }

    /// Answers the calls whose outcome nobody knows, so that none is repeated.
    pub(super) fn tell_unknown(&mut self, branch: &Branch, calls: &[ToolCall], minutes: &mut Minutes) {
        if calls.is_empty() {
            return;
        }
        let results = calls.iter().map(unknown).collect();
        self.say_on(branch, Said::Tools(results), minutes);
    }

    pub(super) fn keep(&mut self, text: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return (Answer::Refused("there is nothing in that to keep.".to_owned()), Vec::new());
        }
        let id = KeptId(self.memory.inbox.last().map_or(1, |kept| kept.id.0 + 1));
        let kept = Kept { id, at: now.timestamp(), text };
        Arc::make_mut(&mut self.memory.inbox).push(kept.clone());
        (Answer::Told(format!("kept as {}", id.0)), vec![Effect::Write(vec![Record::Kept(kept)])])
    }

    pub(super) fn read_inbox(&self) -> (Answer, Vec<Effect>) {
        (Answer::Told(read_out(&self.memory.inbox)), Vec::new())
    }

    pub(super) fn status(&self) -> (Answer, Vec<Effect>) {
        let kept = self.memory.inbox.len();
        let waiting = self.memory.messages.waiting.len();
        let held = match self.waits_for_key() {
            true => " the model refuses the key, so i can't answer before it takes one.",
            false => "",
        };
        (Answer::Told(format!("inbox: {kept}. messages waiting: {waiting}.{held}")), Vec::new())
    }
}

fn unknown(call: &ToolCall) -> ToolResult {
    ToolResult { call: call.id.clone(), text: UNKNOWN_OUTCOME.to_owned(), outcome: Outcome::Failed }
}
