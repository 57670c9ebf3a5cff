//! Gathering: reminders that wait for main at the same time ring together, in one message.

use jiff::tz::TimeZone;

use super::{Assistant, Minutes};
use crate::card::{Card, as_written, together};
use crate::occurrence::{End, Occurrence, Stage};
use crate::post::PostKey;
use crate::schedule::{Lateness, What};

/// What is said of a reminder that did not ring alone.
const TOGETHER: &str = "it rang together with others";

impl Assistant {
    /// Reminders that wait together ring together, as they were written. A single one waits for its turn.
    pub(super) fn ring_together(&mut self, minutes: &mut Minutes) {
        let waiting = self.memory.messages.waiting.iter();
        let asked = waiting.filter_map(|message| self.memory.plans.asked(message.id));
        let together_now: Vec<Occurrence> = asked.filter(|asked| self.is_plain(asked)).cloned().collect();
        if together_now.len() < 2 {
            return;
        }
        for occurrence in &together_now {
            if let Stage::Asked(message) = occurrence.stage {
                self.take_back(message, minutes);
            }
        }
        let lines: Vec<String> =
            together_now.iter().map(|one| format!("{}{}", one.words, was_for(one, &minutes.zone))).collect();
        let text = together(&lines);
        let said = self.speak(&text, minutes);
        let cards: Vec<Card> =
            together_now.iter().filter_map(|occurrence| self.new_card(occurrence, minutes)).collect();
        let key = said.or_else(|| cards.first().map(|card| PostKey::card(&card.id, minutes.at)));
        for card in cards {
            let post = key.clone().unwrap_or_else(|| PostKey::card(&card.id, minutes.at));
            self.keep_card((Card { said: text.clone(), ..card }, post), minutes);
        }
        for occurrence in together_now {
            self.settle(occurrence, End::Done(TOGETHER.to_owned()), minutes);
        }
    }

    /// Whether nothing has to be done about it but to say it.
    fn is_plain(&self, occurrence: &Occurrence) -> bool {
        let planned = self.plan_of(occurrence);
        planned.is_some_and(|planned| match &planned.what {
            What::Reminder(reminder) => reminder.chain.max == 0 && reminder.skills.is_empty(),
            What::Routine(_) => false,
        })
    }
}

/// A reminder as it was written, and when it was for if it comes late.
pub(super) fn put_plainly(occurrence: &Occurrence, minutes: &Minutes) -> String {
    let (words, late) = (as_written(&occurrence.words), was_for(occurrence, &minutes.zone));
    let now = minutes.at.to_zoned(minutes.zone.clone());
    match late.is_empty() {
        true => words,
        false => format!("{words}{late}, i was away until {}", now.strftime("%H:%M")),
    }
}

fn was_for(occurrence: &Occurrence, zone: &TimeZone) -> String {
    let due = occurrence.key.due.to_zoned(zone.clone());
    match occurrence.lateness {
        Lateness::OnTime => String::new(),
        Lateness::Late => format!(" · was for {}", due.strftime("%a %H:%M")).to_lowercase(),
    }
}
