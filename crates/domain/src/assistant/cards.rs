//! Reminder cards: creating them, and applying the user's presses.

use std::sync::Arc;

use jiff::Zoned;

use super::forks::refusal_reply;
use super::main_reminders::verbatim_text_with_delay;
use super::{ActiveTurn, Answer, Assistant, Effect, Replanned, SideUpdate, Transaction, Update};
use crate::attention::{AttentionChange, DeferredId};
use crate::card::{
    Card, CardAction, CardId, CardState, DONE_OPTION, DROP_OPTION, FollowUpState, KEEP_OPTION, LATER_DELAY,
    PICK_TIME_OPTION,
};
use crate::card::{group_body, parse_group_option, parse_option};
use crate::conversation::{Branch, EntryContent, Text};
use crate::cost::CostSource;
use crate::intent::{self, ChangeRequest, Intent, ItemRef};
use crate::label::Label;
use crate::occurrence::Occurrence;
use crate::outbox::{MessageBody, OutboxChange, OutboxKey};
use crate::phrase::MoveTarget;
use crate::record::{Address, Message, MessageChange, Record, SurfaceName};
use crate::schedule::{ItemId, Prompt};

/// A card with the key of its post.
type PostedCard = (Card, OutboxKey);

impl Assistant {
    /// Creates the card of a reminder that fired in this transaction.
    pub(super) fn create_card(&mut self, occurrence: &Occurrence, tx: &mut Transaction) {
        let Some(mut card) = self.new_card(occurrence, tx) else { return };
        let post = match self.last_main_post(tx) {
            Some((said, post)) => {
                card.text = said;
                if let Some(plan) = self.offered_plan(&card, tx) {
                    card.text = format!("{}\n{plan}", card.text);
                }
                post
            }
            None => OutboxKey::card(&card.id, tx.at),
        };
        self.save_card((card, post), tx);
    }

    /// Returns the card of a reminder that fires now, with its text as written.
    pub(super) fn new_card(&self, occurrence: &Occurrence, tx: &Transaction) -> Option<Card> {
        let CostSource::Reminder(id) = &occurrence.key.source else { return None };
        let id = ItemId::parse(id).map(CardId).ok()?;
        let words = occurrence.prompt.clone();
        Some(Card {
            id,
            text: verbatim_text_with_delay(occurrence, tx),
            task: words,
            rang_at: tx.at,
            state: CardState::Open,
            snoozes: self.state.messages.cards.snooze_count(&occurrence.key.source),
            follow_up: FollowUpState::AskedOnce,
            follow_up_post: None,
        })
    }

    /// Returns the assistant's last entry on main in this transaction, and the key of its post.
    pub(super) fn last_main_post(&self, tx: &Transaction) -> Option<(String, OutboxKey)> {
        tx.updates.iter().rev().find_map(|shown| {
            let Update::EntryAppended { branch: Branch::Main, entry } = shown else { return None };
            let answer = (entry.content.text(), OutboxKey::of_entry(entry));
            matches!(entry.content, EntryContent::Assistant(..)).then_some(answer)
        })
    }

    /// Saves a card and shows it on all surfaces.
    pub(super) fn save_card(&mut self, (card, post): PostedCard, tx: &mut Transaction) {
        tx.updates.push(Update::Side(SideUpdate::CardChanged(card.clone())));
        self.save_card_silently((card, post), tx);
    }

    /// Like [`Self::save_card`], without notifying surfaces.
    pub(super) fn save_card_silently(&mut self, (card, post): PostedCard, tx: &mut Transaction) {
        Arc::make_mut(&mut self.state.messages.cards).insert(card.clone(), post.clone());
        tx.records.push(Record::Message(MessageChange::Card(card, post)));
    }

    /// Applies a press on a card. The first one counts until it is undone.
    pub(super) fn press_card(
        &mut self,
        surface: SurfaceName,
        id: &CardId,
        act: CardAction,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        if let CardAction::Pick(option) = act {
            let names_a_card = parse_option(&option).is_some();
            return match names_a_card {
                true => self.pick_from_menu(surface, id, &option, now),
                // A typed time for this card.
                false => self.press_card(surface, id, CardAction::Move(option), now),
            };
        }
        let Some((card, post)) = self.state.messages.cards.get(id).cloned() else {
            return refusal_reply(
                "that reminder is too long ago. say it in words, like `remind me tomorrow at 9`.",
            );
        };
        match (&card.state, act) {
            (CardState::Open, CardAction::Split) => self.split_into_steps(surface, &card, now),
            (CardState::Open, CardAction::Undo) => refusal_reply("there is nothing to take back here."),
            (CardState::Open, CardAction::Tonight) => self.move_all_to_tonight(&post, now),
            (CardState::Open, act) => self.press_open_card((card, post), act, now),
            (
                CardState::Done(_) | CardState::Moved(..) | CardState::Planned(_) | CardState::Dropped,
                CardAction::Undo,
            ) => {
                let mut tx = Transaction::at(now);
                for (card, post) in self.undo_settling(card, post, &mut tx) {
                    self.reopen_card((card, post), &mut tx);
                }
                (Answer::Done, tx.into_effects())
            }
            (CardState::Done(_) | CardState::Moved(..) | CardState::Planned(_) | CardState::Dropped, _) => {
                refusal_reply("that was settled already. `Undo` on it takes that back.")
            }
        }
    }

    /// Returns all cards that were settled by the same press as `card`, including it.
    fn undo_settling(&mut self, card: Card, post: OutboxKey, tx: &mut Transaction) -> Vec<PostedCard> {
        let Some(last) = self.take_plan_undo(|change| change.settled_cards.contains(&card.id), tx) else {
            return vec![(card, post)];
        };
        last.settled_cards.iter().filter_map(|id| self.state.messages.cards.get(id)).cloned().collect()
    }

    /// Reopens a settled card, and removes the reminder it was moved to.
    fn reopen_card(&mut self, (card, post): PostedCard, tx: &mut Transaction) {
        let now = tx.at.to_zoned(tx.zone.clone());
        self.revert_suggestion(&card, tx);
        match &card.state {
            CardState::Moved(_, source) | CardState::Planned(source)
                if self.state.plans.agenda.get(source).is_some() =>
            {
                self.delete_plan(&source.clone(), tx);
            }
            CardState::Moved(..)
            | CardState::Planned(_)
            | CardState::Open
            | CardState::Done(_)
            | CardState::Dropped => {}
        }
        self.settle_card((card, post), CardState::Open, tx, &now);
    }

    /// Drops the open card of `source`, because its reminder was scheduled again.
    pub(super) fn withdraw_card(&mut self, source: &CostSource, tx: &mut Transaction) {
        let CostSource::Reminder(id) = source else { return };
        let posted =
            ItemId::parse(id).ok().and_then(|id| self.state.messages.cards.get(&CardId(id)).cloned());
        if let Some((card, post)) = posted.filter(|(card, _)| card.state == CardState::Open) {
            let now = tx.at.to_zoned(tx.zone.clone());
            self.settle_card((card, post), CardState::Dropped, tx, &now);
        }
    }

    pub(super) fn move_card(
        &mut self,
        (card, post): PostedCard,
        to: &MoveTarget,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        match self.reschedule_card(&card, to, &mut tx) {
            Ok(state) => {
                self.settle_with_undo((card, post), state, &mut tx);
                (Answer::Done, tx.into_effects())
            }
            Err(why) => refusal_reply(&why),
        }
    }

    /// Settles a card with a change that `undo` can reverse.
    fn settle_with_undo(&mut self, (card, post): PostedCard, state: CardState, tx: &mut Transaction) {
        let now = tx.at.to_zoned(tx.zone.clone());
        let settled = vec![card.id.clone()];
        self.settle_card((card, post), state, tx, &now);
        self.push_plan_undo(Replanned { settled_cards: settled, ..Replanned::default() }, tx);
    }

    /// Applies a press on an open card.
    fn press_open_card(
        &mut self,
        (card, post): PostedCard,
        act: CardAction,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let state = match act {
            CardAction::Done => Ok(CardState::Done(now.timestamp())),
            CardAction::Drop => Ok(CardState::Dropped),
            CardAction::Plan => self.accept_plan(&card, &mut tx),
            CardAction::Later => self.reschedule_card(&card, &MoveTarget::Later(LATER_DELAY), &mut tx),
            CardAction::NotToday => {
                // Tomorrow at the time of day at which it fired.
                let rang = card.rang_at.to_zoned(now.time_zone().clone());
                let tomorrow = now.date().tomorrow();
                let at = tomorrow.map(|day| day.to_datetime(rang.time()).to_zoned(now.time_zone().clone()));
                let at = at.and_then(|at| at).map_err(|error| error.to_string());
                at.and_then(|at| self.reschedule_card(&card, &target_at(at), &mut tx))
            }
            CardAction::Move(words) => match words.as_str() {
                DONE_OPTION => Ok(CardState::Done(now.timestamp())),
                DROP_OPTION => Ok(CardState::Dropped),
                words => {
                    let meant = intent::parse(words, now, &self.state.choices.settings.habits());
                    if let Intent::Change(ChangeRequest::Move {
                        item: ItemRef::Current | ItemRef::LastRung,
                        to: Ok(to),
                    }) = meant
                    {
                        self.reschedule_card(&card, &to, &mut tx)
                    } else {
                        Err(unknown_time_reply(words))
                    }
                }
            },
            CardAction::Tonight | CardAction::Split | CardAction::Pick(_) | CardAction::Undo => {
                Err("there is nothing to do.".to_owned())
            }
        };
        match state {
            Ok(state) => {
                self.settle_with_undo((card, post), state, &mut tx);
                (Answer::Done, tx.into_effects())
            }
            Err(why) => refusal_reply(&why),
        }
    }

    /// Schedules the card's reminder once more at another time.
    fn reschedule_card(
        &mut self,
        card: &Card,
        to: &MoveTarget,
        tx: &mut Transaction,
    ) -> Result<CardState, String> {
        let now = tx.at.to_zoned(tx.zone.clone());
        let (source, at) = self.create_again(Prompt::new(&card.task), to, &now, tx)?;
        Ok(CardState::Moved(at, source))
    }

    /// Applies a menu choice that names one of several cards.
    fn pick_from_menu(
        &mut self,
        surface: SurfaceName,
        menu: &CardId,
        option: &str,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let gone = "that is settled, or too long ago. say it in words.";
        let cards = &self.state.messages.cards;
        let together = cards.get(menu).map(|(_, post)| cards.group_of(post)).unwrap_or_default();
        let named = || {
            let (act, is) = parse_option(option)?;
            cards.find_open(is).map(|id| (act, id.clone()))
        };
        let Some((act, id)) = parse_group_option(option, &together).or_else(named) else {
            return refusal_reply(gone);
        };
        match act {
            KEEP_OPTION => {
                let text = "kept. it stays as it is, and i do not bring it up by myself.".to_owned();
                (Answer::Text(text), Vec::new())
            }
            act => self.press_card(surface, &id, CardAction::Move(act.to_owned()), now),
        }
    }

    /// Moves all open cards of one post to tonight, or to tomorrow morning if the evening has
    /// begun.
    fn move_all_to_tonight(&mut self, post: &OutboxKey, now: &Zoned) -> (Answer, Vec<Effect>) {
        let slots = self.state.choices.settings.habits().slots;
        let tonight = now.date().to_datetime(slots.tonight).to_zoned(now.time_zone().clone());
        let tomorrow = now.date().tomorrow().map(|day| day.to_datetime(slots.morning));
        let tomorrow = tomorrow.and_then(|at| at.to_zoned(now.time_zone().clone()));
        let at = tonight.ok().filter(|at| at > now).or(tomorrow.ok());
        let Some(at) = at else { return refusal_reply("there is no tonight to move it to.") };
        let open = self.state.messages.cards.group_of(post);
        let open: Vec<Card> =
            open.into_iter().filter(|card| card.state == CardState::Open).cloned().collect();
        let mut tx = Transaction::at(now);
        let settled = open.iter().map(|card| card.id.clone()).collect();
        for card in open {
            match self.reschedule_card(&card, &target_at(at.clone()), &mut tx) {
                Ok(state) => self.settle_card((card, post.clone()), state, &mut tx, now),
                Err(why) => return refusal_reply(&why),
            }
        }
        self.push_plan_undo(Replanned { settled_cards: settled, ..Replanned::default() }, &mut tx);
        (Answer::Done, tx.into_effects())
    }

    /// Records the new state of the card, updates its post, and leaves a pending update for main.
    pub(super) fn settle_card(
        &mut self,
        (card, post): PostedCard,
        state: CardState,
        tx: &mut Transaction,
        now: &Zoned,
    ) {
        let update = match &state {
            _ if card.time_change().is_some() => None,
            CardState::Open => None,
            CardState::Done(_) => Some(format!("the human marked the reminder \"{}\" as done.", card.task)),
            CardState::Moved(..) | CardState::Planned(_) => {
                Some(format!("the human moved the reminder \"{}\".", card.task))
            }
            CardState::Dropped => Some(format!("the human dropped the reminder \"{}\".", card.task)),
        };
        // After an undo the user has the card in view and need not be asked again.
        let chase = if state == CardState::Open { FollowUpState::Finished } else { card.follow_up };
        let card = Card { state, follow_up: chase, ..card };
        self.save_card((card.clone(), post.clone()), tx);
        let cheer = self.praise(&card, tx).unwrap_or_default();
        let edit = |key: &OutboxKey, sheet| {
            Record::Message(MessageChange::Outbox(OutboxChange::Edited(key.clone(), sheet)))
        };
        let sheet = match self.state.messages.cards.group_of(&post).as_slice() {
            [] | [_] => MessageBody { footer: cheer.to_owned(), ..card.body(now) },
            several => group_body(several, Some(&card.id)),
        };
        tx.records.push(edit(&post, sheet));
        tx.records.extend(card.follow_up_post.as_ref().map(|key| edit(key, card.follow_up_body(now))));
        self.settle_deferred(&card.source(), tx);
        if let Some(update) = update {
            self.leave_update("reminder", Label::PLAIN, update, tx);
        }
    }

    /// Returns a line of praise for a finished reminder, at most now and then.
    fn praise(&mut self, card: &Card, tx: &mut Transaction) -> Option<&'static str> {
        let CardState::Done(_) = card.state else { return None };
        if card.time_change().is_some() {
            return None;
        }
        let today = tx.at.to_zoned(tx.zone.clone()).date();
        let (cheers, line) =
            self.state.messages.attention.state.encouragements.on_task_done(today, card.snoozes);
        self.update_attention_state(tx, |mood| mood.encouragements = cheers);
        line
    }

    /// Removes the deferred messages about `source`.
    fn settle_deferred(&mut self, source: &CostSource, tx: &mut Transaction) {
        let deferred = &mut self.state.messages.attention.deferred;
        let settled: Vec<DeferredId> = deferred
            .iter()
            .filter(|deferred| deferred.source == *source)
            .map(|deferred| deferred.id)
            .collect();
        if !settled.is_empty() {
            Arc::make_mut(deferred).retain(|deferred| deferred.source != *source);
            tx.records.push(Record::from(AttentionChange::DeferredResolved(settled, tx.at)));
        }
    }

    fn split_into_steps(&mut self, surface: SurfaceName, card: &Card, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = format!(
            "[button] break this down into a few small steps, the first one under two minutes: {}",
            card.task
        );
        let running = self.active_turns.values().filter_map(ActiveTurn::message).map(|message| &message.text);
        let mut asked = self.state.messages.waiting.iter().map(|message| &message.text).chain(running);
        if asked.any(|asked| *asked == text) {
            return refusal_reply("that was pressed already; it is being answered.");
        }
        if let Err(full) = self.check_queue() {
            return refusal_reply(&full);
        }
        let mut tx = Transaction::at(now);
        // A user who starts working on it needs no follow-up.
        if let Some((card, post)) = self.state.messages.cards.get(&card.id).cloned() {
            self.save_card_silently((Card { follow_up: FollowUpState::Finished, ..card }, post), &mut tx);
        }
        let id = self.next_message_id();
        let at = tx.at;
        let to = Address::UserBranch;
        self.queue_message(
            Message {
                id,
                at,
                surface,
                address: to,
                text,
                images: Vec::new(),
                external_id: None,
                label: Label::PLAIN,
            },
            tx,
        )
    }
}

fn target_at(at: Zoned) -> MoveTarget {
    MoveTarget::At(crate::phrase::Timing::Once(at))
}

fn unknown_time_reply(words: &str) -> String {
    match words {
        "" | PICK_TIME_OPTION => "say when: `tomorrow 9`, `in 2 hours`, `saturday 10:00`.".to_owned(),
        words => format!("`{words}` is no time that i know. say one like `tomorrow 9` or `in 2 hours`."),
    }
}
