//! Calling: a call of the model has its place, and one that nobody waits for is asked for first and waits until the
//! vendor takes it.

use std::sync::Arc;

use domain::assistant::{Answer, Progress, Request};
use domain::context;
use domain::cost::{Attended, Next, Pace, Refusal};
use domain::turn::Ending;
use tokio_util::sync::CancellationToken;

use super::Drive;
use crate::places::{CallInFlight, Places};
use crate::reins::Reins;

/// No request has more tokens than this many times the guess: some scripts have a token for each letter.
const GUESS: u64 = 2;

/// What the assistant decides about the spending of a call.
#[derive(PartialEq, Eq)]
enum Decided {
    May,
    /// It may not, and the turn ends.
    MayNot,
    /// Calls that go on may use up what is left.
    Later,
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

    /// A human whose words wait behind a background call waits for none of the others.
    async fn call_unattended(&mut self, places: &Places) -> Called {
        let Reins { stop, hurry, .. } = self.reins.clone();
        if let Some(called) = self.call_in_order(places, &hurry).await {
            return called;
        }
        {
            let Some(_place) = stop.run_until_cancelled(places.waited()).await else {
                return Called::Stopped;
            };
            match self.may_spend(Pace::Hurried).await {
                Decided::May => {
                    let in_flight = places.begin(&self.model());
                    self.call_and_spend(&in_flight).await;
                    return Called::OrNot;
                }
                Decided::MayNot => return Called::OrNot,
                Decided::Later => {}
            }
        }
        // Words that waited do not wait any more.
        let never = CancellationToken::new();
        self.call_in_order(places, &never).await.unwrap_or(Called::Stopped)
    }

    /// E4: makes the call when the vendor takes it, and when it may be spent beside the calls that go on, or when none goes
    /// on. Near the limit of the day that may be later. Returns `None` if it is hurried meanwhile.
    async fn call_in_order(&mut self, places: &Places, hurry: &CancellationToken) -> Option<Called> {
        let stop = self.reins.stop.clone();
        let model = self.model();
        let ticket = places.queue(&model);
        loop {
            let turn = async {
                ticket.admitted().await;
                (places.background().await, places.asking().await)
            };
            let turn = stop.run_until_cancelled(hurry.run_until_cancelled(turn)).await;
            let Some(turn) = turn else { return Some(Called::Stopped) };
            let (_place, asking) = turn?;
            loop {
                let changed = places.changed();
                if !ticket.is_admitted() {
                    // Other models do not wait for this one.
                    break;
                }
                let pace = if places.is_spending() { Pace::Beside } else { Pace::Alone };
                match self.may_spend(pace).await {
                    Decided::May => {
                        let _spending = places.spend();
                        drop(asking);
                        let begun = stop.run_until_cancelled(hurry.run_until_cancelled(ticket.begin())).await;
                        let Some(begun) = begun else { return Some(Called::Stopped) };
                        self.call_and_spend(&begun?).await;
                        return Some(Called::OrNot);
                    }
                    Decided::MayNot => return Some(Called::OrNot),
                    Decided::Later => {
                        let waited = stop.run_until_cancelled(hurry.run_until_cancelled(changed)).await;
                        let Some(waited) = waited else { return Some(Called::Stopped) };
                        waited?;
                    }
                }
            }
        }
    }

    /// Asks whether the next call may be spent.
    async fn may_spend(&mut self, pace: Pace) -> Decided {
        let read = context::guessed(&self.readable(), &[]).read().saturating_mul(GUESS);
        let next = Next { model: self.model(), read, pace };
        let answer = self.tell(Progress::MaySpend(self.uncounted(), next)).await;
        if answer == Answer::Noted {
            Decided::May
        } else if answer == Answer::Overspent(Refusal::Taken) {
            Decided::Later
        } else {
            self.give_up(answer);
            Decided::MayNot
        }
    }

    /// Calls the model. What it used is written down before its place is free again, so that the next one that asks hears
    /// of it.
    async fn call_and_spend(&mut self, in_flight: &CallInFlight<'_>) {
        self.call(in_flight).await;
        self.tell(Progress::Spent(self.uncounted())).await;
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
