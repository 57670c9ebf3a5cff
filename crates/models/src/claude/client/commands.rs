//! Handles the commands for a client.

use std::time::Duration;

use domain::conversation::EntryContent;
use domain::failure::Failure;
use domain::tool::ToolResult;
use serde_json::json;
use tokio::sync::oneshot;

use super::super::assembly::TurnAssembler;
use super::super::start_plan::{self, SessionStart, StartPlan};
use super::super::tool_server::ControlAnswer;
use super::{
    ActiveTurn, Client, ClientCommand, CompactionStats, Flow, Phase, TurnGoal, TurnProgress, TurnRequest,
};

impl Client {
    pub(super) async fn handle_command(&mut self, command: ClientCommand) -> Flow {
        match command {
            ClientCommand::Control(request, answer) => {
                // A failed write drops the sender, which the requester sees.
                let _ = self.program.control.request(&request, answer).await;
                Flow::Continue
            }
            ClientCommand::RunTurn(request)
                if self.pending.as_ref().is_some_and(|waiting| !waiting.updates.is_closed()) =>
            {
                request
                    .fail(Failure::Stopped("somebody else is waiting for an answer here.".to_owned()))
                    .await;
                Flow::Continue
            }
            ClientCommand::RunTurn(request) => match &self.phase {
                Phase::Idle => self.begin_turn(request).await,
                Phase::WaitingForTools(heard) => self.send_results(request, *heard).await,
                Phase::Starting(..) | Phase::Replying(_) | Phase::Draining(_) => {
                    self.pending = Some(request);
                    Flow::Continue
                }
            },
        }
    }

    /// Starts the pending request, if there is one.
    pub(super) async fn start_pending(&mut self) -> Flow {
        match self.pending.take() {
            Some(request) => self.begin_turn(request).await,
            None => Flow::Continue,
        }
    }

    async fn begin_turn(&mut self, request: Box<TurnRequest>) -> Flow {
        let plan = self.shared.plan_start(&request);
        let is_same_session = plan.start == SessionStart::Resume(self.program.session.clone());
        let (instructions, tools) = &self.program.started_with;
        if !is_same_session
            || *instructions != request.context.instructions
            || *tools != request.context.tools
        {
            return self.restart(plan, request).await;
        }
        self.apply_settings_and_send(request, plan).await
    }

    /// MC-26, MC-27: starts the turn with the requested model and effort. The program can change
    /// its model while it runs, but not its effort.
    pub(super) async fn apply_settings_and_send(
        &mut self,
        request: Box<TurnRequest>,
        plan: StartPlan,
    ) -> Flow {
        if self.program.effort != request.context.effort {
            return self.restart(plan, request).await;
        }
        let model = self.shared.runtime_settings_for(&request.context).model;
        if self.program.model == model {
            return self.send_new_entries(request, plan.known_entries).await;
        }
        self.program.model.clone_from(&model);
        let change = json!({"subtype": "set_model", "model": model});
        let (answer, ready) = oneshot::channel();
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.request(&change, answer).await;
        self.phase = Phase::Starting(ready, plan);
        self.pending = Some(request);
        Flow::Continue
    }

    /// Sends the entries that the program does not know, unless the requester has left.
    async fn send_new_entries(&mut self, request: Box<TurnRequest>, received: usize) -> Flow {
        self.phase = Phase::Idle;
        if request.updates.is_closed() {
            return Flow::Continue;
        }
        let (message, sent) = match &request.goal {
            TurnGoal::Reply => {
                (start_plan::user_message(&request.context, received), request.history.count())
            }
            TurnGoal::Summary(_) if received == 0 => {
                request.fail(Failure::Stopped("there is nothing to sum up yet.".to_owned())).await;
                return Flow::Continue;
            }
            TurnGoal::Summary(command) => (start_plan::command_message(command), received),
        };
        self.save_position(&request, received, sent).await;
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.send_message(&message).await;
        let mut speech = ActiveTurn::new(*request, sent);
        speech.message = Some(message);
        self.phase = Phase::Replying(Box::new(speech));
        Flow::Continue
    }

    /// Sends the tool results that the program waits for, or interrupts it if the request has none.
    async fn send_results(&mut self, request: Box<TurnRequest>, received: usize) -> Flow {
        let answers =
            tool_results(&request).and_then(|results| self.program.tool_server.add_results(results));
        let Some(answers) = answers else {
            self.pending = Some(request);
            return self.interrupt().await;
        };
        let sent = request.history.count();
        self.save_position(&request, received, sent).await;
        self.phase = Phase::Replying(Box::new(ActiveTurn::new(*request, sent)));
        self.send_answers(answers).await
    }

    pub(super) async fn send_answers(&mut self, answers: Vec<ControlAnswer>) -> Flow {
        for (id, answered) in answers {
            // A failed write means that the program has ended, which reading detects.
            let _ = self.program.control.answer(&id, answered).await;
        }
        Flow::Continue
    }
}

impl ActiveTurn {
    fn new(request: TurnRequest, known_entries: usize) -> Self {
        let assembler = TurnAssembler::default();
        let compaction = CompactionStats::default();
        let progress = TurnProgress::Sent;
        let elapsed = Duration::ZERO;
        Self { request, message: None, known_entries, assembler, compaction, progress, elapsed }
    }
}

fn tool_results(request: &TurnRequest) -> Option<&[ToolResult]> {
    match (&request.goal, request.context.entries.last()?.as_ref()) {
        (TurnGoal::Reply, EntryContent::Tools(results)) => Some(results),
        (
            TurnGoal::Reply,
            EntryContent::User(_)
            | EntryContent::Assistant(..)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_),
        )
        | (TurnGoal::Summary(_), _) => None,
    }
}
