//! Offline answers: while the model is unreachable, the offline model does what it understands, and
//! the rest waits.
//!
//! The user is notified once. Understood messages are handled at once, without a call that would
//! fail. Other turns stay open, on disk, and are retried at intervals.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::retrying::{Pace, Retry};
use super::{Answer, Assistant, Effect, Ended, Known, Left, Minutes, Owed, Running, Shown, Turned};
use crate::brain::{self, Change, Meant, Until};
use crate::context::{self, Reader};
use crate::conversation::{Block, Branch, Heard, Reach, Said, Usage};
use crate::failure::Failure;
use crate::record::{Address, Message, MessageChange, Opened, Record, SurfaceName, TurnChange};
use crate::turn::{Ending, TurnId};

/// Retry intervals for an unreachable model. The first is short, because most overloads are.
const PACE: Pace = Pace { first: SignedDuration::from_secs(5), longest: SignedDuration::from_mins(10) };
/// Longest wait that a server can ask for; a longer one, or a wrong one, is cut to this.
const LONGEST_ASKED: SignedDuration = SignedDuration::from_hours(6);
/// Notice before the first offline answer of an outage.
const STANDS_IN: &str =
    "can't reach the model right now, so i answer what i can without it. your reminders still work.";

impl Assistant {
    /// Returns true during an outage, until the next retry.
    pub(super) fn is_away(&self, now: Timestamp) -> bool {
        self.wants.away.is_some_and(|away| now < away.again)
    }

    /// Returns the time of the next retry, if a turn is blocked.
    pub(super) fn tries_model(&self) -> Option<Timestamp> {
        let planned = [self.wants.away, self.wants.key_refused].into_iter().flatten();
        planned.map(|retry| retry.again).min().filter(|_| self.waits_for_key())
    }

    /// Retries blocked turns if it is time.
    pub(super) fn tend_away(&mut self, minutes: &mut Minutes) {
        if self.tries_model().is_some_and(|again| again <= minutes.at) {
            self.try_held(minutes);
        }
    }

    /// Handles a turn that failed because the model is unreachable: it is answered offline or
    /// blocked.
    pub(super) fn model_away(&mut self, turned: Turned, ended: &Ended, why: &Failure, minutes: &mut Minutes) {
        let known = self.wants.away.map_or(Known::Unknown, |_| Known::Told);
        self.note_away(why, minutes);
        let untouched = !self.wants.tried.worked.contains(&turned.turn);
        let Turned { turn, branch, message, .. } = &turned;
        match untouched.then(|| self.done_without(message, minutes)).flatten() {
            Some(told) => {
                if known == Known::Unknown {
                    minutes.shown.push(Shown::Notice(STANDS_IN.to_owned()));
                }
                self.say_on(branch, plain(told), minutes);
                minutes.close(*turn, Ending::Finished, ended.usage);
                let turn = *turn;
                let branch = branch.clone();
                let answers = message.id;
                minutes.shown.push(Shown::Ended { turn, branch, answers, ending: Ending::Finished });
            }
            None => {
                self.wants.refusal = known;
                self.hold(turned, &Failure::Away(why.of_a_job()), minutes);
            }
        }
        self.stand_in_for_waiting(minutes);
    }

    /// Blocks a turn that was interrupted during a retry, and answers the messages that interrupted
    /// it.
    pub(super) fn hold_again(&mut self, turned: Turned, minutes: &mut Minutes) {
        let why = Failure::Away("i can't reach the model.".to_owned());
        self.wants.refusal = Known::Told;
        self.hold(turned, &why, minutes);
        self.stand_in_for_waiting(minutes);
    }

    /// Returns true if the turn can be retried: it answers the user, and nothing was answered yet.
    pub(super) fn can_wait(&self, turned: &Turned, ended: &Ended) -> bool {
        let half = match &ended.left {
            Left::Said(said) => said.iter().any(|said| matches!(said, Said::Assistant(..))),
            Left::Summary(_) => false,
        };
        let ours = turned.message.surface == SurfaceName::House;
        !half && !ours && !self.memory.turns.runs.contains_key(&turned.branch)
    }

    fn note_away(&mut self, why: &Failure, minutes: &Minutes) {
        let asked = match why {
            Failure::Busy(Some(seconds)) => {
                SignedDuration::from_secs(i64::try_from(*seconds).unwrap_or(i64::MAX)).min(LONGEST_ASKED)
            }
            Failure::Busy(None)
            | Failure::Away(_)
            | Failure::Unreachable(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::Broken(_)
            | Failure::CutOff(_)
            | Failure::Garbled(_)
            | Failure::Unsaid(_)
            | Failure::Full(_)
            | Failure::Stopped(_) => SignedDuration::ZERO,
        };
        self.wants.away = Some(Retry::plan(self.wants.away, PACE, asked, minutes.at));
        self.wants.key_refused = None;
    }

    /// Answers the waiting messages that the offline model understands.
    pub(super) fn stand_in_for_waiting(&mut self, minutes: &mut Minutes) {
        let away = self.wants.away.is_some() || self.waits_for_key();
        if !away || self.is_busy_for_now() {
            return;
        }
        let understood = |message: &&Message| self.understands(message, minutes);
        let understood: Vec<Message> =
            self.memory.messages.waiting.iter().filter(understood).cloned().collect();
        for message in understood {
            let waiting = &mut self.memory.messages.waiting;
            let Some(at) = waiting.iter().position(|waiting| waiting.id == message.id) else { continue };
            waiting.remove(at);
            if !self.stood_in(&Arc::new(message.clone()), minutes) {
                // The offline model did not understand it after all.
                let waiting = &mut self.memory.messages.waiting;
                waiting.insert(at.min(waiting.len()), message);
            }
        }
    }

    /// Returns true if a turn with the user is running, not blocked.
    fn is_busy_for_now(&self) -> bool {
        self.speaking().is_some_and(|(_, running)| running.owed != Owed::Held)
    }

    /// Returns true if the offline model can handle `message`.
    pub(super) fn understands(&self, message: &Message, minutes: &Minutes) -> bool {
        let plain = message.surface != SurfaceName::House && message.images.is_empty();
        plain && message.to == Address::Here && {
            let now = minutes.at.to_zoned(minutes.zone.clone());
            is_done_here(&brain::read(&message.text, &now, &self.memory.chosen.settings.habits()))
        }
    }

    /// Answers `message` offline, in a turn of its own. Returns false if it could not.
    pub(super) fn stood_in(&mut self, message: &Arc<Message>, minutes: &mut Minutes) -> bool {
        let branch = self.here();
        if branch == Branch::Main {
            self.ensure_main(minutes);
        }
        let Some(told) = self.done_without(message, minutes) else { return false };
        let (heard, _) = self.heard_by(Reader::Nobody, None, message, "", minutes);
        let heard = Said::Human(heard);
        let Some(entry) = self.say_on(&branch, heard, minutes) else { return false };
        minutes.records.push(Record::Message(MessageChange::Taken(message.id, entry.id)));
        let turn = self.next_turn();
        let answers = message.id;
        let opened = Opened { turn, branch: branch.clone(), answers, at: minutes.at };
        minutes.records.push(Record::Turn(TurnChange::Opened(opened)));
        self.stands_in_on(turn, &branch, message.surface);
        minutes.shown.push(Shown::Began { turn, branch: branch.clone(), answers });
        self.say_on(&branch, plain(told), minutes);
        minutes.close(turn, Ending::Finished, Usage::default());
        let owed = self.running.get(&branch).and_then(Running::message).map(|owed| owed.text.clone());
        minutes.shown.push(Shown::Ended { turn, branch: branch.clone(), answers, ending: Ending::Finished });
        if let Some(owed) = owed {
            // The open turn's context must end with the message that it answers.
            self.say_on(&branch, Said::Human(Heard::note(context::still_owed(&owed))), minutes);
        }
        true
    }

    /// Carries out `message` offline, and returns the reply.
    fn done_without(&mut self, message: &Message, minutes: &mut Minutes) -> Option<String> {
        if !self.understands(message, minutes) {
            return None;
        }
        let now = minutes.at.to_zoned(minutes.zone.clone());
        match self.capture(&message.text, &now) {
            (Answer::Told(told), effects) => {
                minutes.absorb(effects);
                Some(told)
            }
            (_, _) => None,
        }
    }

    /// Selects a retried turn to interrupt for a message that the offline model can answer.
    pub(super) fn recall_try(&mut self, message: &Message, minutes: &Minutes) -> Option<TurnId> {
        self.wants.away?;
        let (_, running) = self.speaking().filter(|(_, running)| running.owed == Owed::SinceBefore)?;
        let turn = running.turn;
        let asked = self.understands(message, minutes) && running.message().is_some();
        asked.then(|| {
            self.wants.tried.recalled.insert(turn);
            turn
        })
    }
}

/// Returns true if no model is needed.
fn is_done_here(meant: &Meant) -> bool {
    match meant {
        Meant::Plan(reading) => reading.when.is_some(),
        // The model may understand a time that the parser cannot read.
        Meant::Change(Change::Move { to: Err(_), .. } | Change::Pause(Until::Unread(_))) => false,
        Meant::List(_) | Meant::Keep(_) | Meant::Change(_) | Meant::Ease(_) => true,
        Meant::Talk(_) | Meant::Status | Meant::Untimed | Meant::Unclear(_) => false,
    }
}

fn plain(text: String) -> Said {
    Said::Assistant(vec![Block::Text(text)], Reach::Whole)
}

impl Minutes {
    /// Adds the effects of a nested decision to this transaction.
    pub(super) fn absorb(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.records.extend(records),
                Effect::Show(shown) => self.shown.push(shown),
                Effect::StartTurn(start) => self.starts.push(start),
                Effect::Decide(turn, id, decision) => self.decided.push((turn, id, decision)),
                Effect::Answer(turn, result) => self.results.push((turn, result)),
                Effect::Carry(approval) => self.carried.push(approval),
                Effect::LoadSkills(key, wanted) => self.loads.push((key, wanted)),
                Effect::Interrupt(_) | Effect::Hurry(_) => self.reins.push(effect),
            }
        }
    }
}
