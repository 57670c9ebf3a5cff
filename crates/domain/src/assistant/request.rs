//! Requests to the assistant, from surfaces and from active turns, and the receipt of messages.

use jiff::Zoned;

use super::leaving::Way;
use super::{
    Assistant, Effect, Errand, IMAGES, MESSAGE_CHARS, MESSAGES_WAITING, Minutes, Owed, Plans, Running,
    StateEdit,
};
use crate::approval::Reply;
use crate::attention::{Attention, Ease};
use crate::command::is_secret;
use crate::compaction::Room;
use crate::conversation::{Block, Image};
use crate::cost::{Call, Limit, Next, Refusal, Source};
use crate::delivery::Delivery;
use crate::effort::EffortChoice;
use crate::embed::Action;
use crate::inbox::KeptId;
use crate::label::Label;
use crate::permission::Ruling;
use crate::ping_budget::{Pace, PingBudget};
use crate::record::{Address, Mark, Message, MessageChange, MessageId, Record, ReplyTo, SurfaceName};
use crate::renewal::Renewal;
use crate::report::ReportId;
use crate::run::Job;
use crate::schedule::Rest;
use crate::sent::SentId;
use crate::settings::Setting;
use crate::thinking::Thinking;
use crate::tool::{ServerKinds, Showing, ToolResult};
use crate::turn::TurnId;
use crate::wish::Wish;

/// A request whose sender waits for the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A message of the user.
    Say(Saying),
    /// Stops or retries the active turn.
    Rein(Rein),
    /// Compacts, undoes or clears the main conversation.
    Reshape(Reshape),
    /// Enters or exits a fork.
    Step(Step),
    /// A request of an active turn.
    Turn(TurnId, Progress),
    /// Changes the inbox.
    Inbox(Shelf),
    /// Answers an approval.
    Approve(Reply),
    /// Reads state.
    Tell(Question),
    /// Changes a setting.
    Choose(Choice),
    /// A button press.
    Press(Press),
    /// Changes plans, or runs jobs.
    Plan(Planning),
    /// A notice of the daemon itself, acknowledged once it is written where the user will find it.
    Announce(String),
    /// Other programs changed these state files.
    StateFiles(Vec<StateEdit>),
}

/// A command about the active turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rein {
    Stop,
    /// Retries a blocked turn.
    Retry,
}

/// A command about plans and jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planning {
    /// Runs this job now.
    Do(Job),
    /// Fires this plan now.
    Now(Source),
    /// Pauses or resumes this plan.
    Rest(Source, Rest),
    /// Applies a text to the plans.
    Words(String),
    /// Applies a text to the plans, or else stores it in the inbox.
    Capture(String),
    /// Creates a reminder from its text and its time.
    Remind(String, String),
    /// Accepts a webhook delivery.
    Deliver(Box<Delivery>),
}

/// A command about the inbox and pending updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelf {
    Keep(String),
    Remove(KeptId),
    /// Marks a pending update as read by the user, so that main does not read it.
    Read(ReportId),
}

/// A command about the main conversation as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reshape {
    /// Replaces the conversation by a summary, with these instructions.
    Compact(String),
    /// Undoes the last such change.
    Undo,
    /// Starts over.
    Clear,
}

/// A fork command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Enters a fork, on this topic.
    Aside(String),
    /// Returns to main.
    Back(Way),
}

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The pending updates.
    Reports,
    /// The inbox.
    Inbox,
    /// A status text.
    Status,
    /// Counts for status displays.
    Numbers,
    /// The attention state, and deferred messages.
    Attention,
    /// Plans and their open occurrences.
    Plans,
    /// All settings.
    Settings,
    /// One setting.
    Setting(Setting),
    /// Whether the daemon may check for an update, install it, or restart.
    MayRenew(Renewal),
}

/// A command that changes a setting. Without a value, most of them show the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The model.
    Model(String),
    /// The thinking mode, until the next start.
    Thinking(Option<Thinking>),
    /// The effort, until the next start.
    Effort(EffortChoice),
    /// Any setting in the configuration.
    Setting(Setting, String),
    /// The pace of pings.
    Pings(Pace),
    /// The permission mode.
    Permissions(String),
    /// Revokes a standing approval by its number.
    Revoke(String),
    /// Quiet, focus and lighter-day commands.
    Ease(Ease),
}

/// A request of an active turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Asks to run the tool calls of the model's reply.
    MayRun {
        blocks: Vec<Block>,
        /// Model calls since the last request.
        spent: Vec<Call>,
        /// Kinds of the called servers' tools, as accepted by the user.
        kinds: ServerKinds,
        /// How many calls may run within the turn's limit; the others are answered with an error.
        most: usize,
    },
    /// An unattended turn asks for one more model call, and reports those it has made.
    MaySpend(Vec<Call>, Next),
    /// An unattended turn reports the model calls it has made.
    Spent(Vec<Call>),
    /// Asks for a web search at the model's vendor, which uses at most these calls.
    MaySearch(Vec<Call>),
    /// Reports the end of that search.
    Searched {
        /// The calls announced with `MaySearch`.
        announced: Vec<Call>,
        /// The calls made.
        spent: Vec<Call>,
    },
    /// Reports the results of its tool calls.
    Ran(Vec<ToolResult>),
    /// Asks to run this program for a skill that the turn loads.
    MayRunProgram(Vec<String>),
    /// Calls a tool whose effect depends on the turn's context.
    Wishes(Wish),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// The surface it was sent on.
    pub surface: SurfaceName,
    pub text: String,
    pub images: Vec<Image>,
    /// The message it replies to, if any.
    pub reply_to: Option<ReplyTo>,
    /// Its identity on another surface, if it may be delivered twice.
    pub mark: Option<Mark>,
}

impl Saying {
    /// Creates a message without pictures.
    pub fn words(surface: SurfaceName, text: &str) -> Self {
        Self { surface, text: text.to_owned(), images: Vec::new(), reply_to: None, mark: None }
    }
}

/// A button press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Press {
    pub surface: SurfaceName,
    /// The message with the button.
    pub on: SentId,
    pub action: Action,
}

/// Counts and limits for status displays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Number of pending updates.
    pub updates: usize,
    /// Number of inbox items.
    pub inbox: usize,
    /// The ping budget.
    pub pings: PingBudget,
    /// Context size in tokens of the last call on the user's branch; `None` before the first call.
    pub filled: Option<u64>,
    /// The context window.
    pub room: Room,
    /// Daily limit of unattended work.
    pub limit: Limit,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The message is on disk, with this id.
    Heard(MessageId),
    /// Work has started or is queued, as this turn.
    Begun(TurnId),
    /// Rulings on the requested calls.
    Decided(Vec<Ruling>),
    /// Done, and on disk.
    Noted,
    /// The recorded results, as the model reads them.
    Results(Vec<ToolResult>),
    /// A text.
    Told(String),
    /// A copy of the plans; it shares unchanged parts.
    Plans(Box<Plans>),
    Numbers(Numbers),
    Attention(Box<Attention>),
    /// Refused, because the daily limit is reached.
    Overspent(Refusal),
    /// Shown to the user, with this content.
    Shown(Showing),
    /// Refused, with the reason and the remedy.
    Refused(String),
}

impl Assistant {
    pub(super) fn say(&mut self, saying: Saying, now: &Zoned) -> (Answer, Vec<Effect>) {
        // P6: a message delivered twice is accepted once.
        if saying.mark.is_some_and(|mark| self.memory.messages.heard.contains(&mark)) {
            return (Answer::Noted, Vec::new());
        }
        if let Err(refusal) = check(&saying).and_then(|()| self.has_room()) {
            return (Answer::Refused(refusal), Vec::new());
        }
        let minutes = Minutes::at(now);
        let Saying { surface, text, images, reply_to, mark } = saying;
        let to = reply_to.map_or(Address::Here, Address::Reply);
        self.memory.messages.remember_links(&text);
        let id = self.next_message();
        let at = minutes.at;
        self.hear(Message { id, at, surface, to, text, images, mark, label: Label::PLAIN }, minutes)
    }

    pub(super) fn next_message(&mut self) -> MessageId {
        let id = self.memory.messages.next;
        self.memory.messages.next = MessageId(id.0 + 1);
        id
    }

    /// Records and queues a message of the user, which is answered once no turn is active.
    pub(super) fn hear(&mut self, message: Message, mut minutes: Minutes) -> (Answer, Vec<Effect>) {
        let id = message.id;
        minutes.records.push(Record::Message(MessageChange::Received(message.clone())));
        self.memory.messages.remember(message.mark);
        let recalled = self.recall_try(&message, &minutes);
        self.memory.messages.waiting.push_back(message);
        self.cued_by_talk(&mut minutes);
        self.wait_no_longer(&mut minutes);
        let interrupt = match self.speaking().map(|(_, running)| running) {
            // MC-7: a compaction is not interrupted.
            Some(Running { errand: Errand::Compact(_), .. }) => {
                self.hurry(&mut minutes);
                None
            }
            Some(Running { owed: Owed::SinceBefore, .. }) => {
                self.hurry(&mut minutes);
                recalled.map(Effect::Interrupt)
            }
            Some(Running { turn, owed: Owed::Now, .. }) => Some(Effect::Interrupt(*turn)),
            Some(Running { owed: Owed::Held, .. }) => {
                self.stand_in_for_waiting(&mut minutes);
                if self.memory.messages.waiting.iter().any(|waiting| waiting.id == id) {
                    self.try_held(&mut minutes);
                }
                None
            }
            None => {
                // A background run may be blocked.
                self.try_held(&mut minutes);
                self.hear_waiting(&mut minutes);
                None
            }
        };
        (Answer::Heard(id), minutes.effects().into_iter().chain(interrupt).collect())
    }

    pub(super) fn has_room(&self) -> Result<(), String> {
        let human = |message: &&Message| message.surface != SurfaceName::House;
        if self.memory.messages.waiting.iter().filter(human).count() < MESSAGES_WAITING {
            Ok(())
        } else {
            Err(format!("{MESSAGES_WAITING} messages are waiting already. Let me answer those first."))
        }
    }

    pub(super) fn stop(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        match self.speaking().map(|(branch, running)| (branch.clone(), running.clone())) {
            Some((branch, held)) if held.owed == Owed::Held => {
                (Answer::Noted, self.let_go(&branch, &held, now))
            }
            Some((_, running)) => {
                let mut minutes = Minutes::at(now);
                self.cancel_waiting(&mut minutes);
                let interrupt = Effect::Interrupt(running.turn);
                (Answer::Noted, minutes.effects().into_iter().chain([interrupt]).collect())
            }
            None => (Answer::Refused("nothing is running.".to_owned()), Vec::new()),
        }
    }
}

fn check(saying: &Saying) -> Result<(), String> {
    let words = saying.text.trim();
    let pictures = saying.images.len();
    if words.is_empty() && pictures == 0 {
        return Err("there are no words in that message.".to_owned());
    }
    // It would be stored, and read by a model.
    if is_secret(words) {
        return Err(
            "that is a code to sign in with, and i keep none. paste it alone, not as a reply.".to_owned()
        );
    }
    if pictures > IMAGES {
        return Err(format!("that message has {pictures} pictures and the most i look at is {IMAGES}."));
    }
    let length = saying.text.chars().count();
    if length > MESSAGE_CHARS {
        return Err(format!(
            "that message has {length} characters and the most i take at once is {MESSAGE_CHARS}. send it in parts."
        ));
    }
    Ok(())
}
