//! Background runs in a story, and the user's reactions to their messages.

use domain::assistant::{Answer, ButtonPress, Request, ScheduleCommand, UserMessage};
use domain::card::{CardAction, CardId};
use domain::context::message_text;
use domain::conversation::{Entry, EntryContent, EntryId};
use domain::delivery::Delivery;
use domain::embed::ButtonAction;
use domain::place::{BackgroundPlace, ChainPosition};
use domain::record::{MessageId, ReplyTo, SurfaceName};
use domain::run::Job;
use domain::schedule::{ItemId, PingPermission, Prompt, ReportMode, ReportPolicy, RunOptions};
use domain::sent_messages::SentId;
use domain::tool::{Outcome, ShownContent};
use domain::turn::TurnId;
use engine::ports::{Clock as _, History as _, Journal as _};
use jiff::Timestamp;

use super::Story;
use super::frozen_clock::FrozenClockJournal;

/// Creates a job that forks from main.
pub fn forked_job(label: &str, prompt: &str) -> Job {
    job(label, BackgroundPlace::Forked(ChainPosition::NotInChain), prompt)
}

/// Creates an isolated job.
pub fn isolated_job(label: &str, prompt: &str) -> Job {
    job(label, BackgroundPlace::Isolated(ChainPosition::NotInChain), prompt)
}

fn job(label: &str, aside: BackgroundPlace, prompt: &str) -> Job {
    let source = label.parse().expect("a label such as `routine:mail`");
    let voice = ReportPolicy { reporting: ReportMode::Freely, pings: PingPermission::Allowed };
    let name = label.to_owned();
    let terms = RunOptions { report_policy: voice, ..RunOptions::default() };
    Job { source, name, place: aside, terms, prompt: Prompt::new(prompt) }
}

impl Story {
    /// Runs a job in the background and waits for its end, unless the program crashes.
    pub fn run_in_background(&mut self, job: Job) -> &mut Self {
        if let Some(turn) = self.start_job(job) {
            self.while_alive(self.transcript.wait_for_turn(turn));
        }
        self
    }

    /// Starts jobs in the background, one after the other, without waiting.
    pub fn start_in_background(&mut self, jobs: impl IntoIterator<Item = Job>) -> &mut Self {
        for job in jobs {
            self.start_job(job);
        }
        self
    }

    /// Delivers a webhook call and records the response.
    pub fn deliver_webhook(&mut self, delivery: Delivery) -> &mut Self {
        self.transcript.push_line(format!("-- {} is called", delivery.display_name()));
        self.send_request(Request::Schedule(ScheduleCommand::DeliverWebhook(Box::new(delivery))));
        self
    }

    fn start_job(&mut self, job: Job) -> Option<TurnId> {
        self.transcript.push_line(format!("-- {} runs: {}", job.source, job.prompt));
        let assistant = self.live_program().assistant.clone();
        match self.while_alive(assistant.ask(Request::Schedule(ScheduleCommand::RunJob(job))))? {
            Answer::TurnStarted(turn) => Some(turn),
            Answer::Refused(why) => {
                self.transcript.push_line(format!("refused> {why}"));
                None
            }
            answer @ (Answer::MessageQueued(_)
            | Answer::Rulings(_)
            | Answer::Done
            | Answer::Results(_)
            | Answer::Text(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::OverBudget(_)
            | Answer::Shown(_)) => panic!("a job was answered with {answer:?}"),
        }
    }

    /// Replies to the message with this id and waits for the answer.
    pub fn user_replies(&mut self, to: u64, text: &str) -> &mut Self {
        let reply = self.reply_request(to, text);
        if let Some(message) = self.send_request(reply) {
            self.while_alive(self.transcript.wait_for_answer(message));
        }
        self
    }

    /// Presses the button `label` of the message with this id, without waiting.
    pub fn user_presses(&mut self, on: u64, label: &str) -> &mut Self {
        self.transcript.push_line(format!("human> [{label}]"));
        let press = self.press_request(on, label);
        self.send_request(press);
        self
    }

    /// Acts on the card of the reminder `id`.
    ///
    /// # Panics
    /// If `id` is invalid.
    pub fn user_presses_card(&mut self, id: &str, act: CardAction) -> &mut Self {
        self.transcript.push_line(format!("human> [{act:?}: {id}]"));
        let card = CardId(ItemId::parse(id).expect("the id of a reminder"));
        let action = ButtonAction::Card(card, act);
        self.send_request(Request::Press(ButtonPress { surface: SurfaceName::Page, on: SentId(0), action }));
        self
    }

    /// Returns the cards of rung reminders, newest first: their current text and buttons.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn cards(&self) -> Vec<String> {
        let journal = self.live_program().journal.clone();
        let now = self.clock.now();
        let cards = self.block_on(journal.cards(100)).expect("the cards");
        let describe = |card: &domain::card::Card| {
            let sheet = card.body(&now);
            let labels: Vec<&str> = sheet.buttons.iter().map(|button| button.label.as_str()).collect();
            format!("{} [{}]", sheet.text, labels.join("] ["))
        };
        cards.iter().map(describe).collect()
    }

    /// Returns the rung reminders, newest first: text and time.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn rung_reminders(&self) -> Vec<(String, Timestamp)> {
        let journal = self.live_program().journal.clone();
        let cards = self.block_on(journal.cards(1_000)).expect("the cards");
        cards.into_iter().map(|card| (card.task, card.rang_at)).collect()
    }

    /// Replies and waits until the answer has begun.
    pub fn user_begins_reply(&mut self, to: u64, text: &str) -> &mut Self {
        let reply = self.reply_request(to, text);
        if let Some(message) = self.send_request(reply) {
            self.while_alive(self.transcript.wait_for_text_of(message));
        }
        self
    }

    /// Builds a reply to the message with this id.
    fn reply_request(&self, to: u64, text: &str) -> Request {
        let words = self.entry(to).map(|entry| message_text(&entry.content)).unwrap_or_default();
        let reply_to = Some(ReplyTo { sent_id: SentId(to), quote: words });
        Request::Say(UserMessage { reply_to, ..UserMessage::from_text(SurfaceName::Page, text) })
    }

    /// Builds a press of the button `label` of the message with this id.
    fn press_request(&self, on: u64, label: &str) -> Request {
        let action = self.button_action(on, label);
        Request::Press(ButtonPress { surface: SurfaceName::Page, on: SentId(on), action })
    }

    fn send_request(&mut self, request: Request) -> Option<MessageId> {
        let assistant = self.live_program().assistant.clone();
        let answer = self.while_alive(assistant.ask(request))?;
        self.record_answer(answer)
    }

    fn record_answer(&self, answer: Answer) -> Option<MessageId> {
        match answer {
            Answer::MessageQueued(message) => return Some(message),
            Answer::Done => {}
            Answer::Text(text) => self.transcript.push_line(format!("told> {text}")),
            Answer::Refused(why) => self.transcript.push_line(format!("refused> {why}")),
            answer @ (Answer::TurnStarted(_)
            | Answer::Rulings(_)
            | Answer::Results(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::OverBudget(_)
            | Answer::Shown(_)) => {
                panic!("the human was answered with {answer:?}")
            }
        }
        None
    }

    fn entry(&self, id: u64) -> Option<Entry> {
        let journal = self.live_program().journal.clone();
        let entry = async { FrozenClockJournal(journal).entry(EntryId(id)).await };
        self.block_on(entry).expect("a journal that can be read")
    }

    /// Returns the action of the button `label` of the message `on`.
    fn button_action(&self, on: u64, label: &str) -> ButtonAction {
        let EntryContent::Tools(results) = self.entry(on).expect("a message").content else {
            panic!("entry {on} shows nothing")
        };
        let buttons = results.into_iter().flat_map(|result| match result.outcome {
            Outcome::Shown(ShownContent::Embed(embed)) => embed.buttons,
            Outcome::Shown(ShownContent::Text(_)) | Outcome::Done | Outcome::Failed | Outcome::Denied => {
                Vec::new()
            }
        });
        let mut buttons = buttons;
        let button = buttons.find(|button| button.label == label).expect("a button");
        let press = button.action.button_id().expect("a button that can be pressed");
        ButtonAction::from_button_id(&press).expect("an action")
    }
}
