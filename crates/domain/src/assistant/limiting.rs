//! Effects of the daily limit on unattended work.
//!
//! The limit is checked before anything starts, so that no branch is created for nothing. Routines
//! are skipped, reminders are delivered verbatim, and webhook deliveries wait for the next day. The
//! user is notified of the limit once, not for each job.

use jiff::{Timestamp, ToSpan};

use super::{Assistant, Minutes};
use crate::cost::Source;
use crate::occurrence::{End, LIMIT_REACHED, Occurrence, Stage, TRIES, UNPAID};

impl Assistant {
    /// E4: handles an occurrence that cannot start because of the limit.
    pub(super) fn left_out(&mut self, occurrence: Occurrence, minutes: &mut Minutes) {
        match &occurrence.key.source {
            Source::Reminder(_) => self.goes_out(occurrence, UNPAID, minutes),
            Source::Webhook(_) => self.stands(occurrence, Stage::Queued, minutes),
            Source::Routine(_)
            | Source::Main
            | Source::Fork
            | Source::Compaction
            | Source::Agent(_)
            | Source::Reader
            | Source::Search => {
                self.settle(occurrence, End::Skipped(LIMIT_REACHED.to_owned()), minutes);
            }
        }
    }

    /// E4: handles an occurrence that was stopped by the limit. A delivery is started again, as
    /// after every failure.
    pub(super) fn cut_off(&mut self, occurrence: Occurrence, minutes: &mut Minutes) {
        match &occurrence.key.source {
            Source::Reminder(_) => self.goes_out(occurrence, UNPAID, minutes),
            Source::Webhook(_) if occurrence.tries < TRIES => {
                self.stands(occurrence, Stage::Queued, minutes);
            }
            Source::Webhook(_) => self.not_done(occurrence, LIMIT_REACHED, minutes),
            Source::Routine(_)
            | Source::Main
            | Source::Fork
            | Source::Compaction
            | Source::Agent(_)
            | Source::Reader
            | Source::Search => {
                self.settle(occurrence, End::Failed(LIMIT_REACHED.to_owned()), minutes);
            }
        }
    }

    /// Removes queued prompts of jobs from main's queue if the limit is reached.
    pub(super) fn spare_main(&mut self, minutes: &mut Minutes) {
        if self.refusal(minutes).is_none() {
            return;
        }
        for occurrence in self.asked_in_vain(|_| true, minutes) {
            self.left_out(occurrence, minutes);
        }
    }

    /// P7: defers deliveries that need a model to the next day. Pending retries are queued too;
    /// otherwise their time stays in the past and the loop spins.
    pub(super) fn let_deliveries_wait(&mut self, minutes: &mut Minutes) {
        let waits = self.refusal(minutes).is_some() && !self.memory.messages.deliveries.open.is_empty();
        self.memory.messages.deliveries.until = next_midnight(minutes).filter(|_| waits);
        if !waits {
            return;
        }
        let again = |occurrence: &&Occurrence| {
            matches!(occurrence.key.source, Source::Webhook(_))
                && matches!(occurrence.stage, Stage::Again(at) if at <= minutes.at)
        };
        let again: Vec<Occurrence> = self.memory.plans.open.values().filter(again).cloned().collect();
        for occurrence in again {
            self.stands(occurrence, Stage::Queued, minutes);
        }
    }
}

/// Returns the start of the next day in the user's time zone.
fn next_midnight(minutes: &Minutes) -> Option<Timestamp> {
    let now = minutes.at.to_zoned(minutes.zone.clone());
    let midnight = now.checked_add(1.day()).and_then(|tomorrow| tomorrow.start_of_day());
    midnight.ok().map(|midnight| midnight.timestamp())
}
