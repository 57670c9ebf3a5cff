//! Pausing one plan, or all routines, for a time or until resumed.

use std::sync::Arc;

use jiff::Zoned;

use super::forks::refusal_reply;
use super::{Answer, Assistant, Effect, Replanned, Transaction};
use crate::cost::CostSource;
use crate::phrase;
use crate::record::{JobFileEdit, PlanChange};
use crate::schedule::{JobSpec, PauseState, PlannedJob};

impl Assistant {
    /// Pauses or resumes one plan, in its file too.
    pub(super) fn pause_plan(
        &mut self,
        source: &CostSource,
        rest: PauseState,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let plan = self.state.plans.agenda.get(source).map(|plan| Arc::clone(&plan.job));
        let Some(planned) = plan else { return refusal_reply(&format!("{source} is not planned.")) };
        let mut tx = Transaction::at(now);
        let name = planned.display_name();
        let mut what = planned.spec.clone();
        match &mut what {
            JobSpec::Routine(routine) => routine.firing_policy.pause = rest,
            JobSpec::Reminder(reminder) => reminder.firing_policy.pause = rest,
        }
        let reply = match rest {
            PauseState::Active => format!("{name} goes on."),
            PauseState::Indefinite => format!("{name} rests until you let it go on."),
            PauseState::Until(moment) => {
                let until = moment.at.to_zoned(now.time_zone().clone());
                format!("{name} rests until {}.", phrase::format_exact(&until))
            }
        };
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(
            source.clone(),
            "paused",
            rest.file_value(),
        ))));
        self.add_plan(Arc::new(PlannedJob { spec: what, file: planned.file.clone() }), &mut tx);
        let changed = Replanned {
            previous_plans: vec![planned.spec.clone()],
            new_plans: vec![source.clone()],
            ..Replanned::default()
        };
        self.push_plan_undo(changed, &mut tx);
        (Answer::Text(reply), tx.into_effects())
    }

    /// Pauses or resumes all routines.
    pub(super) fn pause_routines(&mut self, rest: PauseState, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        self.skip_paused_times(&mut tx);
        let irreversible = match rest {
            PauseState::Active => "the last change was that all that repeats goes on. `pause` lets it rest.",
            PauseState::Indefinite | PauseState::Until(_) => {
                "the last change was that all that repeats rests. `resume` lets it go on."
            }
        };
        let irreversible = Some(irreversible.to_owned());
        self.push_plan_undo(Replanned { irreversible, ..Replanned::default() }, &mut tx);
        self.state.plans.agenda.set_pause(rest, &tx.zone);
        tx.record_plan(Some(PlanChange::AllPaused(rest)));
        let reply = match rest {
            PauseState::Active => "everything goes on as planned.".to_owned(),
            PauseState::Indefinite => {
                "all that repeats rests until you say `resume`. reminders still ring.".to_owned()
            }
            PauseState::Until(moment) => {
                let until = moment.at.to_zoned(now.time_zone().clone());
                format!(
                    "all that repeats rests until {}. reminders still ring.",
                    phrase::format_exact(&until)
                )
            }
        };
        (Answer::Text(reply), tx.into_effects())
    }
}
