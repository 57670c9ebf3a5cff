//! Choosing: which model answers from the next turn on.

use jiff::Zoned;

use super::{Answer, Assistant, Effect};
use crate::permission::Mode;
use crate::record::Record;

impl Assistant {
    /// MC-26: the human asks which model answers, or wants another one. A turn that goes on ends with the model
    /// it began with.
    pub(super) fn choose_model(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        if typed.trim().is_empty() {
            return (Answer::Told(self.choices.tell(self.memory.chosen.model.as_deref())), Vec::new());
        }
        match self.choices.read(typed) {
            Err(why) => (Answer::Refused(why), Vec::new()),
            Ok(chosen) => {
                self.memory.chosen.model = chosen.clone();
                let told = format!("from the next answer on, {}", self.choices.tell(chosen.as_deref()));
                (Answer::Told(told), vec![Effect::Write(vec![Record::Model(chosen, now.timestamp())])])
            }
        }
    }

    /// SL-11, MC-28: the human asks what is done without asking, or wants it otherwise: in the side conversation
    /// that is open, or everywhere else. It is not kept for the next start.
    pub(super) fn choose_mode(&mut self, typed: &str) -> (Answer, Vec<Effect>) {
        let modes = &mut self.memory.chosen.modes;
        let (here, now) = match &self.memory.fork {
            Some(_) => ("in this side conversation", modes.fork.unwrap_or(modes.main)),
            None => ("from now on", modes.main),
        };
        if typed.is_empty() {
            let text = format!("the mode is `{}`: {}. {}", now.as_str(), now.meaning(), other_modes());
            return (Answer::Told(text), Vec::new());
        }
        let Some(mode) = Mode::named(typed) else {
            return (Answer::Refused(format!("`{typed}` is no mode. {}", other_modes())), Vec::new());
        };
        match &self.memory.fork {
            Some(_) => modes.fork = Some(mode),
            None => modes.main = mode,
        }
        (Answer::Told(format!("{here} the mode is `{}`: {}.", mode.as_str(), mode.meaning())), Vec::new())
    }

    /// The vendor's id of the model for the next turn, wherever it is: forks follow main.
    pub(super) fn model(&self) -> Option<String> {
        self.choices.id(self.memory.chosen.model.as_deref()).map(str::to_owned)
    }
}

fn other_modes() -> String {
    let names: Vec<String> = Mode::ALL.iter().map(|mode| format!("`{}`", mode.as_str())).collect();
    format!("the modes are {}.", names.join(", "))
}
