//! Pings from background runs: permission, charging, deadlines, and the duty to report.
//!
//! A ping is charged in the transaction that shows it, so that the two cannot diverge. Until then
//! it is only reserved.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::replying::Arrival;
use super::{Answer, Assistant, Effect, Ended, Ending, Errand, Minutes, Owed, Running, Shown, Turned};
use crate::attention::{HeldFor, blaming};
use crate::context::{NoPing, REPORTS_BLOCKED, STOP_REFUSED, held_back, no_ping, say_otherwise};
use crate::conversation::{Branch, Entry, Said, Usage};
use crate::failure::Failure;
use crate::ping_budget::PingBudget;
use crate::record::{Charge, ForkChange, Record, StateChange};
use crate::run::{Busy, Doings, REFUSALS, Run, Wording};
use crate::schedule::{Pings, Reporting};
use crate::tool::{Outcome, Showing};
use crate::turn::TurnId;
use crate::wish::Urgency;

/// How long after its deadline a run is interrupted again.
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// BF-21: shows the ping of a run, refuses it with a reason, or defers it.
    pub(super) fn reach_out(
        &mut self,
        branch: &Branch,
        urgency: Urgency,
        showing: Showing,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let about_to = self.set_aside().0;
        match (self.may_ping(branch, urgency, &minutes), urgency) {
            (Err(why), _) => (Answer::Refused(why), Vec::new()),
            (Ok(()), Urgency::Normal) if self.presses(branch, &showing) => {
                let word = blaming(&showing.in_words()).unwrap_or_default();
                (Answer::Refused(say_otherwise(word)), Vec::new())
            }
            (Ok(()), Urgency::Normal) => match self.waits_for(about_to, now) {
                Some(why) => {
                    (Answer::Told(self.waits(branch, &showing, why, &mut minutes)), minutes.effects())
                }
                None => self.show_aside(showing, self.label_of(branch), now),
            },
            (Ok(()), Urgency::Critical) => self.show_aside(showing, self.label_of(branch), now),
        }
    }

    /// Returns true if the text pressures the user and the run has not been asked to rephrase
    /// before.
    fn presses(&mut self, branch: &Branch, showing: &Showing) -> bool {
        let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) else { return false };
        let presses = run.doings.wording == Wording::AsItLikes && blaming(&showing.in_words()).is_some();
        if presses {
            run.doings.wording = Wording::AskedOnce;
            run.doings.asked.retain(|asked| *asked != Urgency::Normal);
        }
        presses
    }

    /// Defers a ping: it counts as the run's ping, but is not charged. Returns the reply for the
    /// run.
    fn waits(&mut self, branch: &Branch, showing: &Showing, why: HeldFor, minutes: &mut Minutes) -> String {
        let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return String::new();
        };
        run.doings.asked.retain(|asked| *asked != Urgency::Normal);
        run.doings.pings.push(Urgency::Normal);
        run.doings.untold = true;
        minutes.records.push(doing(run));
        let whose = (run.source.clone(), run.name.clone());
        let label = self.label_of(branch);
        self.keep_back(whose, (showing.in_words(), label), why, minutes);
        held_back(why)
    }

    /// BF-21: reserves a ping for the run, or returns the refusal.
    fn may_ping(&mut self, branch: &Branch, urgency: Urgency, minutes: &Minutes) -> Result<(), String> {
        let reporting = self.memory.turns.runs.get(branch).map(|run| run.terms.voice.reporting);
        match self.refuses_ping(branch, urgency, minutes) {
            Some(why) => Err(no_ping(why, reporting.unwrap_or_default())),
            None => Ok(()),
        }
    }

    /// Returns why the run may not ping now; otherwise reserves a ping and returns `None`.
    pub(super) fn refuses_ping(
        &mut self,
        branch: &Branch,
        urgency: Urgency,
        minutes: &Minutes,
    ) -> Option<NoPing> {
        let limits = self.ping_limits(&minutes.at.to_zoned(minutes.zone.clone()));
        let run = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut)?;
        if run.terms.voice.pings == Pings::Never {
            return Some(NoPing::Disabled);
        }
        let doings = &run.doings;
        let asked = |wanted: Urgency| doings.asked.contains(&wanted);
        match urgency {
            Urgency::Normal if !doings.pings.is_empty() || asked(Urgency::Normal) => {
                return Some(NoPing::AlreadySent);
            }
            Urgency::Normal if doings.busy == Busy::Talking => {
                return Some(NoPing::MidConversation);
            }
            Urgency::Normal if limits.is_exhausted() => return Some(NoPing::Exhausted),
            Urgency::Critical if doings.pings.contains(&Urgency::Critical) || asked(Urgency::Critical) => {
                return Some(NoPing::CriticalSent);
            }
            Urgency::Critical if limits.critical_left() == 0 => {
                return Some(NoPing::CriticalExhausted);
            }
            Urgency::Normal | Urgency::Critical => {}
        }
        run.doings.asked.push(urgency);
        None
    }

    /// Returns the number of reserved normal and critical pings.
    pub(super) fn set_aside(&self) -> (u32, u32) {
        let count = |wanted: Urgency| {
            let asked = self.memory.turns.runs.values().flat_map(|run| &run.doings.asked);
            u32::try_from(asked.filter(|asked| **asked == wanted).count()).unwrap_or(u32::MAX)
        };
        (count(Urgency::Normal), count(Urgency::Critical))
    }

    /// BF-22, PB-7, PB-8: charges the pings shown in `entry`, in the same transaction.
    pub(super) fn charge(&mut self, branch: &Branch, entry: &Entry, minutes: &mut Minutes) {
        let Said::Tools(results) = &entry.said else { return };
        let shown = results.iter().filter(|result| matches!(result.outcome, Outcome::Shown(_))).count();
        let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) else { return };
        let asked: Vec<Urgency> = run.doings.asked.drain(..shown.min(run.doings.asked.len())).collect();
        if asked.is_empty() {
            return;
        }
        let normal = asked.iter().filter(|asked| **asked == Urgency::Normal).count();
        run.doings.pings.extend(&asked);
        run.doings.untold = true;
        minutes.records.push(doing(run));
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let budget = self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(&now)).at(&now);
        let before = budget.available;
        let budget = asked.into_iter().fold(budget, PingBudget::charged);
        let charge = Charge { entry: entry.id, before, after: budget.available };
        minutes.records.push(Record::State(StateChange::Charged(charge)));
        self.memory.chosen.pings = Some(budget);
        minutes.records.push(Record::State(StateChange::Pings(budget)));
        if normal > 0 {
            self.pushed(u32::try_from(normal).unwrap_or(u32::MAX), minutes);
        }
    }

    /// BF-23, P5: refunds a charged ping that could not be delivered.
    pub(super) fn refund(&mut self, charge: Charge, now: &Zoned) -> Vec<Effect> {
        let Some(budget) = self.memory.chosen.pings.map(|pings| pings.at(now)) else { return Vec::new() };
        let urgency = if charge.after < charge.before { Urgency::Normal } else { Urgency::Critical };
        let budget = budget.refunded(urgency);
        self.memory.chosen.pings = Some(budget);
        let mut minutes = Minutes::at(now);
        minutes.records.push(Record::State(StateChange::Pings(budget)));
        if urgency == Urgency::Normal {
            self.feels(&mut minutes, |mood| mood.pushes.count = mood.pushes.count.saturating_sub(1));
        }
        minutes.effects()
    }

    /// BF-25: leaves a pending update for main; the run continues.
    pub(super) fn report_from(
        &mut self,
        branch: &Branch,
        text: String,
        mut minutes: Minutes,
    ) -> (Answer, Vec<Effect>) {
        let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return super::progressing::gone();
        };
        if run.terms.voice.reporting == Reporting::Blocked {
            return (Answer::Refused(REPORTS_BLOCKED.to_owned()), Vec::new());
        }
        (run.doings.reports, run.doings.untold) = (run.doings.reports + 1, false);
        minutes.records.push(doing(run));
        let source = run.source.to_string();
        self.report(&source, self.label_of(branch), text, &mut minutes);
        let told = "the main conversation will read it. go on, or stop.".to_owned();
        (Answer::Told(told), minutes.effects())
    }

    /// RP-23, RP-24: requests a compaction after the run; the last request counts.
    pub(super) fn compact_later(
        &mut self,
        branch: &Branch,
        words: String,
        mut minutes: Minutes,
    ) -> (Answer, Vec<Effect>) {
        let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) else {
            return super::progressing::gone();
        };
        run.doings.compact = Some(words);
        minutes.records.push(doing(run));
        let told =
            "compaction is scheduled: it happens after you finish responding. go on, or stop.".to_owned();
        (Answer::Told(told), minutes.effects())
    }

    /// BF-26 to BF-29: refuses the end of a run that must report first, up to three times.
    pub(super) fn is_kept_going(&mut self, turned: &Turned, ended: &Ended, minutes: &mut Minutes) -> bool {
        let Some(run) = self.memory.turns.runs.get_mut(&turned.branch).map(Arc::make_mut) else {
            return false;
        };
        run.doings.asked.clear();
        if ended.ending != Ending::Finished || run.may_stop() {
            return false;
        }
        if run.doings.refusals >= REFUSALS {
            let text = format!("{} ended without telling me what it found.", run.name);
            minutes.shown.push(Shown::Notice(text));
            return false;
        }
        run.doings.refusals += 1;
        let words = format!("[system] {STOP_REFUSED}");
        minutes.records.push(doing(run));
        minutes.close(turned.turn, Ending::Finished, ended.usage);
        let turn = turned.turn;
        let branch = turned.branch.clone();
        let answers = turned.message.id;
        minutes.shown.push(Shown::Ended { turn, branch, answers, ending: Ending::Finished });
        let message = self.our_message(turned.branch.clone(), words, minutes);
        self.begin_on(Arrival::at(turned.branch.clone()), Arc::new(message), minutes);
        true
    }

    /// BF-17: starts the time limit of the run on `branch`.
    pub(super) fn limit(&mut self, branch: &Branch, minutes: &Minutes) {
        let seconds = i64::from(self.memory.chosen.settings.timeouts.bg_fork_seconds);
        let until = minutes.at + SignedDuration::from_secs(seconds);
        self.wants.deadlines.insert(branch.clone(), until);
    }

    /// Returns the earliest deadline.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.wants.deadlines.values().min().copied()
    }

    /// Interrupts the turns whose deadline has passed.
    pub(super) fn tend_deadlines(&mut self, minutes: &mut Minutes) {
        let up = |until: &Timestamp| *until <= minutes.at;
        let late: Vec<Branch> = self
            .wants
            .deadlines
            .iter()
            .filter(|(_, until)| up(until))
            .map(|(branch, _)| branch.clone())
            .collect();
        for branch in late {
            self.wants.deadlines.remove(&branch);
            match self.running.get(&branch).map(|running| (running.owed, running.turn)) {
                // A blocked turn has no task to interrupt.
                Some((Owed::Held, _)) => self.end_held(&branch, minutes),
                Some((Owed::Now | Owed::SinceBefore, turn)) => {
                    // If the interruption has no effect, it is repeated.
                    if branch != Branch::Main {
                        self.wants.deadlines.insert(branch.clone(), minutes.at + ASK_AGAIN);
                    }
                    minutes.reins.push(Effect::Interrupt(turn));
                    self.wants.overdue.insert(turn);
                }
                None => {}
            }
        }
    }

    /// BF-17: ends a run whose deadline passes while it is blocked.
    fn end_held(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let Some(Running { turn, errand: Errand::Answer(message, _), .. }) = self.running.remove(branch)
        else {
            return;
        };
        let why = match self.wants.away {
            Some(_) => "the model could not be reached all the time.",
            None => "the model refused the key all the time.",
        };
        let ending = Ending::Failed(Failure::Stopped(why.to_owned()));
        minutes.close(turn, ending.clone(), Usage::default());
        self.run_ended(branch, &ending, minutes);
        minutes.shown.push(Shown::Ended { turn, branch: branch.clone(), answers: message.id, ending });
    }

    /// BF-17: turns the ending of a run whose deadline passed into a timeout.
    pub(super) fn in_time(&mut self, turn: TurnId, branch: &Branch, ending: Ending) -> Ending {
        if !self.wants.overdue.remove(&turn) || ending == Ending::Finished {
            return ending;
        }
        if self.memory.turns.runs.contains_key(branch) {
            let time = length_of(self.memory.chosen.settings.timeouts.bg_fork_seconds);
            Ending::Failed(Failure::Stopped(format!("it timed out after {time}.")))
        } else {
            ending
        }
    }
}

/// Formats a length of time: `30 minutes`, `1 minute`, `90 seconds`.
fn length_of(seconds: u32) -> String {
    let (count, unit) = match seconds {
        seconds if seconds >= 60 && seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Returns the record of the progress of `run`.
pub(super) fn doing(run: &Run) -> Record {
    let doings = Doings { asked: Vec::new(), ..run.doings.clone() };
    Record::Fork(ForkChange::Doing(run.branch.clone(), Box::new(doings)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_never_rounded_down_to_nothing() {
        let check = |seconds: u32, expected: &str| assert_eq!(length_of(seconds), expected);
        check(1, "1 second");
        check(20, "20 seconds");
        check(60, "1 minute");
        check(90, "90 seconds");
        check(1800, "30 minutes");
    }
}
