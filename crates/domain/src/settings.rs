//! Settings that the user can change while the program runs, and their defaults.

mod daily_limit;
mod display;
mod notifications;
mod setting;

pub use daily_limit::DailyLimit;
pub use display::SettingDefaults;
pub use notifications::NotificationSetting;
pub use setting::{InvalidSetting, Setting, SettingValue, TimeoutSetting};

use crate::attention::NotificationSettings;
use crate::effort::Effort;
use crate::permission::Mode;
use crate::phrase::Habits;
use crate::thinking::Thinking;

/// RC-2: All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub models: ModelSettings,
    pub thinking: ThinkingSettings,
    pub effort: EffortSettings,
    pub timeouts: Timeouts,
    /// The permission mode.
    pub permission_mode: Mode,
    pub updates: UpdateSettings,
    pub notifications: NotificationSettings,
    /// The daily limit of unattended work.
    pub daily_limit: DailyLimit,
    /// The name of the user; `None` means the guessed name.
    pub name: Option<String>,
}

impl Settings {
    /// Returns the hours of the user's words for times of day, which are outside of quiet hours.
    pub fn habits(&self) -> Habits {
        self.notifications.quiet_hours.habits()
    }
}

/// The chosen models by name; `None` means the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// In the main conversation.
    pub main: Option<String>,
    /// In forks; `None` means the model of main.
    pub fork: Option<String>,
}

/// The chosen thinking modes.
///
/// A fork thinks like main by default. Anthropic's cache depends on the thinking mode, so a fork
/// with another mode pays for the whole conversation again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThinkingSettings {
    /// The thinking mode of the main conversation.
    pub main: Option<Thinking>,
    /// The thinking mode of forks; `None` means the mode of main.
    pub fork: Option<Thinking>,
}

/// The chosen efforts.
///
/// Background runs use the effort of main by default. Anthropic's cache depends on effort and
/// thinking mode, so a fork of main with another effort pays for the whole conversation again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffortSettings {
    /// In main and in forks; `None` means that it follows from the thinking mode.
    pub main: Option<Effort>,
    /// In background runs; `None` means the effort of main.
    pub background: Option<Effort>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout of a background run in seconds.
    pub bg_fork_seconds: u32,
    /// The idle timeout of a fork in minutes.
    pub fork_idle_minutes: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { bg_fork_seconds: 1800, fork_idle_minutes: crate::fork::IDLE_MINUTES }
    }
}

/// Automatic updates of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateSettings {
    pub automatic: bool,
    /// The interval between checks in minutes.
    pub interval_minutes: u32,
    /// The hour of the day at which an update is installed.
    pub hour: u32,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self { automatic: false, interval_minutes: 60, hour: 6 }
    }
}
