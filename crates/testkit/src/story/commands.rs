//! Commands in a story: what the human gives with a slash.

use domain::assistant::{Answer, Question, Request};
use domain::record::SurfaceName;
use engine::commands::obey;
use engine::ports::Clock;

use super::Story;
use super::held::HeldJournal;

/// How often to look whether anybody still speaks: who waits for a key never ends.
const LOOKS: usize = 1_000;

impl Story {
    /// The human gives a command, such as `/compact`, and waits for the end of the work that it begins.
    pub fn human_commands(&mut self, command: &str) -> &mut Self {
        match self.command(command) {
            Some(Answer::Begun(turn)) => drop(self.while_alive(self.teller.heard_the_end_of_work(turn))),
            Some(Answer::Told(text)) => self.teller.tell(format!("told> {text}")),
            Some(
                Answer::Refused(_)
                | Answer::Heard(_)
                | Answer::Decided(_)
                | Answer::Plans(_)
                | Answer::Numbers(_)
                | Answer::Attention(_)
                | Answer::Overspent(_)
                | Answer::Noted
                | Answer::Results(_)
                | Answer::Shown(_),
            )
            | None => {}
        }
        self
    }

    /// The human gives a command and goes on; what it begins is told as it happens.
    pub fn human_begins_command(&mut self, command: &str) -> &mut Self {
        self.command(command);
        self
    }

    /// The program has something to say of itself, and hears whether that is written down.
    pub fn program_announces(&mut self, words: &str) -> &mut Self {
        let desk = self.living().desk.clone();
        if let Some(Answer::Refused(why)) = self.while_alive(desk.ask(Request::Announce(words.to_owned()))) {
            self.teller.tell(format!("refused> {why}"));
        }
        self
    }

    /// Waits until nobody speaks and nothing waits that could be heard.
    pub fn rest(&mut self) -> &mut Self {
        for _ in 0..LOOKS {
            let Some(living) = &self.house else { return self };
            let desk = living.desk.clone();
            let answer = self.while_alive(desk.ask(Request::Tell(Question::Status)));
            match answer {
                Some(Answer::Told(text))
                    if text.contains("messages waiting: 0.") && self.teller.is_quiet() =>
                {
                    break;
                }
                Some(_) => self.runtime.block_on(tokio::task::yield_now()),
                None => break,
            }
        }
        self
    }

    fn command(&mut self, command: &str) -> Option<Answer> {
        self.teller.tell(format!("human> {command}"));
        let desk = self.living().desk.clone();
        let journal = HeldJournal(self.living().journal.clone());
        let said = (SurfaceName::Terminal, command);
        let answer = self.while_alive(obey(said, &desk, &journal, self.clock.now()))?;
        if let Answer::Refused(why) = &answer {
            self.teller.tell(format!("refused> {why}"));
        }
        Some(answer)
    }
}
