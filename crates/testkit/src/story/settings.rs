//! The settings of a story's program: retries, context window, extra tools, reachability and
//! budget.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::sync::{Arc, PoisonError};

use domain::assistant::Assistant;
use domain::compaction::ContextWindow;
use domain::cost::{Budget, Price, Prices};
use domain::retry_policy;
use domain::tool::ToolSpec;
use engine::ports::Clock;
use journal::Journal;

use super::Story;

/// The settings of the program.
pub struct StorySettings {
    /// The retry policy of turns.
    pub retry_policy: retry_policy::RetryLimits,
    /// The context window of the model.
    pub context_window: ContextWindow,
    /// Extra tools that only report success.
    pub extra_tools: Vec<ToolSpec>,
    /// Lines appended to the instructions.
    pub added_instructions: String,
    /// The reachability of the user.
    pub reach: Reachability,
    /// The prices of models and the daily limit for background work.
    pub budget: Budget,
}

/// The reachability of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// Only on open surfaces.
    OnSurfaces,
    /// Also by messages.
    Messages,
}

impl Reachability {
    /// Applies the setting to an assistant.
    pub fn apply(self, assistant: Assistant) -> Assistant {
        match self {
            Self::OnSurfaces => assistant,
            Self::Messages => assistant.with_messages(),
        }
    }
}

impl Default for StorySettings {
    fn default() -> Self {
        let retry_policy = retry_policy::RetryLimits::NONE;
        let context_window = ContextWindow::DEFAULT;
        let extra_tools = Vec::new();
        Self {
            retry_policy,
            context_window,
            extra_tools,
            added_instructions: String::new(),
            reach: Reachability::OnSurfaces,
            budget: Budget::default(),
        }
    }
}

impl Story {
    /// Removes all unused outcomes from the script.
    pub fn clear_script(&mut self) -> &mut Self {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self
    }

    /// Makes the user reachable by messages from the next start on.
    pub fn reachable_by_messages(&mut self) -> &mut Self {
        self.settings.reach = Reachability::Messages;
        self
    }

    /// Restarts with the default retry policy.
    pub fn with_retries(&mut self) -> &mut Self {
        self.settings.retry_policy = retry_policy::RetryLimits::DEFAULT;
        self.restart()
    }

    /// Restarts with a context window of `limit` tokens.
    pub fn with_context_window(&mut self, limit: u64) -> &mut Self {
        self.settings.context_window = ContextWindow { limit, ..ContextWindow::DEFAULT };
        self.restart()
    }

    /// Restarts with a program version whose instructions end with these lines.
    pub fn restart_with_instructions(&mut self, lines: &str) -> &mut Self {
        lines.clone_into(&mut self.settings.added_instructions);
        self.restart()
    }

    /// Restarts with a daily token limit for background work.
    pub fn with_daily_limit(&mut self, tokens: u64) -> &mut Self {
        self.settings.budget.limit.tokens = Some(tokens);
        self.restart()
    }

    /// Restarts with this price for every model.
    pub fn with_price(&mut self, price: Price) -> &mut Self {
        self.settings.budget.prices = Arc::new(Prices::new([(String::new(), price)]));
        self.restart()
    }

    /// Restarts with extra tools that only report success.
    pub fn with_extra_tools(&mut self, tools: &[ToolSpec]) -> &mut Self {
        self.settings.extra_tools = tools.to_vec();
        self.restart()
    }

    /// Returns the budget with the recorded spending.
    pub(super) fn budget(&self, journal: &Journal) -> Budget {
        let days = self.block_on(journal.unattended_days(self.clock.now())).expect("a ledger");
        Budget { days, ..self.settings.budget.clone() }
    }

    fn restart(&mut self) -> &mut Self {
        self.stop();
        self.start();
        self
    }
}
