//! Undo of plan and inbox changes, newest first.
//!
//! Replies are generated from the restored plans, never from the user's text.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::forks::refusal_reply;
use super::{Answer, Assistant, Effect, ItemOrigin, OwnItem, Transaction};
use crate::card::{CardAction, CardId};
use crate::cost::CostSource;
use crate::inbox::{InboxItem, InboxItemId};
use crate::phrase::Cue;
use crate::record::{InboxChange, JobFileEdit, PlanChange, Record, SurfaceName};
use crate::schedule::{JobSpec, PauseState, PlannedJob};

/// Most undoable changes.
const MAX_CHANGES: usize = 10;
/// How long a change can be undone.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);
/// How long items that a model wrote after outside text are listed.
const WRITTEN: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An undoable change of plans, inbox items and cards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanUndo {
    /// Plans as they were before they were removed or changed.
    pub previous_plans: Vec<JobSpec>,
    /// Plans that were created or changed.
    pub new_plans: Vec<CostSource>,
    /// Items removed from the inbox.
    pub removed_items: Vec<InboxItem>,
    /// Items added to the inbox.
    pub added_items: Vec<InboxItemId>,
    /// Cards that were settled.
    pub settled_cards: Vec<CardId>,
    /// A change that cannot be undone here, as a text on how to reverse it; it blocks the undo of
    /// older changes.
    pub irreversible: Option<String>,
    /// Time of the change.
    pub at: Option<Timestamp>,
    /// A description of the outside text that a model had read before it made the change, such as
    /// `a page from example.org`.
    pub origin: Option<String>,
}

impl PlanUndo {
    fn is_undoable(&self, now: Timestamp) -> bool {
        self.at.is_none_or(|at| now.duration_since(at) <= MAX_AGE)
    }
}

impl Assistant {
    /// Adds an undoable change. It survives a restart.
    pub(super) fn push_plan_undo(&mut self, changed: PlanUndo, tx: &mut Transaction) {
        let origin = self.changing_now().map(|(_, from)| from);
        let changes = Arc::make_mut(&mut self.state.plans.changes);
        changes.retain(|change| change.is_undoable(tx.at));
        if changes.len() == MAX_CHANGES {
            changes.remove(0);
        }
        changes.push(PlanUndo { at: Some(tx.at), origin, ..changed });
        tx.record_plan(Some(PlanChange::UndoLog(Arc::clone(&self.state.plans.changes))));
    }

    /// Removes and returns the newest change for which `matches` is true.
    pub(super) fn take_plan_undo(
        &mut self,
        matches: impl Fn(&PlanUndo) -> bool,
        tx: &mut Transaction,
    ) -> Option<PlanUndo> {
        let at = self.state.plans.changes.iter().rposition(matches)?;
        let changed = Arc::make_mut(&mut self.state.plans.changes).remove(at);
        tx.record_plan(Some(PlanChange::UndoLog(Arc::clone(&self.state.plans.changes))));
        Some(changed)
    }

    pub(super) fn undo_plan_change(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let last = self.state.plans.last_change().filter(|last| last.is_undoable(now.timestamp()));
        if let Some(beyond) = last.and_then(|last| last.irreversible.as_ref()) {
            return refusal_reply(beyond);
        }
        let mut tx = Transaction::at(now);
        let any = last.is_some();
        let Some(changed) = self.take_plan_undo(|_| any, &mut tx) else {
            return refusal_reply(
                "there is nothing left to take back: i keep the last 10 changes in mind, for 24 hours.",
            );
        };
        let origin = changed.origin.as_deref().map(after_reading).unwrap_or_default();
        if !changed.removed_items.is_empty() {
            changed.new_plans.iter().for_each(|source| self.withdraw_card(source, &mut tx));
        }
        let (plans, mut removed) = self.restore_plans(changed.previous_plans, changed.new_plans, &mut tx);
        removed.extend(changed.added_items.iter().filter_map(|id| self.remove_added_item(*id, &mut tx)));
        let taken = changed.removed_items.into_iter();
        let mut restored: Vec<String> = taken.map(|kept| self.restore_item(kept, &mut tx)).collect();
        restored.extend(plans.iter().filter_map(|source| self.confirmation(source, now)));
        for card in &changed.settled_cards {
            // In the same transaction, so that a crash undoes all or nothing.
            let effects = self.press_card(SurfaceName::Internal, card, CardAction::Undo, now).1;
            tx.absorb(effects);
            let words = self.state.messages.cards.get(card).map(|(card, _)| card.task.clone());
            restored.push(format!("taken back: {} is still to do.", words.unwrap_or_default()));
        }
        let reply = match restored.is_empty() {
            true if removed.is_empty() => {
                "that has rung already, so there is nothing to take back.".to_owned()
            }
            true => format!("taken back: {}", removed.join(", ")),
            false => restored.join("\n"),
        };
        (Answer::Text(format!("{reply}{origin}")), tx.into_effects())
    }

    /// Lists the changes that `undo` reverts, newest first, and the other items that a model wrote
    /// after outside text.
    pub(super) fn tell_changes(&self, now: &Zoned) -> String {
        let fresh =
            self.state.plans.changes.iter().rev().filter(|change| change.is_undoable(now.timestamp()));
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
        let mut written: Vec<(&OwnItem, &ItemOrigin)> = self.state.plans.items.iter().collect();
        written.retain(|(item, origin)| {
            !matches!(item, OwnItem::Inbox(_)) && now.timestamp().duration_since(origin.at) <= WRITTEN
        });
        written.sort_by_key(|(_, origin)| std::cmp::Reverse(origin.at));
        if !written.is_empty() {
            lines.push("Also written after outside text. `undo` does not change these:".to_owned());
        }
        lines.extend(written.iter().take(MAX_CHANGES).map(|(item, origin)| {
            format!("- {}{}{}", item.name(), after_reading(&origin.from), told_ago(origin.at, now))
        }));
        lines.join("\n")
    }

    fn tell_change(&self, change: &PlanUndo) -> String {
        if change.irreversible.is_some() {
            return "A change that only you can reverse".to_owned();
        }
        let name = |source: &CostSource| {
            let plan = self.state.plans.agenda.get(source);
            plan.map_or_else(|| "something that rang since".to_owned(), |plan| plan.job.display_name())
        };
        let since: Vec<String> = change.new_plans.iter().map(name).collect();
        let before = change.previous_plans.iter();
        let before: Vec<String> = before
            .map(|what| PlannedJob { spec: what.clone(), file: String::new() }.display_name())
            .collect();
        let text = |id: &InboxItemId| {
            self.inbox_item(*id).map_or_else(|_| format!("item {}", id.0), |kept| kept.text)
        };
        let kept: Vec<String> = change.added_items.iter().map(text).collect();
        let taken: Vec<String> = change.removed_items.iter().map(|kept| kept.text.clone()).collect();
        let cards = change.settled_cards.iter().filter_map(|id| self.state.messages.cards.get(id));
        let settled: Vec<String> = cards.map(|(card, _)| card.task.clone()).collect();
        let lists = [
            (if before.is_empty() { "Planned" } else { "Changed" }, since),
            ("Done or cancelled", if change.new_plans.is_empty() { before } else { Vec::new() }),
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
    fn restore_plans(
        &mut self,
        before: Vec<JobSpec>,
        since: Vec<CostSource>,
        tx: &mut Transaction,
    ) -> (Vec<CostSource>, Vec<String>) {
        // A reminder that has fired meanwhile is not restored to its old time.
        let (still, fired): (Vec<CostSource>, Vec<CostSource>) =
            since.into_iter().partition(|source| self.state.plans.agenda.get(source).is_some());
        let was: Vec<CostSource> = before.iter().map(source_of).collect();
        let new = still.iter().filter(|source| !was.contains(source));
        let removed: Vec<String> =
            new.filter_map(|source| self.delete_plan(source, tx)).map(|it| it.display_name()).collect();
        let before = before.into_iter().filter(|what| !fired.contains(&source_of(what)));
        let back = before.map(|what| {
            if still.contains(&source_of(&what)) {
                self.restore_times(&what, tx)
            } else {
                self.create_plan(what, tx)
            }
        });
        (back.collect(), removed)
    }

    /// Restores the times of a plan that was moved or paused. Other content of its file, and its
    /// session, are not affected.
    fn restore_times(&mut self, before: &JobSpec, tx: &mut Transaction) -> CostSource {
        let source = source_of(before);
        let plan = self.state.plans.agenda.get(&source).map(|plan| Arc::clone(&plan.job));
        let Some(planned) = plan else { return self.create_plan(before.clone(), tx) };
        let mut what = planned.spec.clone();
        let rests = planned.firing_policy().pause.file_value();
        let rested = pause_of(before).file_value();
        let mut keys = vec![("paused", rests, rested)];
        match (&mut what, before) {
            (JobSpec::Reminder(now), JobSpec::Reminder(was)) => {
                let cue = |cue: &Option<Cue>| cue.as_ref().map(ToString::to_string);
                keys.push(("run-at", Some(now.run_at.to_string()), Some(was.run_at.to_string())));
                keys.push(("cue", cue(&now.cue), cue(&was.cue)));
                (now.run_at, now.cue, now.firing_policy.pause) =
                    (was.run_at, was.cue.clone(), was.firing_policy.pause);
            }
            (JobSpec::Routine(now), JobSpec::Routine(was)) => {
                now.firing_policy.pause = was.firing_policy.pause
            }
            (JobSpec::Reminder(_), JobSpec::Routine(_)) | (JobSpec::Routine(_), JobSpec::Reminder(_)) => {}
        }
        for (key, _, value) in keys.into_iter().filter(|(_, now, was)| now != was) {
            tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(source.clone(), key, value))));
        }
        self.add_plan(Arc::new(PlannedJob { spec: what, file: planned.file.clone() }), tx);
        source
    }

    /// Removes an item that was added to the inbox, and returns its text.
    fn remove_added_item(&mut self, id: InboxItemId, tx: &mut Transaction) -> Option<String> {
        let kept = self.inbox_item(id).ok()?;
        self.take_from_inbox(id, tx);
        Some(kept.text)
    }

    /// Restores an inbox item with its number, and returns a confirmation.
    fn restore_item(&mut self, kept: InboxItem, tx: &mut Transaction) -> String {
        tx.records.push(Record::Inbox(InboxChange::Added(kept.clone())));
        self.leave_inbox_update(&kept, tx);
        let reply = format!("back in your inbox as {}: {}", kept.id.0, kept.text);
        let inbox = Arc::make_mut(&mut self.state.inbox.items);
        inbox.retain(|other| other.id != kept.id);
        let at = inbox.partition_point(|other| other.id < kept.id);
        inbox.insert(at, kept);
        reply
    }
}

/// Formats the origin of a change: ` (after reading a page from example.org)`.
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

fn source_of(what: &JobSpec) -> CostSource {
    PlannedJob { spec: what.clone(), file: String::new() }.source()
}

fn pause_of(what: &JobSpec) -> PauseState {
    match what {
        JobSpec::Routine(routine) => routine.firing_policy.pause,
        JobSpec::Reminder(reminder) => reminder.firing_policy.pause,
    }
}
