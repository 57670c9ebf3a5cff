//! Commands in a story: what the human gives with a slash.

use domain::assistant::Answer;
use domain::turn::TurnId;
use engine::commands::obey;
use engine::ports::Clock;

use super::Story;
use super::held::HeldJournal;

impl Story {
    /// The human gives a command, such as `/compact`, and waits for the end of the work that it begins.
    pub fn human_commands(&mut self, command: &str) -> &mut Self {
        if let Some(turn) = self.command(command) {
            self.while_alive(self.teller.heard_the_end_of_work(turn));
        }
        self
    }

    /// The human gives a command and does not wait.
    pub fn human_begins_command(&mut self, command: &str) -> &mut Self {
        self.command(command);
        self
    }

    fn command(&mut self, command: &str) -> Option<TurnId> {
        self.teller.tell(format!("human> {command}"));
        let (desk, journal) = (self.living().desk.clone(), HeldJournal(self.living().journal.clone()));
        match self.while_alive(obey(command, &desk, &journal, self.clock.now()))? {
            Answer::Begun(turn) => return Some(turn),
            Answer::Told(text) => self.teller.tell(format!("told> {text}")),
            Answer::Refused(why) => self.teller.tell(format!("refused> {why}")),
            Answer::Heard(_)
            | Answer::Decided(_)
            | Answer::Overspent(_)
            | Answer::Noted
            | Answer::Shown(_) => {}
        }
        None
    }
}
