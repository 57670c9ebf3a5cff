//! Handles the commands for a client.

use std::time::Duration;

use domain::conversation::Said;
use domain::failure::Failure;
use domain::tool::ToolResult;
use serde_json::json;
use tokio::sync::oneshot;

use super::super::assembly::Assembly;
use super::super::plan::{self, Plan, Start};
use super::super::tools::Answer;
use super::{Ask, Client, Compaction, Next, Order, Phase, Progress, Speech, Wanted};

impl Client {
    pub(super) async fn ordered(&mut self, order: Order) -> Next {
        match order {
            Order::Change(request, answer) => {
                // A failed write drops the sender, which the requester sees.
                let _ = self.program.control.request(&request, answer).await;
                Next::Go
            }
            Order::Ask(ask) if self.waiting.as_ref().is_some_and(|waiting| !waiting.news.is_closed()) => {
                ask.fail(Failure::Stopped("somebody else is waiting for an answer here.".to_owned())).await;
                Next::Go
            }
            Order::Ask(ask) => match &self.phase {
                Phase::Idle => self.begin(ask).await,
                Phase::Calling(heard) => self.go_on(ask, *heard).await,
                Phase::Starting(..) | Phase::Speaking(_) | Phase::Draining(_) => {
                    self.waiting = Some(ask);
                    Next::Go
                }
            },
        }
    }

    /// Starts the pending request, if there is one.
    pub(super) async fn next(&mut self) -> Next {
        match self.waiting.take() {
            Some(ask) => self.begin(ask).await,
            None => Next::Go,
        }
    }

    async fn begin(&mut self, ask: Box<Ask>) -> Next {
        let plan = self.shared.plan(&ask);
        let here = plan.start == Start::Resume(self.program.session.clone());
        let (instructions, tools) = &self.program.told;
        if !here || *instructions != ask.context.instructions || *tools != ask.context.tools {
            return self.restart(plan, ask).await;
        }
        self.speak(ask, plan).await
    }

    /// MC-26, MC-27: starts the turn with the requested model and effort. The program can change
    /// its model while it runs, but not its effort.
    pub(super) async fn speak(&mut self, ask: Box<Ask>, plan: Plan) -> Next {
        if self.program.effort != ask.context.effort {
            return self.restart(plan, ask).await;
        }
        let model = self.shared.choices_for(&ask.context).model;
        if self.program.model == model {
            return self.tell(ask, plan.heard).await;
        }
        self.program.model.clone_from(&model);
        let change = json!({"subtype": "set_model", "model": model});
        let (answer, ready) = oneshot::channel();
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.request(&change, answer).await;
        self.phase = Phase::Starting(ready, plan);
        self.waiting = Some(ask);
        Next::Go
    }

    /// Sends the entries that the program does not know, unless the requester has left.
    async fn tell(&mut self, ask: Box<Ask>, heard: usize) -> Next {
        self.phase = Phase::Idle;
        if ask.news.is_closed() {
            return Next::Go;
        }
        let (message, told) = match &ask.wanted {
            Wanted::Reply => (plan::message(&ask.context, heard), ask.past.count()),
            Wanted::Summary(_) if heard == 0 => {
                ask.fail(Failure::Stopped("there is nothing to sum up yet.".to_owned())).await;
                return Next::Go;
            }
            Wanted::Summary(command) => (plan::command(command), heard),
        };
        self.keep(&ask, heard, told).await;
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.say(&message).await;
        let mut speech = Speech::new(*ask, told);
        speech.message = Some(message);
        self.phase = Phase::Speaking(Box::new(speech));
        Next::Go
    }

    /// Sends the tool results that the program waits for, or interrupts it if the request has none.
    async fn go_on(&mut self, ask: Box<Ask>, heard: usize) -> Next {
        let answers = results(&ask).and_then(|results| self.program.tools.ran(results));
        let Some(answers) = answers else {
            self.waiting = Some(ask);
            return self.interrupt().await;
        };
        let told = ask.past.count();
        self.keep(&ask, heard, told).await;
        self.phase = Phase::Speaking(Box::new(Speech::new(*ask, told)));
        self.answer(answers).await
    }

    pub(super) async fn answer(&mut self, answers: Vec<Answer>) -> Next {
        for (id, answered) in answers {
            // A failed write means that the program has ended, which reading detects.
            let _ = self.program.control.answer(&id, answered).await;
        }
        Next::Go
    }
}

impl Speech {
    fn new(ask: Ask, heard: usize) -> Self {
        let assembly = Assembly::default();
        let compaction = Compaction::default();
        let progress = Progress::Sent;
        let took = Duration::ZERO;
        Self { ask, message: None, heard, assembly, compaction, progress, took }
    }
}

fn results(ask: &Ask) -> Option<&[ToolResult]> {
    match (&ask.wanted, ask.context.said.last()?.as_ref()) {
        (Wanted::Reply, Said::Tools(results)) => Some(results),
        (Wanted::Reply, Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_))
        | (Wanted::Summary(_), _) => None,
    }
}
