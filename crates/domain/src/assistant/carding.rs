//! Cards: what the human does with a reminder that rang.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::refused;
use super::{Answer, Aside, Assistant, Effect, Minutes, Running, Shown};
use crate::brain::{self, Meant, Which};
use crate::card::{Act, Card, CardId, DROP, LATER, PICK, State};
use crate::conversation::{Branch, Said, Text};
use crate::cost::Source;
use crate::occurrence::Occurrence;
use crate::phrase::Target;
use crate::post::{PostChange, PostKey};
use crate::record::{Address, Message, MessageChange, Record, SurfaceName};
use crate::schedule::{ItemId, Prompt};

impl Assistant {
    /// A reminder has just rung, in these minutes: from now on it can be answered with a button.
    pub(super) fn rang(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) {
        let Source::Reminder(id) = &occurrence.key.source else { return };
        let Ok(id) = ItemId::parse(id).map(CardId) else { return };
        let answer = minutes.shown.iter().rev().find_map(|shown| {
            let Shown::Said { branch: Branch::Main, entry } = shown else { return None };
            let answer = (entry.said.text(), PostKey::words(entry));
            matches!(entry.said, Said::Assistant(..)).then_some(answer)
        });
        let words = occurrence.words.clone();
        let (said, post) = answer.unwrap_or_else(|| (as_written(&words), PostKey::card(&id, minutes.at)));
        let card = Card { id, words, said, rang: minutes.at, state: State::Open };
        self.keep_card((card, post), minutes);
    }

    fn keep_card(&mut self, (card, post): (Card, PostKey), minutes: &mut Minutes) {
        Arc::make_mut(&mut self.memory.messages.cards).keep(card.clone(), post.clone());
        minutes.records.push(Record::Message(MessageChange::Card(card.clone(), post)));
        minutes.shown.push(Shown::Aside(Aside::Card(card)));
    }

    /// The human does something with a card. The first thing counts, until it is taken back.
    pub(super) fn card_pressed(
        &mut self,
        surface: SurfaceName,
        (id, act): (&CardId, Act),
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((card, post)) = self.memory.messages.cards.get(id).cloned() else {
            return refused(
                "that reminder is too long ago. say it in words, like `remind me tomorrow at 9`.",
            );
        };
        match (&card.state, act) {
            (State::Open, Act::Split) => self.split(surface, &card, now),
            (State::Open, Act::Undo) => refused("there is nothing to take back here."),
            (State::Open, Act::Done) => {
                let told = format!("the human marked the reminder \"{}\" as done.", card.words);
                self.settle_card((card, post), State::Done(now.timestamp()), (Minutes::at(now), &told), now)
            }
            (State::Open, Act::Move(words)) if words == DROP => {
                let told = format!("the human dropped the reminder \"{}\".", card.words);
                self.settle_card((card, post), State::Dropped, (Minutes::at(now), &told), now)
            }
            (State::Open, Act::Later) => self.move_card((card, post), &Target::Later(LATER), now),
            (State::Open, Act::Move(words)) => {
                let meant = brain::read(&words, now, &self.memory.chosen.settings.habits());
                let Meant::Move { what: Which::This, to } = meant else {
                    return refused(&no_such_time(&words));
                };
                self.move_card((card, post), &to, now)
            }
            (State::Moved(_, source), Act::Undo) => {
                let (source, mut minutes) = (source.clone(), Minutes::at(now));
                if self.memory.plans.agenda.get(&source).is_some() {
                    self.unplan(&source, &mut minutes);
                }
                self.settle_card((card, post), State::Open, (minutes, ""), now)
            }
            (State::Done(_) | State::Dropped, Act::Undo) => {
                self.settle_card((card, post), State::Open, (Minutes::at(now), ""), now)
            }
            (State::Done(_) | State::Moved(..) | State::Dropped, _) => {
                refused("that was settled already. `Undo` on it takes that back.")
            }
        }
    }

    pub(super) fn move_card(
        &mut self,
        (card, post): (Card, PostKey),
        to: &Target,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        match self.plan_again(Prompt::new(&card.words), to, now, &mut minutes) {
            Ok((source, at)) => {
                let told = format!("the human moved the reminder \"{}\".", card.words);
                self.settle_card((card, post), State::Moved(at, source), (minutes, &told), now)
            }
            Err(why) => refused(&why),
        }
    }

    /// What became of the card is written down, and what was posted says it. Main hears of it later.
    fn settle_card(
        &mut self,
        (card, post): (Card, PostKey),
        state: State,
        (mut minutes, told): (Minutes, &str),
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let card = Card { state, ..card };
        minutes
            .records
            .push(Record::Message(MessageChange::Post(PostChange::Says(post.clone(), card.sheet(now)))));
        self.keep_card((card, post), &mut minutes);
        if !told.is_empty() {
            self.report("reminder", told.to_owned(), &mut minutes);
        }
        (Answer::Noted, minutes.effects())
    }

    fn split(&mut self, surface: SurfaceName, card: &Card, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = format!(
            "[button] break this down into a few small steps, the first one under two minutes: {}",
            card.words
        );
        let running = self.running.values().filter_map(Running::message).map(|message| &message.text);
        let mut asked = self.memory.messages.waiting.iter().map(|message| &message.text).chain(running);
        if asked.any(|asked| *asked == text) {
            return refused("that was pressed already; it is being answered.");
        }
        if let Err(full) = self.has_room() {
            return refused(&full);
        }
        let minutes = Minutes::at(now);
        let (id, at, to) = (self.next_message(), minutes.at, Address::Here);
        self.hear(Message { id, at, surface, to, text, images: Vec::new(), mark: None }, minutes)
    }
}

/// The words of a reminder that no model put otherwise.
pub(super) fn as_written(words: &str) -> String {
    format!("⏰ {words}")
}

fn no_such_time(words: &str) -> String {
    match words {
        "" | PICK => "say when: `tomorrow 9`, `in 2 hours`, `saturday 10:00`.".to_owned(),
        words => format!("`{words}` is no time that i know. say one like `tomorrow 9` or `in 2 hours`."),
    }
}
