//! Fires a plan at once, on request of the user.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::refused;
use super::planning::claim;
use super::{Answer, Assistant, Effect, Minutes};
use crate::cost::Source;
use crate::occurrence::Stage;
use crate::schedule::{Lateness, Plan, Rest, What};

impl Assistant {
    /// Starts the plan `source` now. A reminder that was fired this way does not fire again at its
    /// time.
    pub(super) fn fire_now(&mut self, source: &Source, now: &Zoned) -> (Answer, Vec<Effect>) {
        let plan = self.memory.plans.agenda.get(source).map(|plan| Arc::clone(&plan.planned));
        let Some(planned) = plan else { return refused(&format!("{source} is not planned.")) };
        if self.memory.plans.busy_with(source).is_some() {
            return refused(&format!("{} is being done already.", planned.name()));
        }
        let rang = |plan: &Plan| match plan.planned.cue() {
            Some(_) => plan.accounted.until > jiff::Timestamp::MIN,
            None => plan.next.is_none(),
        };
        let rang = self.memory.plans.agenda.get(source).is_some_and(rang);
        if matches!(planned.what, What::Reminder(_)) && planned.manner().rest == Rest::Never && rang {
            return refused(&format!("{} was done already.", planned.name()));
        }
        let mut minutes = Minutes::at(now);
        let turn = self.memory.turns.next;
        if let (What::Routine(_), Some(refusal)) = (&planned.what, self.refusal(&minutes)) {
            return refused(&refusal.to_string());
        }
        let due = match &planned.what {
            // In the precision of the stored format.
            What::Routine(_) => minutes.at.round(jiff::Unit::Millisecond).unwrap_or(minutes.at),
            What::Reminder(reminder) if reminder.cue.is_some() => minutes.at,
            What::Reminder(reminder) => reminder.run_at.at,
        };
        if let What::Reminder(_) = &planned.what {
            self.accounted(source, due, &mut minutes);
        }
        let occurrence = claim(&planned, due, Lateness::OnTime, &minutes);
        self.try_once(&planned, occurrence, &mut minutes);
        let answer = match self.memory.plans.busy_with(source).map(|occurrence| &occurrence.stage) {
            Some(Stage::Asked(message)) => Answer::Heard(*message),
            Some(Stage::Running(_) | Stage::Again(_) | Stage::Queued | Stage::Ended(_)) | None => {
                Answer::Begun(turn)
            }
        };
        self.hear_waiting(&mut minutes);
        // A reminder that was shown and needs no model has already ended.
        let answer = if self.memory.plans.busy_with(source).is_some() { answer } else { Answer::Noted };
        (answer, minutes.effects())
    }
}
