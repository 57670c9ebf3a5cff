//! Effects of the daily limit on unattended work.
//!
//! The limit is checked before anything starts, so that no branch is created for nothing. Routines
//! are skipped, reminders are delivered verbatim, and webhook deliveries wait for the next day. The
//! user is notified of the limit once, not for each job.

use jiff::{Timestamp, ToSpan};

use super::{Assistant, Transaction};
use crate::cost::CostSource;
use crate::occurrence::{
    MAX_TRIES, OVER_LIMIT_NOTE, Occurrence, OccurrenceEnd, OccurrenceState, VERBATIM_OVER_LIMIT_NOTE,
};

impl Assistant {
    /// E4: handles an occurrence that cannot start because of the limit.
    pub(super) fn skip_unaffordable(&mut self, occurrence: Occurrence, tx: &mut Transaction) {
        match &occurrence.key.source {
            CostSource::Reminder(_) => self.deliver_verbatim(occurrence, VERBATIM_OVER_LIMIT_NOTE, tx),
            CostSource::Webhook(_) => self.set_stage(occurrence, OccurrenceState::Queued, tx),
            CostSource::Routine(_)
            | CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => {
                self.finish_occurrence(occurrence, OccurrenceEnd::Skipped(OVER_LIMIT_NOTE.to_owned()), tx);
            }
        }
    }

    /// E4: handles an occurrence that was stopped by the limit. A delivery is started again, as
    /// after every failure.
    pub(super) fn stop_unaffordable(&mut self, occurrence: Occurrence, tx: &mut Transaction) {
        match &occurrence.key.source {
            CostSource::Reminder(_) => self.deliver_verbatim(occurrence, VERBATIM_OVER_LIMIT_NOTE, tx),
            CostSource::Webhook(_) if occurrence.tries < MAX_TRIES => {
                self.set_stage(occurrence, OccurrenceState::Queued, tx);
            }
            CostSource::Webhook(_) => self.fail_occurrence(occurrence, OVER_LIMIT_NOTE, tx),
            CostSource::Routine(_)
            | CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => {
                self.finish_occurrence(occurrence, OccurrenceEnd::Failed(OVER_LIMIT_NOTE.to_owned()), tx);
            }
        }
    }

    /// Removes queued prompts of jobs from main's queue if the limit is reached.
    pub(super) fn skip_unaffordable_on_main(&mut self, tx: &mut Transaction) {
        if self.budget_refusal(tx).is_none() {
            return;
        }
        for occurrence in self.withdraw_waiting(|_| true, tx) {
            self.skip_unaffordable(occurrence, tx);
        }
    }

    /// P7: defers deliveries that need a model to the next day. Pending retries are queued too;
    /// otherwise their time stays in the past and the loop spins.
    pub(super) fn defer_deliveries(&mut self, tx: &mut Transaction) {
        let waits = self.budget_refusal(tx).is_some() && !self.state.messages.deliveries.open.is_empty();
        self.state.messages.deliveries.paused_until = next_midnight(tx).filter(|_| waits);
        if !waits {
            return;
        }
        let again = |occurrence: &&Occurrence| {
            matches!(occurrence.key.source, CostSource::Webhook(_))
                && matches!(occurrence.state, OccurrenceState::Retrying(at) if at <= tx.at)
        };
        let again: Vec<Occurrence> = self.state.plans.open.values().filter(again).cloned().collect();
        for occurrence in again {
            self.set_stage(occurrence, OccurrenceState::Queued, tx);
        }
    }
}

/// Returns the start of the next day in the user's time zone.
fn next_midnight(tx: &Transaction) -> Option<Timestamp> {
    let now = tx.at.to_zoned(tx.zone.clone());
    let midnight = now.checked_add(1.day()).and_then(|tomorrow| tomorrow.start_of_day());
    midnight.ok().map(|midnight| midnight.timestamp())
}
