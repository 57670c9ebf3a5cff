//! Planned cues: a reminder that was snoozed once offers one plan, `when this is over → that`.

use jiff::SignedDuration;

use super::item_search::begins_words;
use super::{Assistant, Transaction};
use crate::card::{Card, CardState, MAX_EVENT_NAME, rehearsed_plan};
use crate::phrase::Cue;
use crate::schedule::{ItemId, JobSpec, JobTarget, Moment, PlannedJob, Prompt, Reminder};

/// How far ahead an event may be for a plan to refer to it.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(12);

impl Assistant {
    /// R15: returns the plan text for `card` if it was snoozed once.
    pub(super) fn offered_plan(&self, card: &Card, tx: &Transaction) -> Option<String> {
        if card.snoozes != 1 {
            return None;
        }
        let until = tx.at.checked_add(MAX_AHEAD).ok()?;
        let soon = self.state.plans.agenda.upcoming().take_while(|(at, _)| *at <= until);
        // R2: an event is a better cue than a time; without one, the next message of the user is
        // the cue.
        let found = soon.map(|(_, plan)| plan.job.as_ref()).find(|planned| is_possible_cue(planned, card));
        let cue = found.map_or(Cue::NextTalk, |planned| Cue::After(planned.display_name()));
        Some(rehearsed_plan(&cue, &card.task))
    }

    /// Accepts the plan on `card`: the reminder fires on its cue.
    pub(super) fn accept_plan(&mut self, card: &Card, tx: &mut Transaction) -> Result<CardState, String> {
        if card.time_change().is_some() {
            return self.apply_suggestion(card, tx);
        }
        let Some(cue) = card.planned_cue() else { return Err("there is no plan on that one.".to_owned()) };
        if let Cue::After(name) = &cue
            && !self.state.plans.agenda.plans().any(|(_, plan)| begins_words(&plan.job.display_name(), name))
        {
            return Err(format!("nothing planned is called `{name}` any more. say when, like `tomorrow 9`."));
        }
        let now = tx.at.to_zoned(tx.zone.clone());
        let id = ItemId::parse(&self.rng.short_id()).map_err(|invalid| invalid.to_string())?;
        let again = Reminder::new(id, Moment::of(&now), JobTarget::main(), Prompt::new(&card.task));
        let mut again = again.map_err(|invalid| invalid.to_string())?;
        again.cue = Some(cue);
        Ok(CardState::Planned(self.create_plan(JobSpec::Reminder(again), tx)))
    }
}

/// Returns true if the end of `planned` can be a cue: the user notices it, and it is not the card's
/// own reminder.
fn is_possible_cue(planned: &PlannedJob, card: &Card) -> bool {
    let name = planned.display_name();
    let is_short_name = !name.is_empty() && name.chars().count() <= MAX_EVENT_NAME && !name.ends_with("...");
    let noticed = matches!(planned.target(), JobTarget::Main(_)) && planned.cue().is_none();
    is_short_name && noticed && !begins_words(&card.task, &name) && !begins_words(&name, &card.task)
}
