//! Cues: reminders that wait for an event instead of a time.
//!
//! A reminder whose cue occurs is recorded in the same transaction as the event, so it fires
//! exactly once even after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Zoned;

use super::item_search::begins_words;
use super::plan_undo::PlanUndo;
use super::{Answer, Assistant, Effect, Transaction, Update};
use crate::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use crate::phrase::{Cue, Timing};
use crate::schedule::{Lateness, Plan, PlannedJob};

impl Assistant {
    /// Handles a message of the user: reminders with the cue `NextTalk` fire after its answer.
    pub(super) fn fire_talk_cues(&mut self, tx: &mut Transaction) {
        self.fire_cues(tx, |_, cue| *cue == Cue::NextTalk);
    }

    /// Handles the end of an occurrence: fires the reminders that wait for its plan by name.
    pub(super) fn fire_end_cues(&mut self, ended: &Occurrence, tx: &mut Transaction) {
        match &ended.state {
            OccurrenceState::Ended(
                OccurrenceEnd::Done(_) | OccurrenceEnd::Failed(_) | OccurrenceEnd::Missed { .. },
            ) => {
                let source = ended.key.source.clone();
                self.fire_cues(tx, |planned, cue| {
                    planned.source() != source
                        && matches!(cue, Cue::After(name) if begins_words(&ended.name, name))
                });
            }
            OccurrenceState::Ended(OccurrenceEnd::Skipped(_) | OccurrenceEnd::Cancelled(_))
            | OccurrenceState::Running(_)
            | OccurrenceState::SentToMain(_)
            | OccurrenceState::Retrying(_)
            | OccurrenceState::Queued => {}
        }
    }

    /// Handles the statement of the user that the recurring plan `planned` is done for this time.
    pub(super) fn fire_done_cues(&mut self, planned: &PlannedJob, tx: &mut Transaction) {
        let name = planned.display_name();
        self.fire_cues(tx, |_, cue| matches!(cue, Cue::After(after) if begins_words(&name, after)));
    }

    fn fire_cues(&mut self, tx: &mut Transaction, came: impl Fn(&PlannedJob, &Cue) -> bool) {
        let waiting = self.state.plans.agenda.waiting_for_cue(tx.at);
        let came = waiting.filter(|planned| planned.cue().is_some_and(|cue| came(planned, cue)));
        for planned in came.cloned().collect::<Vec<Arc<PlannedJob>>>() {
            // In the precision of the stored format.
            let at = tx.at.round(jiff::Unit::Microsecond).unwrap_or(tx.at);
            self.fire(&planned, at, Lateness::OnTime, tx);
        }
    }

    /// Shows which reminders can no longer fire because they wait for `name`, which is not planned
    /// any more.
    pub(super) fn notify_stranded(&mut self, name: &str, tx: &mut Transaction) {
        let stranded: Vec<String> = self
            .stranded_reminders(tx)
            .filter(|(after, _)| begins_words(name, after))
            .map(|(_, planned)| format!("`{}`", planned.display_name()))
            .collect();
        if !stranded.is_empty() {
            tx.updates.push(Update::Notice(stranded_notice(name, &stranded)));
        }
    }

    /// Like [`Self::notify_stranded`] after a start, when the names of the removed plans are
    /// unknown.
    pub(super) fn notify_all_stranded(&mut self, tx: &mut Transaction) {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (after, planned) in self.stranded_reminders(tx) {
            all.entry(after.to_owned()).or_default().push(format!("`{}`", planned.display_name()));
        }
        tx.updates.extend(all.iter().map(|(after, names)| Update::Notice(stranded_notice(after, names))));
    }

    /// Returns the waiting reminders whose cue names no plan, each with that name.
    fn stranded_reminders(&self, tx: &Transaction) -> impl Iterator<Item = (&str, &PlannedJob)> {
        let agenda = &self.state.plans.agenda;
        let still =
            |after: &str| agenda.plans().any(|(_, plan)| begins_words(&plan.job.display_name(), after));
        agenda.waiting_for_cue(tx.at).filter_map(move |planned| match planned.cue() {
            Some(Cue::After(after)) if !still(after) => Some((after.as_str(), planned.as_ref())),
            Some(_) | None => None,
        })
    }

    /// Stores a new reminder in the inbox instead if its cue names no plan, and returns the reply.
    pub(super) fn keep_if_cue_unknown(
        &mut self,
        what: &str,
        when: &Timing,
        now: &Zoned,
    ) -> Option<(Answer, Vec<Effect>)> {
        let Timing::Cue(Cue::After(name)) = when else { return None };
        let called = |plan: &Plan| begins_words(&plan.job.display_name(), name);
        if self.state.plans.agenda.plans().any(|(_, plan)| called(plan)) {
            return None;
        }
        let mut tx = Transaction::at(now);
        let id = self.add_to_inbox(what, &mut tx);
        self.push_plan_undo(PlanUndo { added_items: vec![id], ..PlanUndo::default() }, &mut tx);
        let reply = format!(
            "nothing planned is called `{name}`, so i can't tell when it ends.\n{}\n{}",
            self.inbox_confirmation(id),
            self.time_offer(now)
        );
        Some((Answer::Text(reply), tx.into_effects()))
    }
}

/// Returns the notice that these reminders do not fire any more, and the remedies.
fn stranded_notice(name: &str, stranded: &[String]) -> String {
    format!(
        "nothing planned is called `{name}` any more, so {} does not ring by itself. say when, like `move … to 15:00`, \
         or `cancel …`.",
        stranded.join(", ")
    )
}
