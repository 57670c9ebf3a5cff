//! Model calls of a turn: slots, vendor admission and the daily limit.
//!
//! An interactive call takes a slot and starts at once. A background call first waits until the
//! vendor admits it and the assistant allows the spending.

use std::sync::Arc;

use domain::assistant::{Answer, Request, TurnRequest};
use domain::context;
use domain::cost::{Attendance, BudgetRefusal, CallConcurrency, NextCall};
use domain::turn::TurnEnding;
use tokio_util::sync::CancellationToken;

use super::TurnDriver;
use crate::call_slots::{CallInFlight, CallSlots};
use crate::turn_control::TurnControl;

/// A request has at most this many times the estimated tokens: some scripts use one token per
/// character.
const MAX_TOKENS_PER_ESTIMATE: u64 = 2;

/// The assistant's decision about the spending of a call.
#[derive(PartialEq, Eq)]
enum SpendDecision {
    Allowed,
    /// The call is not allowed, and the turn ends.
    Refused,
    /// Running calls may use up the rest of the budget; ask again when one ends.
    Later,
}

/// The outcome of waiting for a slot.
#[derive(PartialEq, Eq)]
enum CallAttempt {
    /// The call had its slot, and was made if it was allowed.
    Handled,
    /// The turn was stopped before the call had a slot.
    Stopped,
}

impl TurnDriver {
    pub(super) async fn call_model(&mut self) {
        let places = Arc::clone(&self.services.call_slots);
        let called = match self.start.account.attended {
            Attendance::Attended => self.call_interactive(&places).await,
            Attendance::Unattended => self.call_background(&places).await,
        };
        if called == CallAttempt::Stopped {
            self.turn.end_early("", TurnEnding::Interrupted);
        }
    }

    async fn call_interactive(&mut self, places: &CallSlots) -> CallAttempt {
        let stop = self.control.stop.clone();
        let Some(_slot) = stop.run_until_cancelled(places.acquire()).await else {
            return CallAttempt::Stopped;
        };
        let in_flight = places.begin(&self.model_name());
        self.call(&in_flight).await;
        CallAttempt::Handled
    }

    /// Makes a background call. If a message of the user waits behind it, the call skips the queue.
    async fn call_background(&mut self, places: &CallSlots) -> CallAttempt {
        let TurnControl { stop, hurry, .. } = self.control.clone();
        if let Some(called) = self.call_in_queue_order(places, &hurry).await {
            return called;
        }
        {
            let Some(_slot) = stop.run_until_cancelled(places.acquire()).await else {
                return CallAttempt::Stopped;
            };
            match self.may_spend(CallConcurrency::Attended).await {
                SpendDecision::Allowed => {
                    let in_flight = places.begin(&self.model_name());
                    self.call_and_record(&in_flight).await;
                    return CallAttempt::Handled;
                }
                SpendDecision::Refused => return CallAttempt::Handled,
                SpendDecision::Later => {}
            }
        }
        // The message that hurried the call does not wait any more.
        let never = CancellationToken::new();
        self.call_in_queue_order(places, &never).await.unwrap_or(CallAttempt::Stopped)
    }

    /// E4: makes the call when the vendor admits it and the daily limit allows it beside the
    /// running calls, or when none is running. Near the daily limit that may be later. Returns
    /// `None` if the call is hurried meanwhile.
    async fn call_in_queue_order(
        &mut self,
        places: &CallSlots,
        hurry: &CancellationToken,
    ) -> Option<CallAttempt> {
        let stop = self.control.stop.clone();
        let model = self.model_name();
        let ticket = places.enqueue(&model);
        loop {
            let turn = async {
                ticket.admitted().await;
                (places.acquire_background().await, places.spending_check().await)
            };
            let turn = stop.run_until_cancelled(hurry.run_until_cancelled(turn)).await;
            let Some(turn) = turn else { return Some(CallAttempt::Stopped) };
            let (_slot, asking) = turn?;
            loop {
                let changed = places.changed();
                if !ticket.is_admitted() {
                    // Calls of other models must not wait for this one.
                    break;
                }
                let pace = if places.is_spending() {
                    CallConcurrency::Concurrent
                } else {
                    CallConcurrency::Exclusive
                };
                match self.may_spend(pace).await {
                    SpendDecision::Allowed => {
                        let _spending = places.start_spending();
                        drop(asking);
                        let begun = stop.run_until_cancelled(hurry.run_until_cancelled(ticket.begin())).await;
                        let Some(begun) = begun else { return Some(CallAttempt::Stopped) };
                        self.call_and_record(&begun?).await;
                        return Some(CallAttempt::Handled);
                    }
                    SpendDecision::Refused => return Some(CallAttempt::Handled),
                    SpendDecision::Later => {
                        let waited = stop.run_until_cancelled(hurry.run_until_cancelled(changed)).await;
                        let Some(waited) = waited else { return Some(CallAttempt::Stopped) };
                        waited?;
                    }
                }
            }
        }
    }

    /// Asks the assistant whether the next call may be made.
    async fn may_spend(&mut self, pace: CallConcurrency) -> SpendDecision {
        let read = context::estimate_usage(&self.next_context(), &[])
            .total_input()
            .saturating_mul(MAX_TOKENS_PER_ESTIMATE);
        let next = NextCall { model: self.model_name(), max_input: read, concurrency: pace };
        let answer = self.report(TurnRequest::MayCallModel(self.unrecorded_calls(), next)).await;
        if answer == Answer::Done {
            SpendDecision::Allowed
        } else if answer == Answer::OverBudget(BudgetRefusal::Reserved) {
            SpendDecision::Later
        } else {
            self.abort(answer);
            SpendDecision::Refused
        }
    }

    /// Calls the model. Its usage is recorded before its slot is free again, so that the next
    /// spending check includes it.
    async fn call_and_record(&mut self, in_flight: &CallInFlight<'_>) {
        self.call(in_flight).await;
        self.report(TurnRequest::CallsMade(self.unrecorded_calls())).await;
    }

    /// Returns the name of the vendor and the model.
    fn model_name(&self) -> String {
        self.services.model.name_for(&self.context)
    }

    /// Reports the calls that were made. Calls that could not be recorded are reported again with
    /// the next request.
    async fn report(&mut self, progress: TurnRequest) -> Answer {
        let answer = self.assistant.ask(Request::Turn(self.start.turn, progress)).await;
        if !matches!(answer, Answer::Refused(_)) {
            self.recorded_calls = self.turn.calls().len();
        }
        answer
    }
}
