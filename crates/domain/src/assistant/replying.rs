//! Replies and buttons: how words of the human find the run that a message came from.
//!
//! Where a message is heard is decided when its turn comes, in one place: whoever came first has opened the
//! fork, and whoever comes second finds it open.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::{Beginning, Way};
use super::{Answer, Assistant, Effect, Minutes, Press, Shown};
use crate::context;
use crate::conversation::{Branch, Head};
use crate::embed::{Action, Exiting};
use crate::record::{Address, Message, MessageChange, Record, Reply, SentChange, SurfaceName};
use crate::sent::{End, Found, Gone, InquiryId, Origin, SentId};
use crate::wish::Asked;

/// A button that cannot be pressed in a side conversation.
const PRESSED_ASIDE: &str = "that button goes on with a background run, and we are in a side conversation already. \
    leave it first (/save, /report or /exit), then press it again.";

impl Assistant {
    /// Where `message` is heard, and what stands before its words there: nothing, if it is not heard at all.
    pub(super) fn arrive(&mut self, message: &Message, minutes: &mut Minutes) -> Option<(Branch, String)> {
        match &message.to {
            Address::Here => Some((self.here(), String::new())),
            Address::Branch(branch) => Some((branch.clone(), String::new())),
            Address::Reply(reply) => Some(self.replied(reply, minutes)),
            Address::Button(on, inquiry) => self.pressed((*on, inquiry), message, minutes),
        }
    }

    /// Whether `message` would be heard on main.
    pub(super) fn is_for_main(&self, message: &Message, minutes: &Minutes) -> bool {
        let here = self.here() == Branch::Main;
        match &message.to {
            Address::Here => here,
            Address::Branch(branch) => *branch == Branch::Main,
            Address::Reply(Reply { to, .. }) | Address::Button(to, _) => {
                here && !matches!(self.memory.messages.sent.origin(*to, minutes.at), Found::Live(..))
            }
        }
    }

    /// Where the human is.
    fn here(&self) -> Branch {
        self.memory.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone())
    }

    /// MT-9 to MT-12: a reply goes on with the run it came from, or quotes what it replies to.
    fn replied(&mut self, reply: &Reply, minutes: &mut Minutes) -> (Branch, String) {
        let sent = Arc::clone(&self.memory.messages.sent);
        let notice = match (sent.origin(reply.to, minutes.at), &self.memory.fork) {
            (Found::Live(origin, end), None) => {
                let branch = self.go_on_with(origin, end, minutes);
                return (branch, context::FORK_RESUMED.to_owned());
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
        (self.here(), context::quotation(&reply.words))
    }

    /// What is quoted before the words of `message` where no run is gone on with.
    pub(super) fn quoted(&self, message: &Message) -> String {
        match &message.to {
            Address::Reply(reply) => context::quotation(&reply.words),
            Address::Here | Address::Branch(_) | Address::Button(..) => String::new(),
        }
    }

    /// IF-13: an interactive fork that continues a run, under its session unless somebody speaks under that now.
    fn go_on_with(&mut self, origin: &Origin, end: &End, minutes: &mut Minutes) -> Branch {
        let taken = self.memory.conversation.branches().any(|(_, head)| head.session == origin.session);
        let session = if taken { self.dice.session() } else { origin.session.clone() };
        let head = Head { entry: Some(end.entry), session };
        let asked = Asked { topic: Some(end.source.to_string()), idle_minutes: None };
        self.open_fork(Beginning { head, root: end.root, asked }, minutes)
    }

    /// The human presses a button.
    pub(super) fn press(&mut self, press: Press, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Press { surface, on, action } = press;
        match action {
            Action::Inquire(inquiry) => self.ask(surface, (on, inquiry), now),
            Action::Dismiss => put_away(on, now),
            Action::Leave(Exiting::Save) => self.leave_asked(Way::Save, now),
            Action::Leave(Exiting::Report) => self.leave_asked(Way::Report(String::new()), now),
            Action::Leave(Exiting::Drop) => self.leave_asked(Way::Drop, now),
            Action::TaskDone(_) | Action::TaskDelete(_) => {
                refused("there is no task list yet. tell me instead.")
            }
            Action::EventDelete(_) => refused("there is no task list or calendar yet. tell me instead."),
            Action::Ask(_) => refused("that button has lost its question. ask me in words."),
            Action::Unknown(name) => {
                refused(&format!("unknown action: nobody knows what `{name}` does. tell me instead."))
            }
        }
    }

    /// XB-16: what a button asks is said by the human, once.
    fn ask(
        &mut self,
        surface: SurfaceName,
        (on, inquiry): (SentId, InquiryId),
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
        let (id, at, to) = (self.next_message(), minutes.at, Address::Button(on, inquiry));
        self.hear(Message { id, at, surface, to, text, images: Vec::new() }, minutes)
    }

    /// IF-6, XB-16, XB-17: the pressed button is heard in its run, or here. If somebody has opened a fork in the
    /// meantime it is not heard, and can be pressed again.
    fn pressed(
        &mut self,
        (on, inquiry): (SentId, &InquiryId),
        message: &Message,
        minutes: &mut Minutes,
    ) -> Option<(Branch, String)> {
        let sent = Arc::clone(&self.memory.messages.sent);
        let (branch, lead) = match (sent.origin(on, minutes.at), &self.memory.fork) {
            (Found::Live(..), Some(_)) => {
                minutes.records.push(Record::Message(MessageChange::Dropped(message.id)));
                minutes.shown.push(Shown::Notice(PRESSED_ASIDE.to_owned()));
                return None;
            }
            (Found::Live(origin, end), None) => {
                (self.go_on_with(origin, end, minutes), context::FORK_PRESSED.to_owned())
            }
            (Found::Expired(_) | Found::Unknown, _) => (self.here(), String::new()),
        };
        if Arc::make_mut(&mut self.memory.messages.sent).take(inquiry).is_some() {
            minutes.records.push(Record::Sent(SentChange::Asked(inquiry.clone())));
        }
        Some((branch, lead))
    }
}

/// XB-18: the message is out of sight from now on. What was said stays said.
fn put_away(on: SentId, now: &Zoned) -> (Answer, Vec<Effect>) {
    let mut minutes = Minutes::at(now);
    minutes.records.push(Record::Sent(SentChange::PutAway(on)));
    minutes.shown.push(Shown::Beside(super::Beside::PutAway(on)));
    (Answer::Noted, minutes.effects())
}

fn refused(why: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why.to_owned()), Vec::new())
}
