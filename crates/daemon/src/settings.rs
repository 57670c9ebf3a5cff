//! Settings, read once from the defaults, the settings file and the environment.

mod accounts;
mod claude_code;
mod environment;
mod file;
mod integrations;
pub mod log;
mod mailbox;
pub mod rejections;
pub mod secrets;
mod spend;
pub mod stored_environment;
mod upgrade;
pub mod web;
mod webhooks;
mod zone;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use domain::compaction::ContextWindow;
use domain::context::Names;
use domain::model::{ModelChoices, ModelNaming, OFFLINE, SHORT_NAMES, ThinkingControl};
use domain::retry_policy;
use domain::thinking::{InvalidThinking, Thinking};
use jiff::tz::TimeZone;
use journal::Paths;
use models::{anthropic, claude, openai};

pub use accounts::{Accounts, Backend};
pub use environment::Environment;
pub use file::LAST_GOOD;
use file::SettingsFile;
pub use integrations::{Discord, Integrations, ServiceSettings, Terminal};
pub use mailbox::MailBackend;
use rejections::{Rejection, Rejections, SettingsPart};
pub use spend::SpendSettings;
pub use upgrade::Upgrade;
pub use webhooks::{WebhookSecrets, WebhookSettings};

use crate::exit::CommandError;

/// Anthropic's API.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
/// OpenAI's API.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// All settings. Each adapter gets the part it needs.
#[derive(Clone, Debug)]
pub struct Settings {
    pub paths: Paths,
    /// The names of the user and the assistant.
    pub names: WithSource<Names>,
    /// The user's time zone.
    pub zone: WithSource<TimeZone>,
    /// The model that answers.
    pub model: ModelConfig,
    /// The short names of models that can be chosen.
    pub aliases: BTreeMap<String, String>,
    /// The thinking setting of main; `auto` by default. `config.json` (`/config thinking.main`)
    /// overrides it, and `/thinking` overrides both.
    pub thinking: Thinking,
    /// Spending limits and prices.
    pub spend: SpendSettings,
    /// Retries and context window of the model.
    pub model_policy: ModelPolicy,
    /// Addresses and accounts of the surfaces and services.
    pub integrations: Integrations,
    /// The home directory, if it is known.
    pub home: Option<String>,
    /// The text of the settings file; `None` if it is broken and other settings are used.
    pub file_text: Option<String>,
    /// The directory with transcripts of the Claude Code program, if it is known.
    pub transcripts_dir: Option<PathBuf>,
}

/// Retries and context window of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelPolicy {
    /// Limits of retries.
    pub retries: retry_policy::RetryLimits,
    /// The context window, and how full it may get.
    pub context_window: ContextWindow,
}

/// A value, and where it comes from.
#[derive(Clone, Debug)]
pub struct WithSource<T> {
    pub value: T,
    /// The source, such as `$USER` or `/etc/localtime`.
    pub source: &'static str,
}

/// The configuration of the model that answers.
#[derive(Clone, Debug)]
pub enum ModelConfig {
    /// The built-in offline model.
    Offline,
    /// The offline model in place of a configured one whose key is missing; contains the reason.
    MissingKey(String),
    /// Anthropic's API, or a compatible server.
    Anthropic(anthropic::Settings),
    /// An OpenAI-compatible server.
    OpenAi(openai::Settings),
    /// The Claude Code program with its own login.
    Claude(claude::Settings),
}

impl ModelConfig {
    /// Returns its full name: `offline`, `anthropic:claude-sonnet-4-5`.
    pub fn name(&self) -> String {
        match self {
            Self::Offline | Self::MissingKey(_) => OFFLINE.to_owned(),
            Self::Anthropic(brain) => format!("anthropic:{}", brain.model),
            Self::OpenAi(brain) => format!("openai:{}", brain.model),
            Self::Claude(brain) => match &brain.runtime.model {
                Some(model) => format!("claude:{model}"),
                None => "claude".to_owned(),
            },
        }
    }
}

impl Settings {
    /// Reads all settings. A missing key is not an error; the offline model is used then.
    pub fn read(environment: &Environment) -> Result<Self, CommandError> {
        let (settings, refused) = Self::read_leniently(environment)?;
        let first = refused.into_iter().find(|refusal| refusal.part != SettingsPart::Key);
        first.map_or(Ok(settings), |first| Err(first.why))
    }

    /// Reads the valid settings. A rejected part is replaced by its default.
    pub fn read_leniently(environment: &Environment) -> Result<(Self, Vec<Rejection>), CommandError> {
        let mut refused = Rejections::default();
        let completed =
            refused.or_default(SettingsPart::StoredEnvironment, environment.with_stored(), || {
                Ok(environment.clone())
            })?;
        Self::read_completed(&completed, refused)
    }

    /// Reads the settings without the settings file, if `wrong` is an error of that file. The last
    /// valid version replaces it, or else defaults that allow little. Returns the settings and a
    /// notice for the user. An invalid variable is still an error.
    pub fn without_file(
        environment: &Environment,
        wrong: CommandError,
    ) -> Result<(Self, String), CommandError> {
        let Ok(environment) = environment.with_stored() else { return Err(wrong) };
        let paths = Paths::new(environment.data_dir()?);
        if let Ok(file) = SettingsFile::read(&paths)
            && find_mistake(&file, &paths).is_none()
        {
            return Err(wrong);
        }
        let last_good = SettingsFile::last_good(&paths).and_then(|file| match file {
            Some(file) => find_mistake(&file, &paths).map_or(Ok(Some(file)), Err),
            None => Ok(None),
        });
        let (file, told) = match last_good {
            Ok(Some(file)) => (file, LAST_GOOD_NOTICE.to_owned()),
            Ok(None) => (
                SettingsFile::restricted()?,
                format!("No earlier settings are known, so {}", restrictions_notice()),
            ),
            Err(why) => {
                let why = why.to_string();
                let why = why.trim_end_matches('.');
                let told = format!(
                    "The settings of earlier starts can't be used either ({why}), so {}",
                    restrictions_notice()
                );
                (SettingsFile::restricted()?, told)
            }
        };
        let (settings, refused) = Self::build(&environment, &paths, file, Rejections::default())?;
        match refused.into_iter().find(|refusal| refusal.part != SettingsPart::Key) {
            Some(refusal) => Err(refusal.why),
            None => Ok((Self { file_text: None, ..settings }, format!("{wrong} {told}"))),
        }
    }

    /// Like [`Settings::read_leniently`], but without the stored variables.
    pub fn from_environment(environment: &Environment) -> Result<(Self, Vec<Rejection>), CommandError> {
        Self::read_completed(environment, Rejections::default())
    }

    fn read_completed(
        environment: &Environment,
        mut refused: Rejections,
    ) -> Result<(Self, Vec<Rejection>), CommandError> {
        let paths = Paths::new(environment.data_dir()?);
        let file =
            refused.or_default(SettingsPart::File, SettingsFile::read(&paths), SettingsFile::default_file)?;
        Self::build(environment, &paths, file, refused)
    }

    fn build(
        environment: &Environment,
        paths: &Paths,
        file: SettingsFile,
        mut refused: Rejections,
    ) -> Result<(Self, Vec<Rejection>), CommandError> {
        let brain = match read_model(environment, &file, paths) {
            Err(ModelError::MissingKey(why)) => {
                let told = why.to_string();
                refused.or_default(SettingsPart::Key, Err(why), || Ok(ModelConfig::MissingKey(told)))?
            }
            Err(ModelError::Invalid(why) | ModelError::Unknown(why)) => {
                refused.or_default(SettingsPart::Model, Err(why), || Ok(ModelConfig::Offline))?
            }
            Ok(brain) => brain,
        };
        let window = default_window(&brain);
        let settings = Self {
            thinking: refused.or_default(
                SettingsPart::Thinking,
                read_thinking(environment, &file),
                || Ok(Thinking::Auto),
            )?,
            names: read_names(environment),
            zone: refused.or_default(SettingsPart::Zone, zone::read(environment), || Ok(zone::detect()))?,
            model: brain,
            aliases: file
                .model
                .aliases
                .clone()
                .into_iter()
                .filter(|(name, _)| SHORT_NAMES.contains(&name.as_str()))
                .collect(),
            spend: refused.or_default(SettingsPart::File, spend::read(&file, paths), || {
                spend::read(&SettingsFile::default_file()?, paths)
            })?,
            model_policy: ModelPolicy {
                retries: retry_policy::RetryLimits {
                    max_attempts: file.model.tries,
                    ..retry_policy::RetryLimits::DEFAULT
                },
                context_window: refused.or_default(
                    SettingsPart::File,
                    context_window(&file, window),
                    || context_window(&SettingsFile::default_file()?, window),
                )?,
            },
            integrations: refused.or_default(
                SettingsPart::Integrations,
                integrations::read(environment, &file, paths),
                || {
                    integrations::read(
                        &integrations::without_fallible(environment),
                        &SettingsFile::default_file()?,
                        paths,
                    )
                },
            )?,
            home: environment.get("HOME").map(str::to_owned),
            transcripts_dir: claude_code::transcripts(environment),
            file_text: Some(file.text),
            paths: paths.clone(),
        };
        Ok((settings, refused.0))
    }
}

/// The notice when the last good settings replace a broken settings file.
const LAST_GOOD_NOTICE: &str = "Until it is fixed, I use the last settings that worked. Fix the file and restart; \
                         `ollim-bot doctor` checks it.";

/// The second half of the notice when restricted defaults are used.
fn restrictions_notice() -> String {
    format!(
        "until it is fixed, updates are off, the model is off unless OLLIM_MODEL names one, web search is off unless \
         OLLIM_SEARCH allows it, unattended spending is off unless `/config daily_limit` allows it, and one answer may use \
         {}k tokens. Reminders work. Fix the file and restart; `ollim-bot doctor` checks it.",
        file::RESTRICTED_TURN_TOKENS / 1000
    )
}

/// Returns the first invalid value of `file`, independent of the environment.
fn find_mistake(file: &SettingsFile, paths: &Paths) -> Option<CommandError> {
    let silent = Environment::default();
    if let Err(ModelError::Unknown(why)) = read_model(&silent, file, paths) {
        return Some(why);
    }
    let checks = [
        read_thinking(&silent, file).err(),
        spend::read(file, paths).err(),
        context_window(file, DEFAULT_WINDOW).err(),
        integrations::read(&silent, file, paths).err(),
    ];
    checks.into_iter().flatten().next()
}

/// Returns the default context window of a model, in tokens.
fn default_window(brain: &ModelConfig) -> u64 {
    match brain {
        ModelConfig::OpenAi(server) if is_ollama(&server.base_url) => OLLAMA_WINDOW,
        ModelConfig::Anthropic(_)
        | ModelConfig::OpenAi(_)
        | ModelConfig::Claude(_)
        | ModelConfig::Offline
        | ModelConfig::MissingKey(_) => DEFAULT_WINDOW,
    }
}

/// Returns whether `address` has the default port of Ollama.
pub fn is_ollama(address: &str) -> bool {
    address.trim().parse::<reqwest::Url>().is_ok_and(|url| url.port() == Some(11434))
}

fn context_window(file: &SettingsFile, window: u64) -> Result<ContextWindow, CommandError> {
    let limit = file.model.context_tokens.unwrap_or(window);
    let percent = file.model.compact_at_percent;
    if limit < *CONTEXT_TOKENS.start() {
        Err(CommandError::Configuration(format!(
            "model.context_tokens is {limit}, and no model that reads so little can hold a conversation. \
             write at least {}.",
            CONTEXT_TOKENS.start()
        )))
    } else if limit > *CONTEXT_TOKENS.end() {
        Err(CommandError::Configuration(format!(
            "model.context_tokens is {limit}. write a number from {} to {}.",
            CONTEXT_TOKENS.start(),
            CONTEXT_TOKENS.end()
        )))
    } else if (10..=95).contains(&percent) {
        Ok(ContextWindow { limit, fill_percent: percent })
    } else {
        Err(CommandError::Configuration(format!(
            "model.compact_at_percent is {percent}. write a number from 10 to 95."
        )))
    }
}

/// The default context window in tokens. Models with a smaller one get less.
const DEFAULT_WINDOW: u64 = 200_000;

/// The context window that our instructions set for Ollama. It truncates longer prompts without an
/// error, so the conversation must be compacted before.
const OLLAMA_WINDOW: u64 = 64_000;

/// The valid range of the context window. Our own instructions and tools use much of the minimum;
/// the maximum exceeds any model.
const CONTEXT_TOKENS: RangeInclusive<u64> = 4_000..=100_000_000;

impl Settings {
    /// Returns the models that can be chosen at runtime, with `usual` as the default.
    pub fn choices(&self, usual: &str) -> ModelChoices {
        let (naming, thinks) = match &self.model {
            ModelConfig::Anthropic(_) => {
                (ModelNaming::ShortNames(self.aliases.clone()), ThinkingControl::Full)
            }
            ModelConfig::Claude(_) => {
                (ModelNaming::ShortNames(claude_code::aliases()), ThinkingControl::EffortOnly)
            }
            ModelConfig::OpenAi(_) => (ModelNaming::ServerNames, ThinkingControl::Unsupported),
            ModelConfig::Offline | ModelConfig::MissingKey(_) => {
                (ModelNaming::default(), ThinkingControl::Unsupported)
            }
        };
        let thinking = self.thinking;
        let human = self.names.value.user.clone();
        ModelChoices {
            default_model: usual.to_owned(),
            naming,
            thinking_control: thinks,
            thinking,
            user_name: human,
            ..ModelChoices::default()
        }
    }

    /// Returns the names, with the one that the user chose in the chat, if any.
    pub fn names_with(&self, said: Option<&str>) -> WithSource<Names> {
        match said {
            None => self.names.clone(),
            Some(human) => {
                let names = Names { user: human.to_owned(), ..self.names.value.clone() };
                WithSource { value: names, source: "/name" }
            }
        }
    }
}

fn read_names(environment: &Environment) -> WithSource<Names> {
    let assistant = environment.get("OLLIM_BOT_NAME").unwrap_or("ollim").to_owned();
    let named = environment.get("OLLIM_USER_NAME").map(|name| (name, "OLLIM_USER_NAME"));
    let guessed = named.or_else(|| environment.get("USER").map(|name| (name, "$USER")));
    let (human, from) = guessed.unwrap_or(("friend", "a guess"));
    WithSource { value: Names { assistant, user: human.to_owned() }, source: from }
}

/// The reason why the configured model cannot be used.
enum ModelError {
    /// Its key is missing, for example because the data directory was moved to another machine.
    MissingKey(CommandError),
    /// A variable or a key is invalid.
    Invalid(CommandError),
    /// There is no such model.
    Unknown(CommandError),
}

impl From<CommandError> for ModelError {
    fn from(why: CommandError) -> Self {
        Self::Invalid(why)
    }
}

fn read_model(
    environment: &Environment,
    file: &SettingsFile,
    paths: &Paths,
) -> Result<ModelConfig, ModelError> {
    let wanted = environment.get("OLLIM_MODEL").unwrap_or(&file.model.r#use);
    let read = |vendor| match secrets::read_key(environment, paths, vendor) {
        Err(why) if secrets::named_file_is_missing(environment, vendor) => Err(ModelError::MissingKey(why)),
        read => Ok(read?),
    };
    // Do not fail because of a key that is not used.
    let key =
        if wanted == "auto" || wanted.starts_with("anthropic:") { read(secrets::ANTHROPIC)? } else { None };
    let wanted = match (wanted, &key) {
        ("auto", Some(_)) => "anthropic:sonnet",
        ("auto", None) => "offline",
        (other, _) => other,
    };
    let unset = |what: &str| {
        let why = CommandError::Configuration(format!("OLLIM_MODEL asks for {wanted}, but {what}"));
        // A variable of this shell is an error that the user sees now; a stored one must not
        // prevent the start, so that reminders still work.
        match environment.said("OLLIM_MODEL") {
            Some(_) => ModelError::Invalid(why),
            None => ModelError::MissingKey(why),
        }
    };
    match (wanted.split_once(':'), key) {
        (None, _) if wanted == "offline" => Ok(ModelConfig::Offline),
        (None, _) if wanted == "claude" => {
            Ok(ModelConfig::Claude(claude_code::settings(environment, file, paths, None)))
        }
        (Some(("claude", model)), _) if !model.is_empty() => {
            Ok(ModelConfig::Claude(claude_code::settings(environment, file, paths, Some(model))))
        }
        (Some(("anthropic", model)), Some(key)) if !model.is_empty() => {
            Ok(ModelConfig::Anthropic(anthropic_settings(environment, file, model, key)))
        }
        (Some(("anthropic", model)), None) if !model.is_empty() => Err(unset(
            "ANTHROPIC_API_KEY is not set. set it (or ANTHROPIC_API_KEY_FILE, or write state/anthropic.key), or use OLLIM_MODEL=offline.",
        )),
        (Some(("openai", model)), _) if !model.is_empty() => {
            let key = read(secrets::OPENAI)?;
            let settings = openai_settings(environment, file, model, key);
            settings.map(ModelConfig::OpenAi).ok_or_else(|| {
                unset("OPENAI_API_KEY is not set. set it, or OPENAI_BASE_URL to a server that needs none.")
            })
        }
        _ => Err(ModelError::Unknown(CommandError::Configuration(format!(
            "OLLIM_MODEL: `{wanted}` is not a brain i know. use `offline`, `anthropic:` and a model such as \
             sonnet, `openai:` and a model of your server, or `claude` for the Claude Code program."
        )))),
    }
}

fn read_thinking(environment: &Environment, file: &SettingsFile) -> Result<Thinking, CommandError> {
    let way = environment.get("OLLIM_THINKING").unwrap_or(&file.model.thinking);
    way.parse().map_err(|bad: InvalidThinking| CommandError::Configuration(format!("OLLIM_THINKING: {bad}.")))
}

/// The maximum number of tokens of one reply over the Messages API. Thinking counts, so a small
/// limit leaves no space for the answer. A model with a smaller limit gets its own.
const MESSAGES_REPLY_TOKENS: u32 = 32_000;

/// The maximum number of tokens of one reply from other servers. It is smaller, because many refuse
/// a request whose prompt and limit together exceed their window.
const CHAT_REPLY_TOKENS: u32 = 8192;

fn anthropic_settings(
    environment: &Environment,
    file: &SettingsFile,
    model: &str,
    key: anthropic::ApiKey,
) -> anthropic::Settings {
    let base_url = environment.get("ANTHROPIC_BASE_URL").unwrap_or(ANTHROPIC_URL);
    anthropic::Settings {
        base_url: base_url.to_owned(),
        key,
        model: file.model.aliases.get(model).cloned().unwrap_or_else(|| model.to_owned()),
        max_tokens: file.model.max_tokens.unwrap_or(MESSAGES_REPLY_TOKENS),
        connect: Duration::from_secs(file.model.connect_seconds),
        stall: Duration::from_secs(file.model.silence_seconds),
        total: Duration::from_secs(file.model.reply_seconds),
        store: None,
    }
}

/// Returns `None` if neither a key nor a server is configured: OpenAI itself needs a key.
fn openai_settings(
    environment: &Environment,
    file: &SettingsFile,
    model: &str,
    key: Option<openai::ApiKey>,
) -> Option<openai::Settings> {
    let base_url = environment.get("OPENAI_BASE_URL");
    if base_url.is_none() && key.is_none() {
        return None;
    }
    Some(openai::Settings {
        base_url: base_url.unwrap_or(OPENAI_URL).to_owned(),
        key: key.unwrap_or_default(),
        model: model.to_owned(),
        max_tokens: file.model.max_tokens.unwrap_or(CHAT_REPLY_TOKENS),
        connect: Duration::from_secs(file.model.connect_seconds),
        stall: Duration::from_secs(file.model.silence_seconds),
        total: Duration::from_secs(file.model.reply_seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the context window for a server at `url`, with this settings file.
    fn context_window(url: &str, file: &str) -> ContextWindow {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("settings.toml"), file).unwrap();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(dir.path().to_str().unwrap().to_owned()),
            "OLLIM_MODEL" => Some("openai:qwen3".to_owned()),
            "OPENAI_BASE_URL" => Some(url.to_owned()),
            _ => None,
        };
        Settings::read(&Environment::new(known)).unwrap().model_policy.context_window
    }

    /// Ollama truncates long prompts without an error, so the context window fits its recommended
    /// setting.
    #[test]
    fn ollama_gets_a_smaller_context_window() {
        let limit = |url: &str, file: &str| context_window(url, file).limit;
        assert_eq!(limit("http://127.0.0.1:11434/v1", ""), 64_000);
        assert_eq!(limit("http://127.0.0.1:8080/v1", ""), 200_000);
        assert_eq!(limit("http://127.0.0.1:11434", "[model]\ncontext_tokens = 32000\n"), 32_000);
    }
    const BROKEN: &str = "[model\n";

    /// Starts with these contents of `settings.toml` and of the last valid settings, and with one
    /// more variable.
    fn start(
        file: &str,
        last_good: Option<&str>,
        variable: (&str, &str),
    ) -> Result<(Settings, String), String> {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir(paths.state()).unwrap();
        std::fs::write(dir.path().join("settings.toml"), file).unwrap();
        if let Some(text) = last_good {
            std::fs::write(paths.state().join(LAST_GOOD), text).unwrap();
        }
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(dir.path().to_str().unwrap().to_owned()),
            name => (name == variable.0).then(|| variable.1.to_owned()),
        };
        let environment = Environment::new(known);
        let wrong = Settings::read(&environment).unwrap_err();
        Settings::without_file(&environment, wrong).map_err(|failed| {
            assert!(matches!(failed, CommandError::Configuration(_)), "it ends with 78");
            failed.to_string()
        })
    }

    /// A wrong variable is an error even if the fallback settings would not use it.
    #[test]
    fn wrong_variable_is_an_error_even_if_fallback_settings_ignore_it() {
        let key = ("ANTHROPIC_API_KEY_FILE", "/nowhere/key");
        let offline = Some("[model]\nuse = \"offline\"\n");
        for (file, last_good) in [("", None), ("[model]\nuse = \"auto\"\n", offline), (BROKEN, Some(""))] {
            let told = start(file, last_good, key).unwrap_err();
            assert!(told.contains("/nowhere/key"), "{told}");
        }
        for variable in [("OLLIM_HTTP", "here"), ("OLLIM_SEARCH", "google"), ("OLLIM_MODEL", "gpt")] {
            for last_good in [None, offline] {
                let told = start(BROKEN, last_good, variable).unwrap_err();
                assert!(told.starts_with(variable.0), "{told}");
            }
        }
        assert!(start(BROKEN, offline, key).is_ok(), "a key that nobody asks for cannot be in the way");
    }

    /// A mistake in the settings file is one that the last good settings help with.
    #[test]
    fn mistake_in_the_file_uses_the_last_good_settings() {
        for file in [
            "[model]\nuse = \"gpt\"\n",
            "[model]\nthinking = \"much\"\n",
            "[model]\ncontext_tokens = 5\n",
            "[spend]\nunattended_dollars_per_day = -1\n",
            "[page]\naddress = \"here\"\n",
            "[search]\nuse = \"google\"\n",
        ] {
            let (settings, told) = start(file, Some("[model]\ntries = 3\n"), ("HOME", "/")).unwrap();
            assert!(told.contains("I use the last settings that worked."), "{told}");
            assert_eq!(settings.model_policy.retries.max_attempts, 3);
        }
    }

    /// Without earlier settings the restricted defaults are used, and the notice names what still
    /// allows more.
    #[test]
    fn restricted_defaults_apply_without_usable_settings() {
        let (settings, told) = start(BROKEN, None, ("OLLIM_SEARCH", "vendor")).unwrap();
        assert_eq!(settings.spend.turn.tokens, file::RESTRICTED_TURN_TOKENS);
        assert_eq!(settings.integrations.search.choice, web::SearchChoice::Vendor);
        for words in [
            "No earlier settings are known, so until it is fixed, updates are off",
            "web search is off unless OLLIM_SEARCH allows it",
            "unattended spending is off unless `/config daily_limit` allows it",
            "one answer may use 100k tokens",
        ] {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn rejected_last_good_copy_is_reported_with_its_mistake() {
        for (copy, mistake) in [
            (
                "[model]\ncolour = 1\n",
                "settings.last-good.toml, line 2: there is no setting called `colour` here)",
            ),
            ("[model]\nuse = \"gpt\"\n", "`gpt` is not a brain i know"),
        ] {
            let (settings, told) = start(BROKEN, Some(copy), ("HOME", "/")).unwrap();
            assert!(told.contains("The settings of earlier starts can't be used either ("), "{told}");
            assert!(told.contains(mistake) && !told.contains("No earlier settings"), "{told}");
            assert_eq!(settings.spend.turn.tokens, file::RESTRICTED_TURN_TOKENS);
        }
    }
}
