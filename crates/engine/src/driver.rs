//! Drives one turn from start to end.
//!
//! This is the only place that calls the model, and where turns run their tools. The state machine
//! in `domain::turn` decides the next step; the driver performs it and reports to the assistant.

mod model_calls;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::approval::ApprovalId;
use domain::assistant::{
    Answer, Request, ToolPhase, TurnKind, TurnOutcome, TurnOutput, TurnRequest, TurnStart, Update,
};
use domain::context::{self, Context, PromptPrefix, Reduction, RequestLimit};
use domain::conversation::{Block, EntryContent, EntryId, PathEntry, Usage, tool_calls};
use domain::cost::{CostSource, ModelCall};
use domain::failure::{Failure, SpendLimit};
use domain::label::Label;
use domain::permission::{CallDisposition, Decision, RefusalReason};
use domain::progress::ProgressNote;
use domain::retry_policy::{self, RetryPolicy};
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{ModelReply, Turn, TurnEnding, TurnLimits, TurnStep};
use futures_util::future::join_all;

use crate::call_slots::{CallInFlight, CallSlots};
use crate::handle::AssistantHandle;
use crate::ports::{Journal, Model, ResponseHead, StreamSink, Surface, ToolRunner};
use crate::turn_control::TurnControl;

/// The longest time that a tool may run.
pub(crate) const TOOL_TIMEOUT: Duration = Duration::from_secs(120);

/// The services that a turn uses.
#[derive(Clone)]
pub struct Services {
    pub model: Arc<dyn Model>,
    pub tools: Arc<dyn ToolRunner>,
    pub journal: Arc<dyn Journal>,
    pub surface: Arc<dyn Surface>,
    /// The base system prompt.
    pub instructions: Arc<str>,
    /// The retry limits of model calls.
    pub retry_limits: retry_policy::RetryLimits,
    pub limits: TurnLimits,
    /// Limits the number of concurrent model calls.
    pub call_slots: Arc<CallSlots>,
}

/// The default limit of concurrent model calls, for a model without a lower one.
pub const MAX_CONCURRENT_CALLS: usize = 128;

/// Drives the turn `start` to its end. Errors become part of the returned outcome.
pub async fn drive(
    start: TurnStart,
    services: Services,
    assistant: AssistantHandle,
    control: TurnControl,
) -> TurnOutcome {
    let mut drive = match TurnDriver::begin(start, services, assistant, control).await {
        Ok(drive) => drive,
        Err(ended) => return ended,
    };
    loop {
        match drive.turn.step() {
            TurnStep::CallModel => drive.call_model().await,
            TurnStep::Wait(time) => drive.wait(time).await,
            TurnStep::RunTools(calls) => drive.run_tools(calls).await,
            TurnStep::Done(ending) => return drive.finish(ending),
        }
    }
}

/// The current instructions and tools of this program.
#[derive(Clone)]
struct CurrentPrompt {
    instructions: Arc<str>,
    tools: Arc<[ToolSpec]>,
}

/// Returns the stored opening of the conversation on `path` with its tools. Newer instructions are
/// appended where the model can read them. A run with a conversation of its own has none.
async fn load_opening(
    start: &TurnStart,
    services: &Services,
    path: &[PathEntry],
    current: &CurrentPrompt,
) -> Option<(PromptPrefix, Arc<[ToolSpec]>)> {
    let root = path.first()?.id;
    let kept = services.journal.opening(root).await.ok().flatten();
    let with_tools = kept.and_then(|kept| kept.tools(&current.tools).map(|tools| (kept, tools)));
    let fresh = || {
        let opening = PromptPrefix::new(root, Arc::clone(&current.instructions), &current.tools);
        (opening, Arc::clone(&current.tools))
    };
    let Some((mut opening, tools)) = with_tools else {
        if !is_interactive(start) || start.kind != TurnKind::Answer {
            return None;
        }
        return Some(save_opening(fresh(), services).await);
    };
    let ids: Vec<EntryId> = path.iter().map(|entry| entry.id).collect();
    let follows = path
        .last()
        .is_some_and(|last| matches!(*last.content, EntryContent::User(_) | EntryContent::Tools(_)));
    let is_current = *opening.in_force(&ids) == current.instructions;
    if is_current || !follows || start.kind != TurnKind::Answer {
        return Some((opening, tools));
    }
    let appended = opening.add_change(&ids, Arc::clone(&current.instructions));
    let changed = if appended { (opening, tools) } else { fresh() };
    Some(save_opening(changed, services).await)
}

/// Stores an opening before it is sent. A failure costs only a cache hit of the next request.
async fn save_opening(
    opening: (PromptPrefix, Arc<[ToolSpec]>),
    services: &Services,
) -> (PromptPrefix, Arc<[ToolSpec]>) {
    if let Err(error) = services.journal.save_opening(opening.0.clone()).await {
        tracing::warn!(%error, "the beginning of the conversation cannot be kept");
    }
    opening
}

/// Returns whether the user takes part in the conversation of the turn.
fn is_interactive(start: &TurnStart) -> bool {
    matches!(start.account.source, CostSource::Main | CostSource::Fork)
}

struct TurnDriver {
    start: TurnStart,
    services: Services,
    assistant: AssistantHandle,
    control: TurnControl,
    turn: Turn,
    context: Context,
    current: CurrentPrompt,
    /// The number of entries of the turn that are written.
    written_entries: usize,
    /// The number of model calls of the turn that are recorded.
    recorded_calls: usize,
}

/// Receives one streamed reply: shows its text, and stores it in case the reply breaks off.
struct ReplySink<'a> {
    driver: &'a TurnDriver,
    in_flight: &'a CallInFlight<'a>,
    received: Mutex<(String, Usage)>,
    note: Mutex<ProgressNote>,
}

impl StreamSink for ReplySink<'_> {
    fn text(&self, text: &str) {
        // A notice comes before the text it is about, not in the middle of it.
        self.driver.show_notice();
        self.received.lock().unwrap_or_else(PoisonError::into_inner).0.push_str(text);
        self.driver.show_text(text);
    }

    fn progress(&self, text: &str) {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = note.add(text) {
            self.driver.show_progress(line);
        }
    }

    fn usage(&self, usage: Usage) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).1 = usage;
    }

    fn response_head(&self, head: &ResponseHead) {
        self.in_flight.answered(head);
    }
}

impl TurnDriver {
    async fn begin(
        start: TurnStart,
        services: Services,
        assistant: AssistantHandle,
        control: TurnControl,
    ) -> Result<Self, TurnOutcome> {
        let unread = |error| {
            let failure = Failure::Stopped(format!("i can't read our conversation: {error}"));
            TurnOutcome::failed(failure)
        };
        let path = services.journal.path(start.from).await.map_err(unread)?;
        let current = CurrentPrompt {
            instructions: context::with_user_name(&services.instructions, &start.user),
            tools: services.tools.tools(),
        };
        let opening = load_opening(&start, &services, &path, &current).await;
        let ids: Vec<EntryId> = path.iter().map(|entry| entry.id).collect();
        let (instructions, tools, notes) = match &opening {
            Some((opening, tools)) => {
                (Arc::clone(&opening.instructions), Arc::clone(tools), opening.notes(&ids))
            }
            None => (Arc::clone(&current.instructions), Arc::clone(&current.tools), Vec::new()),
        };
        let window = start.window;
        let mut said: Vec<Arc<EntryContent>> =
            path.into_iter().map(|entry| truncate_to_window(entry.content, window)).collect();
        let newest = match start.kind {
            TurnKind::Answer => None,
            TurnKind::Compact(_) => window.newest_part(&said),
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
            services.surface.show(&Update::Notice(text));
        }
        let task = start.kind.task(&said);
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
            entries: said,
            notes,
            transient_count: 0,
        };
        let turn = Turn::new(task, services.limits, RetryPolicy::new(services.retry_limits, start.seed))
            .with_reduction(Reduction::none(&context.entries));
        Ok(Self {
            start,
            services,
            assistant,
            control,
            turn,
            context,
            current,
            written_entries: 0,
            recorded_calls: 0,
        })
    }

    /// Returns the model calls that are not recorded yet.
    fn unrecorded_calls(&self) -> Vec<ModelCall> {
        self.turn.calls().iter().skip(self.recorded_calls).cloned().collect()
    }

    async fn call(&mut self, in_flight: &CallInFlight<'_>) {
        let context = self.next_context();
        if let Some(failure) = self.start.window.check(&context) {
            drop(context);
            return self.turn.on_failure("", failure);
        }
        let sink = ReplySink { driver: self, in_flight, received: Mutex::default(), note: Mutex::default() };
        let reply = self.control.stop.run_until_cancelled(self.services.model.reply(&context, &sink)).await;
        match &reply {
            Some(Ok(reply)) => in_flight.used(reply.usage),
            Some(Err(Failure::Overloaded(retry_after))) => in_flight.refused(*retry_after),
            Some(Err(Failure::Unreachable(_))) => in_flight.given_up(),
            Some(Err(_)) | None => {}
        }
        let (streamed_text, streamed_usage) =
            sink.received.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.show_notice();
        let measure = self.turn.reduction();
        let complete = reply.as_ref().and_then(|reply| reply.as_ref().ok());
        let usage = self.call_usage(&context, complete, &streamed_text, streamed_usage);
        self.add_call(usage);
        let before = self.turn.entries().len();
        match reply {
            Some(Ok(reply)) => self.turn.on_reply(reply),
            Some(Err(failure)) => self.turn.on_failure(&streamed_text, failure),
            None => self.turn.end_early(&streamed_text, TurnEnding::Interrupted),
        }
        self.extend_context(before);
        if self.turn.reduction().pictures != measure.pictures && self.start.kind == TurnKind::Answer {
            let text = "the model could not take a picture, so i ask it again without pictures.";
            self.services.surface.show(&Update::Notice(text.to_owned()));
        }
    }

    /// Returns the context of the next model call.
    fn next_context(&self) -> Cow<'_, Context> {
        let mut context =
            match (self.turn.reduction().apply(&self.context.entries), self.turn.transient_entries()) {
                (None, aside) if aside.is_empty() => Cow::Borrowed(&self.context),
                (None, aside) => Cow::Owned(self.context.with_transient(&aside)),
                // The notes refer to positions in the whole conversation. A part of it gets the newest
                // texts instead.
                (Some(said), aside) => {
                    let CurrentPrompt { instructions, tools } = self.current.clone();
                    let context = Context {
                        entries: said,
                        notes: Vec::new(),
                        instructions,
                        tools,
                        ..self.context.clone()
                    };
                    Cow::Owned(context.with_transient(&aside))
                }
            };
        let effort = self.turn.effort(context.effort);
        if effort != context.effort {
            context.to_mut().effort = effort;
        }
        context
    }

    /// Shows streamed text. The text of a compaction is not shown.
    fn show_text(&self, text: &str) {
        match self.start.kind {
            TurnKind::Answer => {
                self.services.surface.show(&Update::Delta { turn: self.start.turn, text: text.to_owned() });
            }
            TurnKind::Compact(_) => {}
        }
    }

    /// Shows a progress note. The notes of a compaction are not shown.
    fn show_progress(&self, note: &str) {
        match self.start.kind {
            TurnKind::Answer => {
                let turn = self.start.turn;
                self.services.surface.show(&Update::ProgressNote { turn, note: note.to_owned() });
            }
            TurnKind::Compact(_) => {}
        }
    }

    /// Returns the usage of a call. If a server answers without stating it, the usage is estimated
    /// from the context and the reply; otherwise no spending limit would apply.
    fn call_usage(
        &self,
        context: &Context,
        reply: Option<&ModelReply>,
        text: &str,
        streamed_usage: Usage,
    ) -> Usage {
        let stated = reply.map_or(streamed_usage, |reply| reply.usage);
        let answers = reply.is_some() || !text.is_empty();
        if stated != Usage::default() || !answers || self.services.model.is_free() {
            return stated;
        }
        let half = [Block::Text(text.to_owned())];
        context::estimate_usage(context, reply.map_or(&half, |reply| &reply.blocks))
    }

    /// Adds a call to the turn, unless it used nothing.
    fn add_call(&mut self, usage: Usage) {
        if usage != Usage::default() {
            self.turn.add_call(ModelCall { model: self.services.model.name_for(&self.context), usage });
        }
    }

    /// Waits before the next try, and shows it: silence would look like a hang.
    async fn wait(&mut self, time: Duration) {
        self.services.surface.show(&Update::ModelWait { turn: self.start.turn, delay: time });
        match self.control.stop.run_until_cancelled(tokio::time::sleep(time)).await {
            Some(()) => self.turn.on_wait_over(),
            None => self.turn.end_early("", TurnEnding::Interrupted),
        }
    }

    fn show_notice(&self) {
        if let Some(notice) = self.services.model.take_notice() {
            self.services.surface.show(&Update::Notice(notice));
        }
    }

    async fn run_tools(&mut self, calls: Vec<ToolCall>) {
        let known =
            self.control.stop.run_until_cancelled(self.services.tools.server_tool_kinds(&calls)).await;
        let kinds = known.unwrap_or_default();
        let progress = TurnRequest::MayRun {
            blocks: self.last_blocks(),
            model_calls: self.unrecorded_calls(),
            kinds,
            max_calls: self.turn.allowed(),
        };
        let request = Request::Turn(self.start.turn, progress);
        let answer = self.ask(request).await;
        let Answer::Rulings(rulings) = answer else { return self.abort(answer) };
        self.recorded_calls = self.turn.calls().len();
        let results = join_all(rulings.into_iter().map(|ruling| self.resolve_call(ruling))).await;
        debug_assert_eq!(calls.len(), results.len(), "a call without a decision");
        if let Err(answer) = self.submit_results(results).await {
            return self.abort(answer);
        }
        if self.control.stop.is_cancelled() {
            self.turn.end_early("", TurnEnding::Interrupted);
        }
    }

    /// Submits the results to the assistant, and continues with the labelled and delimited results
    /// that it returns.
    async fn submit_results(&mut self, results: Vec<ToolResult>) -> Result<(), Answer> {
        let answer =
            self.assistant.ask(Request::Turn(self.start.turn, TurnRequest::CallsDone(results.clone()))).await;
        let (results, answer) = if let Answer::Results(labelled) = answer {
            (labelled, None)
        } else if answer == Answer::Done {
            (results, None)
        } else {
            (results, Some(answer))
        };
        let before = self.turn.entries().len();
        self.turn.on_tool_results(results);
        self.extend_context(before);
        match answer {
            None => {
                self.written_entries = self.turn.entries().len();
                Ok(())
            }
            Some(answer) => Err(answer),
        }
    }

    /// Waits for the result of a call that another run works on.
    async fn delegated_result(&self, call: &str) -> ToolResult {
        let stopped = || ToolResult {
            call: call.to_owned(),
            text: "Error: the human stopped this before it was done.".to_owned(),
            outcome: Outcome::Failed,
            label: Label::PLAIN,
        };
        self.control.result(call).await.unwrap_or_else(stopped)
    }

    /// Resolves one call as decided, once the decision is known. The calls of a step are resolved
    /// concurrently.
    async fn resolve_call(&self, ruling: CallDisposition) -> ToolResult {
        match ruling {
            CallDisposition::Decided(decision) => self.run_call(&decision).await,
            CallDisposition::Answered(result) => result,
            CallDisposition::Delegated(call) => {
                self.show_tool_status(&call, ToolPhase::Running);
                self.delegated_result(&call.id).await
            }
            CallDisposition::Asked(id, call) => {
                self.show_tool_status(&call, ToolPhase::AwaitingApproval);
                let decision = self.wait_for_approval(id, call).await;
                self.run_call(&decision).await
            }
        }
    }

    async fn wait_for_approval(&self, id: ApprovalId, call: ToolCall) -> Decision {
        let decided = self.control.decision(id).await;
        decided.unwrap_or_else(|| Decision::refused(&call, RefusalReason::Cancelled(id)))
    }

    fn show_tool_status(&self, call: &ToolCall, doing: ToolPhase) {
        let turn = self.start.turn;
        let tool = self.services.tools.caption(call);
        self.services.surface.show(&Update::ToolProgress { turn, tool, phase: doing });
    }

    async fn run_call(&self, decision: &Decision) -> ToolResult {
        let call = &decision.call;
        if let Some(refusal) = decision.refusal() {
            if refusal.outcome == Outcome::Denied {
                self.show_tool_status(call, ToolPhase::Denied);
            }
            return refusal;
        }
        self.show_tool_status(call, ToolPhase::Running);
        let run = tokio::time::timeout(
            TOOL_TIMEOUT,
            self.services.tools.run(self.start.turn, call, &self.assistant),
        );
        match self.control.stop.run_until_cancelled(run).await {
            Some(Ok(result)) => ToolResult { text: context::tool_result(result.text), ..result },
            Some(Err(_)) => timeout_result(call),
            None => failed_result(
                call,
                "the human stopped this before it was done; it may have happened.".to_owned(),
            ),
        }
    }

    /// Asks the assistant. Whatever it accepts is on disk when it answers.
    async fn ask(&mut self, request: Request) -> Answer {
        let answer = self.assistant.ask(request).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.written_entries = self.turn.entries().len();
        }
        answer
    }

    /// Ends a turn whose next step could not be recorded. Its calls were not run, or are answered
    /// as such.
    fn abort(&mut self, answer: Answer) {
        let failure = match answer {
            Answer::OverBudget(refusal) => Failure::SpendLimit(SpendLimit::Day(refusal)),
            Answer::Refused(reason) => Failure::Stopped(reason),
            Answer::MessageQueued(_)
            | Answer::TurnStarted(_)
            | Answer::Rulings(_)
            | Answer::Done
            | Answer::Results(_)
            | Answer::Text(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Shown(_) => Failure::Stopped("something broke on my side.".to_owned()),
        };
        self.turn.end_early("", TurnEnding::Failed(failure));
    }

    /// Adds the entries of the turn from index `before` to the context of the next request.
    fn extend_context(&mut self, before: usize) {
        let window = self.start.window;
        let said = self.turn.entries()[before..]
            .iter()
            .map(|said| truncate_to_window(Arc::new(said.clone()), window));
        self.context.entries.extend(said);
    }

    fn last_blocks(&self) -> Vec<Block> {
        match self.turn.entries().last() {
            Some(EntryContent::Assistant(blocks, _)) => blocks.clone(),
            Some(
                EntryContent::User(_)
                | EntryContent::Tools(_)
                | EntryContent::Summary(_)
                | EntryContent::SummaryRecalled(_),
            )
            | None => Vec::new(),
        }
    }

    fn finish(mut self, ending: TurnEnding) -> TurnOutcome {
        let usage = self.turn.usage();
        let spent = self.unrecorded_calls();
        let mut said = self.turn.entries().to_vec();
        said.drain(..self.written_entries.min(said.len()));
        answer_open_calls(&mut said);
        self.context.entries.clear();
        let left = self.turn.into_summary().map_or(TurnOutput::Contents(said), TurnOutput::Summary);
        TurnOutcome { output: left, ending, usage, unrecorded_calls: spent }
    }
}

/// Returns `said` as the model reads it: a text that would fill most of the window is truncated.
fn truncate_to_window(said: Arc<EntryContent>, window: RequestLimit) -> Arc<EntryContent> {
    window.shorten_entry(&said).map_or(said, Arc::new)
}

/// Answers open calls in the last entry of a turn, so that the conversation can continue after it.
fn answer_open_calls(said: &mut Vec<EntryContent>) {
    let Some(EntryContent::Assistant(blocks, _)) = said.last() else { return };
    let unrun = |call| failed_result(call, "this was not run.".to_owned());
    let results: Vec<ToolResult> = tool_calls(blocks).map(unrun).collect();
    if !results.is_empty() {
        said.push(EntryContent::Tools(results));
    }
}

/// Returns the result of a call that exceeded the tool timeout.
pub(crate) fn timeout_result(call: &ToolCall) -> ToolResult {
    let seconds = TOOL_TIMEOUT.as_secs();
    failed_result(
        call,
        format!("it took longer than {seconds} s, so nobody waits for it; it may have happened."),
    )
}

fn failed_result(call: &ToolCall, text: String) -> ToolResult {
    ToolResult { call: call.id.clone(), text, outcome: Outcome::Failed, label: Label::PLAIN }
}
