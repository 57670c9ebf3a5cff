//! Quick capture: a short text of the user is planned, applied as a change, or stored in the inbox.
//! Nothing is lost.

use jiff::{SignedDuration, Zoned};

use super::forks::refusal_reply;
use super::plan_undo::PlanUndo;
use super::planner::no_time_reply;
use super::{Answer, Assistant, Effect, MAX_MESSAGE_CHARS, Transaction};
use crate::inbox::{InboxItem, InboxItemId};
use crate::intent::{self, ChangeRequest, Intent, ItemRef};
use crate::phrase::{self, MoveTarget, ParseNote};

/// How long after storing an item a bare time schedules it.
const OFFER_PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// Most characters of an inbox item that are shown in a reply.
const MAX_ECHO: usize = 80;

impl Assistant {
    /// Plans `text` or applies it as a change; any other text goes to the inbox.
    pub(super) fn capture(&mut self, text: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = match sanitized(text) {
            Ok(text) => text,
            Err(why) => return refusal_reply(&why),
        };
        if let Some(answer) = self.apply_offered_time(&text, now) {
            return answer;
        }
        let habits = self.state.choices.settings.habits();
        match intent::parse(&text, now, &habits) {
            Intent::Keep(_) => self.store_in_inbox(intent::strip_keep_prefix(&text), &[], now),
            Intent::Plan(reading) if reading.when.is_none() && reading.text.trim().is_empty() => {
                refusal_reply(&no_time_reply(&reading.notes))
            }
            Intent::Plan(reading) if reading.when.is_none() => {
                self.store_in_inbox(&reading.text, &reading.notes, now)
            }
            Intent::Unclear(notes) => self.store_in_inbox(&text, &notes, now),
            Intent::Untimed | Intent::SmallTalk(_) => self.store_in_inbox(&text, &[], now),
            Intent::Status => self.status(),
            Intent::Change(ChangeRequest::SetUserName(name)) => self.set_user_name(&name, now),
            // No plan has that name, so this is a task in itself, such as moving the sofa to the
            // cellar.
            Intent::Change(ChangeRequest::Move { item: what, to: Err(_) })
                if !self.is_known_item(&what, now) =>
            {
                self.store_in_inbox(&text, &phrase::parse(&text, now, &habits).notes, now)
            }
            Intent::Plan(_) | Intent::List(_) | Intent::Change(_) | Intent::Quiet(_) => {
                self.plan_text(&text, now)
            }
        }
    }

    /// Stores `text` in the inbox, reports a problem with a time in it, and offers times.
    fn store_in_inbox(&mut self, text: &str, notes: &[ParseNote], now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let id = self.add_to_inbox(text, &mut tx);
        self.push_plan_undo(PlanUndo { added_items: vec![id], ..PlanUndo::default() }, &mut tx);
        let trouble = notes.iter().find(|note| note.is_error());
        let trouble = trouble.map(|note| format!("{note}.\n")).unwrap_or_default();
        let reply = format!("{trouble}{}\n{}", self.inbox_confirmation(id), self.time_offer(now));
        (Answer::Text(reply), tx.into_effects())
    }

    /// Returns the confirmation for the inbox item `id`.
    pub(super) fn inbox_confirmation(&self, id: InboxItemId) -> String {
        let text = self.inbox_item(id).map(|kept| kept.text).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut =
            line.char_indices().nth(MAX_ECHO).map_or(line.clone(), |(end, _)| format!("{}…", &line[..end]));
        format!("✓ kept in your inbox as {} · {cut}", id.0)
    }

    /// Schedules the item that was just stored if `text` is only a time. `today` is not taken as
    /// one: it more likely asks to list the day.
    pub(super) fn apply_offered_time(&mut self, text: &str, now: &Zoned) -> Option<(Answer, Vec<Effect>)> {
        let kept = self.offered_item(now)?;
        let to = phrase::parse_target(
            text.trim().trim_end_matches(['.', '!']),
            now,
            &self.state.choices.settings.habits(),
        )?
        .ok()?;
        if to == MoveTarget::Day(now.date()) {
            return None;
        }
        Some(self.move_item(&ItemRef::InboxItem(kept.id), &to, now))
    }

    /// Returns the item stored by the last change, if that was recent.
    fn offered_item(&self, now: &Zoned) -> Option<InboxItem> {
        let last = self.state.plans.last_change()?;
        let [id] = last.added_items[..] else { return None };
        let kept = self.inbox_item(id).ok()?;
        (now.timestamp().duration_since(kept.at) <= OFFER_PERIOD).then_some(kept)
    }

    /// Returns the question that offers times for an item without one.
    pub(super) fn time_offer(&self, now: &Zoned) -> String {
        let quick = self.state.choices.settings.habits().quick_times(now);
        let names: Vec<&str> = quick.iter().map(|quick| quick.name).chain(["no time"]).collect();
        format!("when? {}", names.join(" · "))
    }
}

/// Returns the text without control characters, or the reason why it cannot be accepted.
fn sanitized(text: &str) -> Result<String, String> {
    let without_control = |letter: char| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let text: String = text.trim().chars().map(without_control).collect();
    if text.trim().is_empty() {
        return Err("there are no words in that. say it like `call mum tomorrow at 10`.".to_owned());
    }
    match text.chars().count() {
        length if length > MAX_MESSAGE_CHARS => Err(format!(
            "that has {length} characters and the most i take at once is {MAX_MESSAGE_CHARS}. keep it in a file, and tell \
             me where that is."
        )),
        _ => Ok(text.trim().to_owned()),
    }
}
