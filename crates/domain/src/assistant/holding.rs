//! Blocked turns: while the model rejects the API key, all messages wait in order.
//!
//! The rejected turn stays open, on disk too, and new messages queue behind it. The user is
//! notified once. It is retried when the key changes, with a new message, on `/retry`, and at
//! intervals, because a vendor may reject a valid key for a moment.

use jiff::{SignedDuration, Zoned};

use super::retrying::{Pace, Retry};
use super::{Answer, Assistant, Effect, Errand, Minutes, Owed, Running, Shown, Turned};
use crate::conversation::{Branch, Usage};
use crate::failure::Failure;
use crate::record::{MessageId, Record, SurfaceName, TurnChange};
use crate::turn::Ending;

/// Retry intervals after a rejected key. They are long, so that the vendor does not lock the
/// account.
const KEY_PACE: Pace = Pace { first: SignedDuration::from_mins(1), longest: SignedDuration::from_mins(30) };
/// Reason while the user has to act.
pub(super) const REFUSES: &str = "the model refuses the key";
/// Reason while the model is unreachable.
const OUT_OF_REACH: &str = "the model can't be reached right now";

/// Whether the user has been notified of a rejected key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    #[default]
    Unknown,
    /// Notified, and nothing has changed since.
    Told,
}

impl Assistant {
    /// Returns true if a turn is blocked.
    pub fn waits_for_key(&self) -> bool {
        self.running.values().any(|running| running.owed == Owed::Held)
    }

    /// Returns the reason why messages wait, if a turn is blocked.
    pub(super) fn why_it_waits(&self) -> Option<&'static str> {
        let why = if self.wants.away.is_some() { OUT_OF_REACH } else { REFUSES };
        self.waits_for_key().then_some(why)
    }

    /// E5: blocks the turn, and notifies the user once.
    pub(super) fn hold(&mut self, turned: Turned, why: &Failure, minutes: &mut Minutes) {
        let Turned { turn, branch, message, sending } = turned;
        minutes.records.push(Record::Turn(TurnChange::Held(turn)));
        if matches!(why, Failure::BadKey(_)) {
            // A rejected key means that the model is reachable.
            self.wants.away = None;
            let last = self.wants.key_refused;
            self.wants.key_refused = Some(Retry::plan(last, KEY_PACE, SignedDuration::ZERO, minutes.at));
        }
        let known = std::mem::replace(&mut self.wants.refusal, Known::Told);
        let newest = MessageId(self.memory.messages.next.0.saturating_sub(1));
        match (self.memory.turns.runs.contains_key(&branch), known) {
            (false, known) => {
                let branch = branch.clone();
                let why = why.clone();
                minutes.shown.push(Shown::Held { turn, branch, newest, known, why });
            }
            // No message of the user waits for a background run.
            (true, Known::Unknown) => minutes.shown.push(Shown::Notice(why.to_string())),
            (true, Known::Told) => {}
        }
        let account = self.account(&branch, message.id);
        let errand = Errand::Answer(message, sending);
        self.running.insert(branch, Running::new(turn, errand, account, Owed::Held));
        self.ring_past(minutes);
    }

    /// Retries all blocked turns. They count as resumed, so that a new message does not interrupt
    /// them.
    pub(super) fn try_held(&mut self, minutes: &mut Minutes) {
        let held = self.running.iter().filter(|(_, running)| running.owed == Owed::Held);
        let held: Vec<Turned> = held.filter_map(|(branch, running)| turned(branch, running)).collect();
        for turned in held {
            self.open(turned, Owed::SinceBefore, minutes);
        }
    }

    /// Handles `/retry`.
    pub(super) fn retry(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if !self.waits_for_key() {
            return (Answer::Refused("nothing waits to be tried again.".to_owned()), Vec::new());
        }
        (Answer::Told("i try it again.".to_owned()), self.key_renewed(now))
    }

    pub(super) fn key_renewed(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        self.try_held(&mut minutes);
        minutes.effects()
    }

    /// Drops the blocked turn of `branch` without an answer; the next message can start.
    pub(super) fn let_go(&mut self, branch: &Branch, running: &Running, now: &Zoned) -> Vec<Effect> {
        self.running.remove(branch);
        let mut minutes = Minutes::at(now);
        if let Some(Turned { turn, branch, message, .. }) = turned(branch, running) {
            let ending = self.asked_settled(message.id, Ending::Interrupted, &mut minutes);
            minutes.close(turn, ending.clone(), Usage::default());
            let answers = message.id;
            minutes.shown.push(Shown::Ended { turn, branch, answers, ending });
            let rest = self.memory.messages.waiting.len();
            let what = match message.surface {
                SurfaceName::House => String::new(),
                SurfaceName::Terminal | SurfaceName::Page | SurfaceName::Discord => {
                    format!("i will not answer `{}`. ", message.text.chars().take(40).collect::<String>())
                }
            };
            let text = format!("stopped: {what}messages still waiting: {rest}.");
            minutes.shown.push(Shown::Notice(text));
        }
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }
}

fn turned(branch: &Branch, running: &Running) -> Option<Turned> {
    match &running.errand {
        Errand::Answer(message, sending) => {
            let branch = branch.clone();
            let message = message.clone();
            Some(Turned { turn: running.turn, branch, message, sending: *sending })
        }
        Errand::Compact(_) => None,
    }
}
