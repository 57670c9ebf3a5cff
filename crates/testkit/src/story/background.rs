//! Background runs in a story, and how the human answers what they send.

use domain::assistant::{Answer, Press, Request, Saying};
use domain::context::message_words;
use domain::conversation::{EntryId, Said};
use domain::embed::Action;
use domain::place::{Aside, Follow};
use domain::record::{MessageId, Reply, SurfaceName};
use domain::run::Job;
use domain::schedule::{Prompt, ToolRule};
use domain::sent::SentId;
use domain::tool::{Outcome, Showing};
use domain::turn::TurnId;
use engine::ports::Journal as _;

use super::Story;

/// A job that forks from main.
pub fn forked(label: &str, prompt: &str) -> Job {
    job(label, Aside::Forked(Follow::Alone), prompt)
}

/// A job that has nothing but its prompt.
pub fn isolated(label: &str, prompt: &str) -> Job {
    job(label, Aside::Isolated(Follow::Alone), prompt)
}

fn job(label: &str, aside: Aside, prompt: &str) -> Job {
    let source = label.parse().expect("a label such as `routine:mail`");
    Job { source, aside, tools: ToolRule::Usual, prompt: Prompt::new(prompt) }
}

impl Story {
    /// A job runs in the background until it ends, unless the program dies of it.
    pub fn background(&mut self, job: Job) -> &mut Self {
        if let Some(turn) = self.run(job) {
            self.while_alive(self.teller.heard_the_end_of_work(turn));
        }
        self
    }

    /// Jobs begin to run in the background, one after the other, and nobody waits.
    pub fn background_begins(&mut self, jobs: impl IntoIterator<Item = Job>) -> &mut Self {
        for job in jobs {
            self.run(job);
        }
        self
    }

    fn run(&mut self, job: Job) -> Option<TurnId> {
        self.teller.tell(format!("-- {} runs: {}", job.source, job.prompt));
        let desk = self.living().desk.clone();
        match self.while_alive(desk.ask(Request::Run(job)))? {
            Answer::Begun(turn) => Some(turn),
            Answer::Refused(why) => {
                self.teller.tell(format!("refused> {why}"));
                None
            }
            answer => panic!("a job was answered with {answer:?}"),
        }
    }

    /// The human replies to the message with this number, and hears the answer.
    pub fn human_replies(&mut self, to: u64, text: &str) -> &mut Self {
        if let Some(message) = self.reply(to, text) {
            self.while_alive(self.teller.heard_the_end_of(message));
        }
        self
    }

    /// The human replies and does not wait.
    pub fn human_adds_reply(&mut self, to: u64, text: &str) -> &mut Self {
        self.reply(to, text);
        self
    }

    fn reply(&mut self, to: u64, text: &str) -> Option<MessageId> {
        let journal = self.living().journal.clone();
        let entry = self.runtime.block_on(journal.entry(EntryId(to))).expect("a journal that can be read");
        let words = entry.map(|entry| message_words(&entry.said)).unwrap_or_default();
        let reply_to = Some(Reply { to: SentId(to), words });
        self.put(Saying { reply_to, ..Saying::words(SurfaceName::Page, text) })
    }

    /// The human presses the button called `label` of the message with this number, and does not wait.
    pub fn human_presses(&mut self, on: u64, label: &str) -> &mut Self {
        self.teller.tell(format!("human> [{label}]"));
        let action = self.button(on, label);
        let desk = self.living().desk.clone();
        let press = Press { surface: SurfaceName::Page, on: SentId(on), action };
        match self.while_alive(desk.ask(Request::Press(press))) {
            None | Some(Answer::Noted | Answer::Heard(_)) => {}
            Some(Answer::Told(text)) => self.teller.tell(format!("told> {text}")),
            Some(Answer::Refused(why)) => self.teller.tell(format!("refused> {why}")),
            Some(answer) => panic!("a button was answered with {answer:?}"),
        }
        self
    }

    /// What the button called `label` of the message `on` sends back when it is pressed.
    fn button(&self, on: u64, label: &str) -> Action {
        let journal = self.living().journal.clone();
        let entry = self.runtime.block_on(journal.entry(EntryId(on))).expect("a journal that can be read");
        let Said::Tools(results) = entry.expect("a message").said else { panic!("entry {on} shows nothing") };
        let buttons = results.into_iter().flat_map(|result| match result.outcome {
            Outcome::Shown(Showing::Embed(embed)) => embed.buttons,
            Outcome::Shown(Showing::Words(_)) | Outcome::Done | Outcome::Failed => Vec::new(),
        });
        let mut buttons = buttons;
        let button = buttons.find(|button| button.label == label).expect("a button");
        let press = button.action.press().expect("a button that can be pressed");
        Action::pressed(&press).expect("an action")
    }
}
