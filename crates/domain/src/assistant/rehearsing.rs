//! Rehearsing: what was put off once is offered one plan, `when this is over → that`, and no second question.

use jiff::SignedDuration;

use super::finding::begins_words;
use super::{Assistant, Minutes};
use crate::card::{Card, NAME, State, rehearsed};
use crate::phrase::Cue;
use crate::schedule::{Charter, ItemId, Moment, Planned, Prompt, Reminder, What};

/// How far ahead something is that a plan can hang on.
const NEAR: SignedDuration = SignedDuration::from_hours(12);

impl Assistant {
    /// R15: a plan for `card`, in words, if it was put off once.
    pub(super) fn rehearse(&self, card: &Card, minutes: &Minutes) -> Option<String> {
        if card.snoozes != 1 {
            return None;
        }
        let until = minutes.at.checked_add(NEAR).ok()?;
        let soon = self.memory.plans.agenda.soonest().take_while(|(at, _)| *at <= until);
        // R2: what happens is a better sign than what the clock shows; if nothing does, the next words are one.
        let found = soon.map(|(_, plan)| plan.planned.as_ref()).find(|planned| is_sign(planned, card));
        let cue = found.map_or(Cue::NextTalk, |planned| Cue::After(planned.name()));
        Some(rehearsed(&cue, &card.words))
    }

    /// The plan on `card` is made: it rings again when what that names has come.
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

/// Whether something can hang on the end of `planned`: the human notices it, and it is not `card` itself.
fn is_sign(planned: &Planned, card: &Card) -> bool {
    let name = planned.name();
    let plain = !name.is_empty() && name.chars().count() <= NAME && !name.ends_with("...");
    let noticed = matches!(planned.charter(), Charter::Main(_)) && planned.cue().is_none();
    plain && noticed && !begins_words(&card.words, &name) && !begins_words(&name, &card.words)
}
