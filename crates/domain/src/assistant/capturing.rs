//! Capturing: what the human says in passing is planned, changed or kept. None of it is lost.

use jiff::{SignedDuration, Zoned};

use super::forking::refused;
use super::reverting::Changed;
use super::wording::no_time;
use super::{Answer, Assistant, Effect, MESSAGE_CHARS, Minutes};
use crate::brain::{self, Change, Meant, Which};
use crate::inbox::{Kept, KeptId};
use crate::phrase::{self, Note, Target};

/// How long a time alone answers the question when something kept is for.
const OFFER: SignedDuration = SignedDuration::from_mins(10);
/// The most characters of something kept that are told back.
const TOLD: usize = 80;

impl Assistant {
    /// Plans or changes what `text` says; what says nothing of the kind is kept.
    pub(super) fn capture(&mut self, text: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = match capturable(text) {
            Ok(text) => text,
            Err(why) => return refused(&why),
        };
        if let Some(answer) = self.answer_offer(&text, now) {
            return answer;
        }
        let habits = self.memory.chosen.settings.habits();
        match brain::read(&text, now, &habits) {
            Meant::Keep(_) => self.kept_for_later(brain::without_lead(&text), &[], now),
            Meant::Plan(reading) if reading.when.is_none() && reading.what.trim().is_empty() => {
                refused(&no_time(&reading.notes))
            }
            Meant::Plan(reading) if reading.when.is_none() => {
                self.kept_for_later(&reading.what, &reading.notes, now)
            }
            Meant::Unclear(notes) => self.kept_for_later(&text, &notes, now),
            Meant::Untimed | Meant::Talk(_) => self.kept_for_later(&text, &[], now),
            Meant::Status => self.status(),
            Meant::Change(Change::Name(name)) => self.choose_name(&name, now),
            // Nothing of ours is called so: rather something to do, such as moving the sofa to the cellar.
            Meant::Change(Change::Move { what, to: Err(_) }) if !self.knows(&what, now) => {
                self.kept_for_later(&text, &phrase::read(&text, now, &habits).notes, now)
            }
            Meant::Plan(_) | Meant::List(_) | Meant::Change(_) | Meant::Ease(_) => {
                self.plan_words(&text, now)
            }
        }
    }

    /// Keeps `text`, says what was wrong with a time in it, and offers times.
    fn kept_for_later(&mut self, text: &str, notes: &[Note], now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let id = self.put_in_inbox(text, &mut minutes);
        self.can_undo_plan(Changed { kept: vec![id], ..Changed::default() }, &mut minutes);
        let trouble = notes.iter().find(|note| note.is_trouble());
        let trouble = trouble.map(|note| format!("{note}.\n")).unwrap_or_default();
        let told = format!("{trouble}{}\n{}", self.told_kept(id), self.offer(now));
        (Answer::Told(told), minutes.effects())
    }

    /// What was kept under `id`, read back.
    pub(super) fn told_kept(&self, id: KeptId) -> String {
        let text = self.kept_as(id).map(|kept| kept.text).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = line.char_indices().nth(TOLD).map_or(line.clone(), |(end, _)| format!("{}…", &line[..end]));
        format!("✓ kept in your inbox as {} · {cut}", id.0)
    }

    /// A time alone, right after something was kept, is when that is for. `today` alone is none that was offered: who
    /// says it rather wants to see the day, which harms nobody.
    pub(super) fn answer_offer(&mut self, text: &str, now: &Zoned) -> Option<(Answer, Vec<Effect>)> {
        let kept = self.offered(now)?;
        let to = phrase::target(
            text.trim().trim_end_matches(['.', '!']),
            now,
            &self.memory.chosen.settings.habits(),
        )?
        .ok()?;
        if to == Target::Day(now.date()) {
            return None;
        }
        Some(self.move_to(&Which::Kept(kept.id), &to, now))
    }

    /// What was kept last, if that was the last change and not long ago.
    fn offered(&self, now: &Zoned) -> Option<Kept> {
        let last = self.memory.plans.last()?;
        let [id] = last.kept[..] else { return None };
        let kept = self.kept_as(id).ok()?;
        (now.timestamp().duration_since(kept.at) <= OFFER).then_some(kept)
    }

    /// The times that can be said next for something that has none.
    pub(super) fn offer(&self, now: &Zoned) -> String {
        let quick = self.memory.chosen.settings.habits().quick(now);
        let names: Vec<&str> = quick.iter().map(|quick| quick.name).chain(["no time"]).collect();
        format!("when? {}", names.join(" · "))
    }
}

/// The text without what no keyboard types, or why it cannot be taken.
fn capturable(text: &str) -> Result<String, String> {
    let plain = |letter: char| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let text: String = text.trim().chars().map(plain).collect();
    if text.trim().is_empty() {
        return Err("there are no words in that. say it like `call mum tomorrow at 10`.".to_owned());
    }
    match text.chars().count() {
        length if length > MESSAGE_CHARS => Err(format!(
            "that has {length} characters and the most i take at once is {MESSAGE_CHARS}. keep it in a file, and tell \
             me where that is."
        )),
        _ => Ok(text.trim().to_owned()),
    }
}
