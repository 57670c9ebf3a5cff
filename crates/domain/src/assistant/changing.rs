//! Changes to existing plans and inbox items by name: done, moved and cancelled.
//!
//! Replies are generated from the resulting plan, never from the user's text.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::finding::{Found, SAY_WHICH, named};
use super::forking::refused;
use super::reverting::Changed;
use super::wording::told_when;
use super::{Answer, Assistant, Effect, Minutes};
use crate::brain::Which;
use crate::card::{Act, CardId, State};
use crate::cost::Source;
use crate::inbox::{Kept, KeptId};
use crate::occurrence::{End, Stage};
use crate::phrase::{self, Target, When};
use crate::record::{FileWork, InboxChange, PlanChange, Record, SurfaceName};
use crate::schedule::{Charter, ItemId, Lateness, Moment, Plan, Planned, Prompt, Reminder, What};

impl Assistant {
    pub(super) fn is_done(&mut self, which: &Which, now: &Zoned) -> (Answer, Vec<Effect>) {
        match self.find(which, now) {
            Ok(Found::Plan(plan)) => self.plan_is_done(&plan, now),
            Ok(Found::Rang(what)) => self.rang_is(Act::Done, &what, now),
            Ok(Found::Kept(kept)) => self.kept_is_done(kept, "done", now),
            Err(why) => refused(&why),
        }
    }

    fn plan_is_done(&mut self, plan: &Plan, now: &Zoned) -> (Answer, Vec<Effect>) {
        let planned = Arc::clone(&plan.planned);
        let mut minutes = Minutes::at(now);
        let source = planned.source();
        let name = planned.name();
        if let What::Routine(_) = planned.what {
            self.cued_by_word(&planned, &mut minutes);
            self.hear_waiting(&mut minutes);
            let told = format!("done: {name}. it comes again {}", told_when(plan, now));
            return (Answer::Told(told), minutes.effects());
        }
        if let Some(due) = plan.next {
            let occurrence = super::planning::claim(&planned, due, Lateness::OnTime, &minutes);
            self.settle(occurrence, End::Done("you said it is done".to_owned()), &mut minutes);
        }
        self.unplan(&source, &mut minutes);
        let before = vec![planned.what.clone()];
        self.can_undo_plan(Changed { before, ..Changed::default() }, &mut minutes);
        self.hear_waiting(&mut minutes);
        (Answer::Told(format!("done: {name}. `undo` takes it back")), minutes.effects())
    }

    /// Marks a fired reminder as done or dropped, including its card.
    fn rang_is(&mut self, act: Act, what: &What, now: &Zoned) -> (Answer, Vec<Effect>) {
        let verb = if act == Act::Drop { "dropped" } else { "done" };
        let name = named(what);
        let Some(card) = self.open_card(what) else { return told(format!("{verb}: {name}.")) };
        let (_, effects) = self.card_pressed(SurfaceName::House, &card, act, now);
        (Answer::Told(format!("{verb}: {name}. `undo` takes it back")), effects)
    }

    /// Returns the card of a fired reminder, if it is still open.
    pub(super) fn open_card(&self, what: &What) -> Option<CardId> {
        let What::Reminder(reminder) = what else { return None };
        let id = CardId(reminder.id.clone());
        self.memory.messages.cards.get(&id).filter(|(card, _)| card.state == State::Open).map(|_| id)
    }

    fn kept_is_done(&mut self, kept: Kept, verb: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        self.take_out(kept.id, &mut minutes);
        let told = format!("{verb}: {}. `undo` brings it back", kept.text);
        self.can_undo_plan(Changed { taken: vec![kept], ..Changed::default() }, &mut minutes);
        (Answer::Told(told), minutes.effects())
    }

    /// Removes an item from the inbox.
    pub(super) fn take_out(&mut self, id: KeptId, minutes: &mut Minutes) {
        Arc::make_mut(&mut self.memory.inbox.kept).retain(|kept| kept.id != id);
        minutes.records.push(Record::Inbox(InboxChange::Removed(id, minutes.at)));
        self.not_for_model(id, minutes);
    }

    /// Removes all items from the inbox.
    pub(super) fn clear_inbox(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let taken = self.memory.inbox.kept.as_ref().clone();
        if taken.is_empty() {
            return told("the inbox is empty.".to_owned());
        }
        let mut minutes = Minutes::at(now);
        for kept in &taken {
            self.take_out(kept.id, &mut minutes);
        }
        let told = format!("the inbox is empty now. {} went out of it; `undo` brings them back", taken.len());
        self.can_undo_plan(Changed { taken, ..Changed::default() }, &mut minutes);
        (Answer::Told(told), minutes.effects())
    }

    pub(super) fn move_to(&mut self, which: &Which, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        match self.find(which, now) {
            Ok(Found::Plan(plan)) => self.move_plan(&plan, to, now),
            Ok(Found::Rang(what)) => self.ring_again(&what, to, now),
            Ok(Found::Kept(kept)) => self.move_kept(kept, to, now),
            Err(why) => refused(&why),
        }
    }

    fn move_plan(&mut self, plan: &Plan, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        let What::Reminder(reminder) = &plan.planned.what else {
            return refused(&format!(
                "{} comes again and again. cancel it and say it anew, or pause it.",
                plan.planned.name()
            ));
        };
        let at = match moved(reminder, to, now) {
            Ok(at) => at,
            Err(why) => return refused(&why),
        };
        let mut next = reminder.clone();
        (next.run_at, next.cue) = (Moment::of(&at), None);
        let source = plan.planned.source();
        let mut minutes = Minutes::at(now);
        let value = next.run_at.to_string();
        minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "run-at", Some(value)))));
        if reminder.cue.is_some() {
            minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "cue", None))));
        }
        let file = plan.planned.file.clone();
        self.planned(Arc::new(Planned { what: What::Reminder(next), file }), &mut minutes);
        let before = vec![plan.planned.what.clone()];
        let since = vec![source.clone()];
        self.can_undo_plan(Changed { before, since, ..Changed::default() }, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    /// Schedules a fired reminder once more at another time, including its card.
    fn ring_again(&mut self, what: &What, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        if let Some(id) = self.open_card(what) {
            return self.ring_card_again(id, to, now);
        }
        let words = match what {
            What::Routine(routine) => routine.message.clone(),
            What::Reminder(reminder) => reminder.message.clone(),
        };
        let mut minutes = Minutes::at(now);
        let source = match self.plan_again(words, to, now, &mut minutes) {
            Ok((source, at)) => {
                self.routine_moved(what, at, &mut minutes);
                source
            }
            Err(why) => return refused(&why),
        };
        self.can_undo_plan(Changed { since: vec![source.clone()], ..Changed::default() }, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    fn ring_card_again(&mut self, id: CardId, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(posted) = self.memory.messages.cards.get(&id).cloned() else { return refused(SAY_WHICH) };
        let (answer, effects) = self.move_card(posted, to, now);
        let state = self.memory.messages.cards.get(&id).map(|(card, _)| card.state.clone());
        let Some(State::Moved(_, source)) = state else { return (answer, effects) };
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), effects)
    }

    /// Schedules an inbox item and removes it from the inbox.
    fn move_kept(&mut self, kept: Kept, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let source =
            match self.plan_again(Prompt::new(&kept.text), &self.with_a_time(to, now), now, &mut minutes) {
                Ok((source, _)) => source,
                Err(why) => return refused(&why),
            };
        self.take_out(kept.id, &mut minutes);
        let changed = Changed { since: vec![source.clone()], taken: vec![kept], ..Changed::default() };
        self.can_undo_plan(changed, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    /// Adds a time of day to a bare date, for an item that had none: the morning, or the rest of
    /// today.
    fn with_a_time(&self, to: &Target, now: &Zoned) -> Target {
        let (Target::Day(day), habits) = (to, self.memory.chosen.settings.habits()) else {
            return to.clone();
        };
        let morning = day.to_datetime(habits.slots.morning).to_zoned(now.time_zone().clone());
        let when = if *day == now.date() {
            phrase::read("today", now, &habits).when
        } else {
            morning.ok().map(When::Once)
        };
        when.map_or_else(|| to.clone(), Target::At)
    }

    /// Schedules `words` as a new reminder, and returns its source and time.
    pub(super) fn plan_again(
        &mut self,
        words: Prompt,
        to: &Target,
        now: &Zoned,
        minutes: &mut Minutes,
    ) -> Result<(Source, Timestamp), String> {
        let id = ItemId::parse(&self.dice.id8()).map_err(|invalid| invalid.to_string())?;
        let again = Reminder::new(id, Moment::of(now), Charter::main(), words);
        let mut again = again.map_err(|invalid| invalid.to_string())?;
        let today = *to == Target::Day(now.date());
        let at = moved(&again, &if today { self.with_a_time(to, now) } else { to.clone() }, now)?;
        again.run_at = Moment::of(&at);
        Ok((self.write_plan(What::Reminder(again), minutes), at.timestamp()))
    }

    pub(super) fn cancel_plan(&mut self, which: &Which, now: &Zoned) -> (Answer, Vec<Effect>) {
        if *which == Which::This {
            // `drop it` after a reminder fired; `never mind` right after something was planned or
            // stored.
            let since = self.memory.plans.last().and_then(|last| last.at);
            if let Some((what, rang)) = self.memory.plans.rang.clone()
                && since.is_none_or(|since| since < rang)
                && self.open_card(&what).is_some()
            {
                return self.rang_is(Act::Drop, &what, now);
            }
            return if self
                .memory
                .plans
                .last()
                .is_some_and(|last| last.before.is_empty() && last.taken.is_empty())
            {
                self.undo_plan(now)
            } else {
                refused(SAY_WHICH)
            };
        }
        let plan = match self.find(which, now) {
            Ok(Found::Plan(plan)) => plan,
            Ok(Found::Rang(what)) => return self.rang_is(Act::Drop, &what, now),
            Ok(Found::Kept(kept)) => return self.kept_is_done(kept, "dropped", now),
            Err(why) => return refused(&why),
        };
        let source = plan.planned.source();
        let mut minutes = Minutes::at(now);
        if self.memory.plans.busy_with(&source).is_some_and(|open| matches!(open.stage, Stage::Running(_))) {
            return refused(&format!(
                "{} is being done right now. wait until it is done.",
                plan.planned.name()
            ));
        }
        self.unplan(&source, &mut minutes);
        let name = plan.planned.name();
        let before = vec![plan.planned.what.clone()];
        self.can_undo_plan(Changed { before, ..Changed::default() }, &mut minutes);
        (Answer::Told(format!("cancelled: {name}. `undo` brings it back")), minutes.effects())
    }
}

/// Returns the new time of a moved reminder; a time in the past is an error.
fn moved(reminder: &Reminder, to: &Target, now: &Zoned) -> Result<Zoned, String> {
    let was = reminder.run_at.at.to_zoned(now.time_zone().clone());
    let later = |base: &Zoned, span: jiff::Span| base.checked_add(span).map_err(|error| error.to_string());
    let at = match to {
        Target::At(When::Once(at)) => Ok(at.clone()),
        Target::At(When::Lead { .. } | When::Repeats(_) | When::Cue(_)) => {
            Err("a reminder moves to one time. say one, like `thu 11`.".to_owned())
        }
        Target::Day(day) => {
            day.to_datetime(was.time()).to_zoned(now.time_zone().clone()).map_err(|error| error.to_string())
        }
        Target::Days(days) => later(&was.max(now.clone()), jiff::Span::new().days(i64::from(*days))),
        Target::Later(span) => now.checked_add(*span).map_err(|error| error.to_string()),
    }?;
    if at.timestamp() > now.timestamp() {
        Ok(at)
    } else {
        Err(format!("{} is over. say a time to come.", phrase::tell_exact(&at)))
    }
}

fn told(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Told(text), Vec::new())
}
