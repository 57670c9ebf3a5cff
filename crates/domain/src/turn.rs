//! The state machine of a turn: results go in, the next step comes out.
//!
//! It collects the new entries of the turn and does no I/O. Main, forks, background runs and
//! compactions all use it.

use std::sync::Arc;
use std::time::Duration;

use crate::compaction::{Gate, Summary, Verdict};
use crate::context::{self, Measure, Pictures};
use crate::conversation::{Block, Opaque, Reach, Said, Text, Usage, calls};
use crate::cost::Call;
use crate::effort::Effort;
use crate::failure::{Declined, Failure, SpendLimit, Unsaid};
use crate::patience::Patience;
use crate::tool::{ToolCall, ToolResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// The next step of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A model call with all entries.
    CallModel,
    /// A wait before the next model call.
    Wait(Duration),
    RunTools(Vec<ToolCall>),
    Done(Ending),
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Finished,
    /// By the user; entries until then stay.
    Interrupted,
    /// Without an answer, or with a partial one.
    Failed(Failure),
}

impl Ending {
    /// Returns whether the daily limit ended it.
    pub fn is_at_limit(&self) -> bool {
        matches!(self, Self::Failed(Failure::SpendLimit(SpendLimit::Day(_))))
    }
}

/// The result of one model call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub usage: Usage,
}

/// The reason why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its answer is complete.
    Said,
    /// It waits for tool results.
    Tools,
    /// It reached the token limit.
    Length,
    Refusal(Declined),
}

/// The limits of one turn.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub model_calls: u32,
    pub tool_runs: u32,
    /// Tokens without those from the cache.
    pub tokens: u64,
}

impl Limits {
    /// The default: 50 tool runs, a model call between any two of them, and three million tokens.
    pub const HOUSE: Self = Self { model_calls: 52, tool_runs: 50, tokens: 3_000_000 };
}

/// The task of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// To answer the last message.
    Answer,
    /// To write a summary that passes this check.
    Summarise(Gate),
    /// Done: this summary passed.
    Summarised(Summary),
}

#[derive(Clone, Debug)]
pub struct Turn {
    task: Task,
    limits: Limits,
    model_calls: u32,
    tool_runs: u32,
    /// The number of calls of the last reply that may run.
    allowed: usize,
    spent: Vec<Call>,
    said: Vec<Said>,
    /// The text of an interrupted reply that is being continued.
    half: String,
    /// True if the effort was lowered because a reply consisted of thinking only.
    lowered: bool,
    measure: Measure,
    patience: Patience,
    next: Step,
}

/// The most bytes of an interrupted reply that is continued.
const HALF_BYTES: usize = 1024 * 1024;

/// The number of times that a conversation which is too long is reduced for its summary.
const SHORTENINGS: u32 = 5;

impl Turn {
    /// Creates a turn that begins with a model call.
    pub fn begin(task: Task, limits: Limits, patience: Patience) -> Self {
        Self {
            task,
            limits,
            model_calls: 0,
            tool_runs: 0,
            allowed: 0,
            spent: Vec::new(),
            said: Vec::new(),
            half: String::new(),
            lowered: false,
            measure: Measure::default(),
            patience,
            next: Step::CallModel,
        }
    }

    /// Sets the reduction of the conversation.
    #[must_use]
    pub fn reading(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns the effort of the next call, where `usual` is that of the first.
    pub fn effort(&self, usual: Effort) -> Effort {
        if self.lowered { usual.lower().unwrap_or(usual) } else { usual }
    }

    pub fn step(&self) -> Step {
        self.next.clone()
    }

    /// Returns the entries since its start.
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// Returns the entries that are sent but not stored: the request for a summary, and an
    /// interrupted reply that the next one continues.
    pub fn aside(&self) -> Vec<Arc<Said>> {
        let asked = match &self.task {
            Task::Summarise(gate) => gate.asked(),
            Task::Answer | Task::Summarised(_) => &[],
        };
        let half = (!self.half.is_empty()).then(|| context::continuing(&self.half));
        asked.iter().cloned().chain(half.into_iter().flatten()).collect()
    }

    /// Returns the summary that passed its check.
    pub fn into_summary(self) -> Option<Summary> {
        match self.task {
            Task::Summarised(summary) => Some(summary),
            Task::Answer | Task::Summarise(_) => None,
        }
    }

    /// Returns how many calls of the last reply may run, in their order. The others are over the
    /// limit of tool runs.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// Returns the model calls in order.
    pub fn spent(&self) -> &[Call] {
        &self.spent
    }

    /// Returns the usage of all calls.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.spent.iter().for_each(|call| sum += call.usage);
        sum
    }

    /// Adds the usage of a call, even of a failed one.
    pub fn used(&mut self, call: Call) {
        self.spent.push(call);
    }

    /// Handles a reply of the model.
    pub fn replied(&mut self, mut reply: Reply) {
        self.model_calls += 1;
        reply.blocks = continued(std::mem::take(&mut self.half), reply.blocks);
        if reply.stop == Stop::Length && !speaks(&reply.blocks) && calls(&reply.blocks).next().is_none() {
            return self.thought_too_long();
        }
        match self.task {
            Task::Answer => self.answer(reply),
            Task::Summarise(_) | Task::Summarised(_) => self.summarise(&reply),
        }
    }

    /// Handles a reply that consists of thinking only. It is requested once more at a lower effort
    /// and not stored.
    fn thought_too_long(&mut self) {
        self.next = if self.lowered {
            Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::OnlyThought)))
        } else {
            Step::CallModel
        };
        self.lowered = true;
    }

    fn answer(&mut self, reply: Reply) {
        let calls: Vec<ToolCall> = calls(&reply.blocks).cloned().collect();
        self.next = match reply.stop {
            Stop::Refusal(declined) => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Refused(declined)))),
            Stop::Length => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::TooLong))),
            Stop::Said | Stop::Tools if calls.is_empty() => self.answered(&reply.blocks),
            Stop::Said | Stop::Tools => self.wants(calls),
        };
        let (blocks, reach) = match &self.next {
            Step::Done(Ending::Failed(_)) => (uncalled(reply.blocks), Reach::Cut),
            Step::Done(_) | Step::CallModel | Step::Wait(_) | Step::RunTools(_) => {
                (reply.blocks, Reach::Whole)
            }
        };
        if !blocks.is_empty() {
            self.said.push(Said::Assistant(blocks, reach));
        }
    }

    /// Checks the text of a summary; tool calls in it are ignored.
    fn summarise(&mut self, reply: &Reply) {
        let Task::Summarise(gate) = &mut self.task else { return };
        self.next = match reply.stop {
            Stop::Refusal(declined) => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Refused(declined)))),
            Stop::Length => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::TooLong))),
            Stop::Said | Stop::Tools => match gate.judge(reply.blocks.text()) {
                Verdict::Again => Step::CallModel,
                Verdict::Refused(lost) => {
                    Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Forgetful(lost))))
                }
                Verdict::Passed(summary) => {
                    self.task = Task::Summarised(summary);
                    Step::Done(Ending::Finished)
                }
            },
        };
    }

    /// Handles the results of the tools.
    pub fn ran(&mut self, results: Vec<ToolResult>) {
        self.said.push(Said::Tools(results));
        self.next = Step::CallModel;
    }

    /// Handles a failed call that already returned `text`: it is retried, or the turn ends.
    pub fn failed(&mut self, words: &str, failure: Failure) {
        if let Some(measure) = self.smaller(&failure) {
            self.measure = measure;
            return self.next = Step::CallModel;
        }
        match self.patience.after(&failure) {
            Some(wait) if self.half.len() + words.len() <= HALF_BYTES => {
                self.half.push_str(words);
                self.next = Step::Wait(wait);
            }
            Some(_) | None => self.cut(words, Ending::Failed(failure)),
        }
    }

    /// Returns a stronger reduction that may avoid this failure.
    fn smaller(&self, failure: &Failure) -> Option<Measure> {
        let Measure { pictures, shortened } = self.measure;
        match (failure, &self.task) {
            (Failure::Rejected(text), _) if pictures == Pictures::Shown && names_picture(text) => {
                Some(Measure { pictures: Pictures::LeftOut, shortened })
            }
            (Failure::Full(_), Task::Summarise(_)) if shortened < SHORTENINGS => {
                Some(Measure { pictures: Pictures::LeftOut, shortened: shortened + 1 })
            }
            _ => None,
        }
    }

    /// Continues after a wait.
    pub fn waited(&mut self) {
        self.next = Step::CallModel;
    }

    /// Ends the turn early and keeps the text of an interrupted reply.
    pub fn cut(&mut self, words: &str, ending: Ending) {
        let words = std::mem::take(&mut self.half) + words;
        if self.task == Task::Answer && !words.trim().is_empty() {
            self.said.push(Said::Assistant(vec![Block::Text(words)], Reach::Cut));
        }
        self.next = Step::Done(ending);
    }

    fn answered(&self, blocks: &[Block]) -> Step {
        if speaks(blocks) {
            return Step::Done(Ending::Finished);
        }
        Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Empty)))
    }

    /// Lets as many of `calls` run as the limit allows. The model reads about the others, so that
    /// it can answer with what it has; if it still calls tools after that, the turn is stopped.
    fn wants(&mut self, calls: Vec<ToolCall>) -> Step {
        let left = self.limits.tool_runs - self.tool_runs;
        if left == 0 || self.model_calls >= self.limits.model_calls {
            return circles(&format!("{} tool calls", self.limits.tool_runs));
        }
        if self.usage().fresh() > self.limits.tokens {
            return circles(&format!("more than {} tokens", self.limits.tokens));
        }
        let run = u32::try_from(calls.len()).unwrap_or(u32::MAX).min(left);
        self.tool_runs += run;
        self.allowed = usize::try_from(run).unwrap_or(usize::MAX);
        Step::RunTools(calls)
    }
}

/// Returns whether `blocks` contain text for the user.
fn speaks(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}

/// Returns whether a refusal is about a picture. Only then does a request without pictures help.
fn names_picture(refusal: &str) -> bool {
    let refusal = refusal.to_lowercase();
    ["image", "picture", "vision", "media type", "media_type", "multimodal"]
        .iter()
        .any(|word| refusal.contains(word))
}

/// Returns the end of a turn that does not end by itself.
fn circles(after: &str) -> Step {
    let text = format!("i stopped myself after {after} in one answer; that looked like running in circles.");
    Step::Done(Ending::Failed(Failure::Stopped(text)))
}

/// Joins the interrupted reply `partial` with its continuation `blocks`.
fn continued(half: String, mut blocks: Vec<Block>) -> Vec<Block> {
    if half.is_empty() {
        return blocks;
    }
    // Anthropic binds signed parts to the request, which contained the first part and a transient
    // note. Neither is stored as it was sent, so a later request with these parts would be refused.
    // Other servers need theirs.
    blocks.retain(|block| !matches!(block, Block::Opaque(opaque) if opaque.origin == Opaque::ANTHROPIC));
    match blocks.iter_mut().find(|block| matches!(block, Block::Text(_))) {
        Some(Block::Text(text)) => text.insert_str(0, &half),
        Some(Block::Call(_) | Block::Opaque(_)) | None => blocks.insert(0, Block::Text(half)),
    }
    blocks
}

/// Returns the blocks of a failed reply that can be stored: a call without its result cannot.
fn uncalled(blocks: Vec<Block>) -> Vec<Block> {
    blocks.into_iter().filter(|block| matches!(block, Block::Text(text) if !text.trim().is_empty())).collect()
}

#[cfg(test)]
mod tests;
