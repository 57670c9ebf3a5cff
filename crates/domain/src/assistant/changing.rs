//! Changing what there is, in plain words: done, moved, cancelled, and taken back.
//!
//! What is told is read back from what was planned, never from what was said.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::finding::{Found, SAY_WHICH, named};
use super::forking::refused;
use super::wording::told_when;
use super::{Answer, Assistant, Effect, Minutes};
use crate::brain::Which;
use crate::card::{Act, CardId, State};
use crate::cost::Source;
use crate::inbox::{Kept, KeptId};
use crate::occurrence::{End, Stage};
use crate::phrase::{self, Cue, Target, When};
use crate::record::{FileWork, InboxChange, PlanChange, Record, SurfaceName};
use crate::schedule::{Charter, ItemId, Lateness, Moment, Plan, Planned, Prompt, Reminder, Rest, What};

/// A change in plain words that can be taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// What was planned before and is not any more, or otherwise.
    pub before: Vec<What>,
    /// What is planned since.
    pub since: Vec<Source>,
    /// What was in the inbox before and is not any more.
    pub taken: Vec<Kept>,
    /// What is in the inbox since.
    pub kept: Vec<KeptId>,
    /// What had rung, and was settled.
    pub settled: Vec<CardId>,
    /// When that was.
    pub at: Option<Timestamp>,
}

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
        let (planned, mut minutes) = (Arc::clone(&plan.planned), Minutes::at(now));
        let (source, name) = (planned.source(), planned.name());
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

    /// What rang is done, or dropped; its card says so too.
    fn rang_is(&mut self, act: Act, what: &What, now: &Zoned) -> (Answer, Vec<Effect>) {
        let verb = if act == Act::Drop { "dropped" } else { "done" };
        let name = named(what);
        let Some(card) = self.open_card(what) else { return told(format!("{verb}: {name}.")) };
        let (_, effects) = self.card_pressed(SurfaceName::House, (&card, act), now);
        (Answer::Told(format!("{verb}: {name}. `undo` takes it back")), effects)
    }

    /// The card of what rang, if nothing was done with it yet.
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

    /// Takes something out of the inbox.
    fn take_out(&mut self, id: KeptId, minutes: &mut Minutes) {
        Arc::make_mut(&mut self.memory.inbox.kept).retain(|kept| kept.id != id);
        minutes.records.push(Record::Inbox(InboxChange::Removed(id, minutes.at)));
        self.not_for_model(id, minutes);
    }

    /// Everything in the inbox is dealt with.
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
        let (source, mut minutes) = (plan.planned.source(), Minutes::at(now));
        let value = next.run_at.to_string();
        minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "run-at", Some(value)))));
        if reminder.cue.is_some() {
            minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "cue", None))));
        }
        let file = plan.planned.file.clone();
        self.planned(Arc::new(Planned { what: What::Reminder(next), file }), &mut minutes);
        let (before, since) = (vec![plan.planned.what.clone()], vec![source.clone()]);
        self.can_undo_plan(Changed { before, since, ..Changed::default() }, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    /// What rang rings once more, at another time; its card says so too.
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

    /// Something in the inbox gets a time, and is planned then.
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

    /// A day alone has no time of day to go by, when the thing had none: it is then in the morning, or in what is left
    /// of today.
    fn with_a_time(&self, to: &Target, now: &Zoned) -> Target {
        let (Target::Day(day), habits) = (to, self.memory.chosen.settings.habits()) else {
            return to.clone();
        };
        let morning = day.to_datetime(habits.slots.morning).to_zoned(now.time_zone().clone());
        let when = match *day == now.date() {
            true => phrase::read("today", now, &habits).when,
            false => morning.ok().map(When::Once),
        };
        when.map_or_else(|| to.clone(), Target::At)
    }

    /// Plans that `words` ring once more, and gives what that is planned as, and when.
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
            // `drop it`, after it rang; `never mind`, right after it was planned or kept.
            let last = self.memory.plans.last.as_ref();
            let since = last.and_then(|last| last.at);
            if let Some((what, rang)) = self.memory.plans.rang.clone()
                && since.is_none_or(|since| since < rang)
                && self.open_card(&what).is_some()
            {
                return self.rang_is(Act::Drop, &what, now);
            }
            let last = self.memory.plans.last.as_ref();
            return match last.is_some_and(|last| last.before.is_empty() && last.taken.is_empty()) {
                true => self.undo_plan(now),
                false => refused(SAY_WHICH),
            };
        }
        let plan = match self.find(which, now) {
            Ok(Found::Plan(plan)) => plan,
            Ok(Found::Rang(what)) => return self.rang_is(Act::Drop, &what, now),
            Ok(Found::Kept(kept)) => return self.kept_is_done(kept, "dropped", now),
            Err(why) => return refused(&why),
        };
        let (source, mut minutes) = (plan.planned.source(), Minutes::at(now));
        if self.memory.plans.busy_with(&source).is_some_and(|open| matches!(open.stage, Stage::Running(_))) {
            return refused(&format!(
                "{} is being done right now. wait until it is done.",
                plan.planned.name()
            ));
        }
        self.unplan(&source, &mut minutes);
        let (name, before) = (plan.planned.name(), vec![plan.planned.what.clone()]);
        self.can_undo_plan(Changed { before, ..Changed::default() }, &mut minutes);
        (Answer::Told(format!("cancelled: {name}. `undo` brings it back")), minutes.effects())
    }

    /// What was changed last can be taken back, also after a restart.
    pub(super) fn can_undo_plan(&mut self, changed: Changed, minutes: &mut Minutes) {
        let changed = Changed { at: Some(minutes.at), ..changed };
        minutes.plan(Some(PlanChange::Last(Some(Box::new(changed.clone())))));
        self.memory.plans.last = Some(changed);
    }

    pub(super) fn undo_plan(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(changed) = self.memory.plans.last.take() else {
            return refused("nothing was planned or changed that i could take back.");
        };
        let mut minutes = Minutes::at(now);
        minutes.plan(Some(PlanChange::Last(None)));
        if !changed.taken.is_empty() {
            changed.since.iter().for_each(|source| self.withdraw_card(source, &mut minutes));
        }
        let (plans, mut gone) = self.plans_back(changed.before, changed.since, &mut minutes);
        gone.extend(changed.kept.iter().filter_map(|id| self.not_kept(*id, &mut minutes)));
        let taken = changed.taken.into_iter();
        let mut back: Vec<String> = taken.map(|kept| self.put_back(kept, &mut minutes)).collect();
        back.extend(plans.iter().filter_map(|source| self.echo(source, now)));
        for card in &changed.settled {
            // In the same writing: a crash finds all of it taken back, or none of it.
            let effects = self.card_pressed(SurfaceName::House, (card, Act::Undo), now).1;
            minutes.absorb(effects);
            let words = self.memory.messages.cards.get(card).map(|(card, _)| card.words.clone());
            back.push(format!("taken back: {} is still to do.", words.unwrap_or_default()));
        }
        let told = match back.is_empty() {
            true if gone.is_empty() => "that has rung already, so there is nothing to take back.".to_owned(),
            true => format!("taken back: {}", gone.join(", ")),
            false => back.join("\n"),
        };
        (Answer::Told(told), minutes.effects())
    }

    /// What was planned `before` is planned again, and what is planned only `since` then is not: what comes back, and
    /// the names of what goes.
    fn plans_back(
        &mut self,
        before: Vec<What>,
        since: Vec<Source>,
        minutes: &mut Minutes,
    ) -> (Vec<Source>, Vec<String>) {
        // What has rung meanwhile does not come back at the time it had before.
        let (still, rang): (Vec<Source>, Vec<Source>) =
            since.into_iter().partition(|source| self.memory.plans.agenda.get(source).is_some());
        let was: Vec<Source> = before.iter().map(source_of).collect();
        let new = still.iter().filter(|source| !was.contains(source));
        let gone: Vec<String> =
            new.filter_map(|source| self.unplan(source, minutes)).map(|it| it.name()).collect();
        let before = before.into_iter().filter(|what| !rang.contains(&source_of(what)));
        let back = before.map(|what| match still.contains(&source_of(&what)) {
            true => self.set_back(&what, minutes),
            false => self.write_plan(what, minutes),
        });
        (back.collect(), gone)
    }

    /// A plan that was only moved or let rest has the times of `before` again. Its file keeps all else that stands in
    /// it, and its session goes on.
    fn set_back(&mut self, before: &What, minutes: &mut Minutes) -> Source {
        let source = source_of(before);
        let plan = self.memory.plans.agenda.get(&source).map(|plan| Arc::clone(&plan.planned));
        let Some(planned) = plan else { return self.write_plan(before.clone(), minutes) };
        let mut what = planned.what.clone();
        let (rests, rested) = (planned.manner().rest.value(), rest_of(before).value());
        let mut keys = vec![("paused", rests, rested)];
        match (&mut what, before) {
            (What::Reminder(now), What::Reminder(was)) => {
                let cue = |cue: &Option<Cue>| cue.as_ref().map(ToString::to_string);
                keys.push(("run-at", Some(now.run_at.to_string()), Some(was.run_at.to_string())));
                keys.push(("cue", cue(&now.cue), cue(&was.cue)));
                (now.run_at, now.cue, now.manner.rest) = (was.run_at, was.cue.clone(), was.manner.rest);
            }
            (What::Routine(now), What::Routine(was)) => now.manner.rest = was.manner.rest,
            (What::Reminder(_), What::Routine(_)) | (What::Routine(_), What::Reminder(_)) => {}
        }
        for (key, _, value) in keys.into_iter().filter(|(_, now, was)| now != was) {
            minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), key, value))));
        }
        self.planned(Arc::new(Planned { what, file: planned.file.clone() }), minutes);
        source
    }

    /// What was kept last is not any more, and what it was.
    fn not_kept(&mut self, id: KeptId, minutes: &mut Minutes) -> Option<String> {
        let kept = self.kept_as(id).ok()?;
        self.take_out(id, minutes);
        Some(kept.text)
    }

    /// Something is in the inbox again, under its number.
    fn put_back(&mut self, kept: Kept, minutes: &mut Minutes) -> String {
        minutes.records.push(Record::Inbox(InboxChange::Kept(kept.clone())));
        self.keep_for_model(&kept, minutes);
        let told = format!("back in your inbox as {}: {}", kept.id.0, kept.text);
        let inbox = Arc::make_mut(&mut self.memory.inbox.kept);
        inbox.retain(|other| other.id != kept.id);
        let at = inbox.partition_point(|other| other.id < kept.id);
        inbox.insert(at, kept);
        told
    }
}

/// When a reminder rings that is moved: never in the past.
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
    match at.timestamp() > now.timestamp() {
        true => Ok(at),
        false => Err(format!("{} is over. say a time to come.", phrase::tell_exact(&at))),
    }
}

fn told(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Told(text), Vec::new())
}

fn source_of(what: &What) -> Source {
    Planned { what: what.clone(), file: String::new() }.source()
}

fn rest_of(what: &What) -> Rest {
    match what {
        What::Routine(routine) => routine.manner.rest,
        What::Reminder(reminder) => reminder.manner.rest,
    }
}
