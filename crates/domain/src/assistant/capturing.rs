//! Quick capture: a short text of the user is planned, applied as a change, or stored in the inbox.
//! Nothing is lost.

use jiff::{SignedDuration, Zoned};

use super::forking::refused;
use super::reverting::Changed;
use super::wording::no_time;
use super::{Answer, Assistant, Effect, MESSAGE_CHARS, Minutes};
use crate::brain::{self, Change, Meant, Which};
use crate::inbox::{Kept, KeptId};
use crate::phrase::{self, Note, Target};

/// How long after storing an item a bare time schedules it.
const OFFER: SignedDuration = SignedDuration::from_mins(10);
/// Most characters of an inbox item that are shown in a reply.
const TOLD: usize = 80;

impl Assistant {
    /// Plans `text` or applies it as a change; any other text goes to the inbox.
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
            // No plan has that name, so this is a task in itself, such as moving the sofa to the
            // cellar.
            Meant::Change(Change::Move { what, to: Err(_) }) if !self.knows(&what, now) => {
                self.kept_for_later(&text, &phrase::read(&text, now, &habits).notes, now)
            }
            Meant::Plan(_) | Meant::List(_) | Meant::Change(_) | Meant::Ease(_) => {
                self.plan_words(&text, now)
            }
        }
    }

    /// Stores `text` in the inbox, reports a problem with a time in it, and offers times.
    fn kept_for_later(&mut self, text: &str, notes: &[Note], now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let id = self.put_in_inbox(text, &mut minutes);
        self.can_undo_plan(Changed { kept: vec![id], ..Changed::default() }, &mut minutes);
        let trouble = notes.iter().find(|note| note.is_trouble());
        let trouble = trouble.map(|note| format!("{note}.\n")).unwrap_or_default();
        let told = format!("{trouble}{}\n{}", self.told_kept(id), self.offer(now));
        (Answer::Told(told), minutes.effects())
    }

    /// Returns the confirmation for the inbox item `id`.
    pub(super) fn told_kept(&self, id: KeptId) -> String {
        let text = self.kept_as(id).map(|kept| kept.text).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = line.char_indices().nth(TOLD).map_or(line.clone(), |(end, _)| format!("{}…", &line[..end]));
        format!("✓ kept in your inbox as {} · {cut}", id.0)
    }

    /// Schedules the item that was just stored if `text` is only a time. `today` is not taken as
    /// one: it more likely asks to list the day.
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

    /// Returns the item stored by the last change, if that was recent.
    fn offered(&self, now: &Zoned) -> Option<Kept> {
        let last = self.memory.plans.last()?;
        let [id] = last.kept[..] else { return None };
        let kept = self.kept_as(id).ok()?;
        (now.timestamp().duration_since(kept.at) <= OFFER).then_some(kept)
    }

    /// Returns the question that offers times for an item without one.
    pub(super) fn offer(&self, now: &Zoned) -> String {
        let quick = self.memory.chosen.settings.habits().quick(now);
        let names: Vec<&str> = quick.iter().map(|quick| quick.name).chain(["no time"]).collect();
        format!("when? {}", names.join(" · "))
    }
}

/// Returns the text without control characters, or the reason why it cannot be accepted.
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
