//! Pausing one plan, or all routines, for a time or until resumed.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::refused;
use super::{Answer, Assistant, Effect, Minutes, Replanned};
use crate::cost::Source;
use crate::phrase;
use crate::record::{FileWork, PlanChange};
use crate::schedule::{Planned, Rest, What};

impl Assistant {
    /// Pauses or resumes one plan, in its file too.
    pub(super) fn let_rest(&mut self, source: &Source, rest: Rest, now: &Zoned) -> (Answer, Vec<Effect>) {
        let plan = self.memory.plans.agenda.get(source).map(|plan| Arc::clone(&plan.planned));
        let Some(planned) = plan else { return refused(&format!("{source} is not planned.")) };
        let mut minutes = Minutes::at(now);
        let name = planned.name();
        let mut what = planned.what.clone();
        match &mut what {
            What::Routine(routine) => routine.manner.rest = rest,
            What::Reminder(reminder) => reminder.manner.rest = rest,
        }
        let told = match rest {
            Rest::Never => format!("{name} goes on."),
            Rest::ForNow => format!("{name} rests until you let it go on."),
            Rest::Until(moment) => {
                let until = moment.at.to_zoned(now.time_zone().clone());
                format!("{name} rests until {}.", phrase::tell_exact(&until))
            }
        };
        minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "paused", rest.value()))));
        self.planned(Arc::new(Planned { what, file: planned.file.clone() }), &mut minutes);
        let changed = Replanned {
            before: vec![planned.what.clone()],
            since: vec![source.clone()],
            ..Replanned::default()
        };
        self.can_undo_plan(changed, &mut minutes);
        (Answer::Told(told), minutes.effects())
    }

    /// Pauses or resumes all routines.
    pub(super) fn pause(&mut self, rest: Rest, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        self.rested(&mut minutes);
        let beyond = match rest {
            Rest::Never => "the last change was that all that repeats goes on. `pause` lets it rest.",
            Rest::ForNow | Rest::Until(_) => {
                "the last change was that all that repeats rests. `resume` lets it go on."
            }
        };
        let beyond = Some(beyond.to_owned());
        self.can_undo_plan(Replanned { beyond, ..Replanned::default() }, &mut minutes);
        self.memory.plans.agenda.set_rest(rest, &minutes.zone);
        minutes.plan(Some(PlanChange::Rest(rest)));
        let told = match rest {
            Rest::Never => "everything goes on as planned.".to_owned(),
            Rest::ForNow => "all that repeats rests until you say `resume`. reminders still ring.".to_owned(),
            Rest::Until(moment) => {
                let until = moment.at.to_zoned(now.time_zone().clone());
                format!("all that repeats rests until {}. reminders still ring.", phrase::tell_exact(&until))
            }
        };
        (Answer::Told(told), minutes.effects())
    }
}
