//! Suggestions: if the user keeps moving a routine to the same time, asks once a week at most
//! whether to change its time.

use std::sync::Arc;

use jiff::civil::Time;

use super::item_search::display_name;
use super::{Assistant, Transaction};
use crate::card::{Card, CardState};
use crate::cost::CostSource;
use crate::outbox::OutboxKey;
use crate::record::{JobFileEdit, PlanChange};
use crate::schedule::{Cron, JobSpec, JobTarget, PlannedJob, RecurrenceRule, Routine};

impl Assistant {
    /// Records that a routine on main has fired.
    pub(super) fn note_routine_fired(&mut self, what: &JobSpec, due: jiff::Timestamp, tx: &mut Transaction) {
        let JobSpec::Routine(routine) = what else { return };
        if matches!(routine.target, JobTarget::Main(_)) {
            self.update_attention_state(tx, |mood| mood.moves.record_firing(routine.id.as_str(), due));
        }
    }

    /// R20: records that the user moved a fired routine to `to`, and suggests a new time if that
    /// follows a pattern.
    pub(super) fn note_routine_moved(&mut self, what: &JobSpec, to: jiff::Timestamp, tx: &mut Transaction) {
        let JobSpec::Routine(routine) = what else { return };
        self.update_attention_state(tx, |mood| mood.moves.record_move(routine.id.as_str(), to));
        let now = tx.at.to_zoned(tx.zone.clone());
        let found = self.state.messages.attention.state.moves.suggestion(routine.id.as_str(), &now);
        let (Some(found), Some(from)) = (found, time_of_day(routine)) else { return };
        let name = display_name(what);
        let Some(card) = Card::for_suggestion(&routine.id, &name, from, found, tx.at) else { return };
        if found.to == from {
            return;
        }
        let post = self.say_on_main(&card.text, tx).unwrap_or_else(|| OutboxKey::card(&card.id, tx.at));
        self.save_card((card, post), tx);
        let at = tx.at;
        self.update_attention_state(tx, |mood| mood.moves.last_suggested = Some(at));
    }

    /// Sets the routine to the suggested time.
    pub(super) fn apply_suggestion(
        &mut self,
        card: &Card,
        tx: &mut Transaction,
    ) -> Result<CardState, String> {
        let (_, times) = card.time_change().ok_or_else(changed_meanwhile)?;
        self.set_routine_time(card, times.to, tx)?;
        Ok(CardState::Done(tx.at))
    }

    /// Sets the routine back to its former time.
    pub(super) fn revert_suggestion(&mut self, card: &Card, tx: &mut Transaction) {
        if let (CardState::Done(_), Some((_, times))) = (&card.state, card.time_change()) {
            // If its file was changed meanwhile, that time stays.
            let _ = self.set_routine_time(card, times.from, tx);
        }
    }

    fn set_routine_time(&mut self, card: &Card, time: Time, tx: &mut Transaction) -> Result<(), String> {
        let (id, times) = card.time_change().ok_or_else(changed_meanwhile)?;
        let source = CostSource::Routine(id.to_owned());
        let plan = self.state.plans.agenda.get(&source).ok_or_else(changed_meanwhile)?;
        let JobSpec::Routine(routine) = &plan.job.spec else { return Err(changed_meanwhile()) };
        let as_known = time_of_day(routine).is_some_and(|clock| clock == times.from || clock == times.to);
        let RecurrenceRule::Cron(cron) = &routine.recurrence.rule else { return Err(changed_meanwhile()) };
        let cron = cron.with_time(time).filter(|_| as_known).ok_or_else(changed_meanwhile)?;
        let mut next = routine.clone();
        let file = plan.job.file.clone();
        next.recurrence.rule = RecurrenceRule::Cron(cron.clone());
        let text = cron.as_str().to_owned();
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(source, "cron", Some(text)))));
        self.add_plan(Arc::new(PlannedJob { spec: JobSpec::Routine(next), file }), tx);
        Ok(())
    }
}

/// Returns the time of day of a routine, if it has a fixed one.
fn time_of_day(routine: &Routine) -> Option<Time> {
    match &routine.recurrence.rule {
        RecurrenceRule::Cron(cron) => Cron::time_of_day(cron),
        RecurrenceRule::Days { .. } | RecurrenceRule::Monthly { .. } => None,
    }
}

fn changed_meanwhile() -> String {
    "its times were changed since then. say it in words, or change its file.".to_owned()
}
