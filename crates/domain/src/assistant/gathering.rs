//! Reminders on main: each is shown as written when it is due, whatever main is doing.
//!
//! The text is shown in the transaction that records the due time, so no turn, tool, approval,
//! compaction or unreachable model delays it. Then the model is asked to reword it when main is
//! free; its answer replaces the text if it comes in time. Reminders that are due together are
//! shown in one message.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::firing::is_reminder;
use super::planning::is_for_main;
use super::{Assistant, Minutes, Owed};
use crate::card::{Card, CardId, State, as_written, together};
use crate::conversation::Branch;
use crate::cost::Source;
use crate::label::Label;
use crate::occurrence::{AS_WRITTEN, End, Occurrence, SEVERAL, Stage, UNPAID};
use crate::post::{PostChange, PostKey};
use crate::record::{MessageChange, MessageId, PlanChange, Record};
use crate::schedule::{ItemId, Lateness, What};

/// Note on a reminder that was shown together with others.
const TOGETHER: &str = "it rang together with others";

/// How long after the due time the model's wording may replace the text.
pub(super) const PHRASING_TIME: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// Shows the reminders that became due in this decision, as written. The model is asked
    /// afterwards about a single one, or about one with a task.
    pub(super) fn ring_due(&mut self, minutes: &mut Minutes) {
        loop {
            let open = self.memory.plans.open.values();
            let mut due: Vec<Occurrence> = open.filter(|one| self.is_unshown(one)).cloned().collect();
            due.sort_by_key(|one| (waits_with(one), one.key.due));
            match due.as_slice() {
                [] => return,
                [alone] => self.ring_alone(alone, minutes),
                several => self.ring_together(several, minutes),
            }
        }
    }

    /// Returns true if the text of a due reminder has not been shown yet.
    fn is_unshown(&self, occurrence: &Occurrence) -> bool {
        let waits = matches!(occurrence.stage, Stage::Asked(_) | Stage::Again(_) | Stage::Queued);
        let unshown = waits && !occurrence.shown && is_reminder(occurrence);
        unshown && self.plan_of(occurrence).is_some_and(|planned| is_for_main(&planned))
    }

    fn ring_alone(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) {
        let label = self.label_of_words(&occurrence.key.source);
        match self.show_words(&put_plainly(occurrence, minutes), label, minutes) {
            Some(_) => self.rang(occurrence, minutes),
            None => {
                if let Some(card) = self.new_card(occurrence, minutes) {
                    let post = PostKey::card(&card.id, minutes.at);
                    self.keep_card((card, post), minutes);
                }
            }
        }
        let occurrence = self.is_shown(occurrence, minutes);
        if let Some(note) = self.unanswerable(minutes) {
            self.end_unheard(occurrence, note, minutes);
        }
    }

    fn ring_together(&mut self, due: &[Occurrence], minutes: &mut Minutes) {
        let line = |one: &Occurrence| format!("{}{}", one.words, was_for(one, &minutes.zone));
        let text = together(&due.iter().map(line).collect::<Vec<_>>());
        let labels = due.iter().map(|one| self.label_of_words(&one.key.source));
        let label = labels.fold(Label::PLAIN, Label::join);
        let said = self.speak_of(&text, label, minutes);
        let cards: Vec<Card> = due.iter().filter_map(|one| self.new_card(one, minutes)).collect();
        let key = said.or_else(|| cards.first().map(|card| PostKey::card(&card.id, minutes.at)));
        for card in cards {
            let post = key.clone().unwrap_or_else(|| PostKey::card(&card.id, minutes.at));
            self.keep_card((Card { said: text.clone(), ..card }, post), minutes);
        }
        let shown: Vec<Occurrence> = due.iter().map(|one| self.is_shown(one, minutes)).collect();
        for occurrence in shown {
            let plain = self.is_plain(&occurrence).then_some(TOGETHER);
            if let Some(note) = self.unanswerable(minutes).or(plain) {
                self.end_shown(occurrence, note, minutes);
            }
        }
    }

    /// Records `occurrence` as shown, in the transaction that shows it.
    fn is_shown(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) -> Occurrence {
        let shown = Occurrence { shown: true, ..occurrence.clone() };
        self.memory.plans.open.insert_mut(shown.key.clone(), shown.clone());
        if let Some(planned) = self.plan_of(&shown) {
            self.memory.plans.rang = Some((planned.what.clone(), minutes.at));
        }
        let written = minutes.records.iter_mut().rev().find_map(|record| {
            let Record::Plan(PlanChange::Occurred(one)) = record else { return None };
            (one.key == shown.key).then_some(one)
        });
        match written {
            Some(written) => written.clone_from(&shown),
            None => minutes.plan(Some(PlanChange::Occurred(shown.clone()))),
        }
        shown
    }

    /// Returns the note for a reminder that no model turn will follow now, or `None` if one
    /// follows.
    fn unanswerable(&self, minutes: &Minutes) -> Option<&'static str> {
        let held = self.speaking().is_some_and(|(_, running)| running.owed == Owed::Held);
        if self.choices.is_offline() {
            Some("")
        } else if self.refusal(minutes).is_some() {
            Some(UNPAID)
        } else {
            (held || self.is_away(minutes.at)).then_some(AS_WRITTEN)
        }
    }

    /// Ends a shown reminder without waiting for the model.
    pub(super) fn end_shown(&mut self, occurrence: Occurrence, note: &str, minutes: &mut Minutes) {
        if let Stage::Asked(message) = occurrence.stage {
            self.take_back(message, minutes);
        }
        self.settle(occurrence, End::Done(note.to_owned()), minutes);
    }

    /// Like [`Self::end_shown`], for a reminder not in main's context: it leaves a pending update
    /// unless its text is an entry.
    pub(super) fn end_unheard(&mut self, occurrence: Occurrence, note: &str, minutes: &mut Minutes) {
        if self.card_of(&occurrence).is_some_and(|(_, post)| post.is_card()) {
            let text = put_plainly(&occurrence, minutes);
            let label = self.label_of_words(&occurrence.key.source);
            self.report("reminder", label, text, minutes);
        }
        self.end_shown(occurrence, note, minutes);
    }

    /// Ends reminders that need no rewording any more: their card is settled, or the time is over.
    pub(super) fn end_phrasing(&mut self, minutes: &mut Minutes) {
        for occurrence in self.waiting_plain() {
            let open = self.card_of(&occurrence).is_some_and(|(card, _)| card.state == State::Open);
            let late = self.phrased_until(&occurrence, minutes.at) <= minutes.at;
            if late || !open {
                self.end_unheard(occurrence, if open { AS_WRITTEN } else { "" }, minutes);
            }
        }
    }

    /// Returns true if the next message belongs to a shown reminder and the job files have not been
    /// read yet. They decide whether its turn can be skipped.
    pub(super) fn must_know_files(&self) -> bool {
        let next = self.memory.messages.waiting.front();
        let asked = next.and_then(|next| self.memory.plans.asked(next.id));
        !self.wants.knows_files && asked.is_some_and(|asked| asked.shown)
    }

    /// Lets the model reword a single waiting reminder; if several wait, none is reworded.
    pub(super) fn ask_about_one(&mut self, minutes: &mut Minutes) {
        let waiting = self.waiting_plain();
        if waiting.len() > 1 {
            for occurrence in waiting {
                self.end_unheard(occurrence, SEVERAL, minutes);
            }
        }
    }

    /// Returns the time at which the rewording of the first waiting reminder is too late, or `now`
    /// if a reminder has yet to be shown.
    pub(super) fn phrasing_wakes(&self, now: Timestamp) -> Option<Timestamp> {
        if self.memory.plans.open.values().any(|one| self.is_unshown(one)) {
            return Some(now);
        }
        self.waiting_plain().iter().map(|occurrence| self.phrased_until(occurrence, now)).min()
    }

    /// Returns the shown reminders that wait for a model turn only to be reworded.
    fn waiting_plain(&self) -> Vec<Occurrence> {
        let waiting = self.memory.messages.waiting.iter();
        let asked = waiting.filter_map(|message| self.memory.plans.asked(message.id));
        asked.filter(|asked| asked.shown && self.is_plain(asked)).cloned().collect()
    }

    /// Returns until when the model's wording may replace the text: a while after it was due, or
    /// after it could be shown if the daemon was down or the reminder paused.
    pub(super) fn phrased_until(&self, occurrence: &Occurrence, now: Timestamp) -> Timestamp {
        let rang = self.card_of(occurrence).map_or(now, |(card, _)| card.rang);
        rang.saturating_add(PHRASING_TIME).unwrap_or(Timestamp::MAX)
    }

    /// Handles the model's answer to a reminder: in time it replaces the shown text; later it is a
    /// message of its own if it adds anything.
    pub(super) fn put_in_words(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) {
        if !occurrence.shown {
            self.rang(occurrence, minutes);
        } else if !self.take_its_place(occurrence, minutes) {
            self.posting.has_no_place(&Branch::Main, self.says_more(occurrence));
        }
    }

    /// Replaces the shown text by the model's wording. Returns false if that is not possible any
    /// more.
    fn take_its_place(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) -> bool {
        let Some((card, post)) = self.card_of(occurrence).cloned() else { return false };
        let alone = self.memory.messages.cards.under(&post).len() == 1;
        let in_time = minutes.at <= self.phrased_until(occurrence, minutes.at);
        let Some((said, _)) =
            self.just_said(minutes).filter(|_| card.state == State::Open && alone && in_time)
        else {
            return false;
        };
        let said = match self.rehearse(&card, minutes) {
            Some(plan) => format!("{said}\n{plan}"),
            None => said,
        };
        let card = Card { said, ..card };
        let sheet = card.sheet(&minutes.at.to_zoned(minutes.zone.clone()));
        self.write_card((card, post.clone()), minutes);
        minutes.records.push(Record::Message(MessageChange::Post(PostChange::Says(post, sheet))));
        true
    }

    fn card_of(&self, occurrence: &Occurrence) -> Option<&(Card, PostKey)> {
        let Source::Reminder(id) = &occurrence.key.source else { return None };
        let id = ItemId::parse(id).map(CardId).ok()?;
        self.memory.messages.cards.get(&id)
    }

    /// Returns true if the model's answer to a shown reminder is more than a rewording.
    pub(super) fn says_more(&self, occurrence: &Occurrence) -> bool {
        self.plan_of(occurrence).is_some() && !self.is_plain(occurrence)
    }

    /// Returns true if the reminder has no task besides being shown.
    pub(super) fn is_plain(&self, occurrence: &Occurrence) -> bool {
        let planned = self.plan_of(occurrence);
        planned.is_some_and(|planned| match &planned.what {
            What::Reminder(reminder) => reminder.chain.max == 0 && reminder.skills.is_empty(),
            What::Routine(_) => false,
        })
    }
}

/// Returns the queued message of the occurrence for sorting; the maximum if it is queued later.
fn waits_with(occurrence: &Occurrence) -> MessageId {
    match occurrence.stage {
        Stage::Asked(message) => message,
        Stage::Running(_) | Stage::Again(_) | Stage::Queued | Stage::Ended(_) => MessageId(u64::MAX),
    }
}

/// Returns the text of a reminder as written, with its original time if it is late.
pub(super) fn put_plainly(occurrence: &Occurrence, minutes: &Minutes) -> String {
    let words = as_written(&occurrence.words);
    let late = was_for(occurrence, &minutes.zone);
    let now = minutes.at.to_zoned(minutes.zone.clone());
    if late.is_empty() { words } else { format!("{words}{late}, i was away until {}", now.strftime("%H:%M")) }
}

fn was_for(occurrence: &Occurrence, zone: &TimeZone) -> String {
    let due = occurrence.key.due.to_zoned(zone.clone());
    match occurrence.lateness {
        Lateness::OnTime => String::new(),
        Lateness::Late => format!(" · was for {}", due.strftime("%a %H:%M")).to_lowercase(),
    }
}
