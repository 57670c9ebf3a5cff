//! Compaction: a summary replaces the conversation in the model's context; it can be undone.
//!
//! Started by the user, by a conversation that has grown too long, or by a turn that no longer
//! fits. New messages wait until it has ended. If no summary passes the checks, nothing changes.

use std::sync::Arc;

use jiff::Zoned;

use super::forks::refusal_reply;
use super::{
    ActiveTurn, Answer, Assistant, Attempt, CompactionUpdate, Effect, MainChangeKind, Position, Transaction,
    TurnOutcome, TurnOutput, TurnRef, TurnState, TurnWork, Update,
};
use crate::compaction::{CompactionReport, ContextWindow, Summary};
use crate::context::{self, RequestLimit};
use crate::conversation::{Branch, EntryContent, Usage, UserInput};
use crate::cost::{Account, Attendance};
use crate::failure::{Failure, InvalidReply};
use crate::record::{Message, Record, SessionChange};
use crate::turn::{TurnEnding, TurnId};

/// A compaction in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveCompaction {
    branch: Branch,
    /// Instructions of the user for the summary.
    pub instructions: String,
    /// The turn that ran out of context and waits for this compaction, if any.
    stuck: Option<Arc<StuckTurn>>,
    after: AfterCompaction,
    /// Whether the user waits for the result.
    attended: Attendance,
}

/// The next step after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterCompaction {
    /// The conversation continues.
    Continue,
    /// The background run on the branch ends.
    EndRun,
}

/// A turn that ran out of context, and how it ends if the compaction fails.
#[derive(Debug, PartialEq, Eq)]
struct StuckTurn {
    turn: TurnId,
    branch: Branch,
    message: Arc<Message>,
    ending: TurnEnding,
    usage: Usage,
}

impl StuckTurn {
    fn turn_ref(&self, sending: Attempt) -> TurnRef {
        let branch = self.branch.clone();
        let message = Arc::clone(&self.message);
        TurnRef { turn: self.turn, branch, message, attempt: sending }
    }
}

impl ActiveCompaction {
    /// An automatic compaction of `branch` without instructions.
    pub fn automatic(branch: Branch, attended: Attendance) -> Self {
        Self { branch, instructions: String::new(), stuck: None, after: AfterCompaction::Continue, attended }
    }

    /// Returns the turn that waits for it, and the message which that turn answers.
    pub fn stuck_turn(&self) -> Option<(TurnId, Arc<Message>)> {
        self.stuck.as_ref().map(|stuck| (stuck.turn, Arc::clone(&stuck.message)))
    }
}

/// A compaction requested while a turn was active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompactionRequest {
    turn: TurnId,
    instructions: String,
}

impl Assistant {
    /// Handles `/compact`. An active turn is finished first.
    pub(super) fn compact(&mut self, instructions: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.state.conversation.head(&Branch::Main).and_then(|head| head.entry).is_none() {
            return refusal_reply("there is nothing to compact: nothing was said yet.");
        }
        if !self.transient.compaction_requests.is_empty() || self.is_compacting() {
            return refusal_reply("i am compacting already.");
        }
        if let Some(why) = self.blocked_reason() {
            return refusal_reply(&format!("{why}, so i can't sum anything up. /retry tries it again now."));
        }
        let turn = self.next_turn_id();
        self.transient.compaction_requests.push_back(CompactionRequest { turn, instructions });
        let mut tx = Transaction::at(now);
        if self.state.fork.is_some() {
            let text = "I'm compacting the main conversation. This side conversation stays as it is.";
            tx.updates.push(Update::Notice(text.to_owned()));
        }
        self.start_next_turn(&mut tx);
        self.prioritize_blocking_turns(&mut tx);
        (Answer::TurnStarted(turn), tx.into_effects())
    }

    fn is_compacting(&self) -> bool {
        let errand = self.active_turns.get(&Branch::Main).map(|running| &running.work);
        matches!(errand, Some(TurnWork::Compact(_)))
    }

    pub(super) fn is_full(&self, branch: &Branch) -> bool {
        let said = self.state.conversation.head(branch).is_some_and(|head| head.entry.is_some());
        let filled = self.state.turns.context_tokens.get(branch).copied().unwrap_or(0);
        said && self
            .context_window_for(branch)
            .is_full(filled, self.transient.failed_compaction_sizes.get(branch).copied())
    }

    /// Returns the context window for `branch`: the configured limit, or less if the model's window
    /// is smaller or if its prices rise above a prompt length.
    pub(super) fn context_window_for(&self, branch: &Branch) -> ContextWindow {
        let model = self.model_for(branch);
        let priced = model.as_deref().unwrap_or(&self.choices.default_model);
        let cheap = self.budget.prices.long_prompt(priced);
        let named = model.as_deref().unwrap_or_else(|| self.choices.model_name(None));
        let window = self.choices.abilities_of(named).context_window;
        let limits = [Some(self.window.limit), cheap, window];
        ContextWindow {
            limit: limits.into_iter().flatten().min().unwrap_or(self.window.limit),
            ..self.window
        }
    }

    /// Returns the context window of the model on `branch`, as reported by its vendor or else as
    /// configured.
    pub(super) fn model_window_for(&self, branch: &Branch) -> RequestLimit {
        let model = self.model_for(branch);
        let named = model.as_deref().unwrap_or_else(|| self.choices.model_name(None));
        RequestLimit(self.choices.abilities_of(named).context_window.unwrap_or(self.window.limit))
    }

    pub(super) fn start_requested_compaction(&mut self, request: CompactionRequest, tx: &mut Transaction) {
        let automatic = ActiveCompaction::automatic(Branch::Main, Attendance::Attended);
        let compacting = ActiveCompaction { instructions: request.instructions, ..automatic };
        self.start_numbered_compaction(request.turn, compacting, tx);
    }

    /// RP-25: compacts the session of a persistent routine, after which its run ends.
    pub(super) fn start_session_compaction(
        &mut self,
        branch: Branch,
        instructions: String,
        tx: &mut Transaction,
    ) {
        let automatic = ActiveCompaction::automatic(branch, Attendance::Unattended);
        self.start_compaction(
            ActiveCompaction { instructions, after: AfterCompaction::EndRun, ..automatic },
            tx,
        );
    }

    pub(super) fn start_compaction(&mut self, compacting: ActiveCompaction, tx: &mut Transaction) {
        let turn = self.next_turn_id();
        self.start_numbered_compaction(turn, compacting, tx);
    }

    fn start_numbered_compaction(
        &mut self,
        turn: TurnId,
        compacting: ActiveCompaction,
        tx: &mut Transaction,
    ) {
        let branch = compacting.branch.clone();
        let tokens = self.state.turns.context_tokens.get(&branch).copied();
        tx.updates.push(Update::Compaction(CompactionUpdate::Started {
            turn,
            branch: branch.clone(),
            tokens,
        }));
        let account = Account::compaction(compacting.attended);
        self.start_turn(
            branch,
            ActiveTurn::new(turn, TurnWork::Compact(compacting), account, TurnState::Fresh),
            tx,
        );
    }

    /// CP-6: starts a compaction for a turn that no longer fits. The turn stays open, so that a
    /// restart resumes it.
    pub(super) fn compact_for_stuck_turn(
        &mut self,
        turn_ref: TurnRef,
        ended: TurnOutcome,
        tx: &mut Transaction,
    ) {
        let TurnRef { turn, branch, message, .. } = turn_ref;
        let ending = ended.ending;
        let usage = ended.usage;
        let automatic =
            ActiveCompaction::automatic(branch.clone(), self.account(&branch, message.id).attended);
        let stuck = Arc::new(StuckTurn { turn, branch, message, ending, usage });
        self.start_compaction(ActiveCompaction { stuck: Some(stuck), ..automatic }, tx);
    }

    pub(super) fn on_compaction_ended(
        &mut self,
        turn: TurnId,
        compacting: ActiveCompaction,
        ended: TurnOutcome,
        tx: &mut Transaction,
    ) {
        let outcome = match ended.output {
            TurnOutput::Summary(summary) => {
                // Calls of unattended compactions have been recorded already.
                let last = ended.unrecorded_calls.last().map_or(ended.usage, |call| call.usage);
                Ok(self.apply_summary(&compacting.branch, summary, last, tx))
            }
            TurnOutput::Contents(_) => Err(self.reject_summary(&compacting, &ended.ending)),
        };
        let made = outcome.is_ok();
        let ending = ended.ending;
        let branch = compacting.branch;
        let ended = CompactionUpdate::Ended { turn, branch: branch.clone(), outcome };
        tx.updates.push(Update::Compaction(ended));
        if compacting.after == AfterCompaction::EndRun {
            self.clear_compaction_request(&branch);
            self.finish_run(&branch, &TurnEnding::Finished, tx);
        }
        match (compacting.stuck, ending) {
            (None, _) => {}
            (Some(stuck), _) if made => self.resend_stuck_turn(&stuck, tx),
            (Some(stuck), TurnEnding::Failed(why @ Failure::BadKey(_))) => {
                self.block_turn(stuck.turn_ref(Attempt::First), &why, tx);
            }
            // A compaction stopped by the daily limit ends the turn with that limit as the reason.
            (Some(stuck), ending) if ending.is_at_limit() => self.give_up_stuck_turn(&stuck, ending, tx),
            (Some(stuck), _) => self.give_up_stuck_turn(&stuck, stuck.ending.clone(), tx),
        }
    }

    /// CP-3, IF-17: appends the summary under a new session id; on main this is one `compacted`
    /// event.
    fn apply_summary(
        &mut self,
        branch: &Branch,
        summary: Summary,
        last: Usage,
        tx: &mut Transaction,
    ) -> String {
        let at = tx.at;
        let session = self.rng.session_id();
        let conversation = &mut self.state.conversation;
        if let Some((entry, moved)) = conversation.compact(branch, summary.text, session.clone(), at) {
            if *branch == Branch::Main {
                self.push_main_undo(MainChangeKind::Compacted(entry.id), &moved);
            }
            tx.records.push(Record::EntryAppended(branch.clone(), entry.clone()));
            tx.records.push(Record::BranchMoved(moved));
            if *branch == Branch::Main {
                tx.records.push(Record::Session(SessionChange::Saved(session, at)));
            }
            tx.updates.push(Update::EntryAppended { branch: branch.clone(), entry });
        }
        let filled = self.state.turns.context_tokens.remove(branch);
        self.transient.failed_compaction_sizes.remove(branch);
        let tokens = Some(last.total_input()).filter(|tokens| *tokens > 0).or(filled);
        let age = self.state.main.created.map(|created| at.duration_since(created));
        CompactionReport { turns: summary.turns, age, tokens }.line()
    }

    /// Handles a failed compaction: no automatic retry before there is more to summarize.
    fn reject_summary(&mut self, compacting: &ActiveCompaction, ending: &TurnEnding) -> String {
        let branch = &compacting.branch;
        let filled = self.state.turns.context_tokens.get(branch).copied().unwrap_or(0);
        // A daily limit stops unattended work only: the user may still compact the same content.
        if !ending.is_at_limit() {
            self.transient.failed_compaction_sizes.insert(branch.clone(), filled);
        }
        match ending {
            // The notice of the waiting turn gives the reason.
            TurnEnding::Failed(Failure::BadKey(_)) if compacting.stuck.is_some() => {
                "not compacted.".to_owned()
            }
            TurnEnding::Failed(Failure::InvalidReply(InvalidReply::TooLong)) => {
                "not compacted: the summary grew longer than a reply may be (model.max_tokens).".to_owned()
            }
            TurnEnding::Failed(failure) => format!("not compacted. {failure}"),
            TurnEnding::Interrupted => "not compacted: you stopped it.".to_owned(),
            TurnEnding::Finished => "not compacted.".to_owned(),
        }
    }

    /// CP-6, CP-7, CP-9: sends the message of the waiting turn to the model once more. It was shown
    /// before, so it is repeated as a note.
    fn resend_stuck_turn(&mut self, stuck: &StuckTurn, tx: &mut Transaction) {
        let turn_ref = stuck.turn_ref(Attempt::AfterCompaction);
        if turn_ref.branch == Branch::Main {
            self.state.main.position_before_turn =
                self.state.conversation.head(&Branch::Main).and_then(Position::of_head);
        }
        let (lead, quoted) = self.quotation_for(&turn_ref.message);
        let (content, reader_label) = self.content_on(&turn_ref.message, &turn_ref.branch, &lead, tx);
        let again =
            UserInput { images: content.images.clone(), ..UserInput::note(context::user_text(&content)) };
        let label = reader_label.join(quoted);
        if let Some(entry) = self.append_labelled(&turn_ref.branch, EntryContent::User(again), label, tx) {
            self.mark_updates_delivered(&turn_ref.branch.clone(), entry.id, tx);
        }
        self.open_turn(turn_ref, TurnState::Resumed, tx);
    }

    /// Ends the waiting turn with the error it would have had without the compaction.
    fn give_up_stuck_turn(&mut self, stuck: &StuckTurn, ending: TurnEnding, tx: &mut Transaction) {
        let StuckTurn { turn, branch, message, usage, .. } = stuck;
        let ending = self.settle_answer(message.id, ending, tx);
        tx.close_turn(*turn, ending.clone(), *usage);
        self.finish_run(branch, &ending, tx);
        let answers = message.id;
        tx.updates.push(Update::TurnEnded { turn: *turn, branch: branch.clone(), answers, ending });
    }
}
