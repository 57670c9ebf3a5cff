//! Formats settings as text, one per line.

use super::{DailyLimit, Setting, Settings, TimeoutSetting};
use crate::cost::BudgetLimit;
use crate::effort::Effort;
use crate::thinking::Thinking;

/// The defaults that are known at run time.
#[derive(Clone, Copy, Debug)]
pub struct SettingDefaults<'a> {
    /// The thinking mode of main.
    pub thinking: Thinking,
    /// The configured daily limit.
    pub limit: BudgetLimit,
    /// The guessed name of the user.
    pub user_name: &'a str,
}

impl Settings {
    /// RC-8: Returns all settings as text.
    pub fn render(&self, usual: &SettingDefaults<'_>) -> String {
        Setting::ALL.map(|setting| setting.render(self, usual)).join("\n")
    }
}

impl Setting {
    /// RC-8: Returns the name and value of a setting.
    pub fn render(self, settings: &Settings, usual: &SettingDefaults<'_>) -> String {
        format!("**{}**: {}", self.display_name(), self.display_value(settings, usual))
    }

    /// Returns the value, and marks it if it is the default.
    pub fn display_value(self, settings: &Settings, usual: &SettingDefaults<'_>) -> String {
        let default = Settings::default();
        let suffix = |is_usual: bool| if is_usual { " (default)" } else { "" };
        let told = |value: String| {
            let is_usual = self.stored_value(settings) == self.stored_value(&default);
            format!("{value}{}", suffix(is_usual))
        };
        match self {
            Self::ModelMain => settings.models.main.clone().unwrap_or_else(|| "(default)".to_owned()),
            Self::ModelFork => settings.models.fork.clone().unwrap_or_else(|| INHERITED.to_owned()),
            Self::ThinkingMain => {
                let way = settings.thinking.main.unwrap_or(usual.thinking);
                format!("{}{}", way.display_text(), suffix(way == usual.thinking))
            }
            Self::ThinkingFork => {
                settings.thinking.fork.map_or_else(|| INHERITED.to_owned(), Thinking::display_text)
            }
            Self::EffortMain => {
                let way = settings.thinking.main.unwrap_or(usual.thinking);
                told(settings.effort.main.unwrap_or_else(|| Effort::for_thinking(way)).to_string())
            }
            Self::EffortBackground => {
                settings.effort.background.map_or_else(|| INHERITED.to_owned(), |effort| effort.to_string())
            }
            Self::Timeout(TimeoutSetting::BgFork) => told(format!("{}s", settings.timeouts.bg_fork_seconds)),
            Self::Timeout(TimeoutSetting::ForkIdle) => {
                told(format!("{}m", settings.timeouts.fork_idle_minutes))
            }
            Self::PermissionMode => told(settings.permission_mode.as_str().to_owned()),
            Self::AutoUpdate => told(if settings.updates.automatic { "on" } else { "off" }.to_owned()),
            Self::AutoUpdateInterval => told(format!("{}m", settings.updates.interval_minutes)),
            Self::AutoUpdateHour => told(format!("{}:00", settings.updates.hour)),
            Self::Notification(calm) => told(calm.display_value(&settings.notifications)),
            Self::DailyLimit => match settings.daily_limit {
                DailyLimit::AsConfigured => told(DailyLimit::from_limit(usual.limit).to_string()),
                limit @ (DailyLimit::Off | DailyLimit::Set(_)) => limit.to_string(),
            },
            Self::Name => told(settings.name.clone().unwrap_or_else(|| usual.user_name.to_owned())),
        }
    }
}

/// The value of a setting that a fork takes from main.
const INHERITED: &str = "(inherit main)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Micros;

    fn usual(thinking: Thinking) -> SettingDefaults<'static> {
        let limit = BudgetLimit { money: Some(Micros(5_000_000)), tokens: Some(5_000_000) };
        SettingDefaults { thinking, limit, user_name: "ann" }
    }

    /// RC-2, RC-8: Settings are listed in order with marked defaults; models are never marked.
    #[test]
    fn settings_are_listed_with_marked_defaults() {
        let told = "**model.main**: (default)
**model.fork**: (inherit main)
**thinking.main**: off (default)
**thinking.fork**: (inherit main)
**effort.main**: low (default)
**effort.background**: (inherit main)
**bg_fork_timeout**: 1800s (default)
**fork_idle_timeout**: 10m (default)
**permission_mode**: default (default)
**auto_update**: off (default)
**auto_update_interval**: 60m (default)
**auto_update_hour**: 6:00 (default)
**quiet**: 22:00-08:00 (default)
**digest**: 08:30 17:30 (default)
**ping_caps**: 6 45 (default)
**follow_up**: 20m (default)
**daily_limit**: $5.00 5M (default)
**name**: ann (default)";
        assert_eq!(Settings::default().render(&usual(Thinking::Off)), told);
    }

    /// RC-8: A changed value is shown without the mark.
    #[test]
    fn changed_setting_shows_its_value() {
        let check = |setting: Setting, typed: &str, told: &str| {
            let mut settings = Settings::default();
            setting.set(&mut settings, typed).unwrap();
            assert_eq!(setting.display_value(&settings, &usual(Thinking::Off)), told);
        };
        check(Setting::ModelMain, "opus", "opus");
        check(Setting::ThinkingMain, "off", "off (default)");
        check(Setting::ThinkingMain, "adaptive", "adaptive");
        check(Setting::ThinkingFork, "32000", "32k budget");
        check(Setting::EffortMain, "high", "high");
        check(Setting::EffortBackground, "low", "low");
        check(Setting::Timeout(TimeoutSetting::BgFork), "90", "90s");
        check(Setting::AutoUpdate, "on", "on");
        check(Setting::AutoUpdateHour, "0", "0:00");
        check(Setting::DailyLimit, "off", "off");
        check(Setting::Name, "Robin", "Robin");
        assert_eq!(
            Setting::ThinkingMain.display_value(&Settings::default(), &usual(Thinking::Adaptive)),
            "adaptive (default)"
        );
        assert_eq!(
            Setting::EffortMain.display_value(&Settings::default(), &usual(Thinking::Adaptive)),
            "medium (default)"
        );
    }
}
