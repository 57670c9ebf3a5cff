//! Digests: deferred messages are shown together at set times, and marked as shown in the same
//! transaction.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::{Answer, Assistant, Effect, Transaction, Update};
use crate::attention::{AttentionChange, AttentionState, Digest, Focus, MidpointNotice};
use crate::card::digest_menu;
use crate::conversation::{Block, Branch, Completeness, EntryContent, Text};
use crate::label::Label;
use crate::outbox::{MessageBody, OutboxChange, OutboxKey, OutboxMessage, Sound};
use crate::record::{MessageChange, Record};
use crate::sent_messages::SentId;

/// How late the question about the end of a focus may still be asked.
const MAX_FOCUS_DELAY: SignedDuration = SignedDuration::from_hours(1);

impl Assistant {
    /// Returns the next time at which attention has something to show.
    pub(super) fn next_attention_wake(&self) -> Option<Timestamp> {
        let focus = self.state.messages.attention.state.focus.as_ref();
        let focus = focus.map(|focus| focus.midpoint_due().unwrap_or(focus.until));
        [self.transient.next_digest, focus, self.next_follow_up()].into_iter().flatten().min()
    }

    /// Computes the time of the next digest: the first one after the oldest deferred message.
    pub(super) fn compute_next_digest(&mut self, now: &Zoned) {
        let oldest = self
            .state
            .messages
            .attention
            .deferred
            .first()
            .map(|held| held.at.to_zoned(now.time_zone().clone()));
        self.transient.next_digest =
            oldest.and_then(|oldest| self.state.choices.settings.notifications.digests.next(&oldest));
    }

    /// Shows what is due: follow-ups, the digest, and the middle or end of a focus.
    pub(super) fn update_attention(&mut self, tx: &mut Transaction) {
        self.follow_up_cards(tx);
        self.compute_next_digest(&tx.at.to_zoned(tx.zone.clone()));
        if self.transient.next_digest.is_some_and(|due| due <= tx.at) {
            let digest = self.take_digest(tx);
            self.show_digest(&digest, tx);
        }
        match self.state.messages.attention.state.focus.clone() {
            Some(focus) if focus.until <= tx.at => self.finish_focus(&focus, tx),
            Some(focus) if focus.midpoint_due().is_some_and(|middle| middle <= tx.at) => {
                self.show_focus_midpoint(&focus, tx);
            }
            Some(_) | None => {}
        }
    }

    /// R16: shows once, at half of a focus, how much time is left.
    fn show_focus_midpoint(&mut self, focus: &Focus, tx: &mut Transaction) {
        let mark_shown = |mood: &mut AttentionState| {
            if let Some(focus) = &mut mood.focus {
                focus.midpoint = MidpointNotice::Done;
            }
        };
        self.update_attention_state(tx, mark_shown);
        let left = focus.until.duration_since(tx.at).as_mins();
        let on = if focus.topic.is_empty() { String::new() } else { format!(" on {}", focus.topic) };
        tx.updates.push(Update::Notice(format!("half-way: {left} min left{on}.")));
    }

    /// Handles the request to list deferred messages, which also marks them as shown.
    pub(super) fn list_deferred(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.state.messages.attention.deferred.is_empty() {
            return (Answer::Text("nothing is held.".to_owned()), Vec::new());
        }
        let mut tx = Transaction::at(now);
        let digest = self.take_digest(&mut tx);
        (Answer::Text(digest.text), tx.into_effects())
    }

    /// Takes all deferred messages as a digest, and records that it is shown.
    fn take_digest(&mut self, tx: &mut Transaction) -> Digest {
        let deferred = std::mem::take(&mut self.state.messages.attention.deferred);
        let digest = Digest::new(deferred.to_vec(), tx.at, &tx.zone);
        tx.records.push(Record::from(AttentionChange::DigestDelivered(digest.clone())));
        digest
    }

    /// Shows a digest. Text from outside goes to main as a pending update, in a data block.
    fn show_digest(&mut self, digest: &Digest, tx: &mut Transaction) {
        let label = digest.label();
        if label.is_tainted() {
            tx.updates.push(Update::Notice(digest.text.clone()));
            return self.leave_update("digest", label, digest.text.clone(), tx);
        }
        self.say_on_main(&digest.text, tx);
    }

    /// Ends a focus, and asks an open question about it.
    fn finish_focus(&mut self, focus: &Focus, tx: &mut Transaction) {
        self.update_attention_state(tx, |mood| mood.focus = None);
        if tx.at.duration_since(focus.until) > MAX_FOCUS_DELAY {
            return;
        }
        let length = focus.until.duration_since(focus.since).as_mins();
        self.say_on_main(&format!("{length} min are up. how did it go?"), tx);
    }

    /// Says `text` on main and returns the key of its post. During a turn it is shown as a notice
    /// and left as a pending update instead.
    pub(super) fn say_on_main(&mut self, text: &str, tx: &mut Transaction) -> Option<OutboxKey> {
        self.say_labelled_on_main(text, Label::PLAIN, tx)
    }

    /// Like [`Self::say_on_main`], for text with a label.
    pub(super) fn say_labelled_on_main(
        &mut self,
        text: &str,
        label: Label,
        tx: &mut Transaction,
    ) -> Option<OutboxKey> {
        let post = self.show_on_main(text, label, tx);
        if post.is_none() {
            self.leave_update("reminder", label, text.to_owned(), tx);
        }
        post
    }

    /// Like [`Self::say_on_main`], without a pending update during a turn: the caller informs main
    /// in another way.
    pub(super) fn show_on_main(
        &mut self,
        text: &str,
        label: Label,
        tx: &mut Transaction,
    ) -> Option<OutboxKey> {
        self.ensure_main(tx);
        if self.active_turns.contains_key(&Branch::Main) {
            tx.updates.push(Update::Notice(text.to_owned()));
            return None;
        }
        let said = EntryContent::Assistant(vec![Block::Text(text.to_owned())], Completeness::Complete);
        let entry = self.append_labelled(&Branch::Main, said, label, tx);
        entry.map(|entry| OutboxKey::of_entry(&entry))
    }
}

/// Returns the digest shown by these effects.
pub(super) fn shown_digest(effects: &[Effect]) -> Option<Digest> {
    let Some(Effect::Write(records)) = effects.first() else { return None };
    records.iter().find_map(|record| {
        let Record::Message(MessageChange::Attention(AttentionChange::DigestDelivered(telling))) = record
        else {
            return None;
        };
        Some(telling.clone())
    })
}

/// Returns the silent post of a digest, if `shown` is the update that shows it.
pub(super) fn digest_post(digest: &Digest, shown: &Update) -> Option<OutboxChange> {
    let (text, of) = if let Update::EntryAppended { branch: Branch::Main, entry } = shown {
        (entry.content.text(), Some(SentId::from(entry.id)))
    } else if let Update::Notice(text) = shown {
        (text.clone(), None)
    } else {
        return None;
    };
    let key = OutboxKey::digest(digest.at);
    let at = digest.at;
    let ring = Sound::Silent;
    let sheet = MessageBody { menu: digest_menu(digest), ..MessageBody::from_text(&text) };
    (text == digest.text).then_some(OutboxChange::Posted(OutboxMessage {
        key,
        at,
        sound: ring,
        sent_id: of,
        body: sheet,
    }))
}
