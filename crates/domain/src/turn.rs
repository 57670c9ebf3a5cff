//! One turn as a machine: a step out, an outcome in.
//!
//! The machine holds what was said since the turn began and says what it needs next. It calls nobody. Main,
//! forks, background runs and compactions all use this one.

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

/// The number of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// What a turn needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A reply of the model to all that was said.
    CallModel,
    /// This time to pass, before the model is called again.
    Wait(Duration),
    /// These tools run.
    RunTools(Vec<ToolCall>),
    /// Nothing.
    Done(Ending),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Finished,
    /// By the human; what was said until then stays said.
    Interrupted,
    /// Without an answer, or with half of one.
    Failed(Failure),
}

impl Ending {
    /// Whether the limit of the day ended it.
    pub fn is_at_limit(&self) -> bool {
        matches!(self, Self::Failed(Failure::SpendLimit(SpendLimit::Day(_))))
    }
}

/// What the model said in one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its words and calls.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has said what it wanted.
    Said,
    /// It waits for its tools.
    Tools,
    /// It ran out of room.
    Length,
    /// It declined.
    Refusal(Declined),
}

/// How far a turn may go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Model calls in one turn.
    pub model_calls: u32,
    /// Tool runs in one turn.
    pub tool_runs: u32,
    /// Tokens in one turn, those from the cache not counted.
    pub tokens: u64,
}

impl Limits {
    /// What the house allows: 50 tool runs, a model call between any two of them, and three million tokens.
    pub const HOUSE: Self = Self { model_calls: 52, tool_runs: 50, tokens: 3_000_000 };
}

/// What a turn is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// To answer the last words.
    Answer,
    /// To write a summary that gets through this gate.
    Summarise(Gate),
    /// Nothing more: this summary got through.
    Summarised(Summary),
}

/// One turn.
#[derive(Clone, Debug)]
pub struct Turn {
    task: Task,
    limits: Limits,
    model_calls: u32,
    tool_runs: u32,
    /// How many calls of the last reply may run.
    allowed: usize,
    spent: Vec<Call>,
    said: Vec<Said>,
    /// Words of a reply that broke off and is being continued.
    half: String,
    /// Whether the effort was lowered, because a reply consisted of thinking alone.
    lowered: bool,
    /// How much of the conversation the model reads.
    measure: Measure,
    patience: Patience,
    next: Step,
}

/// The most bytes of a reply that broke off and is continued.
const HALF_BYTES: usize = 1024 * 1024;

/// How often a conversation that is too long is shortened for the one who sums it up.
const SHORTENINGS: u32 = 5;

impl Turn {
    /// A turn that begins by asking the model.
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

    /// The same, with a model that reads so much of the conversation.
    #[must_use]
    pub fn reading(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    /// How much of the conversation the model reads.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns the effort of the next call, if `usual` is the one of the first.
    pub fn effort(&self, usual: Effort) -> Effort {
        if self.lowered { usual.lower().unwrap_or(usual) } else { usual }
    }

    /// What it needs next.
    pub fn step(&self) -> Step {
        self.next.clone()
    }

    /// What was said since it began.
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// What the model reads after the conversation and nobody keeps: the request for a summary, and the words
    /// of a reply that broke off, which the next one continues.
    pub fn aside(&self) -> Vec<Arc<Said>> {
        let asked = match &self.task {
            Task::Summarise(gate) => gate.asked(),
            Task::Answer | Task::Summarised(_) => &[],
        };
        let half = (!self.half.is_empty()).then(|| context::continuing(&self.half));
        asked.iter().cloned().chain(half.into_iter().flatten()).collect()
    }

    /// The summary that got through its gate.
    pub fn into_summary(self) -> Option<Summary> {
        match self.task {
            Task::Summarised(summary) => Some(summary),
            Task::Answer | Task::Summarise(_) => None,
        }
    }

    /// Returns how many calls of the last reply may run, in their order. The rest is over the limit of tool runs.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// What each of its calls used, in order.
    pub fn spent(&self) -> &[Call] {
        &self.spent
    }

    /// What all of them used.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.spent.iter().for_each(|call| sum += call.usage);
        sum
    }

    /// Takes what a call used, however it ended.
    pub fn used(&mut self, call: Call) {
        self.spent.push(call);
    }

    /// Takes a reply of the model.
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

    /// The reply was used up by thinking. It is asked for once more at a lower effort; its thinking is not kept.
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

    /// A summary calls no tools: a call in it is left out, and the words are judged.
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

    /// Takes what came of the tools.
    pub fn ran(&mut self, results: Vec<ToolResult>) {
        self.said.push(Said::Tools(results));
        self.next = Step::CallModel;
    }

    /// Takes a failed call, after these words of it were heard: it is tried again, or the turn ends.
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

    /// A smaller measure that the model may take after it failed like this.
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

    /// The time to wait has passed.
    pub fn waited(&mut self) {
        self.next = Step::CallModel;
    }

    /// Ends it early, keeping the words of a reply that did not come to its end.
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

    /// Lets as many of `calls` run as the limit leaves. The model is told about the rest, so it can answer with what it
    /// has; a model that still calls tools after that is stopped.
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

/// Whether there are words for the user in `blocks`.
fn speaks(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}

/// Whether a refusal in these words is about a picture. Asking again without pictures helps with no other refusal.
fn names_picture(refusal: &str) -> bool {
    let refusal = refusal.to_lowercase();
    ["image", "picture", "vision", "media type", "media_type", "multimodal"]
        .iter()
        .any(|word| refusal.contains(word))
}

/// The end of a turn that does not end by itself.
fn circles(after: &str) -> Step {
    let text = format!("i stopped myself after {after} in one answer; that looked like running in circles.");
    Step::Done(Ending::Failed(Failure::Stopped(text)))
}

/// The reply to which `blocks` are the end and `half` the beginning.
fn continued(half: String, mut blocks: Vec<Block>) -> Vec<Block> {
    if half.is_empty() {
        return blocks;
    }
    // Anthropic binds signed parts to the request, which contained the first half and our note as an aside. Neither is
    // kept as it was sent, so a later request with these parts would be refused. Other servers want theirs back.
    blocks.retain(|block| !matches!(block, Block::Opaque(opaque) if opaque.origin == Opaque::ANTHROPIC));
    match blocks.iter_mut().find(|block| matches!(block, Block::Text(_))) {
        Some(Block::Text(text)) => text.insert_str(0, &half),
        Some(Block::Call(_) | Block::Opaque(_)) | None => blocks.insert(0, Block::Text(half)),
    }
    blocks
}

/// What of a failed reply may stay in the conversation: a call without its result may not.
fn uncalled(blocks: Vec<Block>) -> Vec<Block> {
    blocks.into_iter().filter(|block| matches!(block, Block::Text(text) if !text.trim().is_empty())).collect()
}

#[cfg(test)]
mod tests;
