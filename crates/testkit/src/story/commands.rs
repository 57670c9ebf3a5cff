//! Commands in a story: what the human gives with a slash.

use domain::assistant::Answer;
use domain::record::SurfaceName;
use domain::turn::TurnId;

use super::Story;

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
        let request = domain::command::read_on(SurfaceName::Terminal, command).expect("a command");
        let desk = self.living().desk.clone();
        match self.while_alive(desk.ask(request))? {
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
