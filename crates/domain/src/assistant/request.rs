//! What can be asked of the assistant: by the human at a surface, and by a running turn.

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

/// Something that is asked, by somebody who waits for the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The human says something.
    Say(Saying),
    /// The human takes the reins of what is being answered.
    Rein(Rein),
    /// The human wants the main conversation in another shape.
    Reshape(Reshape),
    /// The human wants to step aside, or back.
    Step(Step),
    /// A turn gets on.
    Turn(TurnId, Progress),
    /// Something changes in the inbox.
    Inbox(Shelf),
    /// The human says yes or no to what we asked for.
    Approve(Reply),
    /// Somebody wants to know something.
    Tell(Question),
    /// The human chooses.
    Choose(Choice),
    /// The human presses a button.
    Press(Press),
    /// Something is wanted of what is planned.
    Plan(Planning),
    /// The program has this to say of itself, and waits until it is written down where the human will find it.
    Announce(String),
    /// Other programs changed these state files.
    StateFiles(Vec<StateEdit>),
}

/// What the human can want of an answer that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rein {
    /// It is to stop.
    Stop,
    /// If it waits for a key, it is to be tried again.
    Retry,
}

/// What can be wanted of what is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planning {
    /// To do this job now.
    Do(Job),
    /// To keep a time of this plan now, whatever its clock says.
    Now(Source),
    /// To let this plan rest so.
    Rest(Source, Rest),
    /// What these words say.
    Words(String),
    /// What these words say, or to keep them: none of them is lost.
    Capture(String),
    /// To be reminded of this, at the time that the second words say.
    Remind(String, String),
    /// To take in what was brought to a webhook.
    Deliver(Box<Delivery>),
}

/// What can change in the inbox, and in what background runs left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Keep this.
    Keep(String),
    /// Take this out for good.
    Remove(KeptId),
    /// The human has read this report, so main need not be told of it.
    Read(ReportId),
}

/// What can be done to the main conversation as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reshape {
    /// A summary stands for what was said, with these wishes in mind.
    Compact(String),
    /// The last such change is taken back.
    Undo,
    /// It starts over.
    Clear,
}

/// Into a side conversation and out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Aside, to talk about this.
    Aside(String),
    /// Back to main.
    Back(Way),
}

/// What can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What waits to be told?
    Reports,
    /// What is in the inbox?
    Inbox,
    /// How is it going?
    Status,
    /// How much waits?
    Numbers,
    /// How is the human's attention spared, and what waits because of it?
    Attention,
    /// What is planned, and what is being done about it?
    Plans,
    /// What is set?
    Settings,
    /// What is this set to?
    Setting(Setting),
    /// May the program look for a newer one of itself, or become it, or end?
    MayRenew(Renewal),
}

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This model from now on; to know which it is, if no name is given.
    Model(String),
    /// To think so much from now on; to know how much it is, if nothing is given.
    Thinking(Option<Thinking>),
    /// Another effort from now on.
    Effort(EffortChoice),
    /// To set this to that.
    Setting(Setting, String),
    /// This pace of pings; to know how many are left, if nothing is given.
    Pings(Pace),
    /// What is done without asking; to know what that is, if no mode is given.
    Permissions(String),
    /// That something is not allowed always any more, by its number; to know what is, if none is given.
    Revoke(String),
    /// That less reaches them.
    Ease(Ease),
}

/// How a turn gets on.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// It wants to run the tools that the model called in its reply.
    MayRun {
        /// The reply.
        blocks: Vec<Block>,
        /// The calls of the model since the last time.
        spent: Vec<Call>,
        /// The kinds of the tools of servers among the called tools, as the user accepted them.
        kinds: ServerKinds,
        /// How many of the calls may run, by the limit of the turn. The rest is answered with an error.
        most: usize,
    },
    /// It is one that nobody waits for, and wants to call the model once more, after these calls.
    MaySpend(Vec<Call>, Next),
    /// It is one that nobody waits for, and has made these calls.
    Spent(Vec<Call>),
    /// A tool of it wants to search at the model's vendor, which uses at most these calls.
    MaySearch(Vec<Call>),
    /// That search has ended.
    Searched {
        /// The calls that were announced with `MaySearch`.
        announced: Vec<Call>,
        /// The calls that were made.
        spent: Vec<Call>,
    },
    /// It tells what came of its tools.
    Ran(Vec<ToolResult>),
    /// It loads a skill, which wants to run the program of these words.
    MayRunProgram(Vec<String>),
    /// It wants something that depends on where it runs.
    Wishes(Wish),
}

/// Words of the human, and what they show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// Where they say it.
    pub surface: SurfaceName,
    /// The words.
    pub text: String,
    /// The pictures.
    pub images: Vec<Image>,
    /// The message they reply to, if they do.
    pub reply_to: Option<ReplyTo>,
    /// What the other side knows them by, if it may tell them twice.
    pub mark: Option<Mark>,
}

impl Saying {
    /// Words alone.
    pub fn words(surface: SurfaceName, text: &str) -> Self {
        Self { surface, text: text.to_owned(), images: Vec::new(), reply_to: None, mark: None }
    }
}

/// A button that the human pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Press {
    /// Where they did.
    pub surface: SurfaceName,
    /// The message it belongs to.
    pub on: SentId,
    /// What pressing it means.
    pub action: Action,
}

/// How much waits for the human.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// What background runs left.
    pub updates: usize,
    /// What is in the inbox.
    pub inbox: usize,
    /// How many pings are left.
    pub pings: PingBudget,
    /// How many tokens the last call held where the human is: nothing, before the first one.
    pub filled: Option<u64>,
    /// How many there is room for.
    pub room: Room,
    /// What work nobody waits for may cost in a day.
    pub limit: Limit,
}

/// What the asker hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The message is on disk, under this number.
    Heard(MessageId),
    /// Work began, or will as soon as nobody speaks; it is shown under this number.
    Begun(TurnId),
    /// These calls may run, or not, or the human is asked.
    Decided(Vec<Ruling>),
    /// It is on disk.
    Noted,
    /// The results are on disk, as the model is to read them.
    Results(Vec<ToolResult>),
    /// In words.
    Told(String),
    /// What is planned: a copy, which shares what did not change since.
    Plans(Box<Plans>),
    /// How much waits.
    Numbers(Numbers),
    /// How the human's attention is spared, and what waits because of it.
    Attention(Box<Attention>),
    /// No: the limit of the day is reached.
    Overspent(Refusal),
    /// This is shown to the human, with the tool's result.
    Shown(Showing),
    /// No, and what would be right.
    Refused(String),
}

impl Assistant {
    pub(super) fn say(&mut self, saying: Saying, now: &Zoned) -> (Answer, Vec<Effect>) {
        // P6: what is told twice is heard once.
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

    /// The number of the next message.
    pub(super) fn next_message(&mut self) -> MessageId {
        let id = self.memory.messages.next;
        self.memory.messages.next = MessageId(id.0 + 1);
        id
    }

    /// Words of the human: they are on disk, and heard as soon as nobody speaks.
    pub(super) fn hear(&mut self, message: Message, mut minutes: Minutes) -> (Answer, Vec<Effect>) {
        let id = message.id;
        minutes.records.push(Record::Message(MessageChange::Received(message.clone())));
        self.memory.messages.remember(message.mark);
        let recalled = self.recall_try(&message, &minutes);
        self.memory.messages.waiting.push_back(message);
        self.cued_by_talk(&mut minutes);
        self.wait_no_longer(&mut minutes);
        let interrupt = match self.speaking().map(|(_, running)| running) {
            // MC-7: who compacts is not interrupted.
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
                // A background run may wait for a key.
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
    // It would be kept, and read by a model.
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
