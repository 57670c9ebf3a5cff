//! Background runs in a story, and the user's reactions to their messages.

use domain::assistant::{Answer, Planning, Press, Request, Saying};
use domain::card::{Act, CardId};
use domain::context::message_words;
use domain::conversation::{Entry, EntryId, Said};
use domain::delivery::Delivery;
use domain::embed::Action;
use domain::place::{Aside, Follow};
use domain::record::{MessageId, ReplyTo, SurfaceName};
use domain::run::Job;
use domain::schedule::{ItemId, Pings, Prompt, Reporting, Terms, Voice};
use domain::sent::SentId;
use domain::tool::{Outcome, Showing};
use domain::turn::TurnId;
use engine::ports::{Clock as _, History as _, Journal as _};
use jiff::Timestamp;

use super::Story;
use super::held::HeldJournal;

/// Creates a job that forks from main.
pub fn forked(label: &str, prompt: &str) -> Job {
    job(label, Aside::Forked(Follow::Alone), prompt)
}

/// Creates an isolated job.
pub fn isolated(label: &str, prompt: &str) -> Job {
    job(label, Aside::Isolated(Follow::Alone), prompt)
}

fn job(label: &str, aside: Aside, prompt: &str) -> Job {
    let source = label.parse().expect("a label such as `routine:mail`");
    let voice = Voice { reporting: Reporting::Freely, pings: Pings::Allowed };
    let name = label.to_owned();
    let terms = Terms { voice, ..Terms::default() };
    Job { source, name, aside, terms, prompt: Prompt::new(prompt) }
}

impl Story {
    /// Runs a job in the background and waits for its end, unless the program crashes.
    pub fn background(&mut self, job: Job) -> &mut Self {
        if let Some(turn) = self.run(job) {
            self.while_alive(self.teller.heard_the_end_of_work(turn));
        }
        self
    }

    /// Starts jobs in the background, one after the other, without waiting.
    pub fn background_begins(&mut self, jobs: impl IntoIterator<Item = Job>) -> &mut Self {
        for job in jobs {
            self.run(job);
        }
        self
    }

    /// Delivers a webhook call and records the response.
    pub fn is_called(&mut self, delivery: Delivery) -> &mut Self {
        self.teller.tell(format!("-- {} is called", delivery.name()));
        self.ask(Request::Plan(Planning::Deliver(Box::new(delivery))));
        self
    }

    fn run(&mut self, job: Job) -> Option<TurnId> {
        self.teller.tell(format!("-- {} runs: {}", job.source, job.prompt));
        let desk = self.living().desk.clone();
        match self.while_alive(desk.ask(Request::Plan(Planning::Do(job))))? {
            Answer::Begun(turn) => Some(turn),
            Answer::Refused(why) => {
                self.teller.tell(format!("refused> {why}"));
                None
            }
            answer @ (Answer::Heard(_)
            | Answer::Decided(_)
            | Answer::Noted
            | Answer::Results(_)
            | Answer::Told(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Overspent(_)
            | Answer::Shown(_)) => panic!("a job was answered with {answer:?}"),
        }
    }

    /// Replies to the message with this id and waits for the answer.
    pub fn human_replies(&mut self, to: u64, text: &str) -> &mut Self {
        let reply = self.replying(to, text);
        if let Some(message) = self.ask(reply) {
            self.while_alive(self.teller.heard_the_end_of(message));
        }
        self
    }

    /// Presses the button `label` of the message with this id, without waiting.
    pub fn human_presses(&mut self, on: u64, label: &str) -> &mut Self {
        self.teller.tell(format!("human> [{label}]"));
        let press = self.pressing(on, label);
        self.ask(press);
        self
    }

    /// Acts on the card of the reminder `id`.
    ///
    /// # Panics
    /// If `id` is invalid.
    pub fn human_presses_card(&mut self, id: &str, act: Act) -> &mut Self {
        self.teller.tell(format!("human> [{act:?}: {id}]"));
        let card = CardId(ItemId::parse(id).expect("the id of a reminder"));
        let action = Action::Card(card, act);
        self.ask(Request::Press(Press { surface: SurfaceName::Page, on: SentId(0), action }));
        self
    }

    /// Returns the cards of rung reminders, newest first: their current text and buttons.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn cards(&self) -> Vec<String> {
        let journal = self.living().journal.clone();
        let now = self.clock.now();
        let cards = self.at_once(journal.cards(100)).expect("the cards");
        let told = |card: &domain::card::Card| {
            let sheet = card.sheet(&now);
            let labels: Vec<&str> = sheet.buttons.iter().map(|button| button.label.as_str()).collect();
            format!("{} [{}]", sheet.words, labels.join("] ["))
        };
        cards.iter().map(told).collect()
    }

    /// Returns the rung reminders, newest first: text and time.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn rang(&self) -> Vec<(String, Timestamp)> {
        let journal = self.living().journal.clone();
        let cards = self.at_once(journal.cards(1_000)).expect("the cards");
        cards.into_iter().map(|card| (card.words, card.rang)).collect()
    }

    /// Replies and waits until the answer has begun.
    pub fn human_begins_reply(&mut self, to: u64, text: &str) -> &mut Self {
        let reply = self.replying(to, text);
        if let Some(message) = self.ask(reply) {
            self.while_alive(self.teller.heard_a_word_of(message));
        }
        self
    }

    /// Builds a reply to the message with this id.
    fn replying(&self, to: u64, text: &str) -> Request {
        let words = self.entry(to).map(|entry| message_words(&entry.said)).unwrap_or_default();
        let reply_to = Some(ReplyTo { to: SentId(to), words });
        Request::Say(Saying { reply_to, ..Saying::words(SurfaceName::Page, text) })
    }

    /// Builds a press of the button `label` of the message with this id.
    fn pressing(&self, on: u64, label: &str) -> Request {
        let action = self.button(on, label);
        Request::Press(Press { surface: SurfaceName::Page, on: SentId(on), action })
    }

    fn ask(&mut self, request: Request) -> Option<MessageId> {
        let desk = self.living().desk.clone();
        let answer = self.while_alive(desk.ask(request))?;
        self.answered(answer)
    }

    fn answered(&self, answer: Answer) -> Option<MessageId> {
        match answer {
            Answer::Heard(message) => return Some(message),
            Answer::Noted => {}
            Answer::Told(text) => self.teller.tell(format!("told> {text}")),
            Answer::Refused(why) => self.teller.tell(format!("refused> {why}")),
            answer @ (Answer::Begun(_)
            | Answer::Decided(_)
            | Answer::Results(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Overspent(_)
            | Answer::Shown(_)) => {
                panic!("the human was answered with {answer:?}")
            }
        }
        None
    }

    fn entry(&self, id: u64) -> Option<Entry> {
        let journal = self.living().journal.clone();
        let entry = async { HeldJournal(journal).entry(EntryId(id)).await };
        self.at_once(entry).expect("a journal that can be read")
    }

    /// Returns the action of the button `label` of the message `on`.
    fn button(&self, on: u64, label: &str) -> Action {
        let Said::Tools(results) = self.entry(on).expect("a message").said else {
            panic!("entry {on} shows nothing")
        };
        let buttons = results.into_iter().flat_map(|result| match result.outcome {
            Outcome::Shown(Showing::Embed(embed)) => embed.buttons,
            Outcome::Shown(Showing::Words(_)) | Outcome::Done | Outcome::Failed | Outcome::Denied => {
                Vec::new()
            }
        });
        let mut buttons = buttons;
        let button = buttons.find(|button| button.label == label).expect("a button");
        let press = button.action.press().expect("a button that can be pressed");
        Action::pressed(&press).expect("an action")
    }
}
