//! Pings from background runs: permission, charging, deadlines, and the duty to report.
//!
//! A ping is charged in the transaction that shows it, so that the two cannot diverge. Until then
//! it is only reserved.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::routing::Route;
use super::{
    ActiveTurn, Answer, Assistant, Effect, Transaction, TurnEnding, TurnOutcome, TurnRef, TurnState,
    TurnWork, Update,
};
use crate::attention::{DeferReason, find_blame};
use crate::context::{
    PingRefusal, REPORTS_BLOCKED, STOP_REFUSED, deferral_text, ping_refusal_text, rephrase_request,
};
use crate::context_tool::Urgency;
use crate::conversation::{Branch, Entry, EntryContent, Usage};
use crate::failure::Failure;
use crate::ping_budget::PingBudget;
use crate::record::{ForkChange, PingCharge, Record, StateChange};
use crate::run::{MAX_STOP_REFUSALS, Run, RunProgress, UserActivity, Wording};
use crate::schedule::{PingPermission, ReportMode};
use crate::tool::{Outcome, ShownContent};
use crate::turn::TurnId;

/// How long after its deadline a run is interrupted again.
const INTERRUPT_AGAIN: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// BF-21: shows the ping of a run, refuses it with a reason, or defers it.
    pub(super) fn ping(
        &mut self,
        branch: &Branch,
        urgency: Urgency,
        showing: ShownContent,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let reserved = self.reserved_pings().0;
        match (self.reserve_ping(branch, urgency, &tx), urgency) {
            (Err(why), _) => (Answer::Refused(why), Vec::new()),
            (Ok(()), Urgency::Normal) if self.must_rephrase(branch, &showing) => {
                let word = find_blame(&showing.to_text()).unwrap_or_default();
                (Answer::Refused(rephrase_request(word)), Vec::new())
            }
            (Ok(()), Urgency::Normal) => match self.deferral_reason(reserved, now) {
                Some(why) => {
                    (Answer::Text(self.defer_ping(branch, &showing, why, &mut tx)), tx.into_effects())
                }
                None => self.show_ping(showing, self.label(branch), now),
            },
            (Ok(()), Urgency::Critical) => self.show_ping(showing, self.label(branch), now),
        }
    }

    /// Returns true if the text pressures the user and the run has not been asked to rephrase
    /// before.
    fn must_rephrase(&mut self, branch: &Branch, showing: &ShownContent) -> bool {
        let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) else { return false };
        let presses = run.progress.wording == Wording::Unchecked && find_blame(&showing.to_text()).is_some();
        if presses {
            run.progress.wording = Wording::RephraseRequested;
            run.progress.pending_pings.retain(|asked| *asked != Urgency::Normal);
        }
        presses
    }

    /// Defers a ping: it counts as the run's ping, but is not charged. Returns the reply for the
    /// run.
    fn defer_ping(
        &mut self,
        branch: &Branch,
        showing: &ShownContent,
        why: DeferReason,
        tx: &mut Transaction,
    ) -> String {
        let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return String::new();
        };
        run.progress.pending_pings.retain(|asked| *asked != Urgency::Normal);
        run.progress.pings.push(Urgency::Normal);
        run.progress.unreported = true;
        tx.records.push(progress_record(run));
        let sender = (run.source.clone(), run.name.clone());
        let label = self.label(branch);
        self.defer_message(sender, (showing.to_text(), label), why, tx);
        deferral_text(why)
    }

    /// BF-21: reserves a ping for the run, or returns the refusal.
    fn reserve_ping(&mut self, branch: &Branch, urgency: Urgency, tx: &Transaction) -> Result<(), String> {
        let reporting = self.state.turns.runs.get(branch).map(|run| run.terms.report_policy.reporting);
        match self.ping_refusal(branch, urgency, tx) {
            Some(why) => Err(ping_refusal_text(why, reporting.unwrap_or_default())),
            None => Ok(()),
        }
    }

    /// Returns why the run may not ping now; otherwise reserves a ping and returns `None`.
    pub(super) fn ping_refusal(
        &mut self,
        branch: &Branch,
        urgency: Urgency,
        tx: &Transaction,
    ) -> Option<PingRefusal> {
        let limits = self.ping_limits(&tx.at.to_zoned(tx.zone.clone()));
        let run = self.state.turns.runs.get_mut(branch).map(Arc::make_mut)?;
        if run.terms.report_policy.pings == PingPermission::Never {
            return Some(PingRefusal::Disabled);
        }
        let progress = &run.progress;
        let asked = |wanted: Urgency| progress.pending_pings.contains(&wanted);
        match urgency {
            Urgency::Normal if !progress.pings.is_empty() || asked(Urgency::Normal) => {
                return Some(PingRefusal::AlreadySent);
            }
            Urgency::Normal if progress.user_activity == UserActivity::Talking => {
                return Some(PingRefusal::MidConversation);
            }
            Urgency::Normal if limits.is_exhausted() => return Some(PingRefusal::Exhausted),
            Urgency::Critical if progress.pings.contains(&Urgency::Critical) || asked(Urgency::Critical) => {
                return Some(PingRefusal::CriticalSent);
            }
            Urgency::Critical if limits.critical_left() == 0 => {
                return Some(PingRefusal::CriticalExhausted);
            }
            Urgency::Normal | Urgency::Critical => {}
        }
        run.progress.pending_pings.push(urgency);
        None
    }

    /// Returns the number of reserved normal and critical pings.
    pub(super) fn reserved_pings(&self) -> (u32, u32) {
        let count = |wanted: Urgency| {
            let asked = self.state.turns.runs.values().flat_map(|run| &run.progress.pending_pings);
            u32::try_from(asked.filter(|asked| **asked == wanted).count()).unwrap_or(u32::MAX)
        };
        (count(Urgency::Normal), count(Urgency::Critical))
    }

    /// BF-22, PB-7, PB-8: charges the pings shown in `entry`, in the same transaction.
    pub(super) fn charge_pings(&mut self, branch: &Branch, entry: &Entry, tx: &mut Transaction) {
        let EntryContent::Tools(results) = &entry.content else { return };
        let shown = results.iter().filter(|result| matches!(result.outcome, Outcome::Shown(_))).count();
        let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) else { return };
        let asked: Vec<Urgency> =
            run.progress.pending_pings.drain(..shown.min(run.progress.pending_pings.len())).collect();
        if asked.is_empty() {
            return;
        }
        let normal = asked.iter().filter(|asked| **asked == Urgency::Normal).count();
        run.progress.pings.extend(&asked);
        run.progress.unreported = true;
        tx.records.push(progress_record(run));
        let now = tx.at.to_zoned(tx.zone.clone());
        let budget = self.state.choices.ping_budget.unwrap_or_else(|| PingBudget::full(&now)).refilled(&now);
        let before = budget.available;
        let budget = asked.into_iter().fold(budget, PingBudget::charge);
        let charge = PingCharge { entry: entry.id, before, after: budget.available };
        tx.records.push(Record::State(StateChange::PingCharged(charge)));
        self.state.choices.ping_budget = Some(budget);
        tx.records.push(Record::State(StateChange::PingBudget(budget)));
        if normal > 0 {
            self.count_pings(u32::try_from(normal).unwrap_or(u32::MAX), tx);
        }
    }

    /// BF-23, P5: refunds a charged ping that could not be delivered.
    pub(super) fn refund_ping(&mut self, charge: PingCharge, now: &Zoned) -> Vec<Effect> {
        let Some(budget) = self.state.choices.ping_budget.map(|pings| pings.refilled(now)) else {
            return Vec::new();
        };
        let urgency = if charge.after < charge.before { Urgency::Normal } else { Urgency::Critical };
        let budget = budget.refund(urgency);
        self.state.choices.ping_budget = Some(budget);
        let mut tx = Transaction::at(now);
        tx.records.push(Record::State(StateChange::PingBudget(budget)));
        if urgency == Urgency::Normal {
            self.update_attention_state(&mut tx, |mood| {
                mood.push_count.count = mood.push_count.count.saturating_sub(1)
            });
        }
        tx.into_effects()
    }

    /// BF-25: leaves a pending update for main; the run continues.
    pub(super) fn leave_run_update(
        &mut self,
        branch: &Branch,
        text: String,
        mut tx: Transaction,
    ) -> (Answer, Vec<Effect>) {
        let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return super::turn_requests::turn_ended_refusal();
        };
        if run.terms.report_policy.reporting == ReportMode::Blocked {
            return (Answer::Refused(REPORTS_BLOCKED.to_owned()), Vec::new());
        }
        (run.progress.report_count, run.progress.unreported) = (run.progress.report_count + 1, false);
        tx.records.push(progress_record(run));
        let source = run.source.to_string();
        self.leave_update(&source, self.label(branch), text, &mut tx);
        let reply = "the main conversation will read it. go on, or stop.".to_owned();
        (Answer::Text(reply), tx.into_effects())
    }

    /// RP-23, RP-24: requests a compaction after the run; the last request counts.
    pub(super) fn request_session_compaction(
        &mut self,
        branch: &Branch,
        instructions: String,
        mut tx: Transaction,
    ) -> (Answer, Vec<Effect>) {
        let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return super::turn_requests::turn_ended_refusal();
        };
        run.progress.compaction_instructions = Some(instructions);
        tx.records.push(progress_record(run));
        let reply =
            "compaction is scheduled: it happens after you finish responding. go on, or stop.".to_owned();
        (Answer::Text(reply), tx.into_effects())
    }

    /// BF-26 to BF-29: refuses the end of a run that must report first, up to three times.
    pub(super) fn must_report_first(
        &mut self,
        turn_ref: &TurnRef,
        ended: &TurnOutcome,
        tx: &mut Transaction,
    ) -> bool {
        let Some(run) = self.state.turns.runs.get_mut(&turn_ref.branch).map(Arc::make_mut) else {
            return false;
        };
        run.progress.pending_pings.clear();
        if ended.ending != TurnEnding::Finished || run.may_stop() {
            return false;
        }
        if run.progress.stop_refusals >= MAX_STOP_REFUSALS {
            let text = format!("{} ended without telling me what it found.", run.name);
            tx.updates.push(Update::Notice(text));
            return false;
        }
        run.progress.stop_refusals += 1;
        let prompt = format!("[system] {STOP_REFUSED}");
        tx.records.push(progress_record(run));
        tx.close_turn(turn_ref.turn, TurnEnding::Finished, ended.usage);
        let turn = turn_ref.turn;
        let branch = turn_ref.branch.clone();
        let answers = turn_ref.message.id;
        tx.updates.push(Update::TurnEnded { turn, branch, answers, ending: TurnEnding::Finished });
        let message = self.own_message(turn_ref.branch.clone(), prompt, tx);
        self.start_answer_on(Route::at(turn_ref.branch.clone()), Arc::new(message), tx);
        true
    }

    /// BF-17: starts the time limit of the run on `branch`.
    pub(super) fn start_time_limit(&mut self, branch: &Branch, tx: &Transaction) {
        let seconds = i64::from(self.state.choices.settings.timeouts.bg_fork_seconds);
        let until = tx.at + SignedDuration::from_secs(seconds);
        self.transient.deadlines.insert(branch.clone(), until);
    }

    /// Returns the earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.transient.deadlines.values().min().copied()
    }

    /// Interrupts the turns whose deadline has passed.
    pub(super) fn interrupt_overdue(&mut self, tx: &mut Transaction) {
        let up = |until: &Timestamp| *until <= tx.at;
        let late: Vec<Branch> = self
            .transient
            .deadlines
            .iter()
            .filter(|(_, until)| up(until))
            .map(|(branch, _)| branch.clone())
            .collect();
        for branch in late {
            self.transient.deadlines.remove(&branch);
            match self.active_turns.get(&branch).map(|running| (running.state, running.turn)) {
                // A blocked turn has no task to interrupt.
                Some((TurnState::Blocked, _)) => self.end_blocked_run(&branch, tx),
                Some((TurnState::Fresh | TurnState::Resumed, turn)) => {
                    // If the interruption has no effect, it is repeated.
                    if branch != Branch::Main {
                        self.transient.deadlines.insert(branch.clone(), tx.at + INTERRUPT_AGAIN);
                    }
                    tx.turn_commands.push(Effect::Interrupt(turn));
                    self.transient.timed_out.insert(turn);
                }
                None => {}
            }
        }
    }

    /// BF-17: ends a run whose deadline passes while it is blocked.
    fn end_blocked_run(&mut self, branch: &Branch, tx: &mut Transaction) {
        let Some(ActiveTurn { turn, work: TurnWork::Answer(message, _), .. }) =
            self.active_turns.remove(branch)
        else {
            return;
        };
        let why = match self.transient.model_retry {
            Some(_) => "the model could not be reached all the time.",
            None => "the model refused the key all the time.",
        };
        let ending = TurnEnding::Failed(Failure::Stopped(why.to_owned()));
        tx.close_turn(turn, ending.clone(), Usage::default());
        self.finish_run(branch, &ending, tx);
        tx.updates.push(Update::TurnEnded { turn, branch: branch.clone(), answers: message.id, ending });
    }

    /// BF-17: turns the ending of a run whose deadline passed into a timeout.
    pub(super) fn ending_in_time(&mut self, turn: TurnId, branch: &Branch, ending: TurnEnding) -> TurnEnding {
        if !self.transient.timed_out.remove(&turn) || ending == TurnEnding::Finished {
            return ending;
        }
        if self.state.turns.runs.contains_key(branch) {
            let time = duration_text(self.state.choices.settings.timeouts.bg_fork_seconds);
            TurnEnding::Failed(Failure::Stopped(format!("it timed out after {time}.")))
        } else {
            ending
        }
    }
}

/// Formats a length of time: `30 minutes`, `1 minute`, `90 seconds`.
fn duration_text(seconds: u32) -> String {
    let (count, unit) = match seconds {
        seconds if seconds >= 60 && seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Returns the record of the progress of `run`.
pub(super) fn progress_record(run: &Run) -> Record {
    let progress = RunProgress { pending_pings: Vec::new(), ..run.progress.clone() };
    Record::Fork(ForkChange::RunProgress(run.branch.clone(), Box::new(progress)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_not_rounded_down_to_zero() {
        let check = |seconds: u32, expected: &str| assert_eq!(duration_text(seconds), expected);
        check(1, "1 second");
        check(20, "20 seconds");
        check(60, "1 minute");
        check(90, "90 seconds");
        check(1800, "30 minutes");
    }
}
