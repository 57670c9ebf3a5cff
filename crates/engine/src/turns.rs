//! The turns that go on: each its own task, all owned here.

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

/// The turns that go on.
pub struct Turns {
    world: World,
    desk: Desk,
    tasks: JoinSet<Ended>,
    running: HashMap<Id, (TurnId, Hold)>,
}

impl Turns {
    /// No turns yet.
    pub fn new(world: World, desk: Desk) -> Self {
        Self { world, desk, tasks: JoinSet::new(), running: HashMap::new() }
    }

    /// Starts one.
    pub fn start(&mut self, start: Start) {
        let turn = start.turn;
        let (hold, reins) = Hold::new();
        let task = drive(start, self.world.clone(), self.desk.clone(), reins);
        let id = self.tasks.spawn(task).id();
        self.running.insert(id, (turn, hold));
    }

    /// Asks one to end. It ends by itself, with what was said until then.
    pub fn interrupt(&self, turn: TurnId) {
        if let Some(hold) = self.hold(turn) {
            hold.stop();
        }
    }

    /// Tells one that somebody waits for it now.
    pub fn hurry(&self, turn: TurnId) {
        if let Some(hold) = self.hold(turn) {
            hold.hurry();
        }
    }

    /// Tells one what was decided about what it asked for. One that has ended needs no answer.
    pub fn decide(&self, turn: TurnId, id: ApprovalId, decision: Decision) {
        if let Some(hold) = self.hold(turn) {
            hold.decide(id, decision);
        }
    }

    /// Tells one what came of a call that somebody else worked on.
    pub fn answer(&self, turn: TurnId, result: ToolResult) {
        if let Some(hold) = self.hold(turn) {
            hold.answer(result);
        }
    }

    fn hold(&self, turn: TurnId) -> Option<&Hold> {
        self.running.values().find(|(running, _)| *running == turn).map(|(_, hold)| hold)
    }

    /// Whether any goes on.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// How many go on.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// The next one to end. One that panicked has failed, and took nobody with it.
    pub async fn next(&mut self) -> Option<(TurnId, Ended)> {
        let (id, ended) = match self.tasks.join_next_with_id().await? {
            Ok((id, ended)) => (id, ended),
            Err(error) => (error.id(), broken()),
        };
        self.running.remove(&id).map(|(turn, _)| (turn, ended))
    }

    /// Ends all of them where they stand.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}

fn broken() -> Ended {
    let failure = Failure::Stopped("something broke on my side; your message is kept.".to_owned());
    Ended::failed(failure)
}
