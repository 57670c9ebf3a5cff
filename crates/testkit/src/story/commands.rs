//! Commands in a story: what the human gives with a slash.

use domain::assistant::Answer;

use super::Story;

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
                | Answer::Overspent(_)
                | Answer::Noted
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

    fn command(&mut self, command: &str) -> Option<Answer> {
        self.teller.tell(format!("human> {command}"));
        let request = domain::command::read(command).expect("a command");
        let desk = self.living().desk.clone();
        let answer = self.while_alive(desk.ask(request))?;
        if let Answer::Refused(why) = &answer {
            self.teller.tell(format!("refused> {why}"));
        }
        Some(answer)
    }
}
