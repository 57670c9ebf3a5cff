//! Replies and buttons: routes a message to the run whose message it answers.
//!
//! The route is determined only when the message's turn starts: of two replies, the first opens the
//! fork and the second is quoted in it.

use std::sync::Arc;

use jiff::Zoned;

use super::chores::Chore;
use super::forking::{Beginning, refused};
use super::leaving::Way;
use super::{Answer, Assistant, Effect, Minutes, Press, Shown};
use crate::approval::Reply;
use crate::context;
use crate::conversation::{Branch, Head};
use crate::embed::{Action, Exiting};
use crate::fork::Entering;
use crate::label::Label;
use crate::record::{Address, Message, MessageChange, MessageId, Record, ReplyTo, SentChange, SurfaceName};
use crate::sent::{End, Found, Gone, InquiryId, Origin, SentId};

/// Refusal of a button that resumes a run while a fork is open.
const PRESSED_ASIDE: &str = "that button goes on with a background run, and we are in a side conversation already. \
    leave it first (/save, /report or /exit), then press it again.";

/// The branch for a message.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) branch: Branch,
    /// Text of the assistant to put before it.
    pub(super) lead: String,
    /// Label of `lead`, and of text that the user did not write.
    pub(super) label: Label,
}

impl Arrival {
    /// A route to `branch` without a lead.
    pub(super) fn at(branch: Branch) -> Self {
        Self { branch, lead: String::new(), label: Label::PLAIN }
    }
}

impl Assistant {
    /// Returns the route of `message`, or `None` if it is dropped. May open a fork.
    pub(super) fn arrive(&mut self, message: &Message, minutes: &mut Minutes) -> Option<Arrival> {
        match &message.to {
            Address::Here => Some(Arrival::at(self.here())),
            Address::Branch(branch) => Some(Arrival::at(branch.clone())),
            Address::Reply(reply) => Some(self.replied(reply, minutes)),
            Address::Button(on, inquiry) => self.pressed(*on, inquiry, message, minutes),
        }
    }

    /// Returns the branch that `message` would go to now, or `None` if it resumes a run in a new
    /// fork.
    pub(super) fn branch_of(&self, message: &Message, minutes: &Minutes) -> Option<Branch> {
        match &message.to {
            Address::Here => Some(self.here()),
            Address::Branch(branch) => Some(branch.clone()),
            Address::Reply(ReplyTo { to, .. }) | Address::Button(to, _) => {
                let goes_on = matches!(self.memory.messages.sent.origin(*to, minutes.at), Found::Live(..));
                (!goes_on || self.memory.fork.is_some()).then(|| self.here())
            }
        }
    }

    /// MT-7: removes origins older than seven days.
    fn prune_sent(&mut self, minutes: &mut Minutes) {
        if self.memory.messages.sent.has_old(minutes.at)
            && Arc::make_mut(&mut self.memory.messages.sent).prune(minutes.at)
        {
            minutes.records.push(Record::from(SentChange::Pruned(minutes.at)));
        }
    }

    /// MT-9 to MT-12: resumes the run that the reply belongs to, or quotes the message.
    fn replied(&mut self, reply: &ReplyTo, minutes: &mut Minutes) -> Arrival {
        let sent = Arc::clone(&self.memory.messages.sent);
        self.prune_sent(minutes);
        let notice = match (sent.origin(reply.to, minutes.at), &self.memory.fork) {
            (Found::Live(origin, end), None) => {
                let branch = self.go_on_with(origin, end, minutes);
                return Arrival { lead: context::FORK_RESUMED.to_owned(), ..Arrival::at(branch) };
            }
            (Found::Live(..), Some(_)) => {
                Some("we are in a side conversation already, so your reply is added here as context instead.")
            }
            (Found::Expired(Gone::Old), _) => {
                Some("the session of that message has expired, so i quote it as context instead.")
            }
            (Found::Expired(Gone::Elsewhere), _) => Some(
                "i don't know the session of that message: it has expired for me, so i quote it instead.",
            ),
            (Found::Unknown, _) => None,
        };
        minutes.shown.extend(notice.map(|text| Shown::Notice(text.to_owned())));
        let (lead, label) = self.quotation(reply);
        Arrival { branch: self.here(), lead, label }
    }

    /// Returns the quotation for `reply` with its label. Outside text is in a data block.
    fn quotation(&mut self, reply: &ReplyTo) -> (String, Label) {
        let running = self.memory.turns.runs.values().find(|run| run.sent.contains(&reply.to));
        let label = running.map(|run| self.label_of(&run.branch));
        let label = label.or_else(|| self.memory.messages.sent.label(reply.to)).unwrap_or(Label::PLAIN);
        let quotation = context::quotation(&reply.words);
        if label.is_tainted() && !quotation.is_empty() {
            let block = context::data_block(&self.dice.id8(), &context::sources(label), &quotation);
            return (format!("{block}\n\n"), label);
        }
        (quotation, label)
    }

    /// Returns the quotation for `message`, if it is a reply that resumes no run.
    pub(super) fn quoted(&mut self, message: &Message) -> (String, Label) {
        match &message.to {
            Address::Reply(reply) => self.quotation(reply),
            Address::Here | Address::Branch(_) | Address::Button(..) => (String::new(), Label::PLAIN),
        }
    }

    /// IF-13, RP-27: opens an interactive fork that continues a run, under the run's session id
    /// unless that is in use or belongs to a persistent routine.
    fn go_on_with(&mut self, origin: &Origin, end: &End, minutes: &mut Minutes) -> Branch {
        let spoken = self.memory.conversation.branches().any(|(_, head)| head.session == origin.session);
        let kept = self.memory.plans.sessions.values().any(|stand| stand.session == origin.session);
        let taken = spoken || kept;
        let session = if taken { self.dice.session() } else { origin.session.clone() };
        let head = Head { entry: Some(end.entry), session, label: end.label };
        let topic = Some(end.source.to_string());
        let entering = Entering { topic, idle_minutes: None, until: MessageId(0) };
        self.open_fork(Beginning { head, root: end.root, entering }, minutes)
    }

    /// Handles a button press.
    pub(super) fn press(&mut self, press: Press, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Press { surface, on, action } = press;
        match action {
            Action::Inquire(inquiry) => self.inquire(surface, on, inquiry, now),
            Action::Dismiss => put_away(on, now),
            Action::Dislike => self.disliked(on, now),
            Action::Leave(Exiting::Save) => self.leave_asked(Way::Save, now),
            Action::Leave(Exiting::Report) => self.leave_asked(Way::Report(String::new()), now),
            Action::Leave(Exiting::Drop) => self.leave_asked(Way::Drop, now),
            Action::TaskDone(id) => self.press_chore(surface, on, Chore::TaskDone, &id, now),
            Action::TaskDelete(id) => self.press_chore(surface, on, Chore::TaskDelete, &id, now),
            Action::EventDelete(id) => self.press_chore(surface, on, Chore::EventDelete, &id, now),
            Action::Card(card, act) => self.card_pressed(surface, &card, act, now),
            Action::Posted(key, act) => match self.memory.messages.cards.posted(&key).cloned() {
                Some(card) => self.card_pressed(surface, &card, act, now),
                None => refused("that is no reminder."),
            },
            Action::Answer(approval, verdict) => {
                self.approve(&Reply { which: approval.0.to_string(), verdict, by: surface }, now)
            }
            Action::AnswerStep(step, verdict) => {
                self.approve(&Reply { which: format!("step {}", step.0), verdict, by: surface }, now)
            }
            Action::Ask(_) => refused("that button has lost its question. ask me in words."),
            Action::Unknown(name) => {
                refused(&format!("unknown action: nobody knows what `{name}` does. tell me instead."))
            }
        }
    }

    /// XB-16: sends the question of a button as a message of the user, once.
    fn inquire(
        &mut self,
        surface: SurfaceName,
        on: SentId,
        inquiry: InquiryId,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let minutes = Minutes::at(now);
        let sent = &self.memory.messages.sent;
        if matches!((sent.origin(on, minutes.at), &self.memory.fork), (Found::Live(..), Some(_))) {
            return refused(PRESSED_ASIDE);
        }
        let asks = |message: &Message| matches!(&message.to, Address::Button(_, id) if *id == inquiry);
        if self.memory.messages.waiting.iter().any(asks) {
            return refused("that was pressed already; it is about to be heard.");
        }
        let Some(asked) = sent.inquiry(&inquiry, minutes.at) else {
            return refused("that option has expired, or was used already. ask me again in words.");
        };
        let text = format!("[button] {}", asked.prompt);
        if let Err(full) = self.has_room() {
            return refused(&full);
        }
        let id = self.next_message();
        let at = minutes.at;
        let to = Address::Button(on, inquiry);
        self.hear(
            Message { id, at, surface, to, text, images: Vec::new(), mark: None, label: Label::PLAIN },
            minutes,
        )
    }

    /// IF-6, XB-16, XB-17: routes a button's message to its run or to the user's branch. If a fork
    /// was opened meanwhile it is dropped, and the button can be pressed again.
    fn pressed(
        &mut self,
        on: SentId,
        inquiry: &InquiryId,
        message: &Message,
        minutes: &mut Minutes,
    ) -> Option<Arrival> {
        let sent = Arc::clone(&self.memory.messages.sent);
        let arrival = match (sent.origin(on, minutes.at), &self.memory.fork) {
            (Found::Live(..), Some(_)) => {
                minutes.records.push(Record::Message(MessageChange::Dropped(message.id)));
                minutes.shown.push(Shown::Notice(PRESSED_ASIDE.to_owned()));
                return None;
            }
            (Found::Live(origin, end), None) => {
                let branch = self.go_on_with(origin, end, minutes);
                Arrival { lead: context::FORK_PRESSED.to_owned(), ..Arrival::at(branch) }
            }
            (Found::Expired(_) | Found::Unknown, _) => Arrival::at(self.here()),
        };
        // The question was written by the run that made the button.
        let label = sent.inquiry(inquiry, minutes.at).map_or(Label::PLAIN, |inquiry| inquiry.label);
        if Arc::make_mut(&mut self.memory.messages.sent).take(inquiry).is_some() {
            minutes.records.push(Record::from(SentChange::Asked(inquiry.clone())));
        }
        Some(Arrival { label: arrival.label.join(label), ..arrival })
    }
}

/// XB-18: hides a message; its entry stays.
fn put_away(on: SentId, now: &Zoned) -> (Answer, Vec<Effect>) {
    let mut minutes = Minutes::at(now);
    minutes.records.push(Record::from(SentChange::PutAway(on)));
    minutes.shown.push(Shown::Aside(super::Aside::PutAway(on)));
    (Answer::Noted, minutes.effects())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Ended, Event, Left, Memory, Request, Saying};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Conversation, EntryId, SessionId, Usage};
    use crate::cost::Source;
    use crate::dice::Dice;
    use crate::sent::{Inquiry, Sent};
    use crate::turn::{Ending, TurnId};

    const MAIL: SentId = SentId(5);
    const TEA: SentId = SentId(9);

    fn now() -> Zoned {
        "2026-11-15T08:00[Europe/Madrid]".parse().unwrap()
    }

    /// Returns an assistant with an active turn on main, after two runs have each sent a message;
    /// one has a button.
    fn speaking() -> Assistant {
        let origin = |id: SentId| {
            let session = SessionId::read(&format!("session-of-{}", id.0)).unwrap();
            let end = End {
                source: Source::Routine("mail".to_owned()),
                root: None,
                entry: EntryId(id.0),
                label: crate::label::Label::PLAIN,
            };
            Origin { id, session, parent: None, at: now().timestamp(), end: Some(end) }
        };
        let inquiry = Inquiry {
            id: inquiry(),
            prompt: "answer Anna".to_owned(),
            at: now().timestamp(),
            label: crate::label::Label::PLAIN,
        };
        let mut memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(20)));
        memory.messages.sent = Arc::new(Sent::new(vec![origin(MAIL), origin(TEA)], vec![inquiry]));
        let mut assistant = Assistant::new(memory, Arc::new([]), Room::HOUSE, Dice::new(7));
        assistant.asked(Request::Say(Saying::words(SurfaceName::Page, "tell me a story")), &now());
        assistant
    }

    fn inquiry() -> InquiryId {
        InquiryId("0a1b2c3d".to_owned())
    }

    fn reply(to: SentId) -> Request {
        let reply_to = Some(ReplyTo { to, words: "so".to_owned() });
        Request::Say(Saying { reply_to, ..Saying::words(SurfaceName::Page, "what?") })
    }

    fn press() -> Request {
        let surface = SurfaceName::Page;
        let action = Action::Inquire(inquiry());
        Request::Press(Press { surface, on: MAIL, action })
    }

    fn ends(assistant: &mut Assistant, turn: u64) -> Vec<Effect> {
        let left = Left::Said(Vec::new());
        let ended = Ended { left, ending: Ending::Interrupted, usage: Usage::default(), spent: Vec::new() };
        assistant.on(Event::TurnEnded(TurnId(turn), ended), &now())
    }

    fn notices(effects: &[Effect]) -> Vec<&str> {
        let notice = |effect| {
            let &Effect::Show(Shown::Notice(ref text)) = effect else { return None };
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
    fn of_two_replies_that_wait_the_second_finds_the_fork_open() {
        let mut assistant = speaking();
        assistant.asked(reply(MAIL), &now());
        assistant.asked(reply(TEA), &now());
        assert!(notices(&ends(&mut assistant, 1)).is_empty());
        let fork = assistant.memory.fork.clone().unwrap();
        let effects = ends(&mut assistant, 2);
        assert!(notices(&effects)[0].contains("added here as context"), "{effects:?}");
        assert_eq!(assistant.memory.fork.map(|fork| fork.branch), Some(fork.branch.clone()));
        assert!(assistant.running.contains_key(&fork.branch), "it is answered there");
    }

    /// IF-6, XB-9, XB-16: a waiting button press that finds a fork open does not use up the button.
    #[test]
    fn a_button_that_finds_a_fork_open_can_be_pressed_again() {
        let mut assistant = speaking();
        assistant.asked(reply(TEA), &now());
        assert!(matches!(assistant.asked(press(), &now()).0, Answer::Heard(_)));
        assert!(refusal(assistant.asked(press(), &now())).contains("pressed already"));
        ends(&mut assistant, 1);
        let effects = ends(&mut assistant, 2);
        assert!(notices(&effects)[0].contains("press it again"), "{effects:?}");
        assert!(refusal(assistant.asked(press(), &now())).contains("side conversation already"));
        assistant.asked(Request::Step(super::super::Step::Back(Way::Drop)), &now());
        assert!(matches!(assistant.asked(press(), &now()).0, Answer::Heard(_)));
        assert!(refusal(assistant.asked(press(), &now())).contains("side conversation already"));
        assert_eq!(
            assistant.memory.messages.sent.inquiry(&inquiry(), now().timestamp()),
            None,
            "it was asked"
        );
    }
}
