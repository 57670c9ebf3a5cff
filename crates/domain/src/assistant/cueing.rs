//! Cues: reminders that wait for an event instead of a time.
//!
//! A reminder whose cue occurs is recorded in the same transaction as the event, so it fires
//! exactly once even after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Zoned;

use super::finding::begins_words;
use super::reverting::Changed;
use super::{Answer, Assistant, Effect, Minutes, Shown};
use crate::occurrence::{End, Occurrence, Stage};
use crate::phrase::{Cue, When};
use crate::schedule::{Lateness, Plan, Planned};

impl Assistant {
    /// Handles a message of the user: reminders with the cue `NextTalk` fire after its answer.
    pub(super) fn cued_by_talk(&mut self, minutes: &mut Minutes) {
        self.cued(minutes, |_, cue| *cue == Cue::NextTalk);
    }

    /// Handles the end of an occurrence: fires the reminders that wait for its plan by name.
    pub(super) fn cued_by_end(&mut self, ended: &Occurrence, minutes: &mut Minutes) {
        match &ended.stage {
            Stage::Ended(End::Done(_) | End::Failed(_) | End::Missed { .. }) => {
                let source = ended.key.source.clone();
                self.cued(minutes, |planned, cue| {
                    planned.source() != source
                        && matches!(cue, Cue::After(name) if begins_words(&ended.name, name))
                });
            }
            Stage::Ended(End::Skipped(_) | End::Cancelled(_))
            | Stage::Running(_)
            | Stage::Asked(_)
            | Stage::Again(_)
            | Stage::Queued => {}
        }
    }

    /// Handles the statement of the user that the recurring plan `planned` is done for this time.
    pub(super) fn cued_by_word(&mut self, planned: &Planned, minutes: &mut Minutes) {
        let name = planned.name();
        self.cued(minutes, |_, cue| matches!(cue, Cue::After(after) if begins_words(&name, after)));
    }

    fn cued(&mut self, minutes: &mut Minutes, came: impl Fn(&Planned, &Cue) -> bool) {
        let waiting = self.memory.plans.agenda.waiting(minutes.at);
        let came = waiting.filter(|planned| planned.cue().is_some_and(|cue| came(planned, cue)));
        for planned in came.cloned().collect::<Vec<Arc<Planned>>>() {
            // In the precision of the stored format.
            let at = minutes.at.round(jiff::Unit::Microsecond).unwrap_or(minutes.at);
            self.keep_time(&planned, at, Lateness::OnTime, minutes);
        }
    }

    /// Shows which reminders can no longer fire because they wait for `name`, which is not planned
    /// any more.
    pub(super) fn tell_stranded(&mut self, name: &str, minutes: &mut Minutes) {
        let stranded: Vec<String> = self
            .stranded(minutes)
            .filter(|(after, _)| begins_words(name, after))
            .map(|(_, planned)| format!("`{}`", planned.name()))
            .collect();
        if !stranded.is_empty() {
            minutes.shown.push(Shown::Notice(gone(name, &stranded)));
        }
    }

    /// Like [`Self::notify_stranded`] after a start, when the names of the removed plans are
    /// unknown.
    pub(super) fn tell_all_stranded(&mut self, minutes: &mut Minutes) {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (after, planned) in self.stranded(minutes) {
            all.entry(after.to_owned()).or_default().push(format!("`{}`", planned.name()));
        }
        minutes.shown.extend(all.iter().map(|(after, names)| Shown::Notice(gone(after, names))));
    }

    /// Returns the waiting reminders whose cue names no plan, each with that name.
    fn stranded(&self, minutes: &Minutes) -> impl Iterator<Item = (&str, &Planned)> {
        let agenda = &self.memory.plans.agenda;
        let still = |after: &str| agenda.plans().any(|(_, plan)| begins_words(&plan.planned.name(), after));
        agenda.waiting(minutes.at).filter_map(move |planned| match planned.cue() {
            Some(Cue::After(after)) if !still(after) => Some((after.as_str(), planned.as_ref())),
            Some(_) | None => None,
        })
    }

    /// Stores a new reminder in the inbox instead if its cue names no plan, and returns the reply.
    pub(super) fn nothing_to_wait_for(
        &mut self,
        what: &str,
        when: &When,
        now: &Zoned,
    ) -> Option<(Answer, Vec<Effect>)> {
        let When::Cue(Cue::After(name)) = when else { return None };
        let called = |plan: &Plan| begins_words(&plan.planned.name(), name);
        if self.memory.plans.agenda.plans().any(|(_, plan)| called(plan)) {
            return None;
        }
        let mut minutes = Minutes::at(now);
        let id = self.put_in_inbox(what, &mut minutes);
        self.can_undo_plan(Changed { kept: vec![id], ..Changed::default() }, &mut minutes);
        let told = format!(
            "nothing planned is called `{name}`, so i can't tell when it ends.\n{}\n{}",
            self.told_kept(id),
            self.offer(now)
        );
        Some((Answer::Told(told), minutes.effects()))
    }
}

/// Returns the notice that these reminders do not fire any more, and the remedies.
fn gone(name: &str, stranded: &[String]) -> String {
    format!(
        "nothing planned is called `{name}` any more, so {} does not ring by itself. say when, like `move … to 15:00`, \
         or `cancel …`.",
        stranded.join(", ")
    )
}
