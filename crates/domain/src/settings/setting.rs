//! The names of settings, their valid values, and their stored form.

use super::{DailyLimit, NotificationSetting, Settings};
use crate::effort::Effort;
use crate::permission::Mode;
use crate::thinking::Thinking;

/// The name of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    ModelMain,
    ModelFork,
    ThinkingMain,
    ThinkingFork,
    EffortMain,
    EffortBackground,
    Timeout(TimeoutSetting),
    /// The permission mode.
    PermissionMode,
    AutoUpdate,
    AutoUpdateInterval,
    AutoUpdateHour,
    Notification(NotificationSetting),
    /// The daily limit of unattended work.
    DailyLimit,
    /// The name of the user.
    Name,
}

/// The names of timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutSetting {
    BgFork,
    ForkIdle,
}

/// The error for an invalid value, with the valid ones. The user must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct InvalidSetting {
    /// The displayed name of the setting.
    pub key: String,
    /// The error and the valid values.
    pub reason: String,
}

/// The stored value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// The default applies.
    Unset,
    Text(String),
    Number(u32),
    Flag(bool),
}

/// The words that reset a model or a name to its default.
const DEFAULT_WORDS: [&str; 4] = ["", "default", "none", "null"];

/// The longest model name in characters.
const MAX_MODEL_CHARS: usize = 200;

/// The longest user name in characters.
const MAX_USER_NAME_CHARS: usize = 40;

impl Setting {
    /// All settings in display order.
    pub const ALL: [Self; 18] = [
        Self::ModelMain,
        Self::ModelFork,
        Self::ThinkingMain,
        Self::ThinkingFork,
        Self::EffortMain,
        Self::EffortBackground,
        Self::Timeout(TimeoutSetting::BgFork),
        Self::Timeout(TimeoutSetting::ForkIdle),
        Self::PermissionMode,
        Self::AutoUpdate,
        Self::AutoUpdateInterval,
        Self::AutoUpdateHour,
        Self::Notification(NotificationSetting::Quiet),
        Self::Notification(NotificationSetting::Digest),
        Self::Notification(NotificationSetting::PingCaps),
        Self::Notification(NotificationSetting::FollowUp),
        Self::DailyLimit,
        Self::Name,
    ];

    /// RC-7: Finds a setting by its stored or displayed name.
    pub fn from_name(name: &str) -> Result<Self, InvalidSetting> {
        let found =
            Self::ALL.into_iter().find(|setting| setting.key() == name || setting.display_name() == name);
        found.ok_or_else(|| InvalidSetting {
            key: name.to_owned(),
            reason: format!(
                "there is no such setting. the settings are {}.",
                Self::ALL.map(Self::display_name).join(", ")
            ),
        })
    }

    /// Returns the name in the file.
    pub fn key(self) -> &'static str {
        match self {
            Self::ModelMain => "model_main",
            Self::ModelFork => "model_fork",
            Self::ThinkingMain => "thinking_main",
            Self::ThinkingFork => "thinking_fork",
            Self::EffortMain => "effort_main",
            Self::EffortBackground => "effort_background",
            Self::Timeout(TimeoutSetting::BgFork) => "bg_fork_timeout",
            Self::Timeout(TimeoutSetting::ForkIdle) => "fork_idle_timeout",
            Self::PermissionMode => "permission_mode",
            Self::AutoUpdate => "auto_update",
            Self::AutoUpdateInterval => "auto_update_interval",
            Self::AutoUpdateHour => "auto_update_hour",
            Self::Notification(calm) => calm.key(),
            Self::DailyLimit => "daily_limit",
            Self::Name => "name",
        }
    }

    /// Returns the name on the screen.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::ModelMain => "model.main",
            Self::ModelFork => "model.fork",
            Self::ThinkingMain => "thinking.main",
            Self::ThinkingFork => "thinking.fork",
            Self::EffortMain => "effort.main",
            Self::EffortBackground => "effort.background",
            Self::Timeout(_)
            | Self::PermissionMode
            | Self::AutoUpdate
            | Self::AutoUpdateInterval
            | Self::AutoUpdateHour
            | Self::Notification(_)
            | Self::DailyLimit
            | Self::Name => self.key(),
        }
    }

    /// Sets the value that the user typed. The existence of a model is not checked here.
    pub fn set(self, settings: &mut Settings, typed: &str) -> Result<(), InvalidSetting> {
        let wrong = || self.invalid(&format!("`{typed}`"));
        match self {
            Self::ModelMain => settings.models.main = model(typed).ok_or_else(wrong)?,
            Self::ModelFork => settings.models.fork = model(typed).ok_or_else(wrong)?,
            Self::ThinkingMain => settings.thinking.main = thinking(typed).ok_or_else(wrong)?,
            Self::ThinkingFork => settings.thinking.fork = thinking(typed).ok_or_else(wrong)?,
            Self::EffortMain => settings.effort.main = effort(typed).ok_or_else(wrong)?,
            Self::EffortBackground => settings.effort.background = effort(typed).ok_or_else(wrong)?,
            Self::Timeout(TimeoutSetting::BgFork) => {
                settings.timeouts.bg_fork_seconds = positive(typed).ok_or_else(wrong)?
            }
            Self::Timeout(TimeoutSetting::ForkIdle) => {
                settings.timeouts.fork_idle_minutes = positive(typed).ok_or_else(wrong)?;
            }
            Self::PermissionMode => {
                settings.permission_mode = Mode::from_name(typed).ok_or_else(wrong)?;
            }
            Self::AutoUpdate => settings.updates.automatic = flag(typed).ok_or_else(wrong)?,
            Self::AutoUpdateInterval => {
                settings.updates.interval_minutes = positive(typed).ok_or_else(wrong)?;
            }
            Self::AutoUpdateHour => {
                settings.updates.hour = number(typed).filter(|hour| *hour <= 23).ok_or_else(wrong)?;
            }
            Self::Notification(calm) => calm.set(&mut settings.notifications, typed).ok_or_else(wrong)?,
            Self::DailyLimit => settings.daily_limit = DailyLimit::parse(typed).ok_or_else(wrong)?,
            Self::Name => settings.name = user_name(typed).ok_or_else(wrong)?,
        }
        Ok(())
    }

    /// Copies the value from `other`.
    pub fn copy(self, settings: &mut Settings, other: &Settings) {
        match self {
            Self::ModelMain => settings.models.main.clone_from(&other.models.main),
            Self::ModelFork => settings.models.fork.clone_from(&other.models.fork),
            Self::ThinkingMain => settings.thinking.main = other.thinking.main,
            Self::ThinkingFork => settings.thinking.fork = other.thinking.fork,
            Self::EffortMain => settings.effort.main = other.effort.main,
            Self::EffortBackground => settings.effort.background = other.effort.background,
            Self::Timeout(TimeoutSetting::BgFork) => {
                settings.timeouts.bg_fork_seconds = other.timeouts.bg_fork_seconds
            }
            Self::Timeout(TimeoutSetting::ForkIdle) => {
                settings.timeouts.fork_idle_minutes = other.timeouts.fork_idle_minutes
            }
            Self::PermissionMode => settings.permission_mode = other.permission_mode,
            Self::AutoUpdate => settings.updates.automatic = other.updates.automatic,
            Self::AutoUpdateInterval => settings.updates.interval_minutes = other.updates.interval_minutes,
            Self::AutoUpdateHour => settings.updates.hour = other.updates.hour,
            Self::Notification(calm) => calm.copy(&mut settings.notifications, &other.notifications),
            Self::DailyLimit => settings.daily_limit = other.daily_limit,
            Self::Name => settings.name.clone_from(&other.name),
        }
    }

    /// Returns the stored value.
    pub fn stored_value(self, settings: &Settings) -> SettingValue {
        let word = |text: Option<String>| text.map_or(SettingValue::Unset, SettingValue::Text);
        match self {
            Self::ModelMain => word(settings.models.main.clone()),
            Self::ModelFork => word(settings.models.fork.clone()),
            Self::ThinkingMain => word(settings.thinking.main.map(|way| way.to_string())),
            Self::ThinkingFork => word(settings.thinking.fork.map(|way| way.to_string())),
            Self::EffortMain => word(settings.effort.main.map(|effort| effort.to_string())),
            Self::EffortBackground => word(settings.effort.background.map(|effort| effort.to_string())),
            Self::Timeout(TimeoutSetting::BgFork) => SettingValue::Number(settings.timeouts.bg_fork_seconds),
            Self::Timeout(TimeoutSetting::ForkIdle) => {
                SettingValue::Number(settings.timeouts.fork_idle_minutes)
            }
            Self::PermissionMode => SettingValue::Text(settings.permission_mode.as_str().to_owned()),
            Self::AutoUpdate => SettingValue::Flag(settings.updates.automatic),
            Self::AutoUpdateInterval => SettingValue::Number(settings.updates.interval_minutes),
            Self::AutoUpdateHour => SettingValue::Number(settings.updates.hour),
            Self::Notification(calm) => calm.stored_value(&settings.notifications),
            Self::DailyLimit => match settings.daily_limit {
                DailyLimit::AsConfigured => SettingValue::Unset,
                limit @ (DailyLimit::Off | DailyLimit::Set(_)) => SettingValue::Text(limit.to_string()),
            },
            Self::Name => word(settings.name.clone()),
        }
    }

    /// Returns the error that `given` is invalid.
    pub fn invalid(self, given: &str) -> InvalidSetting {
        let right = match self {
            Self::ModelMain | Self::ModelFork => "the name of a model, or `default`",
            Self::ThinkingMain | Self::ThinkingFork => {
                "`auto`, `off`, `adaptive`, a number of tokens such as 8000, or `default`"
            }
            Self::EffortMain | Self::EffortBackground => {
                "`low`, `medium`, `high`, `xhigh`, `max`, or `default`"
            }
            Self::Timeout(TimeoutSetting::BgFork) => "a number of seconds above 0",
            Self::Timeout(TimeoutSetting::ForkIdle) | Self::AutoUpdateInterval => {
                "a number of minutes above 0"
            }
            Self::PermissionMode => "`dontAsk`, `default`, `acceptEdits` or `bypassPermissions`",
            Self::AutoUpdate => "`on` or `off`",
            Self::AutoUpdateHour => "an hour from 0 to 23",
            Self::Notification(calm) => calm.valid_values(),
            Self::DailyLimit => {
                "dollars such as `6`, tokens such as `8M`, both such as `6 8M`, `off`, or `default`"
            }
            Self::Name => "a name of at most 40 letters, or `default`",
        };
        InvalidSetting {
            key: self.display_name().to_owned(),
            reason: format!("it cannot be {given}. use {right}."),
        }
    }
}

/// RC-3: Parses a model name, or `Some(None)` for the default; `None` if it is invalid.
fn model(typed: &str) -> Option<Option<String>> {
    let name = typed.trim();
    if DEFAULT_WORDS.contains(&name.to_lowercase().as_str()) {
        return Some(None);
    }
    let is_name = !name.contains(|c: char| c.is_whitespace() || c.is_control());
    (is_name && name.chars().count() <= MAX_MODEL_CHARS).then(|| Some(name.to_owned()))
}

/// Parses the user's name, or `Some(None)` for the default; `None` if it is invalid. The name is
/// part of the model's instructions, so its characters and length are restricted.
fn user_name(typed: &str) -> Option<Option<String>> {
    let name = typed.split_whitespace().collect::<Vec<_>>().join(" ");
    if DEFAULT_WORDS.contains(&name.to_lowercase().as_str()) {
        return Some(None);
    }
    let in_names = |letter: char| letter.is_alphanumeric() || " '’-._".contains(letter);
    let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(in_names);
    (is_name && name.chars().count() <= MAX_USER_NAME_CHARS).then_some(Some(name))
}

/// RC-4: Parses a thinking mode, or `Some(None)` for the default; `None` if it is invalid.
fn thinking(typed: &str) -> Option<Option<Thinking>> {
    match typed {
        "default" | "null" => Some(None),
        way => way.parse().ok().map(Some),
    }
}

/// Parses an effort, or `Some(None)` for the default; `None` if it is invalid.
fn effort(typed: &str) -> Option<Option<Effort>> {
    match typed.trim().to_lowercase().as_str() {
        "default" | "null" => Some(None),
        level => level.parse().ok().map(Some),
    }
}

/// RC-5: Parses a switch.
pub(super) fn flag(typed: &str) -> Option<bool> {
    match typed.to_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

pub(super) fn positive(typed: &str) -> Option<u32> {
    number(typed).filter(|number| *number > 0)
}

/// RC-6: Parses a number of digits only.
fn number(typed: &str) -> Option<u32> {
    let digits = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    if digits { typed.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<SettingValue> {
        Some(SettingValue::Text(text.to_owned()))
    }

    fn check(setting: Setting, typed: &str, given: Option<SettingValue>) {
        let mut settings = Settings::default();
        let set = setting.set(&mut settings, typed);
        assert_eq!(set.is_ok().then(|| setting.stored_value(&settings)), given, "{setting:?} {typed:?}");
        let mut copied = Settings::default();
        setting.copy(&mut copied, &settings);
        assert_eq!(copied, settings, "{setting:?}");
    }

    /// RC-2, RC-3, RC-4, RC-5, RC-6, RC-7: The valid and invalid values of each setting.
    #[test]
    fn settings_accept_only_valid_values() {
        use NotificationSetting::*;
        use Setting::*;
        check(ModelMain, " opus ", text("opus"));
        for typed in ["none", "", "Default", "null"] {
            check(ModelMain, typed, Some(SettingValue::Unset));
        }
        check(ModelFork, "qwen3:4b", text("qwen3:4b"));
        check(ModelFork, "a model", None);
        check(ModelFork, &"x".repeat(MAX_MODEL_CHARS + 1), None);
        for typed in ["auto", "off", "adaptive", "16000"] {
            check(ThinkingMain, typed, text(typed));
        }
        check(ThinkingFork, "default", Some(SettingValue::Unset));
        for typed in ["on", "0", "-5", "Off", "1.5", ""] {
            check(ThinkingFork, typed, None);
        }
        check(EffortMain, "Medium", text("medium"));
        check(EffortBackground, "max", text("max"));
        check(EffortBackground, "default", Some(SettingValue::Unset));
        for typed in ["", "none at all", "8000", "hard"] {
            check(EffortMain, typed, None);
        }
        check(Timeout(TimeoutSetting::BgFork), "90", Some(SettingValue::Number(90)));
        for typed in ["0", "-1", "+1", "1s", "", "99999999999"] {
            check(Timeout(TimeoutSetting::ForkIdle), typed, None);
        }
        for (typed, on) in [("ON", true), ("yes", true), ("1", true), ("No", false), ("0", false)] {
            check(AutoUpdate, typed, Some(SettingValue::Flag(on)));
        }
        check(AutoUpdate, "maybe", None);
        check(AutoUpdateInterval, "5", Some(SettingValue::Number(5)));
        check(AutoUpdateHour, "0", Some(SettingValue::Number(0)));
        check(AutoUpdateHour, "24", None);
        check(Notification(Quiet), "23-7", text("23:00-07:00"));
        check(Notification(Quiet), "late", None);
        check(Notification(Digest), "off", text("off"));
        check(Notification(PingCaps), "3 60", text("3 60"));
        check(Notification(FollowUp), "30", Some(SettingValue::Number(30)));
        check(Notification(FollowUp), "off", text("off"));
        check(Notification(FollowUp), "soon", None);
        check(DailyLimit, "6 8M", text("$6.00 8M"));
        check(DailyLimit, "off", text("off"));
        check(DailyLimit, "default", Some(SettingValue::Unset));
        check(DailyLimit, "lots", None);
        check(Name, " Ana  María O’Neill-Díaz ", text("Ana María O’Neill-Díaz"));
        check(Name, "default", Some(SettingValue::Unset));
        for wrong in ["a: b", "x\u{202e}y", "ann\u{0}", "**ann**", "-", &"a".repeat(41)] {
            check(Name, wrong, None);
        }
        check(PermissionMode, "acceptEdits", text("acceptEdits"));
        check(PermissionMode, "acceptedits", None);
    }

    /// RC-7, SL-13: A setting is found by both names, and an error names the valid values.
    #[test]
    fn setting_has_two_names_and_errors_list_valid_values() {
        assert_eq!(Setting::from_name("model.main"), Ok(Setting::ModelMain));
        assert_eq!(Setting::from_name("model_main"), Ok(Setting::ModelMain));
        let told = Setting::from_name("colour").unwrap_err().to_string();
        assert!(
            told.starts_with("colour: there is no such setting. the settings are model.main, "),
            "{told}"
        );
        let set = Setting::AutoUpdateHour.set(&mut Settings::default(), "24");
        assert_eq!(
            set.unwrap_err().to_string(),
            "auto_update_hour: it cannot be `24`. use an hour from 0 to 23."
        );
    }
}
