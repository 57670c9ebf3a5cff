//! The names of settings, their valid values, and their stored form.

use super::{CalmSetting, DailyLimit, Settings};
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
    Timeout(Wait),
    /// The permission mode.
    PermissionMode,
    AutoUpdate,
    AutoUpdateInterval,
    AutoUpdateHour,
    Calm(CalmSetting),
    /// The daily limit of unattended work.
    DailyLimit,
    /// The name of the user.
    Name,
}

/// The names of timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    BgFork,
    ForkIdle,
}

/// The error for an invalid value, with the valid ones. The user must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct BadSetting {
    /// The displayed name of the setting.
    pub key: String,
    /// The error and the valid values.
    pub reason: String,
}

/// The stored value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// The default applies.
    Nothing,
    Text(String),
    Number(u32),
    Flag(bool),
}

/// The words that reset a model or a name to its default.
const USUAL: [&str; 4] = ["", "default", "none", "null"];

/// The longest model name in characters.
const NAME_CHARS: usize = 200;

/// The longest user name in characters.
const CALLED_CHARS: usize = 40;

impl Setting {
    /// All settings in display order.
    pub const ALL: [Self; 18] = [
        Self::ModelMain,
        Self::ModelFork,
        Self::ThinkingMain,
        Self::ThinkingFork,
        Self::EffortMain,
        Self::EffortBackground,
        Self::Timeout(Wait::BgFork),
        Self::Timeout(Wait::ForkIdle),
        Self::PermissionMode,
        Self::AutoUpdate,
        Self::AutoUpdateInterval,
        Self::AutoUpdateHour,
        Self::Calm(CalmSetting::Quiet),
        Self::Calm(CalmSetting::Digest),
        Self::Calm(CalmSetting::PingCaps),
        Self::Calm(CalmSetting::FollowUp),
        Self::DailyLimit,
        Self::Name,
    ];

    /// RC-7: Finds a setting by its stored or displayed name.
    pub fn named(name: &str) -> Result<Self, BadSetting> {
        let found = Self::ALL.into_iter().find(|setting| setting.key() == name || setting.shown() == name);
        found.ok_or_else(|| BadSetting {
            key: name.to_owned(),
            reason: format!(
                "there is no such setting. the settings are {}.",
                Self::ALL.map(Self::shown).join(", ")
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
            Self::Timeout(Wait::BgFork) => "bg_fork_timeout",
            Self::Timeout(Wait::ForkIdle) => "fork_idle_timeout",
            Self::PermissionMode => "permission_mode",
            Self::AutoUpdate => "auto_update",
            Self::AutoUpdateInterval => "auto_update_interval",
            Self::AutoUpdateHour => "auto_update_hour",
            Self::Calm(calm) => calm.key(),
            Self::DailyLimit => "daily_limit",
            Self::Name => "name",
        }
    }

    /// Returns the name on the screen.
    pub fn shown(self) -> &'static str {
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
            | Self::Calm(_)
            | Self::DailyLimit
            | Self::Name => self.key(),
        }
    }

    /// Sets the value that the user typed. The existence of a model is not checked here.
    pub fn set(self, settings: &mut Settings, typed: &str) -> Result<(), BadSetting> {
        let wrong = || self.wrong(&format!("`{typed}`"));
        match self {
            Self::ModelMain => settings.models.main = model(typed).ok_or_else(wrong)?,
            Self::ModelFork => settings.models.fork = model(typed).ok_or_else(wrong)?,
            Self::ThinkingMain => settings.thinking.main = thinking(typed).ok_or_else(wrong)?,
            Self::ThinkingFork => settings.thinking.fork = thinking(typed).ok_or_else(wrong)?,
            Self::EffortMain => settings.effort.main = effort(typed).ok_or_else(wrong)?,
            Self::EffortBackground => settings.effort.background = effort(typed).ok_or_else(wrong)?,
            Self::Timeout(Wait::BgFork) => {
                settings.timeouts.bg_fork_seconds = positive(typed).ok_or_else(wrong)?
            }
            Self::Timeout(Wait::ForkIdle) => {
                settings.timeouts.fork_idle_minutes = positive(typed).ok_or_else(wrong)?;
            }
            Self::PermissionMode => {
                settings.permission_mode = Mode::named(typed).ok_or_else(wrong)?;
            }
            Self::AutoUpdate => settings.updates.automatic = flag(typed).ok_or_else(wrong)?,
            Self::AutoUpdateInterval => {
                settings.updates.interval_minutes = positive(typed).ok_or_else(wrong)?;
            }
            Self::AutoUpdateHour => {
                settings.updates.hour = number(typed).filter(|hour| *hour <= 23).ok_or_else(wrong)?;
            }
            Self::Calm(calm) => calm.set(&mut settings.calm, typed).ok_or_else(wrong)?,
            Self::DailyLimit => settings.daily_limit = DailyLimit::read(typed).ok_or_else(wrong)?,
            Self::Name => settings.name = called(typed).ok_or_else(wrong)?,
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
            Self::Timeout(Wait::BgFork) => settings.timeouts.bg_fork_seconds = other.timeouts.bg_fork_seconds,
            Self::Timeout(Wait::ForkIdle) => {
                settings.timeouts.fork_idle_minutes = other.timeouts.fork_idle_minutes
            }
            Self::PermissionMode => settings.permission_mode = other.permission_mode,
            Self::AutoUpdate => settings.updates.automatic = other.updates.automatic,
            Self::AutoUpdateInterval => settings.updates.interval_minutes = other.updates.interval_minutes,
            Self::AutoUpdateHour => settings.updates.hour = other.updates.hour,
            Self::Calm(calm) => calm.copy(&mut settings.calm, &other.calm),
            Self::DailyLimit => settings.daily_limit = other.daily_limit,
            Self::Name => settings.name.clone_from(&other.name),
        }
    }

    /// Returns the stored value.
    pub fn given(self, settings: &Settings) -> Given {
        let word = |text: Option<String>| text.map_or(Given::Nothing, Given::Text);
        match self {
            Self::ModelMain => word(settings.models.main.clone()),
            Self::ModelFork => word(settings.models.fork.clone()),
            Self::ThinkingMain => word(settings.thinking.main.map(|way| way.to_string())),
            Self::ThinkingFork => word(settings.thinking.fork.map(|way| way.to_string())),
            Self::EffortMain => word(settings.effort.main.map(|effort| effort.to_string())),
            Self::EffortBackground => word(settings.effort.background.map(|effort| effort.to_string())),
            Self::Timeout(Wait::BgFork) => Given::Number(settings.timeouts.bg_fork_seconds),
            Self::Timeout(Wait::ForkIdle) => Given::Number(settings.timeouts.fork_idle_minutes),
            Self::PermissionMode => Given::Text(settings.permission_mode.as_str().to_owned()),
            Self::AutoUpdate => Given::Flag(settings.updates.automatic),
            Self::AutoUpdateInterval => Given::Number(settings.updates.interval_minutes),
            Self::AutoUpdateHour => Given::Number(settings.updates.hour),
            Self::Calm(calm) => calm.given(&settings.calm),
            Self::DailyLimit => match settings.daily_limit {
                DailyLimit::AsWritten => Given::Nothing,
                limit @ (DailyLimit::Off | DailyLimit::Set(_)) => Given::Text(limit.to_string()),
            },
            Self::Name => word(settings.name.clone()),
        }
    }

    /// Returns the error that `given` is invalid.
    pub fn wrong(self, given: &str) -> BadSetting {
        let right = match self {
            Self::ModelMain | Self::ModelFork => "the name of a model, or `default`",
            Self::ThinkingMain | Self::ThinkingFork => {
                "`auto`, `off`, `adaptive`, a number of tokens such as 8000, or `default`"
            }
            Self::EffortMain | Self::EffortBackground => {
                "`low`, `medium`, `high`, `xhigh`, `max`, or `default`"
            }
            Self::Timeout(Wait::BgFork) => "a number of seconds above 0",
            Self::Timeout(Wait::ForkIdle) | Self::AutoUpdateInterval => "a number of minutes above 0",
            Self::PermissionMode => "`dontAsk`, `default`, `acceptEdits` or `bypassPermissions`",
            Self::AutoUpdate => "`on` or `off`",
            Self::AutoUpdateHour => "an hour from 0 to 23",
            Self::Calm(calm) => calm.right(),
            Self::DailyLimit => {
                "dollars such as `6`, tokens such as `8M`, both such as `6 8M`, `off`, or `default`"
            }
            Self::Name => "a name of at most 40 letters, or `default`",
        };
        BadSetting { key: self.shown().to_owned(), reason: format!("it cannot be {given}. use {right}.") }
    }
}

/// RC-3: Parses a model name, or `Some(None)` for the default; `None` if it is invalid.
fn model(typed: &str) -> Option<Option<String>> {
    let name = typed.trim();
    if USUAL.contains(&name.to_lowercase().as_str()) {
        return Some(None);
    }
    let is_name = !name.contains(|c: char| c.is_whitespace() || c.is_control());
    (is_name && name.chars().count() <= NAME_CHARS).then(|| Some(name.to_owned()))
}

/// Parses the user's name, or `Some(None)` for the default; `None` if it is invalid. The name is
/// part of the model's instructions, so its characters and length are restricted.
fn called(typed: &str) -> Option<Option<String>> {
    let name = typed.split_whitespace().collect::<Vec<_>>().join(" ");
    if USUAL.contains(&name.to_lowercase().as_str()) {
        return Some(None);
    }
    let in_names = |letter: char| letter.is_alphanumeric() || " '’-._".contains(letter);
    let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(in_names);
    (is_name && name.chars().count() <= CALLED_CHARS).then_some(Some(name))
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

    fn text(text: &str) -> Option<Given> {
        Some(Given::Text(text.to_owned()))
    }

    fn check(setting: Setting, typed: &str, given: Option<Given>) {
        let mut settings = Settings::default();
        let set = setting.set(&mut settings, typed);
        assert_eq!(set.is_ok().then(|| setting.given(&settings)), given, "{setting:?} {typed:?}");
        let mut copied = Settings::default();
        setting.copy(&mut copied, &settings);
        assert_eq!(copied, settings, "{setting:?}");
    }

    /// RC-2, RC-3, RC-4, RC-5, RC-6, RC-7: The valid and invalid values of each setting.
    #[test]
    fn each_setting_takes_what_it_can_be_and_nothing_else() {
        use CalmSetting::*;
        use Setting::*;
        check(ModelMain, " opus ", text("opus"));
        for typed in ["none", "", "Default", "null"] {
            check(ModelMain, typed, Some(Given::Nothing));
        }
        check(ModelFork, "qwen3:4b", text("qwen3:4b"));
        check(ModelFork, "a model", None);
        check(ModelFork, &"x".repeat(NAME_CHARS + 1), None);
        for typed in ["auto", "off", "adaptive", "16000"] {
            check(ThinkingMain, typed, text(typed));
        }
        check(ThinkingFork, "default", Some(Given::Nothing));
        for typed in ["on", "0", "-5", "Off", "1.5", ""] {
            check(ThinkingFork, typed, None);
        }
        check(EffortMain, "Medium", text("medium"));
        check(EffortBackground, "max", text("max"));
        check(EffortBackground, "default", Some(Given::Nothing));
        for typed in ["", "none at all", "8000", "hard"] {
            check(EffortMain, typed, None);
        }
        check(Timeout(Wait::BgFork), "90", Some(Given::Number(90)));
        for typed in ["0", "-1", "+1", "1s", "", "99999999999"] {
            check(Timeout(Wait::ForkIdle), typed, None);
        }
        for (typed, on) in [("ON", true), ("yes", true), ("1", true), ("No", false), ("0", false)] {
            check(AutoUpdate, typed, Some(Given::Flag(on)));
        }
        check(AutoUpdate, "maybe", None);
        check(AutoUpdateInterval, "5", Some(Given::Number(5)));
        check(AutoUpdateHour, "0", Some(Given::Number(0)));
        check(AutoUpdateHour, "24", None);
        check(Calm(Quiet), "23-7", text("23:00-07:00"));
        check(Calm(Quiet), "late", None);
        check(Calm(Digest), "off", text("off"));
        check(Calm(PingCaps), "3 60", text("3 60"));
        check(Calm(FollowUp), "30", Some(Given::Number(30)));
        check(Calm(FollowUp), "off", text("off"));
        check(Calm(FollowUp), "soon", None);
        check(DailyLimit, "6 8M", text("$6.00 8M"));
        check(DailyLimit, "off", text("off"));
        check(DailyLimit, "default", Some(Given::Nothing));
        check(DailyLimit, "lots", None);
        check(Name, " Ana  María O’Neill-Díaz ", text("Ana María O’Neill-Díaz"));
        check(Name, "default", Some(Given::Nothing));
        for wrong in ["a: b", "x\u{202e}y", "ann\u{0}", "**ann**", "-", &"a".repeat(41)] {
            check(Name, wrong, None);
        }
        check(PermissionMode, "acceptEdits", text("acceptEdits"));
        check(PermissionMode, "acceptedits", None);
    }

    /// RC-7, SL-13: A setting is found by both names, and an error names the valid values.
    #[test]
    fn a_setting_has_two_names_and_a_mistake_is_told_with_what_would_be_right() {
        assert_eq!(Setting::named("model.main"), Ok(Setting::ModelMain));
        assert_eq!(Setting::named("model_main"), Ok(Setting::ModelMain));
        let told = Setting::named("colour").unwrap_err().to_string();
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
