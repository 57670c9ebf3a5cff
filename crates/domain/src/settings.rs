//! Settings: what the human can change while the program runs, and what each is when nothing was said.

mod calm;
mod daily_limit;
mod setting;
mod telling;

pub use calm::CalmSetting;
pub use daily_limit::DailyLimit;
pub use setting::{BadSetting, Given, Setting, Wait};
pub use telling::Usual;

use crate::attention::Calm;
use crate::effort::Effort;
use crate::permission::Mode;
use crate::phrase::Habits;
use crate::thinking::Thinking;

/// RC-2: everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Who answers.
    pub models: Models,
    /// How much is thought before an answer.
    pub thinking: Thoughts,
    /// How much work goes into an answer.
    pub effort: Efforts,
    /// When to stop waiting.
    pub timeouts: Timeouts,
    /// What may be done without asking.
    pub permission_mode: Mode,
    /// Whether and when the program renews itself.
    pub updates: Updates,
    /// When and how often the human is reached.
    pub calm: Calm,
    /// What work nobody waits for may cost in a day.
    pub daily_limit: DailyLimit,
    /// What the human wants to be called; nothing, for what was guessed.
    pub name: Option<String>,
}

impl Settings {
    /// What the human's words for times of day mean: they are awake when it is not quiet.
    pub fn habits(&self) -> Habits {
        self.calm.quiet.habits()
    }
}

/// Who answers, by the name that the human uses: nothing, for the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// In the main conversation.
    pub main: Option<String>,
    /// In forks; nothing, for the one of main.
    pub fork: Option<String>,
}

/// How much is thought before an answer, where the human said so.
///
/// A fork thinks as main does, unless it is told otherwise. Anthropic reads nothing of the conversation from its
/// cache when a request thinks in another way than the one that wrote it, so a fork that thought in a way of its
/// own would pay for the whole conversation again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thoughts {
    /// In the main conversation.
    pub main: Option<Thinking>,
    /// In forks; nothing, for as much as in main.
    pub fork: Option<Thinking>,
}

/// How much work the model puts into an answer, where the user said so.
///
/// Background runs use the effort of the main conversation unless told otherwise, and have no default of their own:
/// Anthropic caches what was said per effort and way to think, so a run that forks from the main conversation with
/// another effort pays for reading all of it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Efforts {
    /// In the main conversation and in side conversations; if not set, it follows the way to think.
    pub main: Option<Effort>,
    /// In background runs; if not set, that of main.
    pub background: Option<Effort>,
}

/// When to stop waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a background fork, in seconds.
    pub bg_fork_seconds: u32,
    /// For the human in a fork, in minutes.
    pub fork_idle_minutes: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { bg_fork_seconds: 1800, fork_idle_minutes: crate::fork::IDLE_MINUTES }
    }
}

/// Whether and when the program renews itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updates {
    /// Whether it does.
    pub automatic: bool,
    /// How often it looks, in minutes.
    pub interval_minutes: u32,
    /// The hour of the day.
    pub hour: u32,
}

impl Default for Updates {
    fn default() -> Self {
        Self { automatic: false, interval_minutes: 60, hour: 6 }
    }
}
