//! Slash commands in a story.

use domain::assistant::{Answer, Question, Request};
use domain::record::SurfaceName;
use engine::commands::obey;
use engine::ports::Clock;

use super::Story;
use super::held::HeldJournal;

/// The maximum number of checks for idleness: a turn that waits for a key never ends.
const LOOKS: usize = 1_000;

impl Story {
    /// Runs a command, such as `/compact`, and waits for the end of the turn that it starts.
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

    /// Runs a command without waiting for the turn that it starts.
    pub fn human_begins_command(&mut self, command: &str) -> &mut Self {
        self.command(command);
        self
    }

    /// Lets the program announce a text and records a refusal.
    pub fn program_announces(&mut self, words: &str) -> &mut Self {
        let desk = self.living().desk.clone();
        if let Some(Answer::Refused(why)) = self.while_alive(desk.ask(Request::Announce(words.to_owned()))) {
            self.teller.tell(format!("refused> {why}"));
        }
        self
    }

    /// Waits until no turn is active and no message can be processed.
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
