//! Limiting: what becomes of work that nobody waits for when the limit of the day is reached.
//!
//! That is known before anything is begun, so that no branch is left behind for nothing. Routines are left out, reminders
//! go out as they were written, and what was brought from outside waits until the next day begins. The human is told of
//! the limit once, and not of each.

use jiff::{Timestamp, ToSpan};

use super::{Assistant, Minutes};
use crate::cost::Source;
use crate::occurrence::{End, LIMIT_REACHED, Occurrence, Stage, TRIES, UNPAID};

impl Assistant {
    /// E4: the occurrence would begin now, and may not.
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

    /// E4: the occurrence was begun, and may not go on. What was brought from outside is begun anew, as after every
    /// failure.
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

    /// What a time brought to main is not said there any more.
    pub(super) fn spare_main(&mut self, minutes: &mut Minutes) {
        if self.refusal(minutes).is_none() {
            return;
        }
        for occurrence in self.asked_in_vain(|_| true, minutes) {
            self.left_out(occurrence, minutes);
        }
    }

    /// P7: what was brought from outside and needs a model waits for the next day. What was to be tried again waits with
    /// the rest, or it would be looked at all the time.
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

/// When the next day begins, where the human lives.
fn next_midnight(minutes: &Minutes) -> Option<Timestamp> {
    let now = minutes.at.to_zoned(minutes.zone.clone());
    let midnight = now.checked_add(1.day()).and_then(|tomorrow| tomorrow.start_of_day());
    midnight.ok().map(|midnight| midnight.timestamp())
}
