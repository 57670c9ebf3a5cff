//! Fires a plan at once, on request of the user.

use std::sync::Arc;

use jiff::Zoned;

use super::forks::refusal_reply;
use super::schedule::new_occurrence;
use super::{Answer, Assistant, Effect, Transaction};
use crate::cost::CostSource;
use crate::occurrence::OccurrenceState;
use crate::schedule::{JobSpec, Lateness, PauseState, Plan};

impl Assistant {
    /// Starts the plan `source` now. A reminder that was fired this way does not fire again at its
    /// time.
    pub(super) fn fire_now(&mut self, source: &CostSource, now: &Zoned) -> (Answer, Vec<Effect>) {
        let plan = self.state.plans.agenda.get(source).map(|plan| Arc::clone(&plan.job));
        let Some(planned) = plan else { return refusal_reply(&format!("{source} is not planned.")) };
        if self.state.plans.busy_with(source).is_some() {
            return refusal_reply(&format!("{} is being done already.", planned.display_name()));
        }
        let has_fired = |plan: &Plan| match plan.job.cue() {
            Some(_) => plan.watermark.until > jiff::Timestamp::MIN,
            None => plan.next.is_none(),
        };
        let has_fired = self.state.plans.agenda.get(source).is_some_and(has_fired);
        if matches!(planned.spec, JobSpec::Reminder(_))
            && planned.firing_policy().pause == PauseState::Active
            && has_fired
        {
            return refusal_reply(&format!("{} was done already.", planned.display_name()));
        }
        let mut tx = Transaction::at(now);
        let turn = self.state.turns.next;
        if let (JobSpec::Routine(_), Some(refusal)) = (&planned.spec, self.budget_refusal(&tx)) {
            return refusal_reply(&refusal.to_string());
        }
        let due = match &planned.spec {
            // In the precision of the stored format.
            JobSpec::Routine(_) => tx.at.round(jiff::Unit::Millisecond).unwrap_or(tx.at),
            JobSpec::Reminder(reminder) if reminder.cue.is_some() => tx.at,
            JobSpec::Reminder(reminder) => reminder.run_at.at,
        };
        if let JobSpec::Reminder(_) = &planned.spec {
            self.advance_watermark(source, due, &mut tx);
        }
        let occurrence = new_occurrence(&planned, due, Lateness::OnTime, &tx);
        self.start_attempt(&planned, occurrence, &mut tx);
        let answer = match self.state.plans.busy_with(source).map(|occurrence| &occurrence.state) {
            Some(OccurrenceState::SentToMain(message)) => Answer::MessageQueued(*message),
            Some(
                OccurrenceState::Running(_)
                | OccurrenceState::Retrying(_)
                | OccurrenceState::Queued
                | OccurrenceState::Ended(_),
            )
            | None => Answer::TurnStarted(turn),
        };
        self.start_next_turn(&mut tx);
        // A reminder that was shown and needs no model has already ended.
        let answer = if self.state.plans.busy_with(source).is_some() { answer } else { Answer::Done };
        (answer, tx.into_effects())
    }
}
