//! Drives one turn from start to end.
//!
//! This is the only place that calls the model, and where turns run their tools. The state machine
//! in `domain::turn` decides the next step; the driver performs it and reports to the assistant.

mod calling;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::approval::ApprovalId;
use domain::assistant::{Answer, Doing, Ended, Left, Progress, Purpose, Request, Shown, Start};
use domain::context::{self, Context, Measure, Opening, Window};
use domain::conversation::{Block, EntryId, PathEntry, Said, Usage, calls};
use domain::cost::{Call, Source};
use domain::failure::{Failure, SpendLimit};
use domain::label::Label;
use domain::patience::{self, Patience};
use domain::permission::{Decision, Refused, Ruling};
use domain::progress::Note;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Ending, Limits, Reply, Step, Turn};
use futures_util::future::join_all;

use crate::desk::Desk;
use crate::places::{CallInFlight, Places};
use crate::ports::{Hands, Head, Hearing, Journal, Model, Surface};
use crate::reins::Reins;

/// The longest time that a tool may run.
pub(crate) const TOOL_TIME: Duration = Duration::from_secs(120);

/// The services that a turn uses.
#[derive(Clone)]
pub struct World {
    pub model: Arc<dyn Model>,
    pub hands: Arc<dyn Hands>,
    pub journal: Arc<dyn Journal>,
    pub surface: Arc<dyn Surface>,
    /// The base system prompt.
    pub instructions: Arc<str>,
    /// The retry limits of model calls.
    pub patience: patience::Limits,
    pub limits: Limits,
    /// Limits the number of concurrent model calls.
    pub calls: Arc<Places>,
}

/// The default limit of concurrent model calls, for a model without a lower one.
pub const CALLS: usize = 128;

/// Drives the turn `start` to its end. Errors become part of the returned outcome.
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

/// The current instructions and tools of this program.
#[derive(Clone)]
struct Current {
    instructions: Arc<str>,
    tools: Arc<[ToolSpec]>,
}

/// Returns the stored opening of the conversation on `path` with its tools. Newer instructions are
/// appended where the model can read them. A run with a conversation of its own has none.
async fn opening(
    start: &Start,
    world: &World,
    path: &[PathEntry],
    current: &Current,
) -> Option<(Opening, Arc<[ToolSpec]>)> {
    let root = path.first()?.id;
    let kept = world.journal.opening(root).await.ok().flatten();
    let with_tools = kept.and_then(|kept| kept.tools(&current.tools).map(|tools| (kept, tools)));
    let fresh = || {
        let opening = Opening::new(root, Arc::clone(&current.instructions), &current.tools);
        (opening, Arc::clone(&current.tools))
    };
    let Some((mut opening, tools)) = with_tools else {
        if !is_interactive(start) || start.purpose != Purpose::Answer {
            return None;
        }
        return Some(keep(fresh(), world).await);
    };
    let ids: Vec<EntryId> = path.iter().map(|entry| entry.id).collect();
    let follows = path.last().is_some_and(|last| matches!(*last.said, Said::Human(_) | Said::Tools(_)));
    let is_current = *opening.in_force(&ids) == current.instructions;
    if is_current || !follows || start.purpose != Purpose::Answer {
        return Some((opening, tools));
    }
    let appended = opening.change(&ids, Arc::clone(&current.instructions));
    let changed = if appended { (opening, tools) } else { fresh() };
    Some(keep(changed, world).await)
}

/// Stores an opening before it is sent. A failure costs only a cache hit of the next request.
async fn keep(opening: (Opening, Arc<[ToolSpec]>), world: &World) -> (Opening, Arc<[ToolSpec]>) {
    if let Err(error) = world.journal.keep_opening(opening.0.clone()).await {
        tracing::warn!(%error, "the beginning of the conversation cannot be kept");
    }
    opening
}

/// Returns whether the user takes part in the conversation of the turn.
fn is_interactive(start: &Start) -> bool {
    matches!(start.account.source, Source::Main | Source::Fork)
}

struct Drive {
    start: Start,
    world: World,
    desk: Desk,
    reins: Reins,
    turn: Turn,
    context: Context,
    current: Current,
    /// The number of entries of the turn that are written.
    written: usize,
    /// The number of model calls of the turn that are recorded.
    counted: usize,
}

/// Receives one streamed reply: shows its text, and stores it in case the reply breaks off.
struct Ear<'a> {
    drive: &'a Drive,
    in_flight: &'a CallInFlight<'a>,
    heard: Mutex<(String, Usage)>,
    note: Mutex<Note>,
}

impl Hearing for Ear<'_> {
    fn words(&self, text: &str) {
        // A notice comes before the text it is about, not in the middle of it.
        self.drive.tell_notice();
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).0.push_str(text);
        self.drive.tell_words(text);
    }

    fn progress(&self, text: &str) {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = note.add(text) {
            self.drive.show_progress(line);
        }
    }

    fn used(&self, usage: Usage) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).1 = usage;
    }

    fn answered(&self, head: &Head) {
        self.in_flight.answered(head);
    }
}

impl Drive {
    async fn begin(start: Start, world: World, desk: Desk, reins: Reins) -> Result<Self, Ended> {
        let unread = |error| {
            let failure = Failure::Stopped(format!("i can't read our conversation: {error}"));
            Ended::failed(failure)
        };
        let path = world.journal.path(start.from).await.map_err(unread)?;
        let current = Current {
            instructions: context::addressed(&world.instructions, &start.human),
            tools: world.hands.tools(),
        };
        let opening = opening(&start, &world, &path, &current).await;
        let ids: Vec<EntryId> = path.iter().map(|entry| entry.id).collect();
        let (instructions, tools, notes) = match &opening {
            Some((opening, tools)) => {
                (Arc::clone(&opening.instructions), Arc::clone(tools), opening.notes(&ids))
            }
            None => (Arc::clone(&current.instructions), Arc::clone(&current.tools), Vec::new()),
        };
        let window = start.window;
        let mut said: Vec<Arc<Said>> = path.into_iter().map(|entry| fitting(entry.said, window)).collect();
        let newest = match start.purpose {
            Purpose::Answer => None,
            Purpose::Compact(_) => window.newest(&said),
        };
        // As in `next_context`, the notes refer to positions in the whole conversation.
        let (instructions, tools, notes) = if newest.is_some() {
            (Arc::clone(&current.instructions), Arc::clone(&current.tools), Vec::new())
        } else {
            (instructions, tools, notes)
        };
        if let Some((newest, left_out)) = newest {
            said = newest;
            let text = format!(
                "The conversation is longer than the model can read at once, so this summary leaves out its oldest \
                 {left_out} entries. `ollim-bot history` still has them."
            );
            world.surface.show(&Shown::Notice(text));
        }
        let task = start.purpose.task(&said);
        let branch = start.branch.clone();
        let model = start.model.clone();
        let thinking = start.thinking;
        let effort = start.effort;
        let context = Context {
            branch,
            model,
            thinking,
            effort,
            interactive: is_interactive(&start),
            tools,
            instructions,
            said,
            notes,
            aside: 0,
        };
        let turn = Turn::begin(task, world.limits, Patience::new(world.patience, start.seed))
            .reading(Measure::all(&context.said));
        Ok(Self { start, world, desk, reins, turn, context, current, written: 0, counted: 0 })
    }

    /// Returns the model calls that are not recorded yet.
    fn uncounted(&self) -> Vec<Call> {
        self.turn.spent().iter().skip(self.counted).cloned().collect()
    }

    async fn call(&mut self, in_flight: &CallInFlight<'_>) {
        let context = self.readable();
        if let Some(failure) = self.start.window.refuses(&context) {
            drop(context);
            return self.turn.failed("", failure);
        }
        let ear = Ear { drive: self, in_flight, heard: Mutex::default(), note: Mutex::default() };
        let reply = self.reins.stop.run_until_cancelled(self.world.model.reply(&context, &ear)).await;
        match &reply {
            Some(Ok(reply)) => in_flight.used(reply.usage),
            Some(Err(Failure::Busy(retry_after))) => in_flight.refused(*retry_after),
            Some(Err(Failure::Unreachable(_))) => in_flight.given_up(),
            Some(Err(_)) | None => {}
        }
        let (words, heard) = ear.heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tell_notice();
        let measure = self.turn.measure();
        let came = reply.as_ref().and_then(|reply| reply.as_ref().ok());
        let usage = self.used(&context, came, &words, heard);
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

    /// Returns the context of the next model call.
    fn readable(&self) -> Cow<'_, Context> {
        let mut context = match (self.turn.measure().of(&self.context.said), self.turn.aside()) {
            (None, aside) if aside.is_empty() => Cow::Borrowed(&self.context),
            (None, aside) => Cow::Owned(self.context.and(&aside)),
            // The notes refer to positions in the whole conversation. A part of it gets the newest
            // texts instead.
            (Some(said), aside) => {
                let Current { instructions, tools } = self.current.clone();
                let context =
                    Context { said, notes: Vec::new(), instructions, tools, ..self.context.clone() };
                Cow::Owned(context.and(&aside))
            }
        };
        let effort = self.turn.effort(context.effort);
        if effort != context.effort {
            context.to_mut().effort = effort;
        }
        context
    }

    /// Shows streamed text. The text of a compaction is not shown.
    fn tell_words(&self, text: &str) {
        match self.start.purpose {
            Purpose::Answer => {
                self.world.surface.show(&Shown::Delta { turn: self.start.turn, text: text.to_owned() });
            }
            Purpose::Compact(_) => {}
        }
    }

    /// Shows a progress note. The notes of a compaction are not shown.
    fn show_progress(&self, note: &str) {
        match self.start.purpose {
            Purpose::Answer => {
                let turn = self.start.turn;
                self.world.surface.show(&Shown::Progress { turn, note: note.to_owned() });
            }
            Purpose::Compact(_) => {}
        }
    }

    /// Returns the usage of a call. If a server answers without stating it, the usage is estimated
    /// from the context and the reply; otherwise no spending limit would apply.
    fn used(&self, context: &Context, came: Option<&Reply>, words: &str, heard: Usage) -> Usage {
        let told = came.map_or(heard, |reply| reply.usage);
        let answers = came.is_some() || !words.is_empty();
        if told != Usage::default() || !answers || self.world.model.is_free() {
            return told;
        }
        let half = [Block::Text(words.to_owned())];
        context::guessed(context, came.map_or(&half, |reply| &reply.blocks))
    }

    /// Adds a call to the turn, unless it used nothing.
    fn count(&mut self, usage: Usage) {
        if usage != Usage::default() {
            self.turn.used(Call { model: self.world.model.name_for(&self.context), usage });
        }
    }

    /// Waits before the next try, and shows it: silence would look like a hang.
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
        let known = self.reins.stop.run_until_cancelled(self.world.hands.kinds(&calls)).await;
        let kinds = known.unwrap_or_default();
        let progress = Progress::MayRun {
            blocks: self.last_blocks(),
            spent: self.uncounted(),
            kinds,
            most: self.turn.allowed(),
        };
        let request = Request::Turn(self.start.turn, progress);
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

    /// Submits the results to the assistant, and continues with the labelled and delimited results
    /// that it returns.
    async fn take(&mut self, results: Vec<ToolResult>) -> Result<(), Answer> {
        let answer = self.desk.ask(Request::Turn(self.start.turn, Progress::Ran(results.clone()))).await;
        let (results, answer) = if let Answer::Results(labelled) = answer {
            (labelled, None)
        } else if answer == Answer::Noted {
            (results, None)
        } else {
            (results, Some(answer))
        };
        let before = self.turn.said().len();
        self.turn.ran(results);
        self.remember(before);
        match answer {
            None => {
                self.written = self.turn.said().len();
                Ok(())
            }
            Some(answer) => Err(answer),
        }
    }

    /// Waits for the result of a call that another run works on.
    async fn elsewhere(&self, call: &str) -> ToolResult {
        let stopped = || ToolResult {
            call: call.to_owned(),
            text: "Error: the human stopped this before it was done.".to_owned(),
            outcome: Outcome::Failed,
            label: Label::PLAIN,
        };
        self.reins.answered(call).await.unwrap_or_else(stopped)
    }

    /// Resolves one call as decided, once the decision is known. The calls of a step are resolved
    /// concurrently.
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
        let turn = self.start.turn;
        let tool = self.world.hands.caption(call);
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

    /// Asks the assistant. Whatever it accepts is on disk when it answers.
    async fn ask(&mut self, request: Request) -> Answer {
        let answer = self.desk.ask(request).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.written = self.turn.said().len();
        }
        answer
    }

    /// Ends a turn whose next step could not be recorded. Its calls were not run, or are answered
    /// as such.
    fn give_up(&mut self, answer: Answer) {
        let failure = match answer {
            Answer::Overspent(refusal) => Failure::SpendLimit(SpendLimit::Day(refusal)),
            Answer::Refused(reason) => Failure::Stopped(reason),
            Answer::Heard(_)
            | Answer::Begun(_)
            | Answer::Decided(_)
            | Answer::Noted
            | Answer::Results(_)
            | Answer::Told(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Shown(_) => Failure::Stopped("something broke on my side.".to_owned()),
        };
        self.turn.cut("", Ending::Failed(failure));
    }

    /// Adds the entries of the turn from index `before` to the context of the next request.
    fn remember(&mut self, before: usize) {
        let window = self.start.window;
        let said = self.turn.said()[before..].iter().map(|said| fitting(Arc::new(said.clone()), window));
        self.context.said.extend(said);
    }

    fn last_blocks(&self) -> Vec<Block> {
        match self.turn.said().last() {
            Some(Said::Assistant(blocks, _)) => blocks.clone(),
            Some(Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_)) | None => Vec::new(),
        }
    }

    fn ended(mut self, ending: Ending) -> Ended {
        let usage = self.turn.usage();
        let spent = self.uncounted();
        let mut said = self.turn.said().to_vec();
        said.drain(..self.written.min(said.len()));
        answer_calls(&mut said);
        self.context.said.clear();
        let left = self.turn.into_summary().map_or(Left::Said(said), Left::Summary);
        Ended { left, ending, usage, spent }
    }
}

/// Returns `said` as the model reads it: a text that would fill most of the window is truncated.
fn fitting(said: Arc<Said>, window: Window) -> Arc<Said> {
    window.cut(&said).map_or(said, Arc::new)
}

/// Answers open calls in the last entry of a turn, so that the conversation can continue after it.
fn answer_calls(said: &mut Vec<Said>) {
    let Some(Said::Assistant(blocks, _)) = said.last() else { return };
    let unrun = |call| failed(call, "this was not run.".to_owned());
    let results: Vec<ToolResult> = calls(blocks).map(unrun).collect();
    if !results.is_empty() {
        said.push(Said::Tools(results));
    }
}

/// Returns the result of a call that exceeded the tool timeout.
pub(crate) fn too_long(call: &ToolCall) -> ToolResult {
    let seconds = TOOL_TIME.as_secs();
    failed(call, format!("it took longer than {seconds} s, so nobody waits for it; it may have happened."))
}

fn failed(call: &ToolCall, text: String) -> ToolResult {
    ToolResult { call: call.id.clone(), text, outcome: Outcome::Failed, label: Label::PLAIN }
}
