//! Calling: a call of the model has its place, and one that nobody waits for is asked for first.

use std::sync::Arc;

use domain::assistant::{Answer, Progress, Request};
use domain::cost::{Attended, Next, Pace, Refusal};
use domain::turn::Ending;

use super::Drive;

/// Whether it is decided what becomes of a call.
#[derive(PartialEq, Eq)]
enum Decided {
    /// It was made, or may not be.
    Yes,
    /// Calls that go on may use up what is left.
    WhenAlone,
}

impl Drive {
    pub(super) async fn call_model(&mut self) {
        let (places, stop) = (Arc::clone(&self.world.calls), self.reins.stop.clone());
        match self.start.account.attended {
            Attended::Waited => match stop.run_until_cancelled(places.waited()).await {
                Some(_place) => self.call().await,
                None => self.turn.cut("", Ending::Interrupted),
            },
            Attended::Unattended => {
                let Some(place) = stop.run_until_cancelled(places.beside()).await else {
                    return self.turn.cut("", Ending::Interrupted);
                };
                if self.call_if_let(Pace::Beside).await == Decided::Yes {
                    return;
                }
                drop(place);
                match stop.run_until_cancelled(places.alone()).await {
                    Some(_place) => {
                        self.call_if_let(Pace::Alone).await;
                    }
                    None => self.turn.cut("", Ending::Interrupted),
                }
            }
        }
    }

    /// E4: calls the model if that may be spent. What it used is written down before its place is free again, so that the
    /// next one that asks hears of it.
    async fn call_if_let(&mut self, pace: Pace) -> Decided {
        let next = Next { model: self.world.model.name_for(&self.context), pace };
        let answer = self.tell(Progress::MaySpend(self.uncounted(), next)).await;
        if answer == Answer::Overspent(Refusal::Taken) {
            return Decided::WhenAlone;
        }
        if answer == Answer::Noted {
            self.call().await;
            self.tell(Progress::Spent(self.uncounted())).await;
        } else {
            self.give_up(answer);
        }
        Decided::Yes
    }

    /// Tells which calls were made. What is not written down is told with what comes next.
    async fn tell(&mut self, progress: Progress) -> Answer {
        let answer = self.desk.ask(Request::Turn(self.start.turn, progress)).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.counted = self.turn.spent().len();
        }
        answer
    }
}
