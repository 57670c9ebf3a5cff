//! Suggestions: if the user keeps moving a routine to the same time, asks once a week at most
//! whether to change its time.

use std::sync::Arc;

use jiff::civil::Time;

use super::finding::named;
use super::{Assistant, Minutes};
use crate::card::{Card, State};
use crate::cost::Source;
use crate::post::PostKey;
use crate::record::{FileWork, PlanChange};
use crate::schedule::{Beat, Charter, Cron, Planned, Routine, What};

impl Assistant {
    /// Records that a routine on main has fired.
    pub(super) fn routine_rang(&mut self, what: &What, due: jiff::Timestamp, minutes: &mut Minutes) {
        let What::Routine(routine) = what else { return };
        if matches!(routine.charter, Charter::Main(_)) {
            self.feels(minutes, |mood| mood.moves.rang(routine.id.as_str(), due));
        }
    }

    /// R20: records that the user moved a fired routine to `to`, and suggests a new time if that
    /// follows a pattern.
    pub(super) fn routine_moved(&mut self, what: &What, to: jiff::Timestamp, minutes: &mut Minutes) {
        let What::Routine(routine) = what else { return };
        self.feels(minutes, |mood| mood.moves.moved(routine.id.as_str(), to));
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let found = self.memory.messages.attending.mood.moves.suggests(routine.id.as_str(), &now);
        let (Some(found), Some(from)) = (found, clock_of(routine)) else { return };
        let name = named(what);
        let Some(card) = Card::suggesting(&routine.id, &name, from, found, minutes.at) else { return };
        if found.to == from {
            return;
        }
        let post = self.speak(&card.said, minutes).unwrap_or_else(|| PostKey::card(&card.id, minutes.at));
        self.keep_card((card, post), minutes);
        let at = minutes.at;
        self.feels(minutes, |mood| mood.moves.suggested = Some(at));
    }

    /// Sets the routine to the suggested time.
    pub(super) fn comes_as_suggested(&mut self, card: &Card, minutes: &mut Minutes) -> Result<State, String> {
        let (_, times) = card.suggestion().ok_or_else(changed)?;
        self.comes_at(card, times.to, minutes)?;
        Ok(State::Done(minutes.at))
    }

    /// Sets the routine back to its former time.
    pub(super) fn comes_as_before(&mut self, card: &Card, minutes: &mut Minutes) {
        if let (State::Done(_), Some((_, times))) = (&card.state, card.suggestion()) {
            // If its file was changed meanwhile, that time stays.
            let _ = self.comes_at(card, times.from, minutes);
        }
    }

    fn comes_at(&mut self, card: &Card, time: Time, minutes: &mut Minutes) -> Result<(), String> {
        let (id, times) = card.suggestion().ok_or_else(changed)?;
        let source = Source::Routine(id.to_owned());
        let plan = self.memory.plans.agenda.get(&source).ok_or_else(changed)?;
        let What::Routine(routine) = &plan.planned.what else { return Err(changed()) };
        let as_known = clock_of(routine).is_some_and(|clock| clock == times.from || clock == times.to);
        let Beat::Cron(cron) = &routine.rhythm.beat else { return Err(changed()) };
        let cron = cron.at(time).filter(|_| as_known).ok_or_else(changed)?;
        let mut next = routine.clone();
        let file = plan.planned.file.clone();
        next.rhythm.beat = Beat::Cron(cron.clone());
        let text = cron.as_str().to_owned();
        minutes.plan(Some(PlanChange::File(FileWork::Set(source, "cron", Some(text)))));
        self.planned(Arc::new(Planned { what: What::Routine(next), file }), minutes);
        Ok(())
    }
}

/// Returns the time of day of a routine, if it has a fixed one.
fn clock_of(routine: &Routine) -> Option<Time> {
    match &routine.rhythm.beat {
        Beat::Cron(cron) => Cron::clock(cron),
        Beat::Days { .. } | Beat::Monthly { .. } => None,
    }
}

fn changed() -> String {
    "its times were changed since then. say it in words, or change its file.".to_owned()
}
