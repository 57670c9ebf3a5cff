//! Replies and buttons: routes a message to the run whose message it answers.
//!
//! The route is determined only when the message's turn starts: of two replies, the first opens the
//! fork and the second is quoted in it.

use std::sync::Arc;

use jiff::Zoned;

use super::button_actions::AccountAction;
use super::fork_exit::ExitCommand;
use super::forks::{NewFork, refusal_reply};
use super::{Answer, Assistant, ButtonPress, Effect, Transaction, Update};
use crate::approval::ApprovalReply;
use crate::context;
use crate::conversation::{Branch, Head};
use crate::embed::{ButtonAction, ForkExitChoice};
use crate::fork::ForkRequest;
use crate::label::Label;
use crate::record::{Address, Message, MessageChange, MessageId, Record, ReplyTo, SentChange, SurfaceName};
use crate::sent_messages::{MessageOrigin, OriginExpiry, OriginLookup, RunEnd, SentId, StoredPromptId};

/// Refusal of a button that resumes a run while a fork is open.
const BUTTON_REFUSED_IN_FORK: &str = "that button goes on with a background run, and we are in a side conversation already. \
    leave it first (/save, /report or /exit), then press it again.";

/// The branch for a message.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) branch: Branch,
    /// Text of the assistant to put before it.
    pub(super) lead: String,
    /// Label of `lead`, and of text that the user did not write.
    pub(super) label: Label,
}

impl Route {
    /// A route to `branch` without a lead.
    pub(super) fn at(branch: Branch) -> Self {
        Self { branch, lead: String::new(), label: Label::PLAIN }
    }
}

impl Assistant {
    /// Returns the route of `message`, or `None` if it is dropped. May open a fork.
    pub(super) fn route_message(&mut self, message: &Message, tx: &mut Transaction) -> Option<Route> {
        match &message.address {
            Address::UserBranch => Some(Route::at(self.user_branch())),
            Address::Branch(branch) => Some(Route::at(branch.clone())),
            Address::Reply(reply) => Some(self.route_reply(reply, tx)),
            Address::Button(on, inquiry) => self.route_button(*on, inquiry, message, tx),
        }
    }

    /// Returns the branch that `message` would go to now, or `None` if it resumes a run in a new
    /// fork.
    pub(super) fn target_branch(&self, message: &Message, tx: &Transaction) -> Option<Branch> {
        match &message.address {
            Address::UserBranch => Some(self.user_branch()),
            Address::Branch(branch) => Some(branch.clone()),
            Address::Reply(ReplyTo { sent_id: to, .. }) | Address::Button(to, _) => {
                let goes_on = matches!(self.state.messages.sent.origin(*to, tx.at), OriginLookup::Live(..));
                (!goes_on || self.state.fork.is_some()).then(|| self.user_branch())
            }
        }
    }

    /// MT-7: removes origins older than seven days.
    fn prune_origins(&mut self, tx: &mut Transaction) {
        if self.state.messages.sent.has_old(tx.at)
            && Arc::make_mut(&mut self.state.messages.sent).prune(tx.at)
        {
            tx.records.push(Record::from(SentChange::Pruned(tx.at)));
        }
    }

    /// MT-9 to MT-12: resumes the run that the reply belongs to, or quotes the message.
    fn route_reply(&mut self, reply: &ReplyTo, tx: &mut Transaction) -> Route {
        let sent = Arc::clone(&self.state.messages.sent);
        self.prune_origins(tx);
        let notice = match (sent.origin(reply.sent_id, tx.at), &self.state.fork) {
            (OriginLookup::Live(origin, end), None) => {
                let branch = self.resume_run_in_fork(origin, end, tx);
                return Route { lead: context::FORK_FROM_REPLY.to_owned(), ..Route::at(branch) };
            }
            (OriginLookup::Live(..), Some(_)) => {
                Some("we are in a side conversation already, so your reply is added here as context instead.")
            }
            (OriginLookup::Expired(OriginExpiry::TooOld), _) => {
                Some("the session of that message has expired, so i quote it as context instead.")
            }
            (OriginLookup::Expired(OriginExpiry::OtherProgram), _) => Some(
                "i don't know the session of that message: it has expired for me, so i quote it instead.",
            ),
            (OriginLookup::Unknown, _) => None,
        };
        tx.updates.extend(notice.map(|text| Update::Notice(text.to_owned())));
        let (lead, label) = self.quotation(reply);
        Route { branch: self.user_branch(), lead, label }
    }

    /// Returns the quotation for `reply` with its label. Outside text is in a data block.
    fn quotation(&mut self, reply: &ReplyTo) -> (String, Label) {
        let running = self.state.turns.runs.values().find(|run| run.sent_messages.contains(&reply.sent_id));
        let label = running.map(|run| self.label(&run.branch));
        let label = label.or_else(|| self.state.messages.sent.label(reply.sent_id)).unwrap_or(Label::PLAIN);
        let quotation = context::quotation(&reply.quote);
        if label.is_tainted() && !quotation.is_empty() {
            let block = context::data_block(&self.rng.short_id(), &context::source_names(label), &quotation);
            return (format!("{block}\n\n"), label);
        }
        (quotation, label)
    }

    /// Returns the quotation for `message`, if it is a reply that resumes no run.
    pub(super) fn quotation_for(&mut self, message: &Message) -> (String, Label) {
        match &message.address {
            Address::Reply(reply) => self.quotation(reply),
            Address::UserBranch | Address::Branch(_) | Address::Button(..) => (String::new(), Label::PLAIN),
        }
    }

    /// IF-13, RP-27: opens an interactive fork that continues a run, under the run's session id
    /// unless that is in use or belongs to a persistent routine.
    fn resume_run_in_fork(&mut self, origin: &MessageOrigin, end: &RunEnd, tx: &mut Transaction) -> Branch {
        let is_active = self.state.conversation.branches().any(|(_, head)| head.session == origin.session);
        let is_routine_session =
            self.state.plans.sessions.values().any(|stand| stand.session == origin.session);
        let taken = is_active || is_routine_session;
        let session = if taken { self.rng.session_id() } else { origin.session.clone() };
        let head = Head { entry: Some(end.entry), session, label: end.label };
        let topic = Some(end.source.to_string());
        let request = ForkRequest { topic, idle_minutes: None, start_message: MessageId(0) };
        self.open_fork(NewFork { head, root: end.root, request }, tx)
    }

    /// Handles a button press.
    pub(super) fn press_button(&mut self, press: ButtonPress, now: &Zoned) -> (Answer, Vec<Effect>) {
        let ButtonPress { surface, on, action } = press;
        match action {
            ButtonAction::AskStored(inquiry) => self.press_inquiry(surface, on, inquiry, now),
            ButtonAction::Dismiss => dismiss_message(on, now),
            ButtonAction::Dislike => self.dislike(on, now),
            ButtonAction::LeaveFork(ForkExitChoice::Save) => self.exit_fork(ExitCommand::Save, now),
            ButtonAction::LeaveFork(ForkExitChoice::Report) => {
                self.exit_fork(ExitCommand::Report(String::new()), now)
            }
            ButtonAction::LeaveFork(ForkExitChoice::Discard) => self.exit_fork(ExitCommand::Drop, now),
            ButtonAction::TaskDone(id) => {
                self.press_account_action(surface, on, AccountAction::TaskDone, &id, now)
            }
            ButtonAction::TaskDelete(id) => {
                self.press_account_action(surface, on, AccountAction::TaskDelete, &id, now)
            }
            ButtonAction::EventDelete(id) => {
                self.press_account_action(surface, on, AccountAction::EventDelete, &id, now)
            }
            ButtonAction::Card(card, act) => self.press_card(surface, &card, act, now),
            ButtonAction::CardByKey(key, act) => {
                match self.state.messages.cards.find_by_post(&key).cloned() {
                    Some(card) => self.press_card(surface, &card, act, now),
                    None => refusal_reply("that is no reminder."),
                }
            }
            ButtonAction::AnswerApproval(approval, verdict) => self
                .approve(&ApprovalReply { selector: approval.0.to_string(), answer: verdict, surface }, now),
            ButtonAction::AnswerStep(step, verdict) => self.approve(
                &ApprovalReply { selector: format!("step {}", step.0), answer: verdict, surface },
                now,
            ),
            ButtonAction::Ask(_) => refusal_reply("that button has lost its question. ask me in words."),
            ButtonAction::Unknown(name) => {
                refusal_reply(&format!("unknown action: nobody knows what `{name}` does. tell me instead."))
            }
        }
    }

    /// XB-16: sends the question of a button as a message of the user, once.
    fn press_inquiry(
        &mut self,
        surface: SurfaceName,
        on: SentId,
        inquiry: StoredPromptId,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let tx = Transaction::at(now);
        let sent = &self.state.messages.sent;
        if matches!((sent.origin(on, tx.at), &self.state.fork), (OriginLookup::Live(..), Some(_))) {
            return refusal_reply(BUTTON_REFUSED_IN_FORK);
        }
        let asks = |message: &Message| matches!(&message.address, Address::Button(_, id) if *id == inquiry);
        if self.state.messages.waiting.iter().any(asks) {
            return refusal_reply("that was pressed already; it is about to be heard.");
        }
        let Some(asked) = sent.stored_prompt(&inquiry, tx.at) else {
            return refusal_reply("that option has expired, or was used already. ask me again in words.");
        };
        let text = format!("[button] {}", asked.prompt);
        if let Err(full) = self.check_queue() {
            return refusal_reply(&full);
        }
        let id = self.next_message_id();
        let at = tx.at;
        let to = Address::Button(on, inquiry);
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

    /// IF-6, XB-16, XB-17: routes a button's message to its run or to the user's branch. If a fork
    /// was opened meanwhile it is dropped, and the button can be pressed again.
    fn route_button(
        &mut self,
        on: SentId,
        inquiry: &StoredPromptId,
        message: &Message,
        tx: &mut Transaction,
    ) -> Option<Route> {
        let sent = Arc::clone(&self.state.messages.sent);
        let route = match (sent.origin(on, tx.at), &self.state.fork) {
            (OriginLookup::Live(..), Some(_)) => {
                tx.records.push(Record::Message(MessageChange::Dropped(message.id)));
                tx.updates.push(Update::Notice(BUTTON_REFUSED_IN_FORK.to_owned()));
                return None;
            }
            (OriginLookup::Live(origin, end), None) => {
                let branch = self.resume_run_in_fork(origin, end, tx);
                Route { lead: context::FORK_FROM_BUTTON.to_owned(), ..Route::at(branch) }
            }
            (OriginLookup::Expired(_) | OriginLookup::Unknown, _) => Route::at(self.user_branch()),
        };
        // The question was written by the run that made the button.
        let label = sent.stored_prompt(inquiry, tx.at).map_or(Label::PLAIN, |inquiry| inquiry.label);
        if Arc::make_mut(&mut self.state.messages.sent).take_prompt(inquiry).is_some() {
            tx.records.push(Record::from(SentChange::ButtonUsed(inquiry.clone())));
        }
        Some(Route { label: route.label.join(label), ..route })
    }
}

/// XB-18: hides a message; its entry stays.
fn dismiss_message(on: SentId, now: &Zoned) -> (Answer, Vec<Effect>) {
    let mut tx = Transaction::at(now);
    tx.records.push(Record::from(SentChange::MessageHidden(on)));
    tx.updates.push(Update::Side(super::SideUpdate::MessagePutAway(on)));
    (Answer::Done, tx.into_effects())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Event, Request, State, TurnOutcome, TurnOutput, UserMessage};
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Conversation, EntryId, SessionId, Usage};
    use crate::cost::CostSource;
    use crate::rng::Rng;
    use crate::sent_messages::{SentMessages, StoredPrompt};
    use crate::turn::{TurnEnding, TurnId};

    const MAIL: SentId = SentId(5);
    const TEA: SentId = SentId(9);

    fn now() -> Zoned {
        "2026-11-15T08:00[Europe/Madrid]".parse().unwrap()
    }

    /// Returns an assistant with an active turn on main, after two runs have each sent a message;
    /// one has a button.
    fn assistant_with_active_turn() -> Assistant {
        let origin = |id: SentId| {
            let session = SessionId::parse(&format!("session-of-{}", id.0)).unwrap();
            let end = RunEnd {
                source: CostSource::Routine("mail".to_owned()),
                root: None,
                entry: EntryId(id.0),
                label: crate::label::Label::PLAIN,
            };
            MessageOrigin { id, session, parent: None, at: now().timestamp(), end: Some(end) }
        };
        let inquiry = StoredPrompt {
            id: inquiry(),
            prompt: "answer Anna".to_owned(),
            at: now().timestamp(),
            label: crate::label::Label::PLAIN,
        };
        let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(20)));
        memory.messages.sent = Arc::new(SentMessages::new(vec![origin(MAIL), origin(TEA)], vec![inquiry]));
        let mut assistant = Assistant::new(memory, Arc::new([]), ContextWindow::DEFAULT, Rng::new(7));
        assistant.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "tell me a story")), &now());
        assistant
    }

    fn inquiry() -> StoredPromptId {
        StoredPromptId("0a1b2c3d".to_owned())
    }

    fn reply(to: SentId) -> Request {
        let reply_to = Some(ReplyTo { sent_id: to, quote: "so".to_owned() });
        Request::Say(UserMessage { reply_to, ..UserMessage::from_text(SurfaceName::Page, "what?") })
    }

    fn press() -> Request {
        let surface = SurfaceName::Page;
        let action = ButtonAction::AskStored(inquiry());
        Request::Press(ButtonPress { surface, on: MAIL, action })
    }

    fn end_turn(assistant: &mut Assistant, turn: u64) -> Vec<Effect> {
        let left = TurnOutput::Contents(Vec::new());
        let ended = TurnOutcome {
            output: left,
            ending: TurnEnding::Interrupted,
            usage: Usage::default(),
            unrecorded_calls: Vec::new(),
        };
        assistant.on_event(Event::TurnEnded(TurnId(turn), ended), &now())
    }

    fn notices(effects: &[Effect]) -> Vec<&str> {
        let notice = |effect| {
            let &Effect::Show(Update::Notice(ref text)) = effect else { return None };
            Some(text.as_str())
        };
        effects.iter().filter_map(notice).collect()
    }

    fn refusal((answer, _): (Answer, Vec<Effect>)) -> String {
        let Answer::Refused(why) = answer else { panic!("{answer:?} is no refusal") };
        why
    }

    /// IF-6, MT-10: of two waiting replies, the first opens a fork and the second is quoted in it.
    #[test]
    fn second_of_two_waiting_replies_is_quoted_in_the_fork() {
        let mut assistant = assistant_with_active_turn();
        assistant.handle(reply(MAIL), &now());
        assistant.handle(reply(TEA), &now());
        assert!(notices(&end_turn(&mut assistant, 1)).is_empty());
        let fork = assistant.state.fork.clone().unwrap();
        let effects = end_turn(&mut assistant, 2);
        assert!(notices(&effects)[0].contains("added here as context"), "{effects:?}");
        assert_eq!(assistant.state.fork.map(|fork| fork.branch), Some(fork.branch.clone()));
        assert!(assistant.active_turns.contains_key(&fork.branch), "it is answered there");
    }

    /// IF-6, XB-9, XB-16: a waiting button press that finds a fork open does not use up the button.
    #[test]
    fn button_refused_by_an_open_fork_can_be_pressed_again() {
        let mut assistant = assistant_with_active_turn();
        assistant.handle(reply(TEA), &now());
        assert!(matches!(assistant.handle(press(), &now()).0, Answer::MessageQueued(_)));
        assert!(refusal(assistant.handle(press(), &now())).contains("pressed already"));
        end_turn(&mut assistant, 1);
        let effects = end_turn(&mut assistant, 2);
        assert!(notices(&effects)[0].contains("press it again"), "{effects:?}");
        assert!(refusal(assistant.handle(press(), &now())).contains("side conversation already"));
        assistant.handle(Request::Fork(super::super::ForkCommand::Exit(ExitCommand::Drop)), &now());
        assert!(matches!(assistant.handle(press(), &now()).0, Answer::MessageQueued(_)));
        assert!(refusal(assistant.handle(press(), &now())).contains("side conversation already"));
        assert_eq!(
            assistant.state.messages.sent.stored_prompt(&inquiry(), now().timestamp()),
            None,
            "it was asked"
        );
    }
}
