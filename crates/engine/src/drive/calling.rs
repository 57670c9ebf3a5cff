//! Calling: a call of the model has its place, and one that nobody waits for is asked for first and waits until the
//! vendor takes it.

use std::sync::Arc;

use domain::assistant::{Answer, Progress, Request};
use domain::cost::{Attended, Next, Pace, Refusal};
use domain::turn::Ending;

use super::Drive;
use crate::places::{CallInFlight, Places};
use crate::reins::Reins;

/// Whether it is decided what becomes of a call.
#[derive(PartialEq, Eq)]
enum Decided {
    /// It was made, or may not be.
    Yes,
    /// Calls that go on may use up what is left.
    WhenAlone,
}

/// Whether a call had its place before the turn was to end.
#[derive(PartialEq, Eq)]
enum Called {
    /// It had one, and was made if it may be.
    OrNot,
    /// It had none.
    Stopped,
}

impl Drive {
    pub(super) async fn call_model(&mut self) {
        let places = Arc::clone(&self.world.calls);
        let called = match self.start.account.attended {
            Attended::Waited => self.call_waited(&places).await,
            Attended::Unattended => self.call_unattended(&places).await,
        };
        if called == Called::Stopped {
            self.turn.cut("", Ending::Interrupted);
        }
    }

    async fn call_waited(&mut self, places: &Places) -> Called {
        let stop = self.reins.stop.clone();
        let Some(_place) = stop.run_until_cancelled(places.waited()).await else { return Called::Stopped };
        let in_flight = places.begin(&self.model());
        self.call(&in_flight).await;
        Called::OrNot
    }

    /// E4: near the limit one goes alone. But a human whose words wait behind it waits for none of the others.
    async fn call_unattended(&mut self, places: &Places) -> Called {
        let Reins { stop, hurry, .. } = self.reins.clone();
        let model = self.model();
        let admitted = hurry.run_until_cancelled(places.begin_when_admitted(&model));
        let Some(admitted) = stop.run_until_cancelled(admitted).await else { return Called::Stopped };
        let in_flight = admitted.unwrap_or_else(|| places.begin(&model));
        for pace in [Pace::Beside, Pace::Alone] {
            let in_no_hurry = hurry.run_until_cancelled(places.unattended(pace));
            let Some(place) = stop.run_until_cancelled(in_no_hurry).await else { return Called::Stopped };
            let Some(_place) = place else { break };
            if self.call_if_let(pace, &in_flight).await == Decided::Yes {
                return Called::OrNot;
            }
        }
        // Words that waited may not wait any more.
        for pace in [Pace::Hurried, Pace::Alone] {
            let place = stop.run_until_cancelled(places.unattended(pace)).await;
            let Some(_place) = place else { return Called::Stopped };
            if self.call_if_let(pace, &in_flight).await == Decided::Yes {
                break;
            }
        }
        Called::OrNot
    }

    /// E4: calls the model if that may be spent. What it used is written down before its place is free again, so that the
    /// next one that asks hears of it.
    async fn call_if_let(&mut self, pace: Pace, in_flight: &CallInFlight<'_>) -> Decided {
        let next = Next { model: self.model(), pace };
        let answer = self.tell(Progress::MaySpend(self.uncounted(), next)).await;
        if answer == Answer::Overspent(Refusal::Taken) {
            return Decided::WhenAlone;
        }
        if answer == Answer::Noted {
            self.call(in_flight).await;
            self.tell(Progress::Spent(self.uncounted())).await;
        } else {
            self.give_up(answer);
        }
        Decided::Yes
    }

    /// The name of the vendor and the model.
    fn model(&self) -> String {
        self.world.model.name_for(&self.context)
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
