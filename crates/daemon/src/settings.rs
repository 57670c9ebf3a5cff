//! Settings, read once from the defaults, the settings file and the environment.

mod accounts;
mod claude_code;
mod environment;
mod file;
pub mod kept;
pub mod key;
pub mod log;
mod mailbox;
mod places;
pub mod refused;
mod spend;
mod upgrade;
pub mod web;
mod webhooks;
mod zone;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use domain::compaction::Room;
use domain::context::Names;
use domain::model::{Choices, Naming, OFFLINE, SHORT_NAMES, Thinks};
use domain::patience;
use domain::thinking::{BadThinking, Thinking};
use jiff::tz::TimeZone;
use journal::Paths;
use models::{anthropic, claude, openai};

pub use accounts::{Accounts, Keeper};
pub use environment::Environment;
use file::File;
pub use file::LAST_GOOD;
pub use mailbox::Mail;
pub use places::{Discord, Places, Service, Terminal};
use refused::{Part, Refusal, Refusals};
pub use spend::Spend;
pub use upgrade::Upgrade;
pub use webhooks::{Secrets, Webhooks};

use crate::exit::Failed;

/// Anthropic's API.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
/// OpenAI's API.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// All settings. Each adapter gets the part it needs.
#[derive(Clone, Debug)]
pub struct Settings {
    pub paths: Paths,
    /// The names of the user and the assistant.
    pub names: Guessed<Names>,
    /// The user's time zone.
    pub zone: Guessed<TimeZone>,
    /// The model that answers.
    pub brain: Brain,
    /// The short names of models that can be chosen.
    pub aliases: BTreeMap<String, String>,
    /// The thinking setting of main; `auto` by default. `config.json` (`/config thinking.main`)
    /// overrides it, and `/thinking` overrides both.
    pub thinking: Thinking,
    /// Spending limits and prices.
    pub spend: Spend,
    /// Retries and context window of the model.
    pub manners: Manners,
    /// Addresses and accounts of the surfaces and services.
    pub places: Places,
    /// The home directory, if it is known.
    pub home: Option<String>,
    /// The text of the settings file; `None` if it is broken and other settings are used.
    pub file_text: Option<String>,
    /// The directory with transcripts of the Claude Code program, if it is known.
    pub transcripts: Option<PathBuf>,
}

/// Retries and context window of a model.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Limits of retries.
    pub patience: patience::Limits,
    /// The context window, and how full it may get.
    pub room: Room,
}

/// A value, and where it comes from.
#[derive(Clone, Debug)]
pub struct Guessed<T> {
    pub value: T,
    /// The source, such as `$USER` or `/etc/localtime`.
    pub from: &'static str,
}

/// The configuration of the model that answers.
#[derive(Clone, Debug)]
pub enum Brain {
    /// The built-in offline model.
    Offline,
    /// The offline model in place of a configured one whose key is missing; contains the reason.
    Keyless(String),
    /// Anthropic's API, or a compatible server.
    Anthropic(anthropic::Settings),
    /// An OpenAI-compatible server.
    OpenAi(openai::Settings),
    /// The Claude Code program with its own login.
    Claude(claude::Settings),
}

impl Brain {
    /// Returns its full name: `offline`, `anthropic:claude-sonnet-4-5`.
    pub fn name(&self) -> String {
        match self {
            Self::Offline | Self::Keyless(_) => OFFLINE.to_owned(),
            Self::Anthropic(brain) => format!("anthropic:{}", brain.model),
            Self::OpenAi(brain) => format!("openai:{}", brain.model),
            Self::Claude(brain) => match &brain.choices.model {
                Some(model) => format!("claude:{model}"),
                None => "claude".to_owned(),
            },
        }
    }
}

impl Settings {
    /// Reads all settings. A missing key is not an error; the offline model is used then.
    pub fn read(environment: &Environment) -> Result<Self, Failed> {
        let (settings, refused) = Self::read_on(environment)?;
        let first = refused.into_iter().find(|refusal| refusal.part != Part::Key);
        first.map_or(Ok(settings), |first| Err(first.why))
    }

    /// Reads the valid settings. A rejected part is replaced by its default.
    pub fn read_on(environment: &Environment) -> Result<(Self, Vec<Refusal>), Failed> {
        let mut refused = Refusals::default();
        let completed = refused.or(Part::Kept, environment.completed(), || Ok(environment.clone()))?;
        Self::all(&completed, refused)
    }

    /// Reads everything but the settings file, if that is what `wrong` is about. The file is replaced by the last text that
    /// worked, or else by defaults that allow little. Returns the settings and what to tell the user. A wrong variable is
    /// still an error.
    pub fn without_file(environment: &Environment, wrong: Failed) -> Result<(Self, String), Failed> {
        let Ok(environment) = environment.completed() else { return Err(wrong) };
        let paths = Paths::new(environment.data_dir()?);
        if let Ok(file) = File::read(&paths)
            && mistake(&file, &paths).is_none()
        {
            return Err(wrong);
        }
        let last_good = File::last_good(&paths).and_then(|file| match file {
            Some(file) => mistake(&file, &paths).map_or(Ok(Some(file)), Err),
            None => Ok(None),
        });
        let (file, told) = match last_good {
            Ok(Some(file)) => (file, AS_BEFORE.to_owned()),
            Ok(None) => (File::restrained()?, format!("No earlier settings are known, so {}", restrained())),
            Err(why) => {
                let why = why.to_string();
                let why = why.trim_end_matches('.');
                let told = format!(
                    "The settings of earlier starts can't be used either ({why}), so {}",
                    restrained()
                );
                (File::restrained()?, told)
            }
        };
        let (settings, refused) = Self::with(&environment, &paths, file, Refusals::default())?;
        match refused.into_iter().find(|refusal| refusal.part != Part::Key) {
            Some(refusal) => Err(refusal.why),
            None => Ok((Self { file_text: None, ..settings }, format!("{wrong} {told}"))),
        }
    }

    /// Like [`Settings::read_leniently`], but without the stored variables.
    pub fn of(environment: &Environment) -> Result<(Self, Vec<Refusal>), Failed> {
        Self::all(environment, Refusals::default())
    }

    fn all(environment: &Environment, mut refused: Refusals) -> Result<(Self, Vec<Refusal>), Failed> {
        let paths = Paths::new(environment.data_dir()?);
        let file = refused.or(Part::File, File::read(&paths), File::usual)?;
        Self::with(environment, &paths, file, refused)
    }

    fn with(
        environment: &Environment,
        paths: &Paths,
        file: File,
        mut refused: Refusals,
    ) -> Result<(Self, Vec<Refusal>), Failed> {
        let brain = match brain(environment, &file, paths) {
            Err(NoBrain::Keyless(why)) => {
                let told = why.to_string();
                refused.or(Part::Key, Err(why), || Ok(Brain::Keyless(told)))?
            }
            Err(NoBrain::Wrong(why) | NoBrain::Unknown(why)) => {
                refused.or(Part::Brain, Err(why), || Ok(Brain::Offline))?
            }
            Ok(brain) => brain,
        };
        let window = usual_window(&brain);
        let settings = Self {
            thinking: refused.or(Part::Thinking, thinking(environment, &file), || Ok(Thinking::Auto))?,
            names: names(environment),
            zone: refused.or(Part::Zone, zone::read(environment), || Ok(zone::guessed()))?,
            brain,
            aliases: file
                .model
                .aliases
                .clone()
                .into_iter()
                .filter(|(name, _)| SHORT_NAMES.contains(&name.as_str()))
                .collect(),
            spend: refused
                .or(Part::File, spend::read(&file, paths), || spend::read(&File::usual()?, paths))?,
            manners: Manners {
                patience: patience::Limits { tries: file.model.tries, ..patience::Limits::HOUSE },
                room: refused.or(Part::File, room(&file, window), || room(&File::usual()?, window))?,
            },
            places: refused.or(Part::Places, places::read(environment, &file, paths), || {
                places::read(&places::undoubted(environment), &File::usual()?, paths)
            })?,
            home: environment.get("HOME").map(str::to_owned),
            transcripts: claude_code::transcripts(environment),
            file_text: Some(file.text),
            paths: paths.clone(),
        };
        Ok((settings, refused.0))
    }
}

/// The notice when the last good settings replace a broken settings file.
const AS_BEFORE: &str = "Until it is fixed, I use the last settings that worked. Fix the file and restart; \
                         `ollim-bot doctor` checks it.";

/// The second half of the notice when restricted defaults are used.
fn restrained() -> String {
    format!(
        "until it is fixed, updates are off, the model is off unless OLLIM_MODEL names one, web search is off unless \
         OLLIM_SEARCH allows it, unattended spending is off unless `/config daily_limit` allows it, and one answer may use \
         {}k tokens. Reminders work. Fix the file and restart; `ollim-bot doctor` checks it.",
        file::FEW_TOKENS / 1000
    )
}

/// Returns the first invalid value of `file`, independent of the environment.
fn mistake(file: &File, paths: &Paths) -> Option<Failed> {
    let silent = Environment::default();
    if let Err(NoBrain::Unknown(why)) = brain(&silent, file, paths) {
        return Some(why);
    }
    let checks = [
        thinking(&silent, file).err(),
        spend::read(file, paths).err(),
        room(file, USUAL_WINDOW).err(),
        places::read(&silent, file, paths).err(),
    ];
    checks.into_iter().flatten().next()
}

/// Returns the default context window of a model, in tokens.
fn usual_window(brain: &Brain) -> u64 {
    match brain {
        Brain::OpenAi(server) if is_ollama(&server.base_url) => OLLAMA_WINDOW,
        Brain::Anthropic(_) | Brain::OpenAi(_) | Brain::Claude(_) | Brain::Offline | Brain::Keyless(_) => {
            USUAL_WINDOW
        }
    }
}

/// Returns whether `address` has the default port of Ollama.
pub fn is_ollama(address: &str) -> bool {
    address.trim().parse::<reqwest::Url>().is_ok_and(|url| url.port() == Some(11434))
}

fn room(file: &File, window: u64) -> Result<Room, Failed> {
    let limit = file.model.context_tokens.unwrap_or(window);
    let percent = file.model.compact_at_percent;
    if limit < *CONTEXT_TOKENS.start() {
        Err(Failed::Configuration(format!(
            "model.context_tokens is {limit}, and no model that reads so little can hold a conversation. \
             write at least {}.",
            CONTEXT_TOKENS.start()
        )))
    } else if limit > *CONTEXT_TOKENS.end() {
        Err(Failed::Configuration(format!(
            "model.context_tokens is {limit}. write a number from {} to {}.",
            CONTEXT_TOKENS.start(),
            CONTEXT_TOKENS.end()
        )))
    } else if (10..=95).contains(&percent) {
        Ok(Room { limit, percent })
    } else {
        Err(Failed::Configuration(format!(
            "model.compact_at_percent is {percent}. write a number from 10 to 95."
        )))
    }
}

/// The default context window in tokens. Models with a smaller one get less.
const USUAL_WINDOW: u64 = 200_000;

/// The context window that our instructions set for Ollama. It truncates longer prompts without an
/// error, so the conversation must be compacted before.
const OLLAMA_WINDOW: u64 = 64_000;

/// The valid range of the context window. Our own instructions and tools use much of the minimum;
/// the maximum exceeds any model.
const CONTEXT_TOKENS: RangeInclusive<u64> = 4_000..=100_000_000;

impl Settings {
    /// Returns the models that can be chosen at runtime, with `usual` as the default.
    pub fn choices(&self, usual: &str) -> Choices {
        let (naming, thinks) = match &self.brain {
            Brain::Anthropic(_) => (Naming::Short(self.aliases.clone()), Thinks::AsTold),
            Brain::Claude(_) => (Naming::Short(claude_code::aliases()), Thinks::ByEffort),
            Brain::OpenAi(_) => (Naming::Own, Thinks::ByItself),
            Brain::Offline | Brain::Keyless(_) => (Naming::default(), Thinks::ByItself),
        };
        let thinking = self.thinking;
        let human = self.names.value.human.clone();
        Choices { usual: usual.to_owned(), naming, thinks, thinking, human, ..Choices::default() }
    }

    /// Returns the names, with the one that the user chose in the chat, if any.
    pub fn names_with(&self, said: Option<&str>) -> Guessed<Names> {
        match said {
            None => self.names.clone(),
            Some(human) => {
                let names = Names { human: human.to_owned(), ..self.names.value.clone() };
                Guessed { value: names, from: "/name" }
            }
        }
    }
}

fn names(environment: &Environment) -> Guessed<Names> {
    let assistant = environment.get("OLLIM_BOT_NAME").unwrap_or("ollim").to_owned();
    let named = environment.get("OLLIM_USER_NAME").map(|name| (name, "OLLIM_USER_NAME"));
    let guessed = named.or_else(|| environment.get("USER").map(|name| (name, "$USER")));
    let (human, from) = guessed.unwrap_or(("friend", "a guess"));
    Guessed { value: Names { assistant, human: human.to_owned() }, from }
}

/// The reason why the configured model cannot be used.
enum NoBrain {
    /// Its key is missing, for example because the data directory was moved to another machine.
    Keyless(Failed),
    /// A variable or a key is invalid.
    Wrong(Failed),
    /// There is no such model.
    Unknown(Failed),
}

impl From<Failed> for NoBrain {
    fn from(why: Failed) -> Self {
        Self::Wrong(why)
    }
}

fn brain(environment: &Environment, file: &File, paths: &Paths) -> Result<Brain, NoBrain> {
    let wanted = environment.get("OLLIM_MODEL").unwrap_or(&file.model.r#use);
    let read = |vendor| match key::read(environment, paths, vendor) {
        Err(why) if key::is_gone(environment, vendor) => Err(NoBrain::Keyless(why)),
        read => Ok(read?),
    };
    // Do not fail because of a key that is not used.
    let key = if wanted == "auto" || wanted.starts_with("anthropic:") { read(key::ANTHROPIC)? } else { None };
    let wanted = match (wanted, &key) {
        ("auto", Some(_)) => "anthropic:sonnet",
        ("auto", None) => "offline",
        (other, _) => other,
    };
    let unset = |what: &str| {
        let why = Failed::Configuration(format!("OLLIM_MODEL asks for {wanted}, but {what}"));
        // A variable of this shell is an error that the user sees now; a stored one must not
        // prevent the start, so that reminders still work.
        match environment.said("OLLIM_MODEL") {
            Some(_) => NoBrain::Wrong(why),
            None => NoBrain::Keyless(why),
        }
    };
    match (wanted.split_once(':'), key) {
        (None, _) if wanted == "offline" => Ok(Brain::Offline),
        (None, _) if wanted == "claude" => {
            Ok(Brain::Claude(claude_code::settings(environment, file, paths, None)))
        }
        (Some(("claude", model)), _) if !model.is_empty() => {
            Ok(Brain::Claude(claude_code::settings(environment, file, paths, Some(model))))
        }
        (Some(("anthropic", model)), Some(key)) if !model.is_empty() => {
            Ok(Brain::Anthropic(messages_api(environment, file, model, key)))
        }
        (Some(("anthropic", model)), None) if !model.is_empty() => Err(unset(
            "ANTHROPIC_API_KEY is not set. set it (or ANTHROPIC_API_KEY_FILE, or write state/anthropic.key), or use OLLIM_MODEL=offline.",
        )),
        (Some(("openai", model)), _) if !model.is_empty() => {
            let key = read(key::OPENAI)?;
            let settings = chat_completions(environment, file, model, key);
            settings.map(Brain::OpenAi).ok_or_else(|| {
                unset("OPENAI_API_KEY is not set. set it, or OPENAI_BASE_URL to a server that needs none.")
            })
        }
        _ => Err(NoBrain::Unknown(Failed::Configuration(format!(
            "OLLIM_MODEL: `{wanted}` is not a brain i know. use `offline`, `anthropic:` and a model such as \
             sonnet, `openai:` and a model of your server, or `claude` for the Claude Code program."
        )))),
    }
}

fn thinking(environment: &Environment, file: &File) -> Result<Thinking, Failed> {
    let way = environment.get("OLLIM_THINKING").unwrap_or(&file.model.thinking);
    way.parse().map_err(|bad: BadThinking| Failed::Configuration(format!("OLLIM_THINKING: {bad}.")))
}

/// The most tokens of one reply over the Messages API. Thinking counts, so a small limit leaves no room for the answer. A
/// model with a smaller limit gets that one.
const MESSAGES_REPLY_TOKENS: u32 = 32_000;

/// The most tokens of one reply from other servers: smaller, because many refuse a request whose prompt and limit together
/// exceed their window.
const CHAT_REPLY_TOKENS: u32 = 8192;

fn messages_api(
    environment: &Environment,
    file: &File,
    model: &str,
    key: anthropic::Key,
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
fn chat_completions(
    environment: &Environment,
    file: &File,
    model: &str,
    key: Option<openai::Key>,
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
    fn room(url: &str, file: &str) -> Room {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("settings.toml"), file).unwrap();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(dir.path().to_str().unwrap().to_owned()),
            "OLLIM_MODEL" => Some("openai:qwen3".to_owned()),
            "OPENAI_BASE_URL" => Some(url.to_owned()),
            _ => None,
        };
        Settings::read(&Environment::new(known)).unwrap().manners.room
    }

    /// Ollama truncates long prompts without an error, so the context window fits its recommended
    /// setting.
    #[test]
    fn a_conversation_with_ollama_fits_into_its_window() {
        let limit = |url: &str, file: &str| room(url, file).limit;
        assert_eq!(limit("http://127.0.0.1:11434/v1", ""), 64_000);
        assert_eq!(limit("http://127.0.0.1:8080/v1", ""), 200_000);
        assert_eq!(limit("http://127.0.0.1:11434", "[model]\ncontext_tokens = 32000\n"), 32_000);
    }
    const BROKEN: &str = "[model\n";

    /// Starts with these texts as `settings.toml` and as the last good settings, and with one more variable.
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
            assert!(matches!(failed, Failed::Configuration(_)), "it ends with 78");
            failed.to_string()
        })
    }

    /// A wrong variable is an error even if the fallback settings would not use it.
    #[test]
    fn a_wrong_variable_is_an_error_also_if_it_means_nothing_to_other_settings() {
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
    fn a_mistake_in_a_value_of_the_file_is_no_wrong_variable() {
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
            assert_eq!(settings.manners.patience.tries, 3);
        }
    }

    /// Without earlier settings the restricted defaults are used, and the notice names what still
    /// allows more.
    #[test]
    fn without_usable_settings_little_is_allowed() {
        let (settings, told) = start(BROKEN, None, ("OLLIM_SEARCH", "vendor")).unwrap();
        assert_eq!(settings.spend.turn.tokens, file::FEW_TOKENS);
        assert_eq!(settings.places.search.choice, web::Choice::Vendor);
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
    fn a_last_good_copy_that_is_refused_is_told_with_its_mistake() {
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
            assert_eq!(settings.spend.turn.tokens, file::FEW_TOKENS);
        }
    }
}
