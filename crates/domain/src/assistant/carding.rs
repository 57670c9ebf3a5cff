//! Reminder cards: creating them, and applying the user's presses.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::refused;
use super::gathering::put_plainly;
use super::{Answer, Aside, Assistant, Effect, Minutes, Replanned, Running, Shown};
use crate::attention::{AttentionChange, HeldId};
use crate::brain::{self, Change, Meant, Which};
use crate::card::{Act, Card, CardId, Chase, DONE, DROP, KEEP, LATER, PICK, State};
use crate::card::{chosen, chosen_of, together_sheet};
use crate::conversation::{Branch, Said, Text};
use crate::cost::Source;
use crate::label::Label;
use crate::occurrence::Occurrence;
use crate::phrase::Target;
use crate::post::{PostChange, PostKey, Sheet};
use crate::record::{Address, Message, MessageChange, Record, SurfaceName};
use crate::schedule::{ItemId, Prompt};

/// A card with the key of its post.
type Posted = (Card, PostKey);

impl Assistant {
    /// Creates the card of a reminder that fired in this transaction.
    pub(super) fn rang(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) {
        let Some(mut card) = self.new_card(occurrence, minutes) else { return };
        let post = match self.just_said(minutes) {
            Some((said, post)) => {
                card.said = said;
                if let Some(plan) = self.rehearse(&card, minutes) {
                    card.said = format!("{}\n{plan}", card.said);
                }
                post
            }
            None => PostKey::card(&card.id, minutes.at),
        };
        self.keep_card((card, post), minutes);
    }

    /// Returns the card of a reminder that fires now, with its text as written.
    pub(super) fn new_card(&self, occurrence: &Occurrence, minutes: &Minutes) -> Option<Card> {
        let Source::Reminder(id) = &occurrence.key.source else { return None };
        let id = ItemId::parse(id).map(CardId).ok()?;
        let words = occurrence.words.clone();
        Some(Card {
            id,
            said: put_plainly(occurrence, minutes),
            words,
            rang: minutes.at,
            state: State::Open,
            snoozes: self.memory.messages.cards.put_off(&occurrence.key.source),
            chase: Chase::Once,
            followed: None,
        })
    }

    /// Returns the assistant's last entry on main in this transaction, and the key of its post.
    pub(super) fn just_said(&self, minutes: &Minutes) -> Option<(String, PostKey)> {
        minutes.shown.iter().rev().find_map(|shown| {
            let Shown::Said { branch: Branch::Main, entry } = shown else { return None };
            let answer = (entry.said.text(), PostKey::words(entry));
            matches!(entry.said, Said::Assistant(..)).then_some(answer)
        })
    }

    /// Saves a card and shows it on all surfaces.
    pub(super) fn keep_card(&mut self, (card, post): Posted, minutes: &mut Minutes) {
        minutes.shown.push(Shown::Aside(Aside::Card(card.clone())));
        self.write_card((card, post), minutes);
    }

    /// Like [`Self::save_card`], without notifying surfaces.
    pub(super) fn write_card(&mut self, (card, post): Posted, minutes: &mut Minutes) {
        Arc::make_mut(&mut self.memory.messages.cards).keep(card.clone(), post.clone());
        minutes.records.push(Record::Message(MessageChange::Card(card, post)));
    }

    /// Applies a press on a card. The first one counts until it is undone.
    pub(super) fn card_pressed(
        &mut self,
        surface: SurfaceName,
        id: &CardId,
        act: Act,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        if let Act::Pick(option) = act {
            let names_a_card = chosen(&option).is_some();
            return match names_a_card {
                true => self.picked(surface, id, &option, now),
                // A typed time for this card.
                false => self.card_pressed(surface, id, Act::Move(option), now),
            };
        }
        let Some((card, post)) = self.memory.messages.cards.get(id).cloned() else {
            return refused(
                "that reminder is too long ago. say it in words, like `remind me tomorrow at 9`.",
            );
        };
        match (&card.state, act) {
            (State::Open, Act::Split) => self.split(surface, &card, now),
            (State::Open, Act::Undo) => refused("there is nothing to take back here."),
            (State::Open, Act::Tonight) => self.all_tonight(&post, now),
            (State::Open, act) => self.open_pressed((card, post), act, now),
            (State::Done(_) | State::Moved(..) | State::Planned(_) | State::Dropped, Act::Undo) => {
                let mut minutes = Minutes::at(now);
                for (card, post) in self.settled_with(card, post, &mut minutes) {
                    self.open_again((card, post), &mut minutes);
                }
                (Answer::Noted, minutes.effects())
            }
            (State::Done(_) | State::Moved(..) | State::Planned(_) | State::Dropped, _) => {
                refused("that was settled already. `Undo` on it takes that back.")
            }
        }
    }

    /// Returns all cards that were settled by the same press as `card`, including it.
    fn settled_with(&mut self, card: Card, post: PostKey, minutes: &mut Minutes) -> Vec<Posted> {
        let Some(last) = self.take_change(|change| change.settled.contains(&card.id), minutes) else {
            return vec![(card, post)];
        };
        last.settled.iter().filter_map(|id| self.memory.messages.cards.get(id)).cloned().collect()
    }

    /// Reopens a settled card, and removes the reminder it was moved to.
    fn open_again(&mut self, (card, post): Posted, minutes: &mut Minutes) {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        self.comes_as_before(&card, minutes);
        match &card.state {
            State::Moved(_, source) | State::Planned(source)
                if self.memory.plans.agenda.get(source).is_some() =>
            {
                self.unplan(&source.clone(), minutes);
            }
            State::Moved(..) | State::Planned(_) | State::Open | State::Done(_) | State::Dropped => {}
        }
        self.settle_card((card, post), State::Open, minutes, &now);
    }

    /// Drops the open card of `source`, because its reminder was scheduled again.
    pub(super) fn withdraw_card(&mut self, source: &Source, minutes: &mut Minutes) {
        let Source::Reminder(id) = source else { return };
        let posted =
            ItemId::parse(id).ok().and_then(|id| self.memory.messages.cards.get(&CardId(id)).cloned());
        if let Some((card, post)) = posted.filter(|(card, _)| card.state == State::Open) {
            let now = minutes.at.to_zoned(minutes.zone.clone());
            self.settle_card((card, post), State::Dropped, minutes, &now);
        }
    }

    pub(super) fn move_card(
        &mut self,
        (card, post): Posted,
        to: &Target,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        match self.rings_again(&card, to, &mut minutes) {
            Ok(state) => {
                self.settled_by_hand((card, post), state, &mut minutes);
                (Answer::Noted, minutes.effects())
            }
            Err(why) => refused(&why),
        }
    }

    /// Settles a card with a change that `undo` can reverse.
    fn settled_by_hand(&mut self, (card, post): Posted, state: State, minutes: &mut Minutes) {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let settled = vec![card.id.clone()];
        self.settle_card((card, post), state, minutes, &now);
        self.can_undo_plan(Replanned { settled, ..Replanned::default() }, minutes);
    }

    /// Applies a press on an open card.
    fn open_pressed(&mut self, (card, post): Posted, act: Act, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let state = match act {
            Act::Done => Ok(State::Done(now.timestamp())),
            Act::Drop => Ok(State::Dropped),
            Act::Plan => self.rings_when(&card, &mut minutes),
            Act::Later => self.rings_again(&card, &Target::Later(LATER), &mut minutes),
            Act::NotToday => {
                // Tomorrow at the time of day at which it fired.
                let rang = card.rang.to_zoned(now.time_zone().clone());
                let tomorrow = now.date().tomorrow();
                let at = tomorrow.map(|day| day.to_datetime(rang.time()).to_zoned(now.time_zone().clone()));
                let at = at.and_then(|at| at).map_err(|error| error.to_string());
                at.and_then(|at| self.rings_again(&card, &once(at), &mut minutes))
            }
            Act::Move(words) => match words.as_str() {
                DONE => Ok(State::Done(now.timestamp())),
                DROP => Ok(State::Dropped),
                words => {
                    let meant = brain::read(words, now, &self.memory.chosen.settings.habits());
                    if let Meant::Change(Change::Move { what: Which::This | Which::Rang, to: Ok(to) }) = meant
                    {
                        self.rings_again(&card, &to, &mut minutes)
                    } else {
                        Err(no_such_time(words))
                    }
                }
            },
            Act::Tonight | Act::Split | Act::Pick(_) | Act::Undo => Err("there is nothing to do.".to_owned()),
        };
        match state {
            Ok(state) => {
                self.settled_by_hand((card, post), state, &mut minutes);
                (Answer::Noted, minutes.effects())
            }
            Err(why) => refused(&why),
        }
    }

    /// Schedules the card's reminder once more at another time.
    fn rings_again(&mut self, card: &Card, to: &Target, minutes: &mut Minutes) -> Result<State, String> {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let (source, at) = self.plan_again(Prompt::new(&card.words), to, &now, minutes)?;
        Ok(State::Moved(at, source))
    }

    /// Applies a menu choice that names one of several cards.
    fn picked(
        &mut self,
        surface: SurfaceName,
        menu: &CardId,
        option: &str,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let gone = "that is settled, or too long ago. say it in words.";
        let cards = &self.memory.messages.cards;
        let together = cards.get(menu).map(|(_, post)| cards.under(post)).unwrap_or_default();
        let named = || {
            let (act, is) = chosen(option)?;
            cards.find_open(is).map(|id| (act, id.clone()))
        };
        let Some((act, id)) = chosen_of(option, &together).or_else(named) else { return refused(gone) };
        match act {
            KEEP => {
                let text = "kept. it stays as it is, and i do not bring it up by myself.".to_owned();
                (Answer::Told(text), Vec::new())
            }
            act => self.card_pressed(surface, &id, Act::Move(act.to_owned()), now),
        }
    }

    /// Moves all open cards of one post to tonight, or to tomorrow morning if the evening has
    /// begun.
    fn all_tonight(&mut self, post: &PostKey, now: &Zoned) -> (Answer, Vec<Effect>) {
        let slots = self.memory.chosen.settings.habits().slots;
        let tonight = now.date().to_datetime(slots.tonight).to_zoned(now.time_zone().clone());
        let tomorrow = now.date().tomorrow().map(|day| day.to_datetime(slots.morning));
        let tomorrow = tomorrow.and_then(|at| at.to_zoned(now.time_zone().clone()));
        let at = tonight.ok().filter(|at| at > now).or(tomorrow.ok());
        let Some(at) = at else { return refused("there is no tonight to move it to.") };
        let open = self.memory.messages.cards.under(post);
        let open: Vec<Card> = open.into_iter().filter(|card| card.state == State::Open).cloned().collect();
        let mut minutes = Minutes::at(now);
        let settled = open.iter().map(|card| card.id.clone()).collect();
        for card in open {
            match self.rings_again(&card, &once(at.clone()), &mut minutes) {
                Ok(state) => self.settle_card((card, post.clone()), state, &mut minutes, now),
                Err(why) => return refused(&why),
            }
        }
        self.can_undo_plan(Replanned { settled, ..Replanned::default() }, &mut minutes);
        (Answer::Noted, minutes.effects())
    }

    /// Records the new state of the card, updates its post, and leaves a pending update for main.
    pub(super) fn settle_card(
        &mut self,
        (card, post): Posted,
        state: State,
        minutes: &mut Minutes,
        now: &Zoned,
    ) {
        let told = match &state {
            _ if card.suggestion().is_some() => None,
            State::Open => None,
            State::Done(_) => Some(format!("the human marked the reminder \"{}\" as done.", card.words)),
            State::Moved(..) | State::Planned(_) => {
                Some(format!("the human moved the reminder \"{}\".", card.words))
            }
            State::Dropped => Some(format!("the human dropped the reminder \"{}\".", card.words)),
        };
        // After an undo the user has the card in view and need not be asked again.
        let chase = if state == State::Open { Chase::Left } else { card.chase };
        let card = Card { state, chase, ..card };
        self.keep_card((card.clone(), post.clone()), minutes);
        let cheer = self.cheer(&card, minutes).unwrap_or_default();
        let says =
            |key: &PostKey, sheet| Record::Message(MessageChange::Post(PostChange::Says(key.clone(), sheet)));
        let sheet = match self.memory.messages.cards.under(&post).as_slice() {
            [] | [_] => Sheet { foot: cheer.to_owned(), ..card.sheet(now) },
            several => together_sheet(several, Some(&card.id)),
        };
        minutes.records.push(says(&post, sheet));
        minutes.records.extend(card.followed.as_ref().map(|key| says(key, card.otherwise_sheet(now))));
        self.no_longer_held(&card.source(), minutes);
        if let Some(told) = told {
            self.report("reminder", Label::PLAIN, told, minutes);
        }
    }

    /// Returns a line of praise for a finished reminder, at most now and then.
    fn cheer(&mut self, card: &Card, minutes: &mut Minutes) -> Option<&'static str> {
        let State::Done(_) = card.state else { return None };
        if card.suggestion().is_some() {
            return None;
        }
        let today = minutes.at.to_zoned(minutes.zone.clone()).date();
        let (cheers, line) = self.memory.messages.attending.mood.cheers.done(today, card.snoozes);
        self.feels(minutes, |mood| mood.cheers = cheers);
        line
    }

    /// Removes the deferred messages about `source`.
    fn no_longer_held(&mut self, source: &Source, minutes: &mut Minutes) {
        let held = &mut self.memory.messages.attending.held;
        let settled: Vec<HeldId> =
            held.iter().filter(|held| held.source == *source).map(|held| held.id).collect();
        if !settled.is_empty() {
            Arc::make_mut(held).retain(|held| held.source != *source);
            minutes.records.push(Record::from(AttentionChange::Settled(settled, minutes.at)));
        }
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
        let mut minutes = Minutes::at(now);
        // A user who starts working on it needs no follow-up.
        if let Some((card, post)) = self.memory.messages.cards.get(&card.id).cloned() {
            self.write_card((Card { chase: Chase::Left, ..card }, post), &mut minutes);
        }
        let id = self.next_message();
        let at = minutes.at;
        let to = Address::Here;
        self.hear(
            Message { id, at, surface, to, text, images: Vec::new(), mark: None, label: Label::PLAIN },
            minutes,
        )
    }
}

fn once(at: Zoned) -> Target {
    Target::At(crate::phrase::When::Once(at))
}

fn no_such_time(words: &str) -> String {
    match words {
        "" | PICK => "say when: `tomorrow 9`, `in 2 hours`, `saturday 10:00`.".to_owned(),
        words => format!("`{words}` is no time that i know. say one like `tomorrow 9` or `in 2 hours`."),
    }
}
