//! The running turns: one task each, all owned here.

use std::collections::HashMap;

use domain::approval::ApprovalId;
use domain::assistant::{Ended, Start};
use domain::failure::Failure;
use domain::permission::Decision;
use domain::tool::ToolResult;
use domain::turn::TurnId;
use tokio::task::{Id, JoinSet};

use crate::desk::Desk;
use crate::drive::{World, drive};
use crate::reins::Hold;

/// The running turns.
pub struct Turns {
    world: World,
    desk: Desk,
    tasks: JoinSet<Ended>,
    running: HashMap<Id, (TurnId, Hold)>,
}

impl Turns {
    pub fn new(world: World, desk: Desk) -> Self {
        Self { world, desk, tasks: JoinSet::new(), running: HashMap::new() }
    }

    /// Starts a turn.
    pub fn start(&mut self, start: Start) {
        let turn = start.turn;
        let (hold, reins) = Hold::new();
        let task = drive(start, self.world.clone(), self.desk.clone(), reins);
        let id = self.tasks.spawn(task).id();
        self.running.insert(id, (turn, hold));
    }

    /// Asks a turn to end. It ends by itself and keeps the text so far.
    pub fn interrupt(&self, turn: TurnId) {
        if let Some(hold) = self.hold(turn) {
            hold.stop();
        }
    }

    /// Notifies a turn that the user waits for it now.
    pub fn hurry(&self, turn: TurnId) {
        if let Some(hold) = self.hold(turn) {
            hold.hurry();
        }
    }

    /// Delivers a decision to a turn. Ignored if the turn has ended.
    pub fn decide(&self, turn: TurnId, id: ApprovalId, decision: Decision) {
        if let Some(hold) = self.hold(turn) {
            hold.decide(id, decision);
        }
    }

    /// Delivers the result of a delegated call to a turn.
    pub fn answer(&self, turn: TurnId, result: ToolResult) {
        if let Some(hold) = self.hold(turn) {
            hold.answer(result);
        }
    }

    fn hold(&self, turn: TurnId) -> Option<&Hold> {
        self.running.values().find(|(running, _)| *running == turn).map(|(_, hold)| hold)
    }

    /// Returns whether any turn is running.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running turns.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next turn to end. A turn that panicked counts as failed; the others are not
    /// affected.
    pub async fn next(&mut self) -> Option<(TurnId, Ended)> {
        let (id, ended) = match self.tasks.join_next_with_id().await? {
            Ok((id, ended)) => (id, ended),
            Err(error) => (error.id(), broken()),
        };
        self.running.remove(&id).map(|(turn, _)| (turn, ended))
    }

    /// Aborts all turns.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}

fn broken() -> Ended {
    let failure = Failure::Stopped("something broke on my side; your message is kept.".to_owned());
    Ended::failed(failure)
}
