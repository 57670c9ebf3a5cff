//! Reminders on main: each is shown as written when it is due, whatever main is doing.
//!
//! The text is shown in the transaction that records the due time, so no turn, tool, approval,
//! compaction or unreachable model delays it. Then the model is asked to reword it when main is
//! free; its answer replaces the text if it comes in time. Reminders that are due together are
//! shown in one message.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::occurrences::is_reminder;
use super::schedule::is_for_main;
use super::{Assistant, Transaction, TurnState};
use crate::card::{Card, CardId, CardState, group_text, verbatim_text};
use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::label::Label;
use crate::occurrence::{
    Occurrence, OccurrenceEnd, OccurrenceState, VERBATIM_GROUP_NOTE, VERBATIM_NOTE, VERBATIM_OVER_LIMIT_NOTE,
};
use crate::outbox::{OutboxChange, OutboxKey};
use crate::record::{MessageChange, MessageId, PlanChange, Record};
use crate::schedule::{ItemId, JobSpec, Lateness};

/// Note on a reminder that was shown together with others.
const SHOWN_TOGETHER: &str = "it rang together with others";

/// How long after the due time the model's wording may replace the text.
pub(super) const REWORDING_TIME: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// Shows the reminders that became due in this decision, as written. The model is asked
    /// afterwards about a single one, or about one with a task.
    pub(super) fn show_due_reminders(&mut self, tx: &mut Transaction) {
        loop {
            let open = self.state.plans.open.values();
            let mut due: Vec<Occurrence> = open.filter(|one| self.is_unshown(one)).cloned().collect();
            due.sort_by_key(|one| (queued_message(one), one.key.due));
            match due.as_slice() {
                [] => return,
                [alone] => self.show_reminder(alone, tx),
                several => self.show_reminder_group(several, tx),
            }
        }
    }

    /// Returns true if the text of a due reminder has not been shown yet.
    fn is_unshown(&self, occurrence: &Occurrence) -> bool {
        let waits = matches!(
            occurrence.state,
            OccurrenceState::SentToMain(_) | OccurrenceState::Retrying(_) | OccurrenceState::Queued
        );
        let unshown = waits && !occurrence.shown_verbatim && is_reminder(occurrence);
        unshown && self.plan_of(occurrence).is_some_and(|planned| is_for_main(&planned))
    }

    fn show_reminder(&mut self, occurrence: &Occurrence, tx: &mut Transaction) {
        let label = self.label_of_text(&occurrence.key.source);
        match self.show_on_main(&verbatim_text_with_delay(occurrence, tx), label, tx) {
            Some(_) => self.create_card(occurrence, tx),
            None => {
                if let Some(card) = self.new_card(occurrence, tx) {
                    let post = OutboxKey::card(&card.id, tx.at);
                    self.save_card((card, post), tx);
                }
            }
        }
        let occurrence = self.mark_shown(occurrence, tx);
        if let Some(note) = self.verbatim_note(tx) {
            self.end_unread(occurrence, note, tx);
        }
    }

    fn show_reminder_group(&mut self, due: &[Occurrence], tx: &mut Transaction) {
        let line = |one: &Occurrence| format!("{}{}", one.prompt, late_note(one, &tx.zone));
        let text = group_text(&due.iter().map(line).collect::<Vec<_>>());
        let labels = due.iter().map(|one| self.label_of_text(&one.key.source));
        let label = labels.fold(Label::PLAIN, Label::join);
        let post_key = self.say_labelled_on_main(&text, label, tx);
        let cards: Vec<Card> = due.iter().filter_map(|one| self.new_card(one, tx)).collect();
        let key = post_key.or_else(|| cards.first().map(|card| OutboxKey::card(&card.id, tx.at)));
        for card in cards {
            let post = key.clone().unwrap_or_else(|| OutboxKey::card(&card.id, tx.at));
            self.save_card((Card { text: text.clone(), ..card }, post), tx);
        }
        let shown: Vec<Occurrence> = due.iter().map(|one| self.mark_shown(one, tx)).collect();
        for occurrence in shown {
            let plain = self.is_text_only(&occurrence).then_some(SHOWN_TOGETHER);
            if let Some(note) = self.verbatim_note(tx).or(plain) {
                self.end_shown(occurrence, note, tx);
            }
        }
    }

    /// Records `occurrence` as shown, in the transaction that shows it.
    fn mark_shown(&mut self, occurrence: &Occurrence, tx: &mut Transaction) -> Occurrence {
        let shown = Occurrence { shown_verbatim: true, ..occurrence.clone() };
        self.state.plans.open.insert_mut(shown.key.clone(), shown.clone());
        if let Some(planned) = self.plan_of(&shown) {
            self.state.plans.last_finished = Some((planned.spec.clone(), tx.at));
        }
        let written = tx.records.iter_mut().rev().find_map(|record| {
            let Record::Plan(PlanChange::Occurrence(one)) = record else { return None };
            (one.key == shown.key).then_some(one)
        });
        match written {
            Some(written) => written.clone_from(&shown),
            None => tx.record_plan(Some(PlanChange::Occurrence(shown.clone()))),
        }
        shown
    }

    /// Returns the note for a reminder that no model turn will follow now, or `None` if one
    /// follows.
    fn verbatim_note(&self, tx: &Transaction) -> Option<&'static str> {
        let blocked = self.user_turn().is_some_and(|(_, running)| running.state == TurnState::Blocked);
        if self.choices.is_offline() {
            Some("")
        } else if self.budget_refusal(tx).is_some() {
            Some(VERBATIM_OVER_LIMIT_NOTE)
        } else {
            (blocked || self.is_model_unreachable(tx.at)).then_some(VERBATIM_NOTE)
        }
    }

    /// Ends a shown reminder without waiting for the model.
    pub(super) fn end_shown(&mut self, occurrence: Occurrence, note: &str, tx: &mut Transaction) {
        if let OccurrenceState::SentToMain(message) = occurrence.state {
            self.withdraw_message(message, tx);
        }
        self.finish_occurrence(occurrence, OccurrenceEnd::Done(note.to_owned()), tx);
    }

    /// Like [`Self::end_shown`], for a reminder not in main's context: it leaves a pending update
    /// unless its text is an entry.
    pub(super) fn end_unread(&mut self, occurrence: Occurrence, note: &str, tx: &mut Transaction) {
        if self.card_of(&occurrence).is_some_and(|(_, post)| post.is_card()) {
            let text = verbatim_text_with_delay(&occurrence, tx);
            let label = self.label_of_text(&occurrence.key.source);
            self.leave_update("reminder", label, text, tx);
        }
        self.end_shown(occurrence, note, tx);
    }

    /// Ends reminders that need no rewording any more: their card is settled, or the time is over.
    pub(super) fn end_rewording(&mut self, tx: &mut Transaction) {
        for occurrence in self.waiting_for_rewording() {
            let open = self.card_of(&occurrence).is_some_and(|(card, _)| card.state == CardState::Open);
            let late = self.rewording_deadline(&occurrence, tx.at) <= tx.at;
            if late || !open {
                self.end_unread(occurrence, if open { VERBATIM_NOTE } else { "" }, tx);
            }
        }
    }

    /// Returns true if the next message belongs to a shown reminder and the job files have not been
    /// read yet. They decide whether its turn can be skipped.
    pub(super) fn awaits_job_files(&self) -> bool {
        let next = self.state.messages.waiting.front();
        let asked = next.and_then(|next| self.state.plans.asked_with(next.id));
        !self.transient.job_files_loaded && asked.is_some_and(|asked| asked.shown_verbatim)
    }

    /// Lets the model reword a single waiting reminder; if several wait, none is reworded.
    pub(super) fn limit_rewording(&mut self, tx: &mut Transaction) {
        let waiting = self.waiting_for_rewording();
        if waiting.len() > 1 {
            for occurrence in waiting {
                self.end_unread(occurrence, VERBATIM_GROUP_NOTE, tx);
            }
        }
    }

    /// Returns the time at which the rewording of the first waiting reminder is too late, or `now`
    /// if a reminder has yet to be shown.
    pub(super) fn next_rewording_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        if self.state.plans.open.values().any(|one| self.is_unshown(one)) {
            return Some(now);
        }
        self.waiting_for_rewording().iter().map(|occurrence| self.rewording_deadline(occurrence, now)).min()
    }

    /// Returns the shown reminders that wait for a model turn only to be reworded.
    fn waiting_for_rewording(&self) -> Vec<Occurrence> {
        let waiting = self.state.messages.waiting.iter();
        let asked = waiting.filter_map(|message| self.state.plans.asked_with(message.id));
        asked.filter(|asked| asked.shown_verbatim && self.is_text_only(asked)).cloned().collect()
    }

    /// Returns until when the model's wording may replace the text: a while after it was due, or
    /// after it could be shown if the daemon was down or the reminder paused.
    pub(super) fn rewording_deadline(&self, occurrence: &Occurrence, now: Timestamp) -> Timestamp {
        let rang = self.card_of(occurrence).map_or(now, |(card, _)| card.rang_at);
        rang.saturating_add(REWORDING_TIME).unwrap_or(Timestamp::MAX)
    }

    /// Handles the model's answer to a reminder: in time it replaces the shown text; later it is a
    /// message of its own if it adds anything.
    pub(super) fn on_reworded(&mut self, occurrence: &Occurrence, tx: &mut Transaction) {
        if !occurrence.shown_verbatim {
            self.create_card(occurrence, tx);
        } else if !self.replace_shown_text(occurrence, tx) {
            self.outbox.on_not_replaced(&Branch::Main, self.has_task(occurrence));
        }
    }

    /// Replaces the shown text by the model's wording. Returns false if that is not possible any
    /// more.
    fn replace_shown_text(&mut self, occurrence: &Occurrence, tx: &mut Transaction) -> bool {
        let Some((card, post)) = self.card_of(occurrence).cloned() else { return false };
        let alone = self.state.messages.cards.group_of(&post).len() == 1;
        let in_time = tx.at <= self.rewording_deadline(occurrence, tx.at);
        let Some((said, _)) =
            self.last_main_post(tx).filter(|_| card.state == CardState::Open && alone && in_time)
        else {
            return false;
        };
        let said = match self.offered_plan(&card, tx) {
            Some(plan) => format!("{said}\n{plan}"),
            None => said,
        };
        let card = Card { text: said, ..card };
        let sheet = card.body(&tx.at.to_zoned(tx.zone.clone()));
        self.save_card_silently((card, post.clone()), tx);
        tx.records.push(Record::Message(MessageChange::Outbox(OutboxChange::Edited(post, sheet))));
        true
    }

    fn card_of(&self, occurrence: &Occurrence) -> Option<&(Card, OutboxKey)> {
        let CostSource::Reminder(id) = &occurrence.key.source else { return None };
        let id = ItemId::parse(id).map(CardId).ok()?;
        self.state.messages.cards.get(&id)
    }

    /// Returns true if the model's answer to a shown reminder is more than a rewording.
    pub(super) fn has_task(&self, occurrence: &Occurrence) -> bool {
        self.plan_of(occurrence).is_some() && !self.is_text_only(occurrence)
    }

    /// Returns true if the reminder has no task besides being shown.
    pub(super) fn is_text_only(&self, occurrence: &Occurrence) -> bool {
        let planned = self.plan_of(occurrence);
        planned.is_some_and(|planned| match &planned.spec {
            JobSpec::Reminder(reminder) => reminder.chain.max == 0 && reminder.skills.is_empty(),
            JobSpec::Routine(_) => false,
        })
    }
}

/// Returns the queued message of the occurrence for sorting; the maximum if it is queued later.
fn queued_message(occurrence: &Occurrence) -> MessageId {
    match occurrence.state {
        OccurrenceState::SentToMain(message) => message,
        OccurrenceState::Running(_)
        | OccurrenceState::Retrying(_)
        | OccurrenceState::Queued
        | OccurrenceState::Ended(_) => MessageId(u64::MAX),
    }
}

/// Returns the text of a reminder as written, with its original time if it is late.
pub(super) fn verbatim_text_with_delay(occurrence: &Occurrence, tx: &Transaction) -> String {
    let words = verbatim_text(&occurrence.prompt);
    let late = late_note(occurrence, &tx.zone);
    let now = tx.at.to_zoned(tx.zone.clone());
    if late.is_empty() { words } else { format!("{words}{late}, i was away until {}", now.strftime("%H:%M")) }
}

fn late_note(occurrence: &Occurrence, zone: &TimeZone) -> String {
    let due = occurrence.key.due.to_zoned(zone.clone());
    match occurrence.lateness {
        Lateness::OnTime => String::new(),
        Lateness::Late => format!(" · was for {}", due.strftime("%a %H:%M")).to_lowercase(),
    }
}
