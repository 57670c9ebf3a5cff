//! Each setting by its name: what it accepts and how it is kept.

use domain::permission::Mode;
use serde_json::Value;

use super::Config;

/// The name of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Who answers in the main conversation.
    ModelMain,
    /// Who answers in forks.
    ModelFork,
    /// How much is thought in the main conversation.
    ThinkingMain,
    /// How much is thought in forks.
    ThinkingFork,
    /// When to stop waiting for a background fork.
    BgForkTimeout,
    /// When to stop waiting for the human in a fork.
    ForkIdleTimeout,
    /// What may be done without asking.
    PermissionMode,
    /// Whether the program renews itself.
    AutoUpdate,
    /// How often it looks for something newer.
    AutoUpdateInterval,
    /// The hour at which it does.
    AutoUpdateHour,
}

/// Why a setting cannot be what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` cannot be {given}; use {right}")]
pub struct BadSetting {
    /// The setting.
    pub key: String,
    /// What was asked for.
    pub given: String,
    /// What would be right.
    pub right: String,
}

/// A model the human can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownModel {
    /// The small one.
    Haiku,
    /// The large one.
    Opus,
    /// The one between.
    Sonnet,
}

/// How much is thought before an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Deliberation {
    /// Nothing.
    Off,
    /// As much as the question needs.
    Adaptive,
    /// At most so many tokens, in the digits the human used.
    Budget(String),
}

impl Setting {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 10] = [
        Self::ModelMain,
        Self::ModelFork,
        Self::ThinkingMain,
        Self::ThinkingFork,
        Self::BgForkTimeout,
        Self::ForkIdleTimeout,
        Self::PermissionMode,
        Self::AutoUpdate,
        Self::AutoUpdateInterval,
        Self::AutoUpdateHour,
    ];

    /// Finds a setting by its name in the file or on the screen.
    pub fn named(name: &str) -> Result<Self, BadSetting> {
        let found = Self::ALL.into_iter().find(|setting| setting.key() == name || setting.shown() == name);
        found.ok_or_else(|| BadSetting {
            key: name.to_owned(),
            given: "a setting".to_owned(),
            right: Self::ALL.map(Self::shown).join(", "),
        })
    }

    /// Its name in the file.
    pub fn key(self) -> &'static str {
        match self {
            Self::ModelMain => "model_main",
            Self::ModelFork => "model_fork",
            Self::ThinkingMain => "thinking_main",
            Self::ThinkingFork => "thinking_fork",
            Self::BgForkTimeout => "bg_fork_timeout",
            Self::ForkIdleTimeout => "fork_idle_timeout",
            Self::PermissionMode => "permission_mode",
            Self::AutoUpdate => "auto_update",
            Self::AutoUpdateInterval => "auto_update_interval",
            Self::AutoUpdateHour => "auto_update_hour",
        }
    }

    /// Its name on the screen.
    pub fn shown(self) -> &'static str {
        match self {
            Self::ModelMain => "model.main",
            Self::ModelFork => "model.fork",
            Self::ThinkingMain => "thinking.main",
            Self::ThinkingFork => "thinking.fork",
            Self::BgForkTimeout
            | Self::ForkIdleTimeout
            | Self::PermissionMode
            | Self::AutoUpdate
            | Self::AutoUpdateInterval
            | Self::AutoUpdateHour => self.key(),
        }
    }

    /// Sets it to what the human typed.
    pub fn set(self, config: &mut Config, typed: &str) -> Result<(), BadSetting> {
        let wrong = || self.wrong(&format!("{typed:?}"));
        match self {
            Self::ModelMain => config.models.main = model(typed).ok_or_else(wrong)?,
            Self::ModelFork => config.models.fork = model(typed).ok_or_else(wrong)?,
            Self::ThinkingMain => config.thinking.main = Deliberation::parse(typed).ok_or_else(wrong)?,
            Self::ThinkingFork => config.thinking.fork = Deliberation::parse(typed).ok_or_else(wrong)?,
            Self::BgForkTimeout => config.timeouts.bg_fork_seconds = positive(typed).ok_or_else(wrong)?,
            Self::ForkIdleTimeout => config.timeouts.fork_idle_minutes = positive(typed).ok_or_else(wrong)?,
            Self::PermissionMode => config.permission_mode = Mode::named(typed).ok_or_else(wrong)?,
            Self::AutoUpdate => config.updates.automatic = flag(typed).ok_or_else(wrong)?,
            Self::AutoUpdateInterval => {
                config.updates.interval_minutes = positive(typed).ok_or_else(wrong)?
            }
            Self::AutoUpdateHour => {
                config.updates.hour = number(typed).filter(|hour| *hour <= 23).ok_or_else(wrong)?;
            }
        }
        Ok(())
    }

    /// Sets it to what the file says.
    pub(super) fn read(self, config: &mut Config, value: &Value) -> Result<(), BadSetting> {
        let typed = match (self, value) {
            (Self::ModelMain | Self::ModelFork, Value::Null) => "null".to_owned(),
            (Self::ThinkingMain | Self::ThinkingFork, Value::Bool(true)) => "adaptive".to_owned(),
            (Self::ThinkingMain | Self::ThinkingFork, Value::Bool(false)) => "off".to_owned(),
            (Self::AutoUpdate, Value::Bool(flag)) => flag.to_string(),
            (_, Value::Number(number)) => number.to_string(),
            (_, Value::String(text)) => text.clone(),
            (_, Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(self.wrong(&shortened(value)));
            }
        };
        self.set(config, &typed)
    }

    /// Its value as the file keeps it.
    pub(super) fn kept(self, config: &Config) -> Value {
        match self {
            Self::ModelMain => config.models.main.map(KnownModel::as_str).into(),
            Self::ModelFork => config.models.fork.map(KnownModel::as_str).into(),
            Self::ThinkingMain => config.thinking.main.as_str().into(),
            Self::ThinkingFork => config.thinking.fork.as_str().into(),
            Self::BgForkTimeout => config.timeouts.bg_fork_seconds.into(),
            Self::ForkIdleTimeout => config.timeouts.fork_idle_minutes.into(),
            Self::PermissionMode => config.permission_mode.as_str().into(),
            Self::AutoUpdate => config.updates.automatic.into(),
            Self::AutoUpdateInterval => config.updates.interval_minutes.into(),
            Self::AutoUpdateHour => config.updates.hour.into(),
        }
    }

    fn wrong(self, given: &str) -> BadSetting {
        let right = match self {
            Self::ModelMain | Self::ModelFork => "`haiku`, `opus`, `sonnet` or `default`",
            Self::ThinkingMain | Self::ThinkingFork => "`off`, `adaptive` or a number of tokens",
            Self::BgForkTimeout => "a number of seconds above 0",
            Self::ForkIdleTimeout | Self::AutoUpdateInterval => "a number of minutes above 0",
            Self::PermissionMode => "`dontAsk`, `default`, `acceptEdits` or `bypassPermissions`",
            Self::AutoUpdate => "`on` or `off`",
            Self::AutoUpdateHour => "an hour from 0 to 23",
        };
        BadSetting { key: self.key().to_owned(), given: given.to_owned(), right: right.to_owned() }
    }
}

impl KnownModel {
    /// The name the human uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Haiku => "haiku",
            Self::Opus => "opus",
            Self::Sonnet => "sonnet",
        }
    }
}

impl Deliberation {
    /// The mode as it is kept.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Off => "off",
            Self::Adaptive => "adaptive",
            Self::Budget(digits) => digits,
        }
    }

    fn parse(typed: &str) -> Option<Self> {
        match typed {
            "off" => Some(Self::Off),
            "adaptive" => Some(Self::Adaptive),
            digits => positive(digits).map(|_| Self::Budget(digits.to_owned())),
        }
    }
}

/// Reads a model, or its absence: nothing, if it is neither.
fn model(typed: &str) -> Option<Option<KnownModel>> {
    match typed.trim().to_lowercase().as_str() {
        "" | "null" | "none" | "default" => Some(None),
        "haiku" => Some(Some(KnownModel::Haiku)),
        "opus" => Some(Some(KnownModel::Opus)),
        "sonnet" => Some(Some(KnownModel::Sonnet)),
        _ => None,
    }
}

fn flag(typed: &str) -> Option<bool> {
    match typed.to_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

fn positive(typed: &str) -> Option<u32> {
    number(typed).filter(|number| *number > 0)
}

fn number(typed: &str) -> Option<u32> {
    let digits = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    if digits { typed.parse().ok() } else { None }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(setting: Setting, typed: &str, kept: Option<Value>) {
        let mut config = Config::default();
        let set = setting.set(&mut config, typed);
        assert_eq!(set.is_ok().then(|| setting.kept(&config)), kept, "{setting:?} {typed:?}");
    }

    /// RC-2, RC-3, RC-4, RC-5, RC-6, RC-7: what each setting takes.
    #[test]
    fn each_setting_takes_what_it_can_be_and_nothing_else() {
        use Setting::*;
        for (typed, kept) in [(" OPUS ", "opus".into()), ("none", Value::Null), ("", Value::Null)] {
            check(ModelMain, typed, Some(kept));
        }
        check(ModelFork, "gpt", None);
        for typed in ["off", "adaptive", "16000", "007"] {
            check(ThinkingMain, typed, Some(typed.into()));
        }
        for typed in ["on", "0", "-5", "Off", "1.5", ""] {
            check(ThinkingFork, typed, None);
        }
        check(BgForkTimeout, "90", Some(90.into()));
        for typed in ["0", "-1", "+1", "1s", "", "99999999999"] {
            check(ForkIdleTimeout, typed, None);
        }
        for (typed, kept) in [("ON", true), ("yes", true), ("1", true), ("No", false), ("0", false)] {
            check(AutoUpdate, typed, Some(kept.into()));
        }
        check(AutoUpdate, "maybe", None);
        check(AutoUpdateHour, "0", Some(0.into()));
        check(AutoUpdateHour, "24", None);
        check(PermissionMode, "acceptEdits", Some("acceptEdits".into()));
        check(PermissionMode, "acceptedits", None);
        assert_eq!(Setting::named("model.main"), Ok(ModelMain));
        assert!(Setting::named("colour").unwrap_err().to_string().contains("thinking.fork"));
    }
}
