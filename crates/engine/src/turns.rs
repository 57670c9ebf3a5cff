//! The running turns: one task each, all owned here.

use std::collections::HashMap;

use domain::approval::ApprovalId;
use domain::assistant::{TurnOutcome, TurnStart};
use domain::failure::Failure;
use domain::permission::Decision;
use domain::tool::ToolResult;
use domain::turn::TurnId;
use tokio::task::{Id, JoinSet};

use crate::driver::{Services, drive};
use crate::handle::AssistantHandle;
use crate::turn_control::TurnHandle;

/// The running turns.
pub struct RunningTurns {
    services: Services,
    assistant: AssistantHandle,
    tasks: JoinSet<TurnOutcome>,
    running: HashMap<Id, (TurnId, TurnHandle)>,
}

impl RunningTurns {
    pub fn new(services: Services, assistant: AssistantHandle) -> Self {
        Self { services, assistant, tasks: JoinSet::new(), running: HashMap::new() }
    }

    /// Starts a turn.
    pub fn start(&mut self, start: TurnStart) {
        let turn = start.turn;
        let (handle, control) = TurnHandle::new();
        let task = drive(start, self.services.clone(), self.assistant.clone(), control);
        let id = self.tasks.spawn(task).id();
        self.running.insert(id, (turn, handle));
    }

    /// Asks a turn to end. It ends by itself and keeps the text so far.
    pub fn interrupt(&self, turn: TurnId) {
        if let Some(handle) = self.handle(turn) {
            handle.stop();
        }
    }

    /// Notifies a turn that the user waits for it now.
    pub fn hurry(&self, turn: TurnId) {
        if let Some(handle) = self.handle(turn) {
            handle.hurry();
        }
    }

    /// Delivers a decision to a turn. Ignored if the turn has ended.
    pub fn decide(&self, turn: TurnId, id: ApprovalId, decision: Decision) {
        if let Some(handle) = self.handle(turn) {
            handle.decide(id, decision);
        }
    }

    /// Delivers the result of a delegated call to a turn.
    pub fn answer(&self, turn: TurnId, result: ToolResult) {
        if let Some(handle) = self.handle(turn) {
            handle.answer(result);
        }
    }

    fn handle(&self, turn: TurnId) -> Option<&TurnHandle> {
        self.running.values().find(|(running, _)| *running == turn).map(|(_, hold)| hold)
    }

    /// Returns whether any turn is running.
    pub fn is_running(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running turns.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next turn to end. A turn that panicked counts as failed; the others are not
    /// affected.
    pub async fn next_ended(&mut self) -> Option<(TurnId, TurnOutcome)> {
        let (id, ended) = match self.tasks.join_next_with_id().await? {
            Ok((id, ended)) => (id, ended),
            Err(error) => (error.id(), panicked()),
        };
        self.running.remove(&id).map(|(turn, _)| (turn, ended))
    }

    /// Aborts all turns.
    pub async fn abort_all(&mut self) {
        self.tasks.shutdown().await;
    }
}

fn panicked() -> TurnOutcome {
    let failure = Failure::Stopped("something broke on my side; your message is kept.".to_owned());
    TurnOutcome::failed(failure)
}
