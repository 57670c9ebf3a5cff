//! Approvals of the user: each is written before it is shown, answered once, and outlives both the
//! turn that asked and the process.
//!
//! Nothing here blocks. A turn whose call needs an approval waits in the engine and is notified
//! with [`super::Effect::Decide`].

use jiff::Zoned;

use super::{Answer, Asking, Assistant, Effect, Minutes, Record, Shown};
use crate::approval::{
    Approval, ApprovalId, Closed, Grant, How, OPEN, OPEN_FOR, Reply, Verdict, Waits, later,
};
use crate::context;
use crate::conversation::Branch;
use crate::label::Label;
use crate::permission::{Allowed, Authority, Decision, Refused, Rule, Ruling, decide};
use crate::place::Place;
use crate::record::{ApprovalChange, Message, SurfaceName, TurnChange};
use crate::tool::{Class, Outcome, ToolCall, ToolResult};
use crate::turn::{Ending, TurnId};

/// The turn that calls a tool.
pub(super) struct Caller {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) authority: Authority,
}

impl Assistant {
    /// Decides about `call`, and starts the subagent if it is an allowed delegation.
    pub(super) fn rule_and_delegate(
        &mut self,
        call: ToolCall,
        caller: &Caller,
        minutes: &mut Minutes,
    ) -> Ruling {
        let ruling = self.rule_on(call, caller, minutes);
        let delegates =
            |name: &str| self.tools.iter().any(|tool| tool.name == name && tool.class == Class::Delegates);
        match ruling {
            Ruling::Decided(decision) if decision.refusal().is_none() && delegates(&decision.call.name) => {
                match self.delegate(&decision.call, caller.turn, &caller.branch, minutes) {
                    Ok(()) => Ruling::Delegated(decision.call),
                    Err(why) => Ruling::Answered(ToolResult {
                        call: decision.call.id,
                        text: why,
                        outcome: Outcome::Failed,
                        label: Label::PLAIN,
                    }),
                }
            }
            Ruling::Decided(_) | Ruling::Asked(..) | Ruling::Delegated(_) | Ruling::Answered(_) => ruling,
        }
    }

    /// PM-5: decides about `call`, or asks the user. A grant that lets it through is consumed in
    /// the same transaction.
    pub(super) fn rule_on(&mut self, call: ToolCall, caller: &Caller, minutes: &mut Minutes) -> Ruling {
        // Expires them here too: this call may come before the wake-up that would.
        let at = minutes.at;
        self.end_grants(|grant| grant.until <= at, minutes);
        self.end_standing(|standing| standing.until <= at, minutes);
        let consent = &self.memory.approvals.consent;
        let decision = match decide(&call, &self.tools, &caller.authority, consent) {
            None if self.memory.approvals.open.len() >= OPEN => Decision::refused(&call, Refused::Crowded),
            None => match caller.authority.place {
                Place::Background(_) => self.defer(&call, caller, minutes),
                Place::Main(_) | Place::Fork => return self.ask(call, caller, minutes),
            },
            Some(decision) => decision,
        };
        if let Rule::Allowed(Allowed::Granted(id)) = decision.rule {
            self.memory.approvals.consent.grants.retain(|grant| grant.id != id);
            let spent = ApprovalChange::Spent(id, Some(call.id), minutes.at);
            minutes.records.push(Record::Approval(spent));
        }
        minutes.records.push(Record::Turn(TurnChange::Decided(caller.turn, decision.clone(), minutes.at)));
        Ruling::Decided(decision)
    }

    /// PM-7, PM-12: the approval is written before it is shown. If other messages wait for this
    /// turn to end, the turn does not wait for the answer: a later yes makes a grant.
    fn ask(&mut self, call: ToolCall, caller: &Caller, minutes: &mut Minutes) -> Ruling {
        if self.others_wait() {
            let id = self.put_to_the_human(&call, Waits::Nobody, caller, minutes);
            minutes.records.push(Record::Approval(ApprovalChange::Left(id)));
            let decision = Decision::refused(&call, Refused::Unanswered(id));
            let decision = Decision { knows: caller.authority.knows, ..decision };
            let decided = TurnChange::Decided(caller.turn, decision.clone(), minutes.at);
            minutes.records.push(Record::Turn(decided));
            return Ruling::Decided(decision);
        }
        let id = self.put_to_the_human(&call, Waits::Turn, caller, minutes);
        Ruling::Asked(id, call)
    }

    /// Leaves a card for a day, because the user is not present; the run continues without the
    /// call.
    fn defer(&mut self, call: &ToolCall, caller: &Caller, minutes: &mut Minutes) -> Decision {
        let same = |open: &&Approval| {
            let given = &open.call;
            open.waits == Waits::Card && given.name == call.name && given.input.says_the_same_as(&call.input)
        };
        let known = self.memory.approvals.open.iter().find(same).map(|open| open.id);
        let id = known.unwrap_or_else(|| self.put_to_the_human(call, Waits::Card, caller, minutes));
        Decision { knows: caller.authority.knows, ..Decision::refused(call, Refused::Deferred(id)) }
    }

    /// Returns the first approval asked for in the current step of `turn` that is still open.
    fn step_of(&self, turn: TurnId) -> Option<ApprovalId> {
        let (_, running) = self.run_of(turn)?;
        let open = self.memory.approvals.open.iter();
        let mut same = open.filter(|open| open.turn == turn && running.unanswered.contains(&open.call));
        same.next().map(|open| open.step)
    }

    fn put_to_the_human(
        &mut self,
        call: &ToolCall,
        waits: Waits,
        caller: &Caller,
        minutes: &mut Minutes,
    ) -> ApprovalId {
        let id = self.memory.approvals.next;
        self.memory.approvals.next = ApprovalId(id.0 + 1);
        let turn = caller.turn;
        let branch = caller.branch.clone();
        let knows = caller.authority.knows;
        let step = self.step_of(turn).unwrap_or(id);
        let approval = Approval { id, step, at: minutes.at, turn, branch, call: call.clone(), knows, waits };
        self.memory.approvals.open.push(approval.clone());
        minutes.records.push(Record::Approval(ApprovalChange::Asked(approval.clone())));
        minutes.shown.push(Shown::Approval(Asking::Open(approval)));
        id
    }

    /// Carries out the call of an approved card exactly once.
    pub(super) fn carry_out(&mut self, approval: &Approval, minutes: &mut Minutes) {
        let rule = Rule::Allowed(Allowed::Approved(approval.id));
        let decision = Decision { call: approval.call.clone(), rule, knows: Label::PLAIN };
        minutes.records.push(Record::Turn(TurnChange::Decided(approval.turn, decision, minutes.at)));
        let from = self.read_from(&approval.branch, approval.knows);
        self.note_writing(&approval.call, approval.knows, &from, minutes);
        self.mark_call(&approval.call, approval.knows, &from, minutes);
        minutes.carried.push(approval.clone());
    }

    /// Shows the result of a card's call, and leaves it as a pending update for main.
    pub(super) fn carried(&mut self, id: ApprovalId, result: &ToolResult, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        let used = Some(result.call.clone());
        minutes.records.push(Record::Approval(ApprovalChange::Spent(id, used, minutes.at)));
        if self.chore_done(id, result, &mut minutes).is_some() {
            return minutes.effects();
        }
        let ApprovalId(number) = id;
        minutes.shown.push(Shown::Notice(format!("card {number}: {}", first_line(&result.text))));
        let call = self.memory.approvals.closed.iter().rfind(|closed| closed.id == id);
        let asked = call.map(|closed| format!("`{}` {}", closed.call.name, closed.call.input.0));
        let text = format!(
            "the call of card {number} was carried out, as the user allowed it: {}\n{}",
            asked.unwrap_or_default(),
            result.text
        );
        self.report("card", result.label, text, &mut minutes);
        minutes.effects()
    }

    /// PM-8, PM-9: applies the user's answer. The first answer counts; one after the expiry is
    /// refused even if the wake-up has not come yet.
    pub(super) fn approve(&mut self, reply: &Reply, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        self.tend_approvals(&mut minutes);
        let found = match self.memory.approvals.find(&reply.which, now) {
            Ok(found) => found,
            Err(why) => return (Answer::Refused(why), minutes.effects()),
        };
        if let [approval] = found.as_slice() {
            let text = self.answer_one(approval, reply, &mut minutes);
            return (Answer::Told(text), minutes.effects());
        }
        let mut told = Vec::new();
        for approval in &found {
            let text = self.answer_one(approval, reply, &mut minutes);
            told.push(format!("{}: {text}", approval.id.0));
        }
        (Answer::Told(told.join("\n")), minutes.effects())
    }

    /// Closes one approval with the verdict of `reply`, and returns the text for the user.
    fn answer_one(&mut self, approval: &Approval, reply: &Reply, minutes: &mut Minutes) -> String {
        self.close(approval, How::from(reply.verdict), reply.by, minutes);
        let always = match reply.verdict {
            Verdict::Always => Some(self.stand(approval, minutes)),
            Verdict::Allow | Verdict::Deny => None,
        };
        let text = match (reply.verdict, approval.waits) {
            (Verdict::Deny, _) => "denied.",
            (Verdict::Allow | Verdict::Always, Waits::Turn) => "allowed, this once.",
            (Verdict::Allow | Verdict::Always, Waits::Card) => {
                self.carry_out(approval, minutes);
                "allowed. i do exactly that now, once."
            }
            (Verdict::Allow | Verdict::Always, Waits::Nobody) => {
                self.grant(approval, minutes);
                "allowed. i had gone on without it, so i try it again now."
            }
        };
        always.unwrap_or_else(|| text.to_owned())
    }

    /// Grants one call after its turn has gone on, and asks the model to make it.
    fn grant(&mut self, approval: &Approval, minutes: &mut Minutes) {
        let id = approval.id;
        let call = approval.call.clone();
        let until = later(minutes.at, OPEN_FOR);
        let knows = approval.knows;
        let words = context::allowed_late(&call, &minutes.at.to_zoned(minutes.zone.clone()));
        self.memory.approvals.consent.grants.push(Grant { id, call, until });
        let there = self.memory.fork.as_ref().filter(|fork| fork.branch == approval.branch);
        let branch = there.map_or(Branch::Main, |fork| fork.branch.clone());
        let message = self.our_labelled_message(branch, (words, knows), minutes);
        self.memory.messages.waiting.push_front(message);
        self.hear_waiting(minutes);
    }

    /// Lets the active turn continue without its approvals if other messages wait; they stay open.
    pub(super) fn wait_no_longer(&mut self, minutes: &mut Minutes) {
        let turn = self.speaking().map(|(_, running)| running.turn);
        if turn.is_some() && self.others_wait() {
            self.leave_waiting(|approval| Some(approval.turn) == turn, minutes);
        }
    }

    /// Returns true if a message waits that may not wait for an approval. Reminders that were already shown do not count.
    fn others_wait(&self) -> bool {
        let is_shown =
            |message: &Message| self.memory.plans.asked(message.id).is_some_and(|asked| asked.shown);
        !self.memory.messages.waiting.iter().all(is_shown)
    }

    /// PM-11, PM-16: cancels all approvals that a turn waits for, and notifies the turn.
    pub(super) fn cancel_waiting(&mut self, minutes: &mut Minutes) {
        self.cancel(|approval| approval.waits == Waits::Turn, minutes);
    }

    /// MC-21: a clear withdraws all open approvals, standing approvals and grants.
    pub(super) fn forget_approvals(&mut self, minutes: &mut Minutes) {
        self.cancel(|_| true, minutes);
        self.end_standing(|_| true, minutes);
        self.end_grants(|_| true, minutes);
    }

    fn cancel(&mut self, which: impl Fn(&Approval) -> bool, minutes: &mut Minutes) {
        for approval in self.approvals(which) {
            self.close(&approval, How::Cancelled, SurfaceName::House, minutes);
        }
    }

    /// Detaches approvals from turns that have gone on or were lost: a later yes makes a grant.
    pub(super) fn leave_waiting(&mut self, which: impl Fn(&Approval) -> bool, minutes: &mut Minutes) {
        for approval in self.approvals(|approval| approval.waits == Waits::Turn && which(approval)) {
            for open in self.memory.approvals.open.iter_mut().filter(|open| open.id == approval.id) {
                open.waits = Waits::Nobody;
            }
            minutes.records.push(Record::Approval(ApprovalChange::Left(approval.id)));
            decide_for(&approval, Rule::Refused(Refused::Unanswered(approval.id)), minutes);
            let left = Approval { waits: Waits::Nobody, ..approval };
            minutes.shown.push(Shown::Approval(Asking::Open(left)));
        }
    }

    /// Handles the end of a turn: if it was interrupted its approvals are cancelled, otherwise a
    /// late yes remains possible.
    pub(super) fn stop_asking(&mut self, turn: TurnId, ending: &Ending, minutes: &mut Minutes) {
        let asks = |approval: &Approval| approval.turn == turn;
        match ending {
            Ending::Interrupted => {
                self.cancel(|approval| approval.waits == Waits::Turn && asks(approval), minutes);
            }
            Ending::Finished | Ending::Failed(_) => self.leave_waiting(asks, minutes),
        }
    }

    /// After a start: shows every open approval, detached from its former turn.
    pub(super) fn ask_again(&mut self, minutes: &mut Minutes) {
        let left = self.approvals(|approval| approval.waits != Waits::Turn);
        minutes.shown.extend(left.into_iter().map(|approval| Shown::Approval(Asking::Open(approval))));
        self.leave_waiting(|_| true, minutes);
        for approval in std::mem::take(&mut self.memory.approvals.carried) {
            let ApprovalId(number) = approval.id;
            let caption = approval.caption();
            let used = Some(approval.call.id.clone());
            minutes.records.push(Record::Approval(ApprovalChange::Spent(approval.id, used, minutes.at)));
            let text = format!(
                "i stopped while i carried out card {number} ({caption}): nobody knows whether it happened. have a look, \
                 i don't do it twice."
            );
            minutes.shown.push(Shown::Notice(text));
        }
    }

    /// PM-10: detaches and expires unanswered approvals, and expires unused grants and standing
    /// approvals.
    pub(super) fn tend_approvals(&mut self, minutes: &mut Minutes) {
        let at = minutes.at;
        self.leave_waiting(|approval| approval.wakes() <= at, minutes);
        for approval in self.approvals(|approval| approval.until() <= at) {
            self.close(&approval, How::Expired, SurfaceName::House, minutes);
        }
        self.end_grants(|grant| grant.until <= at, minutes);
        self.end_standing(|standing| standing.until <= at, minutes);
    }

    fn end_grants(&mut self, which: impl Fn(&Grant) -> bool, minutes: &mut Minutes) {
        let at = minutes.at;
        let ended = self.memory.approvals.consent.grants.extract_if(.., |grant| which(grant));
        minutes
            .records
            .extend(ended.map(|grant| Record::Approval(ApprovalChange::Spent(grant.id, None, at))));
    }

    fn approvals(&self, which: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        self.memory.approvals.open.iter().filter(|approval| which(approval)).cloned().collect()
    }

    /// Closes an approval, and notifies the turn that waits for it.
    pub(super) fn close(&mut self, approval: &Approval, how: How, by: SurfaceName, minutes: &mut Minutes) {
        let Approval { id, turn, .. } = *approval;
        let closed = Closed { id, turn, call: approval.call.clone(), how, by, at: minutes.at };
        self.memory.approvals.open.retain(|open| open.id != id);
        self.memory.approvals.remember(closed.clone());
        minutes.records.push(Record::Approval(ApprovalChange::Closed(closed.clone())));
        minutes.shown.push(Shown::Approval(Asking::Closed(approval.clone(), closed)));
        if approval.waits == Waits::Turn {
            let rule = match how {
                How::Allowed | How::Always => Rule::Allowed(Allowed::Approved(id)),
                How::Denied => Rule::Refused(Refused::Denied(id)),
                How::Cancelled | How::Expired => Rule::Refused(Refused::Cancelled(id)),
            };
            decide_for(approval, rule, minutes);
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Records the decision about an approved or refused call, and passes it to the turn.
fn decide_for(approval: &Approval, rule: Rule, minutes: &mut Minutes) {
    let decision = Decision { call: approval.call.clone(), rule, knows: Label::PLAIN };
    minutes.records.push(Record::Turn(TurnChange::Decided(approval.turn, decision.clone(), minutes.at)));
    minutes.decided.push((approval.turn, approval.id, decision));
}

#[cfg(test)]
mod attacks;

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::{Memory, Progress, Request, Saying};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Block, Conversation, EntryId, Json};
    use crate::cost::Source;
    use crate::dice::Dice;
    use crate::occurrence::{Key, Occurrence, Stage};
    use crate::permission::Mode;
    use crate::schedule::Lateness;
    use crate::tool::{Class, ToolSpec};

    /// Returns an assistant with an active turn and a tool that needs approval.
    fn speaking() -> Assistant {
        let mut memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        memory.chosen.modes.main = Mode::Ask;
        let tool = ToolSpec { name: "act", description: Cow::Borrowed(""), schema: "{}", class: Class::Acts };
        let mut assistant = Assistant::new(memory, Arc::new([tool]), Room::HOUSE, Dice::new(7));
        assistant.asked(Request::Say(Saying::words(SurfaceName::Page, "go")), &at("08:00"));
        assistant
    }

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    fn call(number: usize) -> Block {
        let id = format!("call-{number}");
        let input = Json(format!("{{\"n\":{number}}}"));
        Block::Call(ToolCall { id, name: "act".to_owned(), input })
    }

    fn asks(assistant: &mut Assistant, blocks: Vec<Block>, time: &str) -> (Vec<Ruling>, Vec<Effect>) {
        let kinds = crate::tool::ServerKinds::new();
        let most = blocks.len();
        let request = Request::Turn(TurnId(1), Progress::MayRun { blocks, spent: Vec::new(), kinds, most });
        match assistant.asked(request, &at(time)) {
            (Answer::Decided(rulings), effects) => (rulings, effects),
            (answer, _) => panic!("{answer:?}"),
        }
    }

    /// PM-12: the approval is written before it is shown, and can be answered from then on.
    #[test]
    fn an_approval_is_there_before_it_is_seen() {
        let mut assistant = speaking();
        let (rulings, effects) = asks(&mut assistant, vec![call(1)], "08:01");
        assert!(matches!(rulings[..], [Ruling::Asked(ApprovalId(1), _)]), "{rulings:?}");
        let written = effects.iter().position(|effect| match effect {
            Effect::Write(records) => {
                records.iter().any(|record| matches!(record, Record::Approval(ApprovalChange::Asked(_))))
            }
            Effect::Show(_)
            | Effect::StartTurn(_)
            | Effect::Interrupt(_)
            | Effect::Hurry(_)
            | Effect::Decide(..)
            | Effect::Answer(..)
            | Effect::Carry(_)
            | Effect::LoadSkills(..) => false,
        });
        let shown = effects
            .iter()
            .position(|effect| matches!(effect, Effect::Show(Shown::Approval(Asking::Open(_)))));
        assert!(written.is_some() && written < shown, "{effects:?}");
        let reply = Reply { which: "1".to_owned(), verdict: Verdict::Allow, by: SurfaceName::Page };
        let (_, effects) = assistant.asked(Request::Approve(reply), &at("08:01"));
        let told = effects.iter().any(|effect| {
            matches!(effect, Effect::Decide(TurnId(1), ApprovalId(1), decision) if decision.refusal().is_none())
        });
        assert!(told, "{effects:?}");
    }

    /// A reminder that was already shown does not stop the turn from waiting for its approval.
    #[test]
    fn a_reminder_that_was_shown_does_not_keep_a_turn_from_waiting() {
        for shown in [true, false] {
            let mut assistant = speaking();
            let mut minutes = Minutes::at(&at("08:00"));
            let words = ("tea".to_owned(), Label::PLAIN);
            let message = assistant.our_labelled_message(Branch::Main, words, &mut minutes);
            let due = minutes.at;
            let key = Key { source: Source::Reminder("tea".to_owned()), due };
            let occurrence = Occurrence {
                key: key.clone(),
                name: "tea".to_owned(),
                words: "tea".to_owned(),
                lateness: Lateness::OnTime,
                tries: 1,
                stage: Stage::Asked(message.id),
                since: due,
                shown,
            };
            assistant.memory.plans.open.insert_mut(key, occurrence);
            assistant.memory.messages.waiting.push_back(message);
            let (rulings, _) = asks(&mut assistant, vec![call(1)], "08:01");
            let waits = matches!(rulings[..], [Ruling::Asked(ApprovalId(1), _)]);
            assert_eq!(waits, shown, "{rulings:?}");
        }
    }

    /// The number of open approvals is limited; a call beyond it is refused with a reason.
    #[test]
    fn only_so_many_approvals_are_open_at_a_time() {
        let mut assistant = speaking();
        let (rulings, _) = asks(&mut assistant, (0..=OPEN).map(call).collect(), "08:01");
        let asked = rulings.iter().filter(|ruling| matches!(ruling, Ruling::Asked(..))).count();
        assert_eq!(asked, OPEN);
        let Some(Ruling::Decided(last)) = rulings.last() else { panic!("{rulings:?}") };
        assert_eq!(last.rule.id(), "too-many-approvals");
        assert_eq!(assistant.wakes(at("08:01").timestamp()), Some(at("08:11").timestamp()));
        assistant.on(super::super::Event::Woke, &at("08:11"));
        assert_eq!(
            assistant.wakes(at("08:11").timestamp()),
            Some(at("08:01").tomorrow().unwrap().timestamp())
        );
    }
}
