//! Undo of plan and inbox changes, newest first.
//!
//! Replies are generated from the restored plans, never from the user's text.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Effect, ItemOrigin, Minutes, OwnItem};
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
/// For how long what a model wrote after outside text is listed.
const WRITTEN: SignedDuration = SignedDuration::from_hours(7 * 24);

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
    /// What a model had read from outside before it made the change, such as `a page from example.org`.
    pub origin: Option<String>,
}

impl Changed {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at.is_none_or(|at| now.duration_since(at) <= FRESH)
    }
}

impl Assistant {
    /// Adds an undoable change. It survives a restart.
    pub(super) fn can_undo_plan(&mut self, changed: Changed, minutes: &mut Minutes) {
        let origin = self.changing_now().map(|(_, from)| from);
        let changes = Arc::make_mut(&mut self.memory.plans.changes);
        changes.retain(|change| change.is_fresh(minutes.at));
        if changes.len() == CHANGES {
            changes.remove(0);
        }
        changes.push(Changed { at: Some(minutes.at), origin, ..changed });
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
        let origin = changed.origin.as_deref().map(after_reading).unwrap_or_default();
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
        (Answer::Told(format!("{told}{origin}")), minutes.effects())
    }

    /// Returns the changes that `undo` takes back, the newest first, and what else a model wrote after outside text.
    pub(super) fn tell_changes(&self, now: &Zoned) -> String {
        let fresh = self.memory.plans.changes.iter().rev().filter(|change| change.is_fresh(now.timestamp()));
        let mut lines: Vec<String> = Vec::new();
        for change in fresh {
            let origin = change.origin.as_deref().map(after_reading).unwrap_or_default();
            let ago = change.at.map(|at| told_ago(at, now)).unwrap_or_default();
            lines.push(format!("{}. {}{origin}{ago}", lines.len() + 1, self.tell_change(change)));
        }
        if lines.is_empty() {
            lines.push("Nothing to undo. The last 10 changes of the past 24 hours appear here.".to_owned());
        } else {
            lines.insert(0, "`undo` takes back the first of these:".to_owned());
        }
        let mut written: Vec<(&OwnItem, &ItemOrigin)> = self.memory.plans.items.iter().collect();
        written.retain(|(item, origin)| {
            !matches!(item, OwnItem::Inbox(_)) && now.timestamp().duration_since(origin.at) <= WRITTEN
        });
        written.sort_by_key(|(_, origin)| std::cmp::Reverse(origin.at));
        if !written.is_empty() {
            lines.push("Also written after outside text. `undo` does not change these:".to_owned());
        }
        lines.extend(written.iter().take(CHANGES).map(|(item, origin)| {
            format!("- {}{}{}", item.name(), after_reading(&origin.from), told_ago(origin.at, now))
        }));
        lines.join("\n")
    }

    fn tell_change(&self, change: &Changed) -> String {
        if change.beyond.is_some() {
            return "A change that only you can reverse".to_owned();
        }
        let name = |source: &Source| {
            let plan = self.memory.plans.agenda.get(source);
            plan.map_or_else(|| "something that rang since".to_owned(), |plan| plan.planned.name())
        };
        let since: Vec<String> = change.since.iter().map(name).collect();
        let before = change.before.iter();
        let before: Vec<String> =
            before.map(|what| Planned { what: what.clone(), file: String::new() }.name()).collect();
        let text =
            |id: &KeptId| self.kept_as(*id).map_or_else(|_| format!("item {}", id.0), |kept| kept.text);
        let kept: Vec<String> = change.kept.iter().map(text).collect();
        let taken: Vec<String> = change.taken.iter().map(|kept| kept.text.clone()).collect();
        let cards = change.settled.iter().filter_map(|id| self.memory.messages.cards.get(id));
        let settled: Vec<String> = cards.map(|(card, _)| card.words.clone()).collect();
        let lists = [
            (if before.is_empty() { "Planned" } else { "Changed" }, since),
            ("Done or cancelled", if change.since.is_empty() { before } else { Vec::new() }),
            ("Added to the inbox", kept),
            ("Removed from the inbox", taken),
            ("Done", settled),
        ];
        let told = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<String> = told.map(|(verb, names)| format!("{verb}: {}", names.join(", "))).collect();
        told.join("; ")
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

/// Names what was read before a change: ` (after reading a page from example.org)`.
fn after_reading(from: &str) -> String {
    format!(" (after reading {from})")
}

fn told_ago(at: Timestamp, now: &Zoned) -> String {
    let minutes = now.timestamp().duration_since(at).as_mins().max(0);
    match minutes {
        0 => ", just now".to_owned(),
        1..60 => format!(", {minutes} min ago"),
        60..1_440 => format!(", {} h ago", minutes / 60),
        _ => format!(", {} d ago", minutes / 1_440),
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
