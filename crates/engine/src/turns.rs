//! The turns that go on: each its own task, all owned here.

use std::collections::HashMap;

use domain::assistant::{Ended, Start};
use domain::failure::Failure;
use domain::turn::TurnId;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;
use crate::drive::{World, drive};

/// The turns that go on.
pub struct Turns {
    world: World,
    desk: Desk,
    tasks: JoinSet<Ended>,
    running: HashMap<Id, (TurnId, CancellationToken)>,
}

impl Turns {
    /// No turns yet.
    pub fn new(world: World, desk: Desk) -> Self {
        Self { world, desk, tasks: JoinSet::new(), running: HashMap::new() }
    }

    /// Starts one.
    pub fn start(&mut self, start: Start) {
        let (turn, stop) = (start.turn, CancellationToken::new());
        let task = drive(start, self.world.clone(), self.desk.clone(), stop.clone());
        let id = self.tasks.spawn(task).id();
        self.running.insert(id, (turn, stop));
    }

    /// Asks one to end. It ends by itself, with what was said until then.
    pub fn interrupt(&self, turn: TurnId) {
        for (running, stop) in self.running.values() {
            if *running == turn {
                stop.cancel();
            }
        }
    }

    /// Whether any goes on.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
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
