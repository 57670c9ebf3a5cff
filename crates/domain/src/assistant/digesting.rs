//! Digests: deferred messages are shown together at set times, and marked as shown in the same
//! transaction.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::{Answer, Assistant, Effect, Minutes, Shown};
use crate::attention::{AttentionChange, Focus, Middle, Mood, Telling};
use crate::card::digest_menu;
use crate::conversation::{Block, Branch, Reach, Said, Text};
use crate::label::Label;
use crate::post::{Post, PostChange, PostKey, Ring, Sheet};
use crate::record::{MessageChange, Record};
use crate::sent::SentId;

/// How late the question about the end of a focus may still be asked.
const STALE: SignedDuration = SignedDuration::from_hours(1);

impl Assistant {
    /// Returns the next time at which attention has something to show.
    pub(super) fn attention_wakes(&self) -> Option<Timestamp> {
        let focus = self.memory.messages.attending.mood.focus.as_ref();
        let focus = focus.map(|focus| focus.glance().unwrap_or(focus.until));
        [self.wants.digest, focus, self.cards_wake()].into_iter().flatten().min()
    }

    /// Computes the time of the next digest: the first one after the oldest deferred message.
    pub(super) fn reckon_digest(&mut self, now: &Zoned) {
        let oldest =
            self.memory.messages.attending.held.first().map(|held| held.at.to_zoned(now.time_zone().clone()));
        self.wants.digest = oldest.and_then(|oldest| self.memory.chosen.settings.calm.digests.next(&oldest));
    }

    /// Shows what is due: follow-ups, the digest, and the middle or end of a focus.
    pub(super) fn tend_attention(&mut self, minutes: &mut Minutes) {
        self.tend_cards(minutes);
        self.reckon_digest(&minutes.at.to_zoned(minutes.zone.clone()));
        if self.wants.digest.is_some_and(|due| due <= minutes.at) {
            let telling = self.told_now(minutes);
            self.tell(&telling, minutes);
        }
        match self.memory.messages.attending.mood.focus.clone() {
            Some(focus) if focus.until <= minutes.at => self.focus_over(&focus, minutes),
            Some(focus) if focus.glance().is_some_and(|middle| middle <= minutes.at) => {
                self.half_way(&focus, minutes);
            }
            Some(_) | None => {}
        }
    }

    /// R16: shows once, at half of a focus, how much time is left.
    fn half_way(&mut self, focus: &Focus, minutes: &mut Minutes) {
        let told = |mood: &mut Mood| {
            if let Some(focus) = &mut mood.focus {
                focus.middle = Middle::Told;
            }
        };
        self.feels(minutes, told);
        let left = focus.until.duration_since(minutes.at).as_mins();
        let on = if focus.on.is_empty() { String::new() } else { format!(" on {}", focus.on) };
        minutes.shown.push(Shown::Notice(format!("half-way: {left} min left{on}.")));
    }

    /// Handles the request to list deferred messages, which also marks them as shown.
    pub(super) fn tell_held(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.messages.attending.held.is_empty() {
            return (Answer::Told("nothing is held.".to_owned()), Vec::new());
        }
        let mut minutes = Minutes::at(now);
        let telling = self.told_now(&mut minutes);
        (Answer::Told(telling.text), minutes.effects())
    }

    /// Takes all deferred messages as a digest, and records that it is shown.
    fn told_now(&mut self, minutes: &mut Minutes) -> Telling {
        let held = std::mem::take(&mut self.memory.messages.attending.held);
        let telling = Telling::of(held.to_vec(), minutes.at, &minutes.zone);
        minutes.records.push(Record::from(AttentionChange::Told(telling.clone())));
        telling
    }

    /// Shows a digest. Text from outside goes to main as a pending update, in a data block.
    fn tell(&mut self, telling: &Telling, minutes: &mut Minutes) {
        let label = telling.label();
        if label.is_tainted() {
            minutes.shown.push(Shown::Notice(telling.text.clone()));
            return self.report("digest", label, telling.text.clone(), minutes);
        }
        self.speak(&telling.text, minutes);
    }

    /// Ends a focus, and asks an open question about it.
    fn focus_over(&mut self, focus: &Focus, minutes: &mut Minutes) {
        self.feels(minutes, |mood| mood.focus = None);
        if minutes.at.duration_since(focus.until) > STALE {
            return;
        }
        let length = focus.until.duration_since(focus.since).as_mins();
        self.speak(&format!("{length} min are up. how did it go?"), minutes);
    }

    /// Says `text` on main and returns the key of its post. During a turn it is shown as a notice
    /// and left as a pending update instead.
    pub(super) fn speak(&mut self, text: &str, minutes: &mut Minutes) -> Option<PostKey> {
        self.speak_of(text, Label::PLAIN, minutes)
    }

    /// Like [`Self::say_on_main`], for text with a label.
    pub(super) fn speak_of(&mut self, text: &str, label: Label, minutes: &mut Minutes) -> Option<PostKey> {
        let said = self.show_words(text, label, minutes);
        if said.is_none() {
            self.report("reminder", label, text.to_owned(), minutes);
        }
        said
    }

    /// Like [`Self::say_on_main`], without a pending update during a turn: the caller informs main
    /// in another way.
    pub(super) fn show_words(&mut self, text: &str, label: Label, minutes: &mut Minutes) -> Option<PostKey> {
        self.ensure_main(minutes);
        if self.running.contains_key(&Branch::Main) {
            minutes.shown.push(Shown::Notice(text.to_owned()));
            return None;
        }
        let said = Said::Assistant(vec![Block::Text(text.to_owned())], Reach::Whole);
        let entry = self.say_knowing(&Branch::Main, said, label, minutes);
        entry.map(|entry| PostKey::words(&entry))
    }
}

/// Returns the digest shown by these effects.
pub(super) fn told(effects: &[Effect]) -> Option<Telling> {
    let Some(Effect::Write(records)) = effects.first() else { return None };
    records.iter().find_map(|record| {
        let Record::Message(MessageChange::Attention(AttentionChange::Told(telling))) = record else {
            return None;
        };
        Some(telling.clone())
    })
}

/// Returns the silent post of a digest, if `shown` is the update that shows it.
pub(super) fn digest(telling: &Telling, shown: &Shown) -> Option<PostChange> {
    let (text, of) = if let Shown::Said { branch: Branch::Main, entry } = shown {
        (entry.said.text(), Some(SentId::from(entry.id)))
    } else if let Shown::Notice(text) = shown {
        (text.clone(), None)
    } else {
        return None;
    };
    let key = PostKey::digest(telling.at);
    let at = telling.at;
    let ring = Ring::Quiet;
    let sheet = Sheet { menu: digest_menu(telling), ..Sheet::of(&text) };
    (text == telling.text).then_some(PostChange::Posted(Post { key, at, ring, of, sheet }))
}
