//! Offline answers: while the model is unreachable, the offline model does what it understands, and
//! the rest waits.
//!
//! The user is notified once. Understood messages are handled at once, without a call that would
//! fail. Other turns stay open, on disk, and are retried at intervals.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::retry::{Backoff, Retry};
use super::{
    ActiveTurn, Answer, Assistant, Effect, KeyNotice, Transaction, TurnOutcome, TurnOutput, TurnRef,
    TurnState, Update,
};
use crate::context::{self, UpdateReader};
use crate::conversation::{Block, Branch, Completeness, EntryContent, Usage, UserInput};
use crate::failure::Failure;
use crate::intent::{self, ChangeRequest, Intent, PauseEnd};
use crate::record::{Address, Message, MessageChange, Record, SurfaceName, TurnChange, TurnOpened};
use crate::turn::{TurnEnding, TurnId};

/// Retry intervals for an unreachable model. The first is short, because most overloads are.
const OUTAGE_BACKOFF: Backoff =
    Backoff { first: SignedDuration::from_secs(5), longest: SignedDuration::from_mins(10) };
/// Longest wait that a server can ask for; a longer one, or a wrong one, is cut to this.
const MAX_SERVER_WAIT: SignedDuration = SignedDuration::from_hours(6);
/// Notice before the first offline answer of an outage.
const OFFLINE_NOTICE: &str =
    "can't reach the model right now, so i answer what i can without it. your reminders still work.";

impl Assistant {
    /// Returns true during an outage, until the next retry.
    pub(super) fn is_model_unreachable(&self, now: Timestamp) -> bool {
        self.transient.model_retry.is_some_and(|away| now < away.next_try)
    }

    /// Returns the time of the next retry, if a turn is blocked.
    pub(super) fn next_model_retry(&self) -> Option<Timestamp> {
        let planned = [self.transient.model_retry, self.transient.key_retry].into_iter().flatten();
        planned.map(|retry| retry.next_try).min().filter(|_| self.is_blocked())
    }

    /// Retries blocked turns if it is time.
    pub(super) fn retry_if_due(&mut self, tx: &mut Transaction) {
        if self.next_model_retry().is_some_and(|again| again <= tx.at) {
            self.retry_blocked(tx);
        }
    }

    /// Handles a turn that failed because the model is unreachable: it is answered offline or
    /// blocked.
    pub(super) fn on_model_unreachable(
        &mut self,
        turn_ref: TurnRef,
        ended: &TurnOutcome,
        why: &Failure,
        tx: &mut Transaction,
    ) {
        let notice = self.transient.model_retry.map_or(KeyNotice::NotShown, |_| KeyNotice::Shown);
        self.note_outage(why, tx);
        let untouched = !self.transient.offline_facts.used_tools.contains(&turn_ref.turn);
        let TurnRef { turn, branch, message, .. } = &turn_ref;
        match untouched.then(|| self.carry_out_offline(message, tx)).flatten() {
            Some(reply) => {
                if notice == KeyNotice::NotShown {
                    tx.updates.push(Update::Notice(OFFLINE_NOTICE.to_owned()));
                }
                self.append(branch, text_content(reply), tx);
                tx.close_turn(*turn, TurnEnding::Finished, ended.usage);
                let turn = *turn;
                let branch = branch.clone();
                let answers = message.id;
                tx.updates.push(Update::TurnEnded { turn, branch, answers, ending: TurnEnding::Finished });
            }
            None => {
                self.transient.key_notice = notice;
                self.block_turn(turn_ref, &Failure::Unavailable(why.job_text()), tx);
            }
        }
        self.answer_waiting_offline(tx);
    }

    /// Blocks a turn that was interrupted during a retry, and answers the messages that interrupted
    /// it.
    pub(super) fn block_again(&mut self, turn_ref: TurnRef, tx: &mut Transaction) {
        let why = Failure::Unavailable("i can't reach the model.".to_owned());
        self.transient.key_notice = KeyNotice::Shown;
        self.block_turn(turn_ref, &why, tx);
        self.answer_waiting_offline(tx);
    }

    /// Returns true if the turn can be retried: it answers the user, and nothing was answered yet.
    pub(super) fn can_wait_for_model(&self, turn_ref: &TurnRef, ended: &TurnOutcome) -> bool {
        let is_partly_answered = match &ended.output {
            TurnOutput::Contents(said) => said.iter().any(|said| matches!(said, EntryContent::Assistant(..))),
            TurnOutput::Summary(_) => false,
        };
        let is_own = turn_ref.message.surface == SurfaceName::Internal;
        !is_partly_answered && !is_own && !self.state.turns.runs.contains_key(&turn_ref.branch)
    }

    fn note_outage(&mut self, why: &Failure, tx: &Transaction) {
        let asked = match why {
            Failure::Overloaded(Some(seconds)) => {
                SignedDuration::from_secs(i64::try_from(*seconds).unwrap_or(i64::MAX)).min(MAX_SERVER_WAIT)
            }
            Failure::Overloaded(None)
            | Failure::Unavailable(_)
            | Failure::Unreachable(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::VendorError(_)
            | Failure::CutOff(_)
            | Failure::InvalidResponse(_)
            | Failure::InvalidReply(_)
            | Failure::ContextFull(_)
            | Failure::Stopped(_) => SignedDuration::ZERO,
        };
        self.transient.model_retry =
            Some(Retry::after_failure(self.transient.model_retry, OUTAGE_BACKOFF, asked, tx.at));
        self.transient.key_retry = None;
    }

    /// Answers the waiting messages that the offline model understands.
    pub(super) fn answer_waiting_offline(&mut self, tx: &mut Transaction) {
        let away = self.transient.model_retry.is_some() || self.is_blocked();
        if !away || self.is_user_turn_running() {
            return;
        }
        let understood = |message: &&Message| self.can_answer_offline(message, tx);
        let understood: Vec<Message> =
            self.state.messages.waiting.iter().filter(understood).cloned().collect();
        for message in understood {
            let waiting = &mut self.state.messages.waiting;
            let Some(at) = waiting.iter().position(|waiting| waiting.id == message.id) else { continue };
            waiting.remove(at);
            if !self.answer_offline(&Arc::new(message.clone()), tx) {
                // The offline model did not understand it after all.
                let waiting = &mut self.state.messages.waiting;
                waiting.insert(at.min(waiting.len()), message);
            }
        }
    }

    /// Returns true if a turn with the user is running, not blocked.
    fn is_user_turn_running(&self) -> bool {
        self.user_turn().is_some_and(|(_, running)| running.state != TurnState::Blocked)
    }

    /// Returns true if the offline model can handle `message`.
    pub(super) fn can_answer_offline(&self, message: &Message, tx: &Transaction) -> bool {
        let plain = message.surface != SurfaceName::Internal && message.images.is_empty();
        plain && message.address == Address::UserBranch && {
            let now = tx.at.to_zoned(tx.zone.clone());
            needs_no_model(&intent::parse(&message.text, &now, &self.state.choices.settings.habits()))
        }
    }

    /// Answers `message` offline, in a turn of its own. Returns false if it could not.
    pub(super) fn answer_offline(&mut self, message: &Arc<Message>, tx: &mut Transaction) -> bool {
        let branch = self.user_branch();
        if branch == Branch::Main {
            self.ensure_main(tx);
        }
        let Some(reply) = self.carry_out_offline(message, tx) else { return false };
        let (content, _) = self.content_for(UpdateReader::Run, None, message, "", tx);
        let content = EntryContent::User(content);
        let Some(entry) = self.append(&branch, content, tx) else { return false };
        tx.records.push(Record::Message(MessageChange::Taken(message.id, entry.id)));
        let turn = self.next_turn_id();
        let answers = message.id;
        let opened = TurnOpened { turn, branch: branch.clone(), message: answers, at: tx.at };
        tx.records.push(Record::Turn(TurnChange::Opened(opened)));
        self.set_offline_audience(turn, &branch, message.surface);
        tx.updates.push(Update::TurnStarted { turn, branch: branch.clone(), answers });
        self.append(&branch, text_content(reply), tx);
        tx.close_turn(turn, TurnEnding::Finished, Usage::default());
        let open_text = self
            .active_turns
            .get(&branch)
            .and_then(ActiveTurn::message)
            .map(|open_text| open_text.text.clone());
        tx.updates.push(Update::TurnEnded {
            turn,
            branch: branch.clone(),
            answers,
            ending: TurnEnding::Finished,
        });
        if let Some(open_text) = open_text {
            // The open turn's context must end with the message that it answers.
            self.append(
                &branch,
                EntryContent::User(UserInput::note(context::unanswered_note(&open_text))),
                tx,
            );
        }
        true
    }

    /// Carries out `message` offline, and returns the reply.
    fn carry_out_offline(&mut self, message: &Message, tx: &mut Transaction) -> Option<String> {
        if !self.can_answer_offline(message, tx) {
            return None;
        }
        let now = tx.at.to_zoned(tx.zone.clone());
        match self.capture(&message.text, &now) {
            (Answer::Text(reply), effects) => {
                tx.absorb(effects);
                Some(reply)
            }
            (_, _) => None,
        }
    }

    /// Selects a retried turn to interrupt for a message that the offline model can answer.
    pub(super) fn recall_retried_turn(&mut self, message: &Message, tx: &Transaction) -> Option<TurnId> {
        self.transient.model_retry?;
        let (_, running) = self.user_turn().filter(|(_, running)| running.state == TurnState::Resumed)?;
        let turn = running.turn;
        let asked = self.can_answer_offline(message, tx) && running.message().is_some();
        asked.then(|| {
            self.transient.offline_facts.recalled.insert(turn);
            turn
        })
    }
}

/// Returns true if no model is needed.
fn needs_no_model(meant: &Intent) -> bool {
    match meant {
        Intent::Plan(reading) => reading.when.is_some(),
        // The model may understand a time that the parser cannot read.
        Intent::Change(
            ChangeRequest::Move { to: Err(_), .. } | ChangeRequest::Pause(PauseEnd::Invalid(_)),
        ) => false,
        Intent::List(_) | Intent::Keep(_) | Intent::Change(_) | Intent::Quiet(_) => true,
        Intent::SmallTalk(_) | Intent::Status | Intent::Untimed | Intent::Unclear(_) => false,
    }
}

fn text_content(text: String) -> EntryContent {
    EntryContent::Assistant(vec![Block::Text(text)], Completeness::Complete)
}

impl Transaction {
    /// Adds the effects of a nested decision to this transaction.
    pub(super) fn absorb(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.records.extend(records),
                Effect::Show(shown) => self.updates.push(shown),
                Effect::StartTurn(start) => self.starts.push(start),
                Effect::Decide(turn, id, decision) => self.decisions.push((turn, id, decision)),
                Effect::ReturnResult(turn, result) => self.results.push((turn, result)),
                Effect::CarryOut(approval) => self.carry_out.push(approval),
                Effect::LoadSkills(key, wanted) => self.load_skills.push((key, wanted)),
                Effect::Interrupt(_) | Effect::Prioritize(_) => self.turn_commands.push(effect),
            }
        }
    }
}
