//! How the house of a story is made: how patient it is, how much room it has, and which tools were lent to it.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::sync::{Arc, PoisonError};

use domain::assistant::Assistant;
use domain::compaction::Room;
use domain::cost::{Price, Prices, Purse};
use domain::patience;
use domain::tool::ToolSpec;
use engine::ports::Clock;
use journal::Journal;

use super::Story;

/// How a house is made.
pub struct Manner {
    /// How patient a turn is with the model.
    pub patience: patience::Limits,
    /// How much the model reads at once.
    pub room: Room,
    /// Tools that only say that they did their work.
    pub lent: Vec<ToolSpec>,
    /// Lines after the instructions.
    pub added_instructions: String,
    /// Where the human is reached.
    pub reach: Reach,
    /// What models cost, and what work that nobody waits for may cost in a day.
    pub purse: Purse,
}

/// Where the human is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Where they look.
    Here,
    /// By messages too.
    Messages,
}

impl Reach {
    /// The same assistant, which reaches the human so.
    pub fn of(self, assistant: Assistant) -> Assistant {
        match self {
            Self::Here => assistant,
            Self::Messages => assistant.reaching(),
        }
    }
}

impl Default for Manner {
    fn default() -> Self {
        let patience = patience::Limits::NONE;
        let room = Room::HOUSE;
        let lent = Vec::new();
        Self {
            patience,
            room,
            lent,
            added_instructions: String::new(),
            reach: Reach::Here,
            purse: Purse::default(),
        }
    }
}

impl Story {
    /// What the model was to say and has not said yet is forgotten.
    pub fn drops_lines(&mut self) -> &mut Self {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self
    }

    /// From the next start on the human can be reached by messages, too.
    pub fn with_messages(&mut self) -> &mut Self {
        self.manner.reach = Reach::Messages;
        self
    }

    /// From now on a model that fails is tried again, as often as the house allows.
    pub fn patient(&mut self) -> &mut Self {
        self.manner.patience = patience::Limits::HOUSE;
        self.born_again()
    }

    /// From now on the model reads only so many tokens at once.
    pub fn room(&mut self, limit: u64) -> &mut Self {
        self.manner.room = Room { limit, ..Room::HOUSE };
        self.born_again()
    }

    /// Restarts with a version of the program whose instructions have these lines at their end.
    pub fn updated_with_instructions(&mut self, lines: &str) -> &mut Self {
        lines.clone_into(&mut self.manner.added_instructions);
        self.born_again()
    }

    /// From now on work that nobody waits for may use so many tokens a day.
    pub fn limited(&mut self, tokens: u64) -> &mut Self {
        self.manner.purse.limit.tokens = Some(tokens);
        self.born_again()
    }

    /// From now on every model has these prices.
    pub fn priced(&mut self, price: Price) -> &mut Self {
        self.manner.purse.prices = Arc::new(Prices::new([(String::new(), price)]));
        self.born_again()
    }

    /// From now on the model has these tools too. They only say that they did their work.
    pub fn lend(&mut self, tools: &[ToolSpec]) -> &mut Self {
        self.manner.lent = tools.to_vec();
        self.born_again()
    }

    /// What may be spent, and what was.
    pub(super) fn purse(&self, journal: &Journal) -> Purse {
        let days = self.at_once(journal.days(self.clock.now())).expect("a ledger");
        Purse { days, ..self.manner.purse.clone() }
    }

    fn born_again(&mut self) -> &mut Self {
        self.die();
        self.wake();
        self
    }
}
