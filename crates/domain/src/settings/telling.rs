//! Formats settings as text, one per line.

use super::{DailyLimit, Setting, Settings, Wait};
use crate::cost::Limit;
use crate::effort::Effort;
use crate::thinking::Thinking;

/// The defaults that are known at run time.
#[derive(Clone, Copy, Debug)]
pub struct Usual<'a> {
    /// The thinking mode of main.
    pub thinking: Thinking,
    /// The configured daily limit.
    pub limit: Limit,
    /// The guessed name of the user.
    pub human: &'a str,
}

impl Settings {
    /// RC-8: Returns all settings as text.
    pub fn tell(&self, usual: &Usual<'_>) -> String {
        Setting::ALL.map(|setting| setting.tell(self, usual)).join("\n")
    }
}

impl Setting {
    /// RC-8: Returns the name and value of a setting.
    pub fn tell(self, settings: &Settings, usual: &Usual<'_>) -> String {
        format!("**{}**: {}", self.shown(), self.value(settings, usual))
    }

    /// Returns the value, and marks it if it is the default.
    pub fn value(self, settings: &Settings, usual: &Usual<'_>) -> String {
        let default = Settings::default();
        let suffix = |is_usual: bool| if is_usual { " (default)" } else { "" };
        let told = |value: String| {
            let is_usual = self.given(settings) == self.given(&default);
            format!("{value}{}", suffix(is_usual))
        };
        match self {
            Self::ModelMain => settings.models.main.clone().unwrap_or_else(|| "(default)".to_owned()),
            Self::ModelFork => settings.models.fork.clone().unwrap_or_else(|| INHERITED.to_owned()),
            Self::ThinkingMain => {
                let way = settings.thinking.main.unwrap_or(usual.thinking);
                format!("{}{}", way.shown(), suffix(way == usual.thinking))
            }
            Self::ThinkingFork => {
                settings.thinking.fork.map_or_else(|| INHERITED.to_owned(), Thinking::shown)
            }
            Self::EffortMain => {
                let way = settings.thinking.main.unwrap_or(usual.thinking);
                told(settings.effort.main.unwrap_or_else(|| Effort::for_thinking(way)).to_string())
            }
            Self::EffortBackground => {
                settings.effort.background.map_or_else(|| INHERITED.to_owned(), |effort| effort.to_string())
            }
            Self::Timeout(Wait::BgFork) => told(format!("{}s", settings.timeouts.bg_fork_seconds)),
            Self::Timeout(Wait::ForkIdle) => told(format!("{}m", settings.timeouts.fork_idle_minutes)),
            Self::PermissionMode => told(settings.permission_mode.as_str().to_owned()),
            Self::AutoUpdate => told(if settings.updates.automatic { "on" } else { "off" }.to_owned()),
            Self::AutoUpdateInterval => told(format!("{}m", settings.updates.interval_minutes)),
            Self::AutoUpdateHour => told(format!("{}:00", settings.updates.hour)),
            Self::Calm(calm) => told(calm.tell(&settings.calm)),
            Self::DailyLimit => match settings.daily_limit {
                DailyLimit::AsWritten => told(DailyLimit::saying(usual.limit).to_string()),
                limit @ (DailyLimit::Off | DailyLimit::Set(_)) => limit.to_string(),
            },
            Self::Name => told(settings.name.clone().unwrap_or_else(|| usual.human.to_owned())),
        }
    }
}

/// The value of a setting that a fork takes from main.
const INHERITED: &str = "(inherit main)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Micros;

    fn usual(thinking: Thinking) -> Usual<'static> {
        let limit = Limit { money: Some(Micros(5_000_000)), tokens: Some(5_000_000) };
        Usual { thinking, limit, human: "ann" }
    }

    /// RC-2, RC-8: Settings are listed in order with marked defaults; models are never marked.
    #[test]
    fn settings_read_a_line_each_and_say_what_is_usual() {
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
        assert_eq!(Settings::default().tell(&usual(Thinking::Off)), told);
    }

    /// RC-8: A changed value is shown without the mark.
    #[test]
    fn a_setting_that_was_changed_reads_as_what_it_is() {
        let check = |setting: Setting, typed: &str, told: &str| {
            let mut settings = Settings::default();
            setting.set(&mut settings, typed).unwrap();
            assert_eq!(setting.value(&settings, &usual(Thinking::Off)), told);
        };
        check(Setting::ModelMain, "opus", "opus");
        check(Setting::ThinkingMain, "off", "off (default)");
        check(Setting::ThinkingMain, "adaptive", "adaptive");
        check(Setting::ThinkingFork, "32000", "32k budget");
        check(Setting::EffortMain, "high", "high");
        check(Setting::EffortBackground, "low", "low");
        check(Setting::Timeout(Wait::BgFork), "90", "90s");
        check(Setting::AutoUpdate, "on", "on");
        check(Setting::AutoUpdateHour, "0", "0:00");
        check(Setting::DailyLimit, "off", "off");
        check(Setting::Name, "Robin", "Robin");
        assert_eq!(
            Setting::ThinkingMain.value(&Settings::default(), &usual(Thinking::Adaptive)),
            "adaptive (default)"
        );
        assert_eq!(
            Setting::EffortMain.value(&Settings::default(), &usual(Thinking::Adaptive)),
            "medium (default)"
        );
    }
}
