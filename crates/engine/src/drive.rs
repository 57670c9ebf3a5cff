//! One turn from start to end: the only place that calls the model, and where turns run their tools.

mod calling;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::approval::ApprovalId;
use domain::assistant::{Answer, Doing, Ended, Left, Progress, Purpose, Request, Shown, Start};
use domain::context::{self, Context, Measure};
use domain::conversation::{Block, Said, Usage, calls};
use domain::cost::{Call, Source};
use domain::failure::{Failure, SpendLimit};
use domain::label::Label;
use domain::patience::{self, Patience};
use domain::permission::{Decision, Refused, Ruling};
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::turn::{Ending, Limits, Reply, Step, Turn};
use futures_util::future::join_all;

use crate::desk::Desk;
use crate::places::Places;
use crate::ports::{Hands, Hearing, Journal, Model, Surface};
use crate::reins::Reins;

/// The longest a tool may run.
pub(crate) const TOOL_TIME: Duration = Duration::from_secs(120);

/// Everything outside that a turn touches.
#[derive(Clone)]
pub struct World {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// What can be done.
    pub hands: Arc<dyn Hands>,
    /// Where facts are kept.
    pub journal: Arc<dyn Journal>,
    /// Where the human is.
    pub surface: Arc<dyn Surface>,
    /// Who the model is told to be.
    pub instructions: Arc<str>,
    /// How patient a turn is with the model.
    pub patience: patience::Limits,
    /// How far a turn may go.
    pub limits: Limits,
    /// A place for each call of a model that may go on at a time.
    pub calls: Arc<Places>,
}

/// How many calls of a model may go on at a time.
pub const CALLS: usize = 4;

/// Drives the turn `start` to its end. Whatever happens, it ends, and says how.
pub async fn drive(start: Start, world: World, desk: Desk, reins: Reins) -> Ended {
    let mut drive = match Drive::begin(start, world, desk, reins).await {
        Ok(drive) => drive,
        Err(ended) => return ended,
    };
    loop {
        match drive.turn.step() {
            Step::CallModel => drive.call_model().await,
            Step::Wait(time) => drive.wait(time).await,
            Step::RunTools(calls) => drive.run_tools(calls).await,
            Step::Done(ending) => return drive.ended(ending),
        }
    }
}

struct Drive {
    start: Start,
    world: World,
    desk: Desk,
    reins: Reins,
    turn: Turn,
    context: Context,
    /// How much of what the turn said is written down.
    written: usize,
    /// How many of its calls are.
    counted: usize,
}

/// Hears one reply: shows the words, and keeps them in case it breaks off.
struct Ear<'a> {
    drive: &'a Drive,
    heard: Mutex<(String, Usage)>,
}

impl Hearing for Ear<'_> {
    fn words(&self, text: &str) {
        // A notice comes before the words it is about, not in the middle of them.
        self.drive.tell_notice();
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).0.push_str(text);
        self.drive.tell_words(text);
    }

    fn used(&self, usage: Usage) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).1 = usage;
    }
}

impl Drive {
    async fn begin(start: Start, world: World, desk: Desk, reins: Reins) -> Result<Self, Ended> {
        let unread = |error| {
            let failure = Failure::Stopped(format!("i can't read our conversation: {error}"));
            Ended::failed(failure)
        };
        let said = world.journal.path(start.from).await.map_err(unread)?;
        let (tools, instructions) = (world.hands.tools(), Arc::clone(&world.instructions));
        let task = start.purpose.task(&said);
        let (branch, model, thinking, effort) =
            (start.branch.clone(), start.model.clone(), start.thinking, start.effort);
        let context = Context {
            branch,
            model,
            thinking,
            effort,
            interactive: matches!(start.account.source, Source::Main | Source::Fork),
            tools,
            instructions,
            said,
            notes: Vec::new(),
            aside: 0,
        };
        let turn = Turn::begin(task, world.limits, Patience::new(world.patience, start.seed))
            .reading(Measure::all(&context.said));
        Ok(Self { start, world, desk, reins, turn, context, written: 0, counted: 0 })
    }

    /// The calls that are not written down yet.
    fn uncounted(&self) -> Vec<Call> {
        self.turn.spent().iter().skip(self.counted).cloned().collect()
    }

    async fn call(&mut self) {
        let ear = Ear { drive: self, heard: Mutex::default() };
        let context = self.readable();
        let reply = self.reins.stop.run_until_cancelled(self.world.model.reply(&context, &ear)).await;
        let (words, heard) = ear.heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tell_notice();
        let measure = self.turn.measure();
        let came = reply.as_ref().and_then(|reply| reply.as_ref().ok());
        let usage = self.used(&context, came, (&words, heard));
        self.count(usage);
        let before = self.turn.said().len();
        match reply {
            Some(Ok(reply)) => self.turn.replied(reply),
            Some(Err(failure)) => self.turn.failed(&words, failure),
            None => self.turn.cut(&words, Ending::Interrupted),
        }
        self.remember(before);
        if self.turn.measure().pictures != measure.pictures && self.start.purpose == Purpose::Answer {
            let text = "the model could not take a picture, so i ask it again without pictures.";
            self.world.surface.show(&Shown::Notice(text.to_owned()));
        }
    }

    /// What the model reads in the next call.
    fn readable(&self) -> Cow<'_, Context> {
        let mut context = match (self.turn.measure().of(&self.context.said), self.turn.aside()) {
            (None, aside) if aside.is_empty() => Cow::Borrowed(&self.context),
            (None, aside) => Cow::Owned(self.context.and(&aside)),
            // The notes belong to places in the whole conversation.
            (Some(said), aside) => {
                Cow::Owned(Context { said, notes: Vec::new(), ..self.context.clone() }.and(&aside))
            }
        };
        let effort = self.turn.effort(context.effort);
        if effort != context.effort {
            context.to_mut().effort = effort;
        }
        context
    }

    /// A summary is no answer: nobody reads it as it is written.
    fn tell_words(&self, text: &str) {
        match self.start.purpose {
            Purpose::Answer => {
                self.world.surface.show(&Shown::Delta { turn: self.start.turn, text: text.to_owned() });
            }
            Purpose::Compact(_) => {}
        }
    }

    /// What a call used. A server that answers and does not say is taken to have used what was read and said, or
    /// no limit would hold before it.
    fn used(&self, context: &Context, came: Option<&Reply>, (words, heard): (&str, Usage)) -> Usage {
        let told = came.map_or(heard, |reply| reply.usage);
        let answers = came.is_some() || !words.is_empty();
        if told != Usage::default() || !answers || self.world.model.is_free() {
            return told;
        }
        let half = [Block::Text(words.to_owned())];
        context::guessed(context, came.map_or(&half, |reply| &reply.blocks))
    }

    /// Counts a call. One that came to nothing and cost nothing is none.
    fn count(&mut self, usage: Usage) {
        if usage != Usage::default() {
            self.turn.used(Call { model: self.world.model.name_for(&self.context), usage });
        }
    }

    /// Waits before the next try, and says so: silence would look like a hang.
    async fn wait(&mut self, time: Duration) {
        self.world.surface.show(&Shown::Waiting { turn: self.start.turn, time });
        match self.reins.stop.run_until_cancelled(tokio::time::sleep(time)).await {
            Some(()) => self.turn.waited(),
            None => self.turn.cut("", Ending::Interrupted),
        }
    }

    fn tell_notice(&self) {
        if let Some(notice) = self.world.model.notice() {
            self.world.surface.show(&Shown::Notice(notice));
        }
    }

    async fn run_tools(&mut self, calls: Vec<ToolCall>) {
        let request = Request::Turn(self.start.turn, Progress::MayRun(self.last_blocks(), self.uncounted()));
        let answer = self.ask(request).await;
        let Answer::Decided(rulings) = answer else { return self.give_up(answer) };
        self.counted = self.turn.spent().len();
        let results = join_all(rulings.into_iter().map(|ruling| self.carry_out(ruling))).await;
        debug_assert_eq!(calls.len(), results.len(), "a call without a decision");
        if let Err(answer) = self.take(results).await {
            return self.give_up(answer);
        }
        if self.reins.stop.is_cancelled() {
            self.turn.cut("", Ending::Interrupted);
        }
    }

    /// Takes what came of the tools. What somebody else has to read first is waited for.
    async fn take(&mut self, mut results: Vec<ToolResult>) -> Result<(), Answer> {
        loop {
            let answer = self.desk.ask(Request::Turn(self.start.turn, Progress::Ran(results.clone()))).await;
            let Answer::Reading(calls) = answer else {
                let before = self.turn.said().len();
                self.turn.ran(results);
                self.remember(before);
                if answer == Answer::Noted {
                    self.written = self.turn.said().len();
                    return Ok(());
                }
                return Err(answer);
            };
            for result in results.iter_mut().filter(|result| calls.contains(&result.call)) {
                *result = self.elsewhere(&result.call).await;
            }
        }
    }

    /// What comes of a call that somebody else works on.
    async fn elsewhere(&self, call: &str) -> ToolResult {
        let stopped = || ToolResult {
            call: call.to_owned(),
            text: "Error: the human stopped this before it was done.".to_owned(),
            outcome: Outcome::Failed,
            label: Label::PLAIN,
        };
        self.reins.answered(call).await.unwrap_or_else(stopped)
    }

    /// Does what was ruled about a call, as soon as that is known. Others go on meanwhile.
    async fn carry_out(&self, ruling: Ruling) -> ToolResult {
        match ruling {
            Ruling::Decided(decision) => self.run_one(&decision).await,
            Ruling::Answered(result) => result,
            Ruling::Delegated(call) => {
                self.tell_work(&call, Doing::Runs);
                self.elsewhere(&call.id).await
            }
            Ruling::Asked(id, call) => {
                self.tell_work(&call, Doing::Waits);
                let decision = self.decided(id, call).await;
                self.run_one(&decision).await
            }
        }
    }

    async fn decided(&self, id: ApprovalId, call: ToolCall) -> Decision {
        let decided = self.reins.decided(id).await;
        decided.unwrap_or_else(|| Decision::refused(&call, Refused::Cancelled(id)))
    }

    fn tell_work(&self, call: &ToolCall, doing: Doing) {
        let (turn, tool) = (self.start.turn, self.world.hands.caption(call));
        self.world.surface.show(&Shown::Working { turn, tool, doing });
    }

    async fn run_one(&self, decision: &Decision) -> ToolResult {
        let call = &decision.call;
        if let Some(refusal) = decision.refusal() {
            if refusal.outcome == Outcome::Denied {
                self.tell_work(call, Doing::Denied);
            }
            return refusal;
        }
        self.tell_work(call, Doing::Runs);
        let run = tokio::time::timeout(TOOL_TIME, self.world.hands.run(self.start.turn, call, &self.desk));
        match self.reins.stop.run_until_cancelled(run).await {
            Some(Ok(result)) => ToolResult { text: context::tool_result(result.text), ..result },
            Some(Err(_)) => too_long(call),
            None => {
                failed(call, "the human stopped this before it was done; it may have happened.".to_owned())
            }
        }
    }

    /// Asks the assistant; what it answers is on disk.
    async fn ask(&mut self, request: Request) -> Answer {
        let answer = self.desk.ask(request).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.written = self.turn.said().len();
        }
        answer
    }

    /// Ends a turn whose next step could not be written down. The calls in it never ran, or are told.
    fn give_up(&mut self, answer: Answer) {
        let failure = match answer {
            Answer::Overspent(refusal) => Failure::SpendLimit(SpendLimit::Day(refusal)),
            Answer::Refused(reason) => Failure::Stopped(reason),
            Answer::Heard(_)
            | Answer::Begun(_)
            | Answer::Decided(_)
            | Answer::Noted
            | Answer::Reading(_)
            | Answer::Told(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Shown(_) => Failure::Stopped("something broke on my side.".to_owned()),
        };
        self.turn.cut("", Ending::Failed(failure));
    }

    /// What the turn has said since `before` is part of the next request.
    fn remember(&mut self, before: usize) {
        self.context.said.extend(self.turn.said()[before..].iter().cloned().map(Arc::new));
    }

    fn last_blocks(&self) -> Vec<Block> {
        match self.turn.said().last() {
            Some(Said::Assistant(blocks, _)) => blocks.clone(),
            Some(Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_)) | None => Vec::new(),
        }
    }

    fn ended(mut self, ending: Ending) -> Ended {
        let (usage, spent) = (self.turn.usage(), self.uncounted());
        let mut said = self.turn.said().to_vec();
        said.drain(..self.written.min(said.len()));
        answer_calls(&mut said);
        self.context.said.clear();
        let left = self.turn.into_summary().map_or(Left::Said(said), Left::Summary);
        Ended { left, ending, usage, spent }
    }
}

/// A call in the last words of a turn gets an answer, so that the conversation can go on after it.
fn answer_calls(said: &mut Vec<Said>) {
    let Some(Said::Assistant(blocks, _)) = said.last() else { return };
    let unrun = |call| failed(call, "this was not run.".to_owned());
    let results: Vec<ToolResult> = calls(blocks).map(unrun).collect();
    if !results.is_empty() {
        said.push(Said::Tools(results));
    }
}

/// A call that nobody waits for any more.
pub(crate) fn too_long(call: &ToolCall) -> ToolResult {
    let seconds = TOOL_TIME.as_secs();
    failed(call, format!("it took longer than {seconds} s, so nobody waits for it; it may have happened."))
}

fn failed(call: &ToolCall, text: String) -> ToolResult {
    ToolResult { call: call.id.clone(), text, outcome: Outcome::Failed, label: Label::PLAIN }
}
