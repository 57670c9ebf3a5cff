//! Changes to existing plans and inbox items by name: done, moved and cancelled.
//!
//! Replies are generated from the resulting plan, never from the user's text.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::forks::refusal_reply;
use super::item_search::{FoundItem, WHICH_ONE, display_name};
use super::plan_undo::PlanUndo;
use super::planner::when_text;
use super::{Answer, Assistant, Effect, Transaction};
use crate::card::{CardAction, CardId, CardState};
use crate::cost::CostSource;
use crate::inbox::{InboxItem, InboxItemId};
use crate::intent::ItemRef;
use crate::occurrence::{OccurrenceEnd, OccurrenceState};
use crate::phrase::{self, MoveTarget, Timing};
use crate::record::{InboxChange, JobFileEdit, PlanChange, Record, SurfaceName};
use crate::schedule::{ItemId, JobSpec, JobTarget, Lateness, Moment, Plan, PlannedJob, Prompt, Reminder};

impl Assistant {
    pub(super) fn mark_done(&mut self, which: &ItemRef, now: &Zoned) -> (Answer, Vec<Effect>) {
        match self.find_item(which, now) {
            Ok(FoundItem::Plan(plan)) => self.mark_plan_done(&plan, now),
            Ok(FoundItem::Fired(what)) => self.settle_fired(CardAction::Done, &what, now),
            Ok(FoundItem::Inbox(kept)) => self.remove_with_undo(kept, "done", now),
            Err(why) => refusal_reply(&why),
        }
    }

    fn mark_plan_done(&mut self, plan: &Plan, now: &Zoned) -> (Answer, Vec<Effect>) {
        let planned = Arc::clone(&plan.job);
        let mut tx = Transaction::at(now);
        let source = planned.source();
        let name = planned.display_name();
        if let JobSpec::Routine(_) = planned.spec {
            self.fire_done_cues(&planned, &mut tx);
            self.start_next_turn(&mut tx);
            let reply = format!("done: {name}. it comes again {}", when_text(plan, now));
            return (Answer::Text(reply), tx.into_effects());
        }
        if let Some(due) = plan.next {
            let occurrence = super::schedule::new_occurrence(&planned, due, Lateness::OnTime, &tx);
            self.finish_occurrence(
                occurrence,
                OccurrenceEnd::Done("you said it is done".to_owned()),
                &mut tx,
            );
        }
        self.delete_plan(&source, &mut tx);
        let before = vec![planned.spec.clone()];
        self.push_plan_undo(PlanUndo { previous_plans: before, ..PlanUndo::default() }, &mut tx);
        self.start_next_turn(&mut tx);
        (Answer::Text(format!("done: {name}. `undo` takes it back")), tx.into_effects())
    }

    /// Marks a fired reminder as done or dropped, including its card.
    fn settle_fired(&mut self, act: CardAction, what: &JobSpec, now: &Zoned) -> (Answer, Vec<Effect>) {
        let verb = if act == CardAction::Drop { "dropped" } else { "done" };
        let name = display_name(what);
        let Some(card) = self.open_card(what) else { return text_reply(format!("{verb}: {name}.")) };
        let (_, effects) = self.press_card(SurfaceName::Internal, &card, act, now);
        (Answer::Text(format!("{verb}: {name}. `undo` takes it back")), effects)
    }

    /// Returns the card of a fired reminder, if it is still open.
    pub(super) fn open_card(&self, what: &JobSpec) -> Option<CardId> {
        let JobSpec::Reminder(reminder) = what else { return None };
        let id = CardId(reminder.id.clone());
        self.state.messages.cards.get(&id).filter(|(card, _)| card.state == CardState::Open).map(|_| id)
    }

    fn remove_with_undo(&mut self, kept: InboxItem, verb: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        self.take_from_inbox(kept.id, &mut tx);
        let reply = format!("{verb}: {}. `undo` brings it back", kept.text);
        self.push_plan_undo(PlanUndo { removed_items: vec![kept], ..PlanUndo::default() }, &mut tx);
        (Answer::Text(reply), tx.into_effects())
    }

    /// Removes an item from the inbox.
    pub(super) fn take_from_inbox(&mut self, id: InboxItemId, tx: &mut Transaction) {
        Arc::make_mut(&mut self.state.inbox.items).retain(|kept| kept.id != id);
        tx.records.push(Record::Inbox(InboxChange::Removed(id, tx.at)));
        self.withdraw_inbox_update(id, tx);
    }

    /// Removes all items from the inbox.
    pub(super) fn clear_inbox(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let taken = self.state.inbox.items.as_ref().clone();
        if taken.is_empty() {
            return text_reply("the inbox is empty.".to_owned());
        }
        let mut tx = Transaction::at(now);
        for kept in &taken {
            self.take_from_inbox(kept.id, &mut tx);
        }
        let reply =
            format!("the inbox is empty now. {} went out of it; `undo` brings them back", taken.len());
        self.push_plan_undo(PlanUndo { removed_items: taken, ..PlanUndo::default() }, &mut tx);
        (Answer::Text(reply), tx.into_effects())
    }

    pub(super) fn move_item(
        &mut self,
        which: &ItemRef,
        to: &MoveTarget,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        match self.find_item(which, now) {
            Ok(FoundItem::Plan(plan)) => self.move_plan(&plan, to, now),
            Ok(FoundItem::Fired(what)) => self.reschedule_fired(&what, to, now),
            Ok(FoundItem::Inbox(kept)) => self.schedule_inbox_item(kept, to, now),
            Err(why) => refusal_reply(&why),
        }
    }

    fn move_plan(&mut self, plan: &Plan, to: &MoveTarget, now: &Zoned) -> (Answer, Vec<Effect>) {
        let JobSpec::Reminder(reminder) = &plan.job.spec else {
            return refusal_reply(&format!(
                "{} comes again and again. cancel it and say it anew, or pause it.",
                plan.job.display_name()
            ));
        };
        let at = match moved_time(reminder, to, now) {
            Ok(at) => at,
            Err(why) => return refusal_reply(&why),
        };
        let mut next = reminder.clone();
        (next.run_at, next.cue) = (Moment::of(&at), None);
        let source = plan.job.source();
        let mut tx = Transaction::at(now);
        let value = next.run_at.to_string();
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(source.clone(), "run-at", Some(value)))));
        if reminder.cue.is_some() {
            tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(source.clone(), "cue", None))));
        }
        let file = plan.job.file.clone();
        self.add_plan(Arc::new(PlannedJob { spec: JobSpec::Reminder(next), file }), &mut tx);
        let before = vec![plan.job.spec.clone()];
        let since = vec![source.clone()];
        self.push_plan_undo(
            PlanUndo { previous_plans: before, new_plans: since, ..PlanUndo::default() },
            &mut tx,
        );
        (Answer::Text(self.confirmation(&source, now).unwrap_or_default()), tx.into_effects())
    }

    /// Schedules a fired reminder once more at another time, including its card.
    fn reschedule_fired(&mut self, what: &JobSpec, to: &MoveTarget, now: &Zoned) -> (Answer, Vec<Effect>) {
        if let Some(id) = self.open_card(what) {
            return self.reschedule_by_card(id, to, now);
        }
        let words = match what {
            JobSpec::Routine(routine) => routine.prompt.clone(),
            JobSpec::Reminder(reminder) => reminder.prompt.clone(),
        };
        let mut tx = Transaction::at(now);
        let source = match self.create_again(words, to, now, &mut tx) {
            Ok((source, at)) => {
                self.note_routine_moved(what, at, &mut tx);
                source
            }
            Err(why) => return refusal_reply(&why),
        };
        self.push_plan_undo(PlanUndo { new_plans: vec![source.clone()], ..PlanUndo::default() }, &mut tx);
        (Answer::Text(self.confirmation(&source, now).unwrap_or_default()), tx.into_effects())
    }

    fn reschedule_by_card(&mut self, id: CardId, to: &MoveTarget, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(posted) = self.state.messages.cards.get(&id).cloned() else {
            return refusal_reply(WHICH_ONE);
        };
        let (answer, effects) = self.move_card(posted, to, now);
        let state = self.state.messages.cards.get(&id).map(|(card, _)| card.state.clone());
        let Some(CardState::Moved(_, source)) = state else { return (answer, effects) };
        (Answer::Text(self.confirmation(&source, now).unwrap_or_default()), effects)
    }

    /// Schedules an inbox item and removes it from the inbox.
    fn schedule_inbox_item(
        &mut self,
        kept: InboxItem,
        to: &MoveTarget,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let source =
            match self.create_again(Prompt::new(&kept.text), &self.with_time_of_day(to, now), now, &mut tx) {
                Ok((source, _)) => source,
                Err(why) => return refusal_reply(&why),
            };
        self.take_from_inbox(kept.id, &mut tx);
        let changed =
            PlanUndo { new_plans: vec![source.clone()], removed_items: vec![kept], ..PlanUndo::default() };
        self.push_plan_undo(changed, &mut tx);
        (Answer::Text(self.confirmation(&source, now).unwrap_or_default()), tx.into_effects())
    }

    /// Adds a time of day to a bare date, for an item that had none: the morning, or the rest of
    /// today.
    fn with_time_of_day(&self, to: &MoveTarget, now: &Zoned) -> MoveTarget {
        let (MoveTarget::Day(day), habits) = (to, self.state.choices.settings.habits()) else {
            return to.clone();
        };
        let morning = day.to_datetime(habits.slots.morning).to_zoned(now.time_zone().clone());
        let when = if *day == now.date() {
            phrase::parse("today", now, &habits).when
        } else {
            morning.ok().map(Timing::Once)
        };
        when.map_or_else(|| to.clone(), MoveTarget::At)
    }

    /// Schedules `words` as a new reminder, and returns its source and time.
    pub(super) fn create_again(
        &mut self,
        words: Prompt,
        to: &MoveTarget,
        now: &Zoned,
        tx: &mut Transaction,
    ) -> Result<(CostSource, Timestamp), String> {
        let id = ItemId::parse(&self.rng.short_id()).map_err(|invalid| invalid.to_string())?;
        let again = Reminder::new(id, Moment::of(now), JobTarget::main(), words);
        let mut again = again.map_err(|invalid| invalid.to_string())?;
        let today = *to == MoveTarget::Day(now.date());
        let at = moved_time(&again, &if today { self.with_time_of_day(to, now) } else { to.clone() }, now)?;
        again.run_at = Moment::of(&at);
        Ok((self.create_plan(JobSpec::Reminder(again), tx), at.timestamp()))
    }

    pub(super) fn cancel_plan(&mut self, which: &ItemRef, now: &Zoned) -> (Answer, Vec<Effect>) {
        if *which == ItemRef::Current {
            // `drop it` after a reminder fired; `never mind` right after something was planned or
            // stored.
            let since = self.state.plans.last_change().and_then(|last| last.at);
            if let Some((what, rang)) = self.state.plans.last_finished.clone()
                && since.is_none_or(|since| since < rang)
                && self.open_card(&what).is_some()
            {
                return self.settle_fired(CardAction::Drop, &what, now);
            }
            return if self
                .state
                .plans
                .last_change()
                .is_some_and(|last| last.previous_plans.is_empty() && last.removed_items.is_empty())
            {
                self.undo_plan_change(now)
            } else {
                refusal_reply(WHICH_ONE)
            };
        }
        let plan = match self.find_item(which, now) {
            Ok(FoundItem::Plan(plan)) => plan,
            Ok(FoundItem::Fired(what)) => return self.settle_fired(CardAction::Drop, &what, now),
            Ok(FoundItem::Inbox(kept)) => return self.remove_with_undo(kept, "dropped", now),
            Err(why) => return refusal_reply(&why),
        };
        let source = plan.job.source();
        let mut tx = Transaction::at(now);
        if self
            .state
            .plans
            .busy_with(&source)
            .is_some_and(|open| matches!(open.state, OccurrenceState::Running(_)))
        {
            return refusal_reply(&format!(
                "{} is being done right now. wait until it is done.",
                plan.job.display_name()
            ));
        }
        self.delete_plan(&source, &mut tx);
        let name = plan.job.display_name();
        let before = vec![plan.job.spec.clone()];
        self.push_plan_undo(PlanUndo { previous_plans: before, ..PlanUndo::default() }, &mut tx);
        (Answer::Text(format!("cancelled: {name}. `undo` brings it back")), tx.into_effects())
    }
}

/// Returns the new time of a moved reminder; a time in the past is an error.
fn moved_time(reminder: &Reminder, to: &MoveTarget, now: &Zoned) -> Result<Zoned, String> {
    let was = reminder.run_at.at.to_zoned(now.time_zone().clone());
    let later = |base: &Zoned, span: jiff::Span| base.checked_add(span).map_err(|error| error.to_string());
    let at = match to {
        MoveTarget::At(Timing::Once(at)) => Ok(at.clone()),
        MoveTarget::At(Timing::Lead { .. } | Timing::Recurring(_) | Timing::Cue(_)) => {
            Err("a reminder moves to one time. say one, like `thu 11`.".to_owned())
        }
        MoveTarget::Day(day) => {
            day.to_datetime(was.time()).to_zoned(now.time_zone().clone()).map_err(|error| error.to_string())
        }
        MoveTarget::Days(days) => later(&was.max(now.clone()), jiff::Span::new().days(i64::from(*days))),
        MoveTarget::Later(span) => now.checked_add(*span).map_err(|error| error.to_string()),
    }?;
    if at.timestamp() > now.timestamp() {
        Ok(at)
    } else {
        Err(format!("{} is over. say a time to come.", phrase::format_exact(&at)))
    }
}

fn text_reply(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Text(text), Vec::new())
}
