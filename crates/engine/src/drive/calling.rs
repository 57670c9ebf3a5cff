//! Model calls of a turn: slots, vendor admission and the daily limit.
//!
//! An interactive call takes a slot and starts at once. A background call first waits until the
//! vendor admits it and the assistant allows the spending.

use std::sync::Arc;

use domain::assistant::{Answer, Progress, Request};
use domain::context;
use domain::cost::{Attended, Next, Pace, Refusal};
use domain::turn::Ending;
use tokio_util::sync::CancellationToken;

use super::Drive;
use crate::places::{CallInFlight, Places};
use crate::reins::Reins;

/// A request has at most this many times the estimated tokens: some scripts use one token per
/// character.
const GUESS: u64 = 2;

/// The assistant's decision about the spending of a call.
#[derive(PartialEq, Eq)]
enum Decided {
    May,
    /// The call is not allowed, and the turn ends.
    MayNot,
    /// Running calls may use up the rest of the budget; ask again when one ends.
    Later,
}

/// The outcome of waiting for a slot.
#[derive(PartialEq, Eq)]
enum Called {
    /// The call had its slot, and was made if it was allowed.
    OrNot,
    /// The turn was stopped before the call had a slot.
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

    /// Makes a background call. If a message of the user waits behind it, the call skips the queue.
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
        // The message that hurried the call does not wait any more.
        let never = CancellationToken::new();
        self.call_in_order(places, &never).await.unwrap_or(Called::Stopped)
    }

    /// E4: makes the call when the vendor admits it and the daily limit allows it beside the
    /// running calls, or when none is running. Near the daily limit that may be later. Returns
    /// `None` if the call is hurried meanwhile.
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
                    // Calls of other models must not wait for this one.
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

    /// Asks the assistant whether the next call may be made.
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

    /// Calls the model. Its usage is recorded before its slot is free again, so that the next
    /// spending check includes it.
    async fn call_and_spend(&mut self, in_flight: &CallInFlight<'_>) {
        self.call(in_flight).await;
        self.tell(Progress::Spent(self.uncounted())).await;
    }

    /// Returns the name of the vendor and the model.
    fn model(&self) -> String {
        self.world.model.name_for(&self.context)
    }

    /// Reports the calls that were made. Calls that could not be recorded are reported again with
    /// the next request.
    async fn tell(&mut self, progress: Progress) -> Answer {
        let answer = self.desk.ask(Request::Turn(self.start.turn, progress)).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.counted = self.turn.spent().len();
        }
        answer
    }
}
