//! The state machine of a turn: results go in, the next step comes out.
//!
//! It collects the new entries of the turn and does no I/O. Main, forks, background runs and
//! compactions all use it.

use std::sync::Arc;
use std::time::Duration;

use crate::compaction::{Summary, SummaryCheck, SummaryVerdict};
use crate::context::{self, Pictures, Reduction};
use crate::conversation::{Block, Completeness, EntryContent, Opaque, Text, Usage, tool_calls};
use crate::cost::ModelCall;
use crate::effort::Effort;
use crate::failure::{DeclineReason, Failure, InvalidReply, SpendLimit};
use crate::retry_policy::RetryPolicy;
use crate::tool::{ToolCall, ToolResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// The next step of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnStep {
    /// A model call with all entries.
    CallModel,
    /// A wait before the next model call.
    Wait(Duration),
    RunTools(Vec<ToolCall>),
    Done(TurnEnding),
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnding {
    Finished,
    /// By the user; entries until then stay.
    Interrupted,
    /// Without an answer, or with a partial one.
    Failed(Failure),
}

impl TurnEnding {
    /// Returns whether the daily limit ended it.
    pub fn is_at_limit(&self) -> bool {
        matches!(self, Self::Failed(Failure::SpendLimit(SpendLimit::Day(_))))
    }
}

/// The result of one model call.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    pub blocks: Vec<Block>,
    pub stop_reason: StopReason,
    pub usage: Usage,
}

/// The reason why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its answer is complete.
    Finished,
    /// It waits for tool results.
    Tools,
    /// It reached the token limit.
    Length,
    Refusal(DeclineReason),
}

/// The limits of one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    pub model_calls: u32,
    pub tool_runs: u32,
    /// Tokens without those from the cache.
    pub tokens: u64,
}

impl TurnLimits {
    /// The default: 50 tool runs, a model call between any two of them, and three million tokens.
    pub const DEFAULT: Self = Self { model_calls: 52, tool_runs: 50, tokens: 3_000_000 };
}

/// The task of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnTask {
    /// To answer the last message.
    Answer,
    /// To write a summary that passes this check.
    Summarise(SummaryCheck),
    /// Done: this summary passed.
    Summarised(Summary),
}

#[derive(Clone, Debug)]
pub struct Turn {
    task: TurnTask,
    limits: TurnLimits,
    model_calls: u32,
    tool_runs: u32,
    /// The number of calls of the last reply that may run.
    allowed: usize,
    calls: Vec<ModelCall>,
    entries: Vec<EntryContent>,
    /// The text of an interrupted reply that is being continued.
    partial: String,
    /// True if the effort was lowered because a reply consisted of thinking only.
    effort_lowered: bool,
    reduction: Reduction,
    retry_policy: RetryPolicy,
    next: TurnStep,
}

/// The most bytes of an interrupted reply that is continued.
const MAX_PARTIAL_BYTES: usize = 1024 * 1024;

/// The number of times that a conversation which is too long is reduced for its summary.
const MAX_REDUCTION_LEVEL: u32 = 5;

impl Turn {
    /// Creates a turn that begins with a model call.
    pub fn new(task: TurnTask, limits: TurnLimits, patience: RetryPolicy) -> Self {
        Self {
            task,
            limits,
            model_calls: 0,
            tool_runs: 0,
            allowed: 0,
            calls: Vec::new(),
            entries: Vec::new(),
            partial: String::new(),
            effort_lowered: false,
            reduction: Reduction::default(),
            retry_policy: patience,
            next: TurnStep::CallModel,
        }
    }

    /// Sets the reduction of the conversation.
    #[must_use]
    pub fn with_reduction(mut self, measure: Reduction) -> Self {
        self.reduction = measure;
        self
    }

    pub fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Returns the effort of the next call, where `usual` is that of the first.
    pub fn effort(&self, usual: Effort) -> Effort {
        if self.effort_lowered { usual.lower().unwrap_or(usual) } else { usual }
    }

    pub fn step(&self) -> TurnStep {
        self.next.clone()
    }

    /// Returns the entries since its start.
    pub fn entries(&self) -> &[EntryContent] {
        &self.entries
    }

    /// Returns the entries that are sent but not stored: the request for a summary, and an
    /// interrupted reply that the next one continues.
    pub fn transient_entries(&self) -> Vec<Arc<EntryContent>> {
        let asked = match &self.task {
            TurnTask::Summarise(gate) => gate.messages(),
            TurnTask::Answer | TurnTask::Summarised(_) => &[],
        };
        let half = (!self.partial.is_empty()).then(|| context::continuation_prompt(&self.partial));
        asked.iter().cloned().chain(half.into_iter().flatten()).collect()
    }

    /// Returns the summary that passed its check.
    pub fn into_summary(self) -> Option<Summary> {
        match self.task {
            TurnTask::Summarised(summary) => Some(summary),
            TurnTask::Answer | TurnTask::Summarise(_) => None,
        }
    }

    /// Returns how many calls of the last reply may run, in their order. The others are over the
    /// limit of tool runs.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// Returns the model calls in order.
    pub fn calls(&self) -> &[ModelCall] {
        &self.calls
    }

    /// Returns the usage of all calls.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.calls.iter().for_each(|call| sum += call.usage);
        sum
    }

    /// Adds the usage of a call, even of a failed one.
    pub fn add_call(&mut self, call: ModelCall) {
        self.calls.push(call);
    }

    /// Handles a reply of the model.
    pub fn on_reply(&mut self, mut reply: ModelReply) {
        self.model_calls += 1;
        reply.blocks = join_partial(std::mem::take(&mut self.partial), reply.blocks);
        if reply.stop_reason == StopReason::Length
            && !has_text(&reply.blocks)
            && tool_calls(&reply.blocks).next().is_none()
        {
            return self.on_thinking_only();
        }
        match self.task {
            TurnTask::Answer => self.on_answer(reply),
            TurnTask::Summarise(_) | TurnTask::Summarised(_) => self.on_summary(&reply),
        }
    }

    /// Handles a reply that consists of thinking only. It is requested once more at a lower effort
    /// and not stored.
    fn on_thinking_only(&mut self) {
        self.next = if self.effort_lowered {
            TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::OnlyThinking)))
        } else {
            TurnStep::CallModel
        };
        self.effort_lowered = true;
    }

    fn on_answer(&mut self, reply: ModelReply) {
        let calls: Vec<ToolCall> = tool_calls(&reply.blocks).cloned().collect();
        self.next = match reply.stop_reason {
            StopReason::Refusal(declined) => {
                TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Refused(declined))))
            }
            StopReason::Length => {
                TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::TooLong)))
            }
            StopReason::Finished | StopReason::Tools if calls.is_empty() => self.answer_step(&reply.blocks),
            StopReason::Finished | StopReason::Tools => self.run_calls(calls),
        };
        let (blocks, reach) = match &self.next {
            TurnStep::Done(TurnEnding::Failed(_)) => (text_blocks(reply.blocks), Completeness::Interrupted),
            TurnStep::Done(_) | TurnStep::CallModel | TurnStep::Wait(_) | TurnStep::RunTools(_) => {
                (reply.blocks, Completeness::Complete)
            }
        };
        if !blocks.is_empty() {
            self.entries.push(EntryContent::Assistant(blocks, reach));
        }
    }

    /// Checks the text of a summary; tool calls in it are ignored.
    fn on_summary(&mut self, reply: &ModelReply) {
        let TurnTask::Summarise(gate) = &mut self.task else { return };
        self.next = match reply.stop_reason {
            StopReason::Refusal(declined) => {
                TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Refused(declined))))
            }
            StopReason::Length => {
                TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::TooLong)))
            }
            StopReason::Finished | StopReason::Tools => match gate.check(reply.blocks.text()) {
                SummaryVerdict::Retry => TurnStep::CallModel,
                SummaryVerdict::Refused(lost) => TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(
                    InvalidReply::IncompleteSummary(lost),
                ))),
                SummaryVerdict::Passed(summary) => {
                    self.task = TurnTask::Summarised(summary);
                    TurnStep::Done(TurnEnding::Finished)
                }
            },
        };
    }

    /// Handles the results of the tools.
    pub fn on_tool_results(&mut self, results: Vec<ToolResult>) {
        self.entries.push(EntryContent::Tools(results));
        self.next = TurnStep::CallModel;
    }

    /// Handles a failed call that already returned `text`: it is retried, or the turn ends.
    pub fn on_failure(&mut self, text: &str, failure: Failure) {
        if let Some(measure) = self.stronger_reduction(&failure) {
            self.reduction = measure;
            return self.next = TurnStep::CallModel;
        }
        match self.retry_policy.next_wait(&failure) {
            Some(wait) if self.partial.len() + text.len() <= MAX_PARTIAL_BYTES => {
                self.partial.push_str(text);
                self.next = TurnStep::Wait(wait);
            }
            Some(_) | None => self.end_early(text, TurnEnding::Failed(failure)),
        }
    }

    /// Returns a stronger reduction that may avoid this failure.
    fn stronger_reduction(&self, failure: &Failure) -> Option<Reduction> {
        let Reduction { pictures, level: shortened } = self.reduction;
        match (failure, &self.task) {
            (Failure::Rejected(text), _) if pictures == Pictures::Shown && mentions_picture(text) => {
                Some(Reduction { pictures: Pictures::LeftOut, level: shortened })
            }
            (Failure::ContextFull(_), TurnTask::Summarise(_)) if shortened < MAX_REDUCTION_LEVEL => {
                Some(Reduction { pictures: Pictures::LeftOut, level: shortened + 1 })
            }
            _ => None,
        }
    }

    /// Continues after a wait.
    pub fn on_wait_over(&mut self) {
        self.next = TurnStep::CallModel;
    }

    /// Ends the turn early and keeps the text of an interrupted reply.
    pub fn end_early(&mut self, text: &str, ending: TurnEnding) {
        let text = std::mem::take(&mut self.partial) + text;
        if self.task == TurnTask::Answer && !text.trim().is_empty() {
            self.entries.push(EntryContent::Assistant(vec![Block::Text(text)], Completeness::Interrupted));
        }
        self.next = TurnStep::Done(ending);
    }

    fn answer_step(&self, blocks: &[Block]) -> TurnStep {
        if has_text(blocks) {
            return TurnStep::Done(TurnEnding::Finished);
        }
        TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Empty)))
    }

    /// Lets as many of `calls` run as the limit allows. The model reads about the others, so that
    /// it can answer with what it has; if it still calls tools after that, the turn is stopped.
    fn run_calls(&mut self, calls: Vec<ToolCall>) -> TurnStep {
        let left = self.limits.tool_runs - self.tool_runs;
        if left == 0 || self.model_calls >= self.limits.model_calls {
            return stopped_in_loop(&format!("{} tool calls", self.limits.tool_runs));
        }
        if self.usage().uncached() > self.limits.tokens {
            return stopped_in_loop(&format!("more than {} tokens", self.limits.tokens));
        }
        let run = u32::try_from(calls.len()).unwrap_or(u32::MAX).min(left);
        self.tool_runs += run;
        self.allowed = usize::try_from(run).unwrap_or(usize::MAX);
        TurnStep::RunTools(calls)
    }
}

/// Returns whether `blocks` contain text for the user.
fn has_text(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}

/// Returns whether a refusal is about a picture. Only then does a request without pictures help.
fn mentions_picture(refusal: &str) -> bool {
    let refusal = refusal.to_lowercase();
    ["image", "picture", "vision", "media type", "media_type", "multimodal"]
        .iter()
        .any(|word| refusal.contains(word))
}

/// Returns the end of a turn that does not end by itself.
fn stopped_in_loop(after: &str) -> TurnStep {
    let text = format!("i stopped myself after {after} in one answer; that looked like running in circles.");
    TurnStep::Done(TurnEnding::Failed(Failure::Stopped(text)))
}

/// Joins the interrupted reply `partial` with its continuation `blocks`.
fn join_partial(partial: String, mut blocks: Vec<Block>) -> Vec<Block> {
    if partial.is_empty() {
        return blocks;
    }
    // Anthropic binds signed parts to the request, which contained the first part and a transient
    // note. Neither is stored as it was sent, so a later request with these parts would be refused.
    // Other servers need theirs.
    blocks.retain(|block| !matches!(block, Block::Opaque(opaque) if opaque.origin == Opaque::ANTHROPIC));
    match blocks.iter_mut().find(|block| matches!(block, Block::Text(_))) {
        Some(Block::Text(text)) => text.insert_str(0, &partial),
        Some(Block::Call(_) | Block::Opaque(_)) | None => blocks.insert(0, Block::Text(partial)),
    }
    blocks
}

/// Returns the blocks of a failed reply that can be stored: a call without its result cannot.
fn text_blocks(blocks: Vec<Block>) -> Vec<Block> {
    blocks.into_iter().filter(|block| matches!(block, Block::Text(text) if !text.trim().is_empty())).collect()
}

#[cfg(test)]
mod tests;
