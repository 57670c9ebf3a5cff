//! Undo of plan and inbox changes, newest first.
//!
//! Replies are generated from the restored plans, never from the user's text.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Effect, Minutes};
use crate::card::{Act, CardId};
use crate::cost::Source;
use crate::inbox::{Kept, KeptId};
use crate::phrase::Cue;
use crate::record::{FileWork, InboxChange, PlanChange, Record, SurfaceName};
use crate::schedule::{Planned, Rest, What};

/// Most undoable changes.
const CHANGES: usize = 10;
/// How long a change can be undone.
const FRESH: SignedDuration = SignedDuration::from_hours(24);

/// An undoable change of plans, inbox items and cards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Plans as they were before they were removed or changed.
    pub before: Vec<What>,
    /// Plans that were created or changed.
    pub since: Vec<Source>,
    /// Items removed from the inbox.
    pub taken: Vec<Kept>,
    /// Items added to the inbox.
    pub kept: Vec<KeptId>,
    /// Cards that were settled.
    pub settled: Vec<CardId>,
    /// A change that cannot be undone here, as a text on how to reverse it; it blocks the undo of
    /// older changes.
    pub beyond: Option<String>,
    /// Time of the change.
    pub at: Option<Timestamp>,
}

impl Changed {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at.is_none_or(|at| now.duration_since(at) <= FRESH)
    }
}

impl Assistant {
    /// Adds an undoable change. It survives a restart.
    pub(super) fn can_undo_plan(&mut self, changed: Changed, minutes: &mut Minutes) {
        let changes = Arc::make_mut(&mut self.memory.plans.changes);
        changes.retain(|change| change.is_fresh(minutes.at));
        if changes.len() == CHANGES {
            changes.remove(0);
        }
        changes.push(Changed { at: Some(minutes.at), ..changed });
        minutes.plan(Some(PlanChange::Changes(Arc::clone(&self.memory.plans.changes))));
    }

    /// Removes and returns the newest change for which `matches` is true.
    pub(super) fn take_change(
        &mut self,
        wanted: impl Fn(&Changed) -> bool,
        minutes: &mut Minutes,
    ) -> Option<Changed> {
        let at = self.memory.plans.changes.iter().rposition(wanted)?;
        let changed = Arc::make_mut(&mut self.memory.plans.changes).remove(at);
        minutes.plan(Some(PlanChange::Changes(Arc::clone(&self.memory.plans.changes))));
        Some(changed)
    }

    pub(super) fn undo_plan(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let last = self.memory.plans.last().filter(|last| last.is_fresh(now.timestamp()));
        if let Some(beyond) = last.and_then(|last| last.beyond.as_ref()) {
            return refused(beyond);
        }
        let mut minutes = Minutes::at(now);
        let any = last.is_some();
        let Some(changed) = self.take_change(|_| any, &mut minutes) else {
            return refused(
                "there is nothing left to take back: i keep the last 10 changes in mind, for 24 hours.",
            );
        };
        if !changed.taken.is_empty() {
            changed.since.iter().for_each(|source| self.withdraw_card(source, &mut minutes));
        }
        let (plans, mut gone) = self.plans_back(changed.before, changed.since, &mut minutes);
        gone.extend(changed.kept.iter().filter_map(|id| self.not_kept(*id, &mut minutes)));
        let taken = changed.taken.into_iter();
        let mut back: Vec<String> = taken.map(|kept| self.put_back(kept, &mut minutes)).collect();
        back.extend(plans.iter().filter_map(|source| self.echo(source, now)));
        for card in &changed.settled {
            // In the same transaction, so that a crash undoes all or nothing.
            let effects = self.card_pressed(SurfaceName::House, card, Act::Undo, now).1;
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

    /// Restores the plans of `before` and removes the others of `since`. Returns the restored
    /// plans, and the names of the removed ones.
    fn plans_back(
        &mut self,
        before: Vec<What>,
        since: Vec<Source>,
        minutes: &mut Minutes,
    ) -> (Vec<Source>, Vec<String>) {
        // A reminder that has fired meanwhile is not restored to its old time.
        let (still, rang): (Vec<Source>, Vec<Source>) =
            since.into_iter().partition(|source| self.memory.plans.agenda.get(source).is_some());
        let was: Vec<Source> = before.iter().map(source_of).collect();
        let new = still.iter().filter(|source| !was.contains(source));
        let gone: Vec<String> =
            new.filter_map(|source| self.unplan(source, minutes)).map(|it| it.name()).collect();
        let before = before.into_iter().filter(|what| !rang.contains(&source_of(what)));
        let back = before.map(|what| {
            if still.contains(&source_of(&what)) {
                self.set_back(&what, minutes)
            } else {
                self.write_plan(what, minutes)
            }
        });
        (back.collect(), gone)
    }

    /// Restores the times of a plan that was moved or paused. Other content of its file, and its
    /// session, are not affected.
    fn set_back(&mut self, before: &What, minutes: &mut Minutes) -> Source {
        let source = source_of(before);
        let plan = self.memory.plans.agenda.get(&source).map(|plan| Arc::clone(&plan.planned));
        let Some(planned) = plan else { return self.write_plan(before.clone(), minutes) };
        let mut what = planned.what.clone();
        let rests = planned.manner().rest.value();
        let rested = rest_of(before).value();
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

    /// Removes an item that was added to the inbox, and returns its text.
    fn not_kept(&mut self, id: KeptId, minutes: &mut Minutes) -> Option<String> {
        let kept = self.kept_as(id).ok()?;
        self.take_out(id, minutes);
        Some(kept.text)
    }

    /// Restores an inbox item with its number, and returns a confirmation.
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

fn source_of(what: &What) -> Source {
    Planned { what: what.clone(), file: String::new() }.source()
}

fn rest_of(what: &What) -> Rest {
    match what {
        What::Routine(routine) => routine.manner.rest,
        What::Reminder(reminder) => reminder.manner.rest,
    }
}
