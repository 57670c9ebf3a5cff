//! Approvals of the user: each is written before it is shown, answered once, and outlives both the
//! turn that asked and the process.
//!
//! Nothing here blocks. A turn whose call needs an approval waits in the engine and is notified
//! with [`super::Effect::Decide`].

use jiff::Zoned;

use super::{Answer, ApprovalUpdate, Assistant, Effect, Record, Transaction, Update};
use crate::approval::{
    Approval, ApprovalAnswer, ApprovalId, ApprovalOutcome, ApprovalReply, ClosedApproval, Grant, MAX_OPEN,
    OPEN_DURATION, Waiter, saturating_later,
};
use crate::context;
use crate::conversation::Branch;
use crate::label::Label;
use crate::permission::{AllowReason, Authority, CallDisposition, Decision, RefusalReason, Rule, decide};
use crate::place::Place;
use crate::record::{ApprovalChange, Message, SurfaceName, TurnChange};
use crate::tool::{Outcome, ToolCall, ToolClass, ToolResult};
use crate::turn::{TurnEnding, TurnId};

/// The turn that calls a tool.
pub(super) struct Caller {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) authority: Authority,
}

impl Assistant {
    /// Decides about `call`, and starts the subagent if it is an allowed delegation.
    pub(super) fn decide_or_delegate(
        &mut self,
        call: ToolCall,
        caller: &Caller,
        tx: &mut Transaction,
    ) -> CallDisposition {
        let ruling = self.decide_or_ask(call, caller, tx);
        let delegates = |name: &str| {
            self.tools.iter().any(|tool| tool.name == name && tool.class == ToolClass::Delegates)
        };
        match ruling {
            CallDisposition::Decided(decision)
                if decision.refusal().is_none() && delegates(&decision.call.name) =>
            {
                match self.delegate(&decision.call, caller.turn, &caller.branch, tx) {
                    Ok(()) => CallDisposition::Delegated(decision.call),
                    Err(why) => CallDisposition::Answered(ToolResult {
                        call: decision.call.id,
                        text: why,
                        outcome: Outcome::Failed,
                        label: Label::PLAIN,
                    }),
                }
            }
            CallDisposition::Decided(_)
            | CallDisposition::Asked(..)
            | CallDisposition::Delegated(_)
            | CallDisposition::Answered(_) => ruling,
        }
    }

    /// PM-5: decides about `call`, or asks the user. A grant that lets it through is consumed in
    /// the same transaction.
    pub(super) fn decide_or_ask(
        &mut self,
        call: ToolCall,
        caller: &Caller,
        tx: &mut Transaction,
    ) -> CallDisposition {
        // Expires them here too: this call may come before the wake-up that would.
        let at = tx.at;
        self.end_grants(|grant| grant.expires_at <= at, tx);
        self.end_standing(|standing| standing.expires_at <= at, tx);
        let consent = &self.state.approvals.consent;
        let decision = match decide(&call, &self.tools, &caller.authority, consent) {
            None if self.state.approvals.open.len() >= MAX_OPEN => {
                Decision::refused(&call, RefusalReason::TooManyApprovals)
            }
            None => match caller.authority.place {
                Place::Background(_) => self.defer_to_card(&call, caller, tx),
                Place::Main(_) | Place::Fork => return self.ask_approval(call, caller, tx),
            },
            Some(decision) => decision,
        };
        if let Rule::Allowed(AllowReason::Granted(id)) = decision.rule {
            self.state.approvals.consent.grants.retain(|grant| grant.id != id);
            let spent = ApprovalChange::GrantSpent(id, Some(call.id), tx.at);
            tx.records.push(Record::Approval(spent));
        }
        tx.records.push(Record::Turn(TurnChange::CallDecided(caller.turn, decision.clone(), tx.at)));
        CallDisposition::Decided(decision)
    }

    /// PM-7, PM-12: the approval is written before it is shown. If other messages wait for this
    /// turn to end, the turn does not wait for the answer: a later yes makes a grant.
    fn ask_approval(&mut self, call: ToolCall, caller: &Caller, tx: &mut Transaction) -> CallDisposition {
        if self.have_other_messages() {
            let id = self.open_approval(&call, Waiter::Detached, caller, tx);
            tx.records.push(Record::Approval(ApprovalChange::Detached(id)));
            let decision = Decision::refused(&call, RefusalReason::Unanswered(id));
            let decision = Decision { label: caller.authority.label, ..decision };
            let decided = TurnChange::CallDecided(caller.turn, decision.clone(), tx.at);
            tx.records.push(Record::Turn(decided));
            return CallDisposition::Decided(decision);
        }
        let id = self.open_approval(&call, Waiter::Turn, caller, tx);
        CallDisposition::Asked(id, call)
    }

    /// Leaves a card for a day, because the user is not present; the run continues without the
    /// call.
    fn defer_to_card(&mut self, call: &ToolCall, caller: &Caller, tx: &mut Transaction) -> Decision {
        let same = |open: &&Approval| {
            let given = &open.call;
            open.waiter == Waiter::Card && given.name == call.name && given.input.is_equivalent(&call.input)
        };
        let known = self.state.approvals.open.iter().find(same).map(|open| open.id);
        let id = known.unwrap_or_else(|| self.open_approval(call, Waiter::Card, caller, tx));
        Decision { label: caller.authority.label, ..Decision::refused(call, RefusalReason::Deferred(id)) }
    }

    /// Returns the first approval asked for in the current step of `turn` that is still open.
    fn first_approval_of_step(&self, turn: TurnId) -> Option<ApprovalId> {
        let (_, running) = self.find_turn(turn)?;
        let open = self.state.approvals.open.iter();
        let mut same = open.filter(|open| open.turn == turn && running.unanswered.contains(&open.call));
        same.next().map(|open| open.step)
    }

    fn open_approval(
        &mut self,
        call: &ToolCall,
        waits: Waiter,
        caller: &Caller,
        tx: &mut Transaction,
    ) -> ApprovalId {
        let id = self.state.approvals.next_id;
        self.state.approvals.next_id = ApprovalId(id.0 + 1);
        let turn = caller.turn;
        let branch = caller.branch.clone();
        let knows = caller.authority.label;
        let step = self.first_approval_of_step(turn).unwrap_or(id);
        let approval =
            Approval { id, step, at: tx.at, turn, branch, call: call.clone(), label: knows, waiter: waits };
        self.state.approvals.open.push(approval.clone());
        tx.records.push(Record::Approval(ApprovalChange::Asked(approval.clone())));
        tx.updates.push(Update::Approval(ApprovalUpdate::Open(approval)));
        id
    }

    /// Carries out the call of an approved card exactly once.
    pub(super) fn carry_out(&mut self, approval: &Approval, tx: &mut Transaction) {
        let rule = Rule::Allowed(AllowReason::Approved(approval.id));
        let decision = Decision { call: approval.call.clone(), rule, label: Label::PLAIN };
        tx.records.push(Record::Turn(TurnChange::CallDecided(approval.turn, decision, tx.at)));
        let from = self.read_from(&approval.branch, approval.label);
        self.remember_write(&approval.call, approval.label, &from, tx);
        self.mark_call(&approval.call, approval.label, &from, tx);
        tx.carry_out.push(approval.clone());
    }

    /// Shows the result of a card's call, and leaves it as a pending update for main.
    pub(super) fn on_carried_out(&mut self, id: ApprovalId, result: &ToolResult, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        let used = Some(result.call.clone());
        tx.records.push(Record::Approval(ApprovalChange::GrantSpent(id, used, tx.at)));
        if self.on_account_action_done(id, result, &mut tx).is_some() {
            return tx.into_effects();
        }
        let ApprovalId(number) = id;
        tx.updates.push(Update::Notice(format!("card {number}: {}", first_line(&result.text))));
        let call = self.state.approvals.closed.iter().rfind(|closed| closed.id == id);
        let asked = call.map(|closed| format!("`{}` {}", closed.call.name, closed.call.input.0));
        let text = format!(
            "the call of card {number} was carried out, as the user allowed it: {}\n{}",
            asked.unwrap_or_default(),
            result.text
        );
        self.leave_update("card", result.label, text, &mut tx);
        tx.into_effects()
    }

    /// PM-8, PM-9: applies the user's answer. The first answer counts; one after the expiry is
    /// refused even if the wake-up has not come yet.
    pub(super) fn approve(&mut self, reply: &ApprovalReply, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        self.expire_approvals(&mut tx);
        let found = match self.state.approvals.find(&reply.selector, now) {
            Ok(found) => found,
            Err(why) => return (Answer::Refused(why), tx.into_effects()),
        };
        if let [approval] = found.as_slice() {
            let text = self.apply_answer(approval, reply, &mut tx);
            return (Answer::Text(text), tx.into_effects());
        }
        let mut lines = Vec::new();
        for approval in &found {
            let text = self.apply_answer(approval, reply, &mut tx);
            lines.push(format!("{}: {text}", approval.id.0));
        }
        (Answer::Text(lines.join("\n")), tx.into_effects())
    }

    /// Closes one approval with the verdict of `reply`, and returns the text for the user.
    fn apply_answer(&mut self, approval: &Approval, reply: &ApprovalReply, tx: &mut Transaction) -> String {
        self.close_approval(approval, ApprovalOutcome::from(reply.answer), reply.surface, tx);
        let always = match reply.answer {
            ApprovalAnswer::Always => Some(self.add_standing(approval, tx)),
            ApprovalAnswer::Allow | ApprovalAnswer::Deny => None,
        };
        let text = match (reply.answer, approval.waiter) {
            (ApprovalAnswer::Deny, _) => "denied.",
            (ApprovalAnswer::Allow | ApprovalAnswer::Always, Waiter::Turn) => "allowed, this once.",
            (ApprovalAnswer::Allow | ApprovalAnswer::Always, Waiter::Card) => {
                self.carry_out(approval, tx);
                "allowed. i do exactly that now, once."
            }
            (ApprovalAnswer::Allow | ApprovalAnswer::Always, Waiter::Detached) => {
                self.grant_late(approval, tx);
                "allowed. i had gone on without it, so i try it again now."
            }
        };
        always.unwrap_or_else(|| text.to_owned())
    }

    /// Grants one call after its turn has gone on, and asks the model to make it.
    fn grant_late(&mut self, approval: &Approval, tx: &mut Transaction) {
        let id = approval.id;
        let call = approval.call.clone();
        let until = saturating_later(tx.at, OPEN_DURATION);
        let knows = approval.label;
        let text = context::late_approval(&call, &tx.at.to_zoned(tx.zone.clone()));
        self.state.approvals.consent.grants.push(Grant { id, call, expires_at: until });
        let open_fork = self.state.fork.as_ref().filter(|fork| fork.branch == approval.branch);
        let branch = open_fork.map_or(Branch::Main, |fork| fork.branch.clone());
        let message = self.own_labelled_message(branch, (text, knows), tx);
        self.state.messages.waiting.push_front(message);
        self.start_next_turn(tx);
    }

    /// Lets the active turn continue without its approvals if other messages wait; they stay open.
    pub(super) fn stop_waiting_if_busy(&mut self, tx: &mut Transaction) {
        let turn = self.user_turn().map(|(_, running)| running.turn);
        if turn.is_some() && self.have_other_messages() {
            self.detach_approvals(|approval| Some(approval.turn) == turn, tx);
        }
    }

    /// Returns true if a message waits that may not wait for an approval. Reminders that were already shown do not count.
    fn have_other_messages(&self) -> bool {
        let is_shown = |message: &Message| {
            self.state.plans.asked_with(message.id).is_some_and(|asked| asked.shown_verbatim)
        };
        !self.state.messages.waiting.iter().all(is_shown)
    }

    /// PM-11, PM-16: cancels all approvals that a turn waits for, and notifies the turn.
    pub(super) fn cancel_waiting(&mut self, tx: &mut Transaction) {
        self.cancel_approvals(|approval| approval.waiter == Waiter::Turn, tx);
    }

    /// MC-21: a clear withdraws all open approvals, standing approvals and grants.
    pub(super) fn forget_approvals(&mut self, tx: &mut Transaction) {
        self.cancel_approvals(|_| true, tx);
        self.end_standing(|_| true, tx);
        self.end_grants(|_| true, tx);
    }

    fn cancel_approvals(&mut self, which: impl Fn(&Approval) -> bool, tx: &mut Transaction) {
        for approval in self.open_approvals(which) {
            self.close_approval(&approval, ApprovalOutcome::Cancelled, SurfaceName::Internal, tx);
        }
    }

    /// Detaches approvals from turns that have gone on or were lost: a later yes makes a grant.
    pub(super) fn detach_approvals(&mut self, which: impl Fn(&Approval) -> bool, tx: &mut Transaction) {
        for approval in self.open_approvals(|approval| approval.waiter == Waiter::Turn && which(approval)) {
            for open in self.state.approvals.open.iter_mut().filter(|open| open.id == approval.id) {
                open.waiter = Waiter::Detached;
            }
            tx.records.push(Record::Approval(ApprovalChange::Detached(approval.id)));
            record_decision(&approval, Rule::Refused(RefusalReason::Unanswered(approval.id)), tx);
            let left = Approval { waiter: Waiter::Detached, ..approval };
            tx.updates.push(Update::Approval(ApprovalUpdate::Open(left)));
        }
    }

    /// Handles the end of a turn: if it was interrupted its approvals are cancelled, otherwise a
    /// late yes remains possible.
    pub(super) fn on_asking_turn_ended(&mut self, turn: TurnId, ending: &TurnEnding, tx: &mut Transaction) {
        let asks = |approval: &Approval| approval.turn == turn;
        match ending {
            TurnEnding::Interrupted => {
                self.cancel_approvals(|approval| approval.waiter == Waiter::Turn && asks(approval), tx);
            }
            TurnEnding::Finished | TurnEnding::Failed(_) => self.detach_approvals(asks, tx),
        }
    }

    /// After a start: shows every open approval, detached from its former turn.
    pub(super) fn reshow_approvals(&mut self, tx: &mut Transaction) {
        let left = self.open_approvals(|approval| approval.waiter != Waiter::Turn);
        tx.updates.extend(left.into_iter().map(|approval| Update::Approval(ApprovalUpdate::Open(approval))));
        self.detach_approvals(|_| true, tx);
        for approval in std::mem::take(&mut self.state.approvals.interrupted) {
            let ApprovalId(number) = approval.id;
            let caption = approval.caption();
            let used = Some(approval.call.id.clone());
            tx.records.push(Record::Approval(ApprovalChange::GrantSpent(approval.id, used, tx.at)));
            let text = format!(
                "i stopped while i carried out card {number} ({caption}): nobody knows whether it happened. have a look, \
                 i don't do it twice."
            );
            tx.updates.push(Update::Notice(text));
        }
    }

    /// PM-10: detaches and expires unanswered approvals, and expires unused grants and standing
    /// approvals.
    pub(super) fn expire_approvals(&mut self, tx: &mut Transaction) {
        let at = tx.at;
        self.detach_approvals(|approval| approval.next_timeout() <= at, tx);
        for approval in self.open_approvals(|approval| approval.expires_at() <= at) {
            self.close_approval(&approval, ApprovalOutcome::Expired, SurfaceName::Internal, tx);
        }
        self.end_grants(|grant| grant.expires_at <= at, tx);
        self.end_standing(|standing| standing.expires_at <= at, tx);
    }

    fn end_grants(&mut self, which: impl Fn(&Grant) -> bool, tx: &mut Transaction) {
        let at = tx.at;
        let ended = self.state.approvals.consent.grants.extract_if(.., |grant| which(grant));
        tx.records
            .extend(ended.map(|grant| Record::Approval(ApprovalChange::GrantSpent(grant.id, None, at))));
    }

    fn open_approvals(&self, which: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        self.state.approvals.open.iter().filter(|approval| which(approval)).cloned().collect()
    }

    /// Closes an approval, and notifies the turn that waits for it.
    pub(super) fn close_approval(
        &mut self,
        approval: &Approval,
        how: ApprovalOutcome,
        by: SurfaceName,
        tx: &mut Transaction,
    ) {
        let Approval { id, turn, .. } = *approval;
        let closed =
            ClosedApproval { id, turn, call: approval.call.clone(), outcome: how, surface: by, at: tx.at };
        self.state.approvals.open.retain(|open| open.id != id);
        self.state.approvals.add_closed(closed.clone());
        tx.records.push(Record::Approval(ApprovalChange::Closed(closed.clone())));
        tx.updates.push(Update::Approval(ApprovalUpdate::Closed(approval.clone(), closed)));
        if approval.waiter == Waiter::Turn {
            let rule = match how {
                ApprovalOutcome::Allowed | ApprovalOutcome::Always => {
                    Rule::Allowed(AllowReason::Approved(id))
                }
                ApprovalOutcome::Denied => Rule::Refused(RefusalReason::Denied(id)),
                ApprovalOutcome::Cancelled | ApprovalOutcome::Expired => {
                    Rule::Refused(RefusalReason::Cancelled(id))
                }
            };
            record_decision(approval, rule, tx);
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Records the decision about an approved or refused call, and passes it to the turn.
fn record_decision(approval: &Approval, rule: Rule, tx: &mut Transaction) {
    let decision = Decision { call: approval.call.clone(), rule, label: Label::PLAIN };
    tx.records.push(Record::Turn(TurnChange::CallDecided(approval.turn, decision.clone(), tx.at)));
    tx.decisions.push((approval.turn, approval.id, decision));
}

#[cfg(test)]
mod attacks;

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::{Request, State, TurnRequest, UserMessage};
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Block, Conversation, EntryId, Json};
    use crate::cost::CostSource;
    use crate::occurrence::{Occurrence, OccurrenceKey, OccurrenceState};
    use crate::permission::Mode;
    use crate::rng::Rng;
    use crate::schedule::Lateness;
    use crate::tool::{ToolClass, ToolSpec};

    /// Returns an assistant with an active turn and a tool that needs approval.
    fn assistant_with_active_turn() -> Assistant {
        let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        memory.choices.modes.main = Mode::Ask;
        let tool =
            ToolSpec { name: "act", description: Cow::Borrowed(""), schema: "{}", class: ToolClass::Acts };
        let mut assistant = Assistant::new(memory, Arc::new([tool]), ContextWindow::DEFAULT, Rng::new(7));
        assistant.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at("08:00"));
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

    fn call_tools(
        assistant: &mut Assistant,
        blocks: Vec<Block>,
        time: &str,
    ) -> (Vec<CallDisposition>, Vec<Effect>) {
        let kinds = crate::tool::ServerToolKinds::new();
        let most = blocks.len();
        let request = Request::Turn(
            TurnId(1),
            TurnRequest::MayRun { blocks, model_calls: Vec::new(), kinds, max_calls: most },
        );
        match assistant.handle(request, &at(time)) {
            (Answer::Rulings(rulings), effects) => (rulings, effects),
            (answer, _) => panic!("{answer:?}"),
        }
    }

    /// PM-12: the approval is written before it is shown, and can be answered from then on.
    #[test]
    fn approval_is_written_before_it_is_shown() {
        let mut assistant = assistant_with_active_turn();
        let (rulings, effects) = call_tools(&mut assistant, vec![call(1)], "08:01");
        assert!(matches!(rulings[..], [CallDisposition::Asked(ApprovalId(1), _)]), "{rulings:?}");
        let written = effects.iter().position(|effect| match effect {
            Effect::Write(records) => {
                records.iter().any(|record| matches!(record, Record::Approval(ApprovalChange::Asked(_))))
            }
            Effect::Show(_)
            | Effect::StartTurn(_)
            | Effect::Interrupt(_)
            | Effect::Prioritize(_)
            | Effect::Decide(..)
            | Effect::ReturnResult(..)
            | Effect::CarryOut(_)
            | Effect::LoadSkills(..) => false,
        });
        let shown = effects
            .iter()
            .position(|effect| matches!(effect, Effect::Show(Update::Approval(ApprovalUpdate::Open(_)))));
        assert!(written.is_some() && written < shown, "{effects:?}");
        let reply = ApprovalReply {
            selector: "1".to_owned(),
            answer: ApprovalAnswer::Allow,
            surface: SurfaceName::Page,
        };
        let (_, effects) = assistant.handle(Request::Approve(reply), &at("08:01"));
        let notified = effects.iter().any(|effect| {
            matches!(effect, Effect::Decide(TurnId(1), ApprovalId(1), decision) if decision.refusal().is_none())
        });
        assert!(notified, "{effects:?}");
    }

    /// A reminder that was already shown does not stop the turn from waiting for its approval.
    #[test]
    fn shown_reminder_does_not_stop_a_turn_from_waiting() {
        for shown in [true, false] {
            let mut assistant = assistant_with_active_turn();
            let mut tx = Transaction::at(&at("08:00"));
            let words = ("tea".to_owned(), Label::PLAIN);
            let message = assistant.own_labelled_message(Branch::Main, words, &mut tx);
            let due = tx.at;
            let key = OccurrenceKey { source: CostSource::Reminder("tea".to_owned()), due };
            let occurrence = Occurrence {
                key: key.clone(),
                name: "tea".to_owned(),
                prompt: "tea".to_owned(),
                lateness: Lateness::OnTime,
                tries: 1,
                state: OccurrenceState::SentToMain(message.id),
                since: due,
                shown_verbatim: shown,
            };
            assistant.state.plans.open.insert_mut(key, occurrence);
            assistant.state.messages.waiting.push_back(message);
            let (rulings, _) = call_tools(&mut assistant, vec![call(1)], "08:01");
            let waits = matches!(rulings[..], [CallDisposition::Asked(ApprovalId(1), _)]);
            assert_eq!(waits, shown, "{rulings:?}");
        }
    }

    /// The number of open approvals is limited; a call beyond it is refused with a reason.
    #[test]
    fn number_of_open_approvals_is_limited() {
        let mut assistant = assistant_with_active_turn();
        let (rulings, _) = call_tools(&mut assistant, (0..=MAX_OPEN).map(call).collect(), "08:01");
        let asked = rulings.iter().filter(|ruling| matches!(ruling, CallDisposition::Asked(..))).count();
        assert_eq!(asked, MAX_OPEN);
        let Some(CallDisposition::Decided(last)) = rulings.last() else { panic!("{rulings:?}") };
        assert_eq!(last.rule.id(), "too-many-approvals");
        assert_eq!(assistant.next_wake(at("08:01").timestamp()), Some(at("08:11").timestamp()));
        assistant.on_event(super::super::Event::Woke, &at("08:11"));
        assert_eq!(
            assistant.next_wake(at("08:11").timestamp()),
            Some(at("08:01").tomorrow().unwrap().timestamp())
        );
    }
}
