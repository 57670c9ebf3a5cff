//! One turn as a machine: a step out, an outcome in.
//!
//! The machine holds what was said since the turn began and says what it needs next. It calls nobody. Main,
//! forks, background runs and compactions all use this one.

use std::sync::Arc;
use std::time::Duration;

use crate::compaction::{Gate, Summary, Verdict};
use crate::context::{self, Measure, Pictures};
use crate::conversation::{Block, Reach, Said, Text, Usage, calls};
use crate::cost::Call;
use crate::failure::{Failure, Unsaid};
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
    Refusal,
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
    spent: Vec<Call>,
    said: Vec<Said>,
    /// Words of a reply that broke off and is being continued.
    half: String,
    /// How much of the conversation the model reads.
    measure: Measure,
    patience: Patience,
    next: Step,
}

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
            spent: Vec::new(),
            said: Vec::new(),
            half: String::new(),
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
        match self.task {
            Task::Answer => self.answer(reply),
            Task::Summarise(_) | Task::Summarised(_) => self.summarise(&reply),
        }
    }

    fn answer(&mut self, reply: Reply) {
        let calls: Vec<ToolCall> = calls(&reply.blocks).cloned().collect();
        self.next = match reply.stop {
            Stop::Refusal => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Refused))),
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
            Stop::Refusal => Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Refused))),
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
            Some(wait) => {
                self.half.push_str(words);
                self.next = Step::Wait(wait);
            }
            None => self.cut(words, Ending::Failed(failure)),
        }
    }

    /// A smaller measure that the model may take after it failed like this.
    fn smaller(&self, failure: &Failure) -> Option<Measure> {
        let Measure { pictures, shortened } = self.measure;
        match (failure, &self.task) {
            (Failure::Rejected(_), _) if pictures == Pictures::Shown => {
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
        let speaks = |block: &Block| matches!(block, Block::Text(text) if !text.trim().is_empty());
        if blocks.iter().any(speaks) {
            return Step::Done(Ending::Finished);
        }
        Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Empty)))
    }

    fn wants(&mut self, calls: Vec<ToolCall>) -> Step {
        self.tool_runs += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        if self.tool_runs > self.limits.tool_runs || self.model_calls >= self.limits.model_calls {
            return circles(&format!("{} tool calls", self.limits.tool_runs));
        }
        if self.usage().fresh() > self.limits.tokens {
            return circles(&format!("more than {} tokens", self.limits.tokens));
        }
        Step::RunTools(calls)
    }
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
mod tests {
    use super::*;
    use crate::conversation::{Heard, Json};
    use crate::patience;
    use crate::tool::Outcome;

    fn begin(limits: patience::Limits) -> Turn {
        Turn::begin(Task::Answer, Limits::HOUSE, Patience::new(limits, 7))
    }

    fn text(words: &str) -> Block {
        Block::Text(words.to_owned())
    }

    fn call(id: &str) -> Block {
        Block::Call(ToolCall {
            id: id.to_owned(),
            name: "inbox_list".to_owned(),
            input: Json("{}".to_owned()),
        })
    }

    fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
        Reply { blocks, stop, usage: Usage { input: 10, output: 1, ..Usage::default() } }
    }

    fn after(blocks: Vec<Block>, stop: Stop) -> Turn {
        let mut turn = begin(patience::Limits::NONE);
        turn.replied(reply(blocks, stop));
        turn
    }

    fn result(id: &str) -> ToolResult {
        ToolResult {
            call: id.to_owned(),
            text: "fine".to_owned(),
            outcome: Outcome::Done,
            label: crate::label::Label::PLAIN,
        }
    }

    /// E3: error, refusal, length, nothing and words are five different endings.
    #[test]
    fn a_reply_ends_the_turn_in_one_of_five_ways() {
        let check = |blocks, stop, ending: Ending| assert_eq!(after(blocks, stop).step(), Step::Done(ending));
        check(vec![text("hi")], Stop::Said, Ending::Finished);
        check(vec![text(" \n")], Stop::Said, Ending::Failed(Failure::Unsaid(Unsaid::Empty)));
        check(vec![], Stop::Tools, Ending::Failed(Failure::Unsaid(Unsaid::Empty)));
        check(vec![text("hi")], Stop::Length, Ending::Failed(Failure::Unsaid(Unsaid::TooLong)));
        check(vec![text("no")], Stop::Refusal, Ending::Failed(Failure::Unsaid(Unsaid::Refused)));
    }

    #[test]
    fn calls_are_run_and_then_the_model_is_asked_again() {
        let mut turn = after(vec![text("one moment"), call("a"), call("b")], Stop::Tools);
        let Step::RunTools(calls) = turn.step() else { panic!("tools were wanted") };
        assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        turn.ran(vec![result("a"), result("b")]);
        assert_eq!(turn.step(), Step::CallModel);
        turn.replied(reply(vec![text("done")], Stop::Said));
        assert_eq!(turn.step(), Step::Done(Ending::Finished));
        assert_eq!(turn.said().len(), 3);
    }

    #[test]
    fn a_call_in_a_reply_that_was_cut_is_never_run_and_never_kept() {
        let turn = after(vec![text("let me"), call("a")], Stop::Length);
        assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::TooLong))));
        assert_eq!(turn.said(), [Said::Assistant(vec![text("let me")], Reach::Cut)]);
    }

    #[test]
    fn words_that_were_heard_before_a_cut_stay_and_silence_leaves_nothing() {
        let mut turn = begin(patience::Limits::NONE);
        turn.cut("half", Ending::Interrupted);
        assert_eq!(turn.said(), [Said::Assistant(vec![text("half")], Reach::Cut)]);
        let mut turn = begin(patience::Limits::NONE);
        turn.cut("  ", Ending::Interrupted);
        assert_eq!(turn.said(), []);
    }

    /// E2: a reply that broke off is continued, and stands in the conversation as one.
    #[test]
    fn an_answer_in_two_halves_is_one_answer() {
        let mut turn = begin(patience::Limits::HOUSE);
        turn.failed("Lisbon ", Failure::CutOff("gone".to_owned()));
        assert!(matches!(turn.step(), Step::Wait(_)));
        turn.waited();
        assert_eq!((turn.step(), turn.aside()), (Step::CallModel, context::continuing("Lisbon ").to_vec()));
        turn.replied(reply(vec![text("is lovely.")], Stop::Said));
        assert_eq!(turn.said(), [Said::Assistant(vec![text("Lisbon is lovely.")], Reach::Whole)]);
        assert_eq!(turn.aside(), []);
    }

    /// E2: when patience ends, what was heard of all tries stays, once, as a half.
    #[test]
    fn when_patience_ends_the_half_answer_stays() {
        let mut turn = begin(patience::Limits { tries: 2, ..patience::Limits::HOUSE });
        turn.failed("one ", Failure::CutOff("gone".to_owned()));
        turn.waited();
        turn.failed("two", Failure::CutOff("gone again".to_owned()));
        assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::CutOff("gone again".to_owned()))));
        assert_eq!(turn.said(), [Said::Assistant(vec![text("one two")], Reach::Cut)]);
    }

    /// E4: many calls at once count one by one.
    #[test]
    fn the_limit_counts_calls_and_not_replies() {
        let many = (0..51).map(|n| call(&n.to_string())).collect();
        let Step::Done(Ending::Failed(Failure::Stopped(why))) = after(many, Stop::Tools).step() else {
            panic!("it was not stopped")
        };
        assert!(why.contains("50 tool calls"), "{why}");
    }

    /// E4: a turn that goes on and on also ends at its tokens; what came from the cache is not counted.
    #[test]
    fn the_limit_counts_tokens_too_and_says_so() {
        let limits = Limits { tokens: 100, ..Limits::HOUSE };
        let mut turn = Turn::begin(Task::Answer, limits, Patience::new(patience::Limits::NONE, 7));
        let mut takes = |usage| {
            turn.used(Call { model: "m".to_owned(), usage });
            turn.replied(reply(vec![call("a")], Stop::Tools));
            turn.step()
        };
        assert!(matches!(
            takes(Usage { input: 100, cache_read: 900, ..Usage::default() }),
            Step::RunTools(_)
        ));
        let Step::Done(Ending::Failed(Failure::Stopped(why))) =
            takes(Usage { output: 1, ..Usage::default() })
        else {
            panic!("it was not stopped")
        };
        assert!(why.contains("more than 100 tokens"), "{why}");
        assert_eq!((turn.spent().len(), turn.usage().held()), (2, 1_001));
    }

    fn summing_up(said: &str) -> Turn {
        let heard = Heard { preface: String::new(), text: said.to_owned(), images: Vec::new() };
        let gate = Gate::new(&[Arc::new(Said::Human(heard))], "");
        Turn::begin(Task::Summarise(gate), Limits::HOUSE, Patience::new(patience::Limits::HOUSE, 7))
    }

    /// A summary is judged, says nothing in the conversation, and breaks off and is continued like any reply.
    #[test]
    fn a_summary_in_two_halves_is_one_summary() {
        let mut turn = summing_up("the booking is LH4711");
        turn.failed("The human has booked ", Failure::CutOff("gone".to_owned()));
        turn.waited();
        assert_eq!(turn.aside().len(), 3, "the request, the half and the note to go on");
        turn.replied(reply(vec![text("the flight LH4711.")], Stop::Said));
        assert_eq!((turn.step(), turn.said()), (Step::Done(Ending::Finished), &[][..]));
        let words = turn.into_summary().map(|summary| summary.text);
        assert_eq!(words.as_deref(), Some("The human has booked the flight LH4711."));
    }

    #[test]
    fn a_summary_that_forgets_twice_is_refused_and_one_that_calls_tools_is_read() {
        let forgetful = || reply(vec![text("There was talk of a flight."), call("a")], Stop::Tools);
        let mut turn = summing_up("the booking is LH4711");
        turn.replied(forgetful());
        assert_eq!(turn.step(), Step::CallModel);
        turn.replied(forgetful());
        let Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Forgetful(_)))) = turn.step() else {
            panic!("it passed")
        };
        assert_eq!((turn.said().len(), turn.into_summary()), (0, None));
    }

    /// A model that refuses pictures is asked again without them, once.
    #[test]
    fn a_picture_that_is_refused_is_left_out() {
        let shown = Measure { pictures: Pictures::Shown, shortened: 0 };
        let mut turn = begin(patience::Limits::NONE).reading(shown);
        turn.failed("", Failure::Rejected("could not process image".to_owned()));
        assert_eq!((turn.step(), turn.measure().pictures), (Step::CallModel, Pictures::LeftOut));
        turn.failed("", Failure::Rejected("no".to_owned()));
        assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::Rejected("no".to_owned()))));
    }

    /// A conversation that is too long to be read is summed up from less and less of it; an answer is not.
    #[test]
    fn a_summary_of_too_much_is_written_from_less() {
        let full = || Failure::Full("too long".to_owned());
        let mut turn = summing_up("the booking is LH4711");
        for shortened in 1..=SHORTENINGS {
            turn.failed("", full());
            assert_eq!((turn.step(), turn.measure().shortened), (Step::CallModel, shortened));
        }
        turn.failed("", full());
        assert_eq!(turn.step(), Step::Done(Ending::Failed(full())));
        let mut turn = begin(patience::Limits::HOUSE);
        turn.failed("", full());
        assert_eq!(turn.step(), Step::Done(Ending::Failed(full())));
    }
}
