//! The settings of a story's program: retries, context window, extra tools, reachability and
//! budget.

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

/// The settings of the program.
pub struct Manner {
    /// The retry policy of turns.
    pub patience: patience::Limits,
    /// The context window of the model.
    pub room: Room,
    /// Extra tools that only report success.
    pub lent: Vec<ToolSpec>,
    /// Lines appended to the instructions.
    pub added_instructions: String,
    /// The reachability of the user.
    pub reach: Reach,
    /// The prices of models and the daily limit for background work.
    pub purse: Purse,
}

/// The reachability of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only on open surfaces.
    Here,
    /// Also by messages.
    Messages,
}

impl Reach {
    /// Applies the setting to an assistant.
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
    /// Removes all unused outcomes from the script.
    pub fn drops_lines(&mut self) -> &mut Self {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self
    }

    /// Makes the user reachable by messages from the next start on.
    pub fn with_messages(&mut self) -> &mut Self {
        self.manner.reach = Reach::Messages;
        self
    }

    /// Restarts with the default retry policy.
    pub fn patient(&mut self) -> &mut Self {
        self.manner.patience = patience::Limits::HOUSE;
        self.born_again()
    }

    /// Restarts with a context window of `limit` tokens.
    pub fn room(&mut self, limit: u64) -> &mut Self {
        self.manner.room = Room { limit, ..Room::HOUSE };
        self.born_again()
    }

    /// Restarts with a program version whose instructions end with these lines.
    pub fn updated_with_instructions(&mut self, lines: &str) -> &mut Self {
        lines.clone_into(&mut self.manner.added_instructions);
        self.born_again()
    }

    /// Restarts with a daily token limit for background work.
    pub fn limited(&mut self, tokens: u64) -> &mut Self {
        self.manner.purse.limit.tokens = Some(tokens);
        self.born_again()
    }

    /// Restarts with this price for every model.
    pub fn priced(&mut self, price: Price) -> &mut Self {
        self.manner.purse.prices = Arc::new(Prices::new([(String::new(), price)]));
        self.born_again()
    }

    /// Restarts with extra tools that only report success.
    pub fn lend(&mut self, tools: &[ToolSpec]) -> &mut Self {
        self.manner.lent = tools.to_vec();
        self.born_again()
    }

    /// Returns the budget with the recorded spending.
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
