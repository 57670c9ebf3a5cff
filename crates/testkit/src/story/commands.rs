//! Slash commands in a story.

use domain::assistant::{Answer, Query, Request};
use domain::record::SurfaceName;
use engine::commands::execute;
use engine::ports::Clock;

use super::Story;
use super::frozen_clock::FrozenClockJournal;

/// The maximum number of checks for idleness: a turn that waits for a key never ends.
const MAX_CHECKS: usize = 1_000;

impl Story {
    /// Runs a command, such as `/compact`, and waits for the end of the turn that it starts.
    pub fn user_commands(&mut self, command: &str) -> &mut Self {
        match self.run_command(command) {
            Some(Answer::TurnStarted(turn)) => drop(self.while_alive(self.transcript.wait_for_turn(turn))),
            Some(Answer::Text(text)) => self.transcript.push_line(format!("told> {text}")),
            Some(
                Answer::Refused(_)
                | Answer::MessageQueued(_)
                | Answer::Rulings(_)
                | Answer::Plans(_)
                | Answer::Numbers(_)
                | Answer::Attention(_)
                | Answer::OverBudget(_)
                | Answer::Done
                | Answer::Results(_)
                | Answer::Shown(_),
            )
            | None => {}
        }
        self
    }

    /// Runs a command without waiting for the turn that it starts.
    pub fn user_begins_command(&mut self, command: &str) -> &mut Self {
        self.run_command(command);
        self
    }

    /// Lets the program announce a text and records a refusal.
    pub fn program_announces(&mut self, text: &str) -> &mut Self {
        let assistant = self.live_program().assistant.clone();
        if let Some(Answer::Refused(reason)) =
            self.while_alive(assistant.ask(Request::Announce(text.to_owned())))
        {
            self.transcript.push_line(format!("refused> {reason}"));
        }
        self
    }

    /// Waits until no turn is active and no message can be processed.
    pub fn wait_until_idle(&mut self) -> &mut Self {
        for _ in 0..MAX_CHECKS {
            let Some(program) = &self.program else { return self };
            let assistant = program.assistant.clone();
            let answer = self.while_alive(assistant.ask(Request::Query(Query::Status)));
            match answer {
                Some(Answer::Text(text))
                    if text.contains("messages waiting: 0.") && self.transcript.is_idle() =>
                {
                    break;
                }
                Some(_) => self.runtime.block_on(tokio::task::yield_now()),
                None => break,
            }
        }
        self
    }

    fn run_command(&mut self, command: &str) -> Option<Answer> {
        self.transcript.push_line(format!("human> {command}"));
        let assistant = self.live_program().assistant.clone();
        let journal = FrozenClockJournal(self.live_program().journal.clone());
        let said = (SurfaceName::Terminal, command);
        let answer = self.while_alive(execute(said, &assistant, &journal, self.clock.now()))?;
        if let Answer::Refused(reason) = &answer {
            self.transcript.push_line(format!("refused> {reason}"));
        }
        Some(answer)
    }
}
