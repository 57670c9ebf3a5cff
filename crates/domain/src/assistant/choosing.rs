//! Choosing: which model answers from the next turn on.

use jiff::Zoned;

use super::{Answer, Assistant, Effect};
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

    /// The vendor's id of the model for the next turn, wherever it is: forks follow main.
    pub(super) fn model(&self) -> Option<String> {
        self.choices.id(self.memory.chosen.model.as_deref()).map(str::to_owned)
    }
}
