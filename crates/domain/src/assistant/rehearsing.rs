//! Planned cues: a reminder that was snoozed once offers one plan, `when this is over → that`.

use jiff::SignedDuration;

use super::finding::begins_words;
use super::{Assistant, Minutes};
use crate::card::{Card, NAME, State, rehearsed};
use crate::phrase::Cue;
use crate::schedule::{Charter, ItemId, Moment, Planned, Prompt, Reminder, What};

/// How far ahead an event may be for a plan to refer to it.
const NEAR: SignedDuration = SignedDuration::from_hours(12);

impl Assistant {
    /// R15: returns the plan text for `card` if it was snoozed once.
    pub(super) fn rehearse(&self, card: &Card, minutes: &Minutes) -> Option<String> {
        if card.snoozes != 1 {
            return None;
        }
        let until = minutes.at.checked_add(NEAR).ok()?;
        let soon = self.memory.plans.agenda.soonest().take_while(|(at, _)| *at <= until);
        // R2: an event is a better cue than a time; without one, the next message of the user is
        // the cue.
        let found = soon.map(|(_, plan)| plan.planned.as_ref()).find(|planned| is_sign(planned, card));
        let cue = found.map_or(Cue::NextTalk, |planned| Cue::After(planned.name()));
        Some(rehearsed(&cue, &card.words))
    }

    /// Accepts the plan on `card`: the reminder fires on its cue.
    pub(super) fn rings_when(&mut self, card: &Card, minutes: &mut Minutes) -> Result<State, String> {
        if card.suggestion().is_some() {
            return self.comes_as_suggested(card, minutes);
        }
        let Some(cue) = card.plan() else { return Err("there is no plan on that one.".to_owned()) };
        if let Cue::After(name) = &cue
            && !self.memory.plans.agenda.plans().any(|(_, plan)| begins_words(&plan.planned.name(), name))
        {
            return Err(format!("nothing planned is called `{name}` any more. say when, like `tomorrow 9`."));
        }
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let id = ItemId::parse(&self.dice.id8()).map_err(|invalid| invalid.to_string())?;
        let again = Reminder::new(id, Moment::of(&now), Charter::main(), Prompt::new(&card.words));
        let mut again = again.map_err(|invalid| invalid.to_string())?;
        again.cue = Some(cue);
        Ok(State::Planned(self.write_plan(What::Reminder(again), minutes)))
    }
}

/// Returns true if the end of `planned` can be a cue: the user notices it, and it is not the card's
/// own reminder.
fn is_sign(planned: &Planned, card: &Card) -> bool {
    let name = planned.name();
    let plain = !name.is_empty() && name.chars().count() <= NAME && !name.ends_with("...");
    let noticed = matches!(planned.charter(), Charter::Main(_)) && planned.cue().is_none();
    plain && noticed && !begins_words(&card.words, &name) && !begins_words(&name, &card.words)
}
