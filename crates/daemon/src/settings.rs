//! Settings: read once, from the defaults, the human's file and the environment, and handed out in pieces.

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

/// Where Anthropic is.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
/// Where OpenAI is.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Everything that can be set. Each adapter gets the piece it needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data directory.
    pub paths: Paths,
    /// What the two are called.
    pub names: Guessed<Names>,
    /// The human's zone.
    pub zone: Guessed<TimeZone>,
    /// Who answers.
    pub brain: Brain,
    /// The short names of models that can be chosen.
    pub aliases: BTreeMap<String, String>,
    /// How much is thought on main; `auto` if nothing was said about it. It holds until `config.json` says something else
    /// (`/config thinking.main`), and that until `/thinking` does: see `Assistant::thinking`.
    pub thinking: Thinking,
    /// What may be spent.
    pub spend: Spend,
    /// How a model is treated.
    pub manners: Manners,
    /// Where the human can be.
    pub places: Places,
    /// What `~` stands for, if that is known.
    pub home: Option<String>,
    /// The text of the settings file; nothing if it is broken and these settings come from elsewhere.
    pub file_text: Option<String>,
    /// The folder of the Claude Code program in which transcripts of earlier conversations are, if it is known.
    pub transcripts: Option<PathBuf>,
}

/// How a model is treated.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// How patient we are with one that fails.
    pub patience: patience::Limits,
    /// How much it reads at once, and how full that may get.
    pub room: Room,
}

/// A value, and where it comes from.
#[derive(Clone, Debug)]
pub struct Guessed<T> {
    /// The value.
    pub value: T,
    /// In words: `$USER`, `/etc/localtime`.
    pub from: &'static str,
}

/// Who answers.
#[derive(Clone, Debug)]
pub enum Brain {
    /// The one that is always there.
    Offline,
    /// The same, in the place of one that was chosen once and whose key is not here: what is missing.
    Keyless(String),
    /// Anthropic's API, or whoever speaks like it.
    Anthropic(anthropic::Settings),
    /// Any server that speaks chat completions.
    OpenAi(openai::Settings),
    /// The Claude Code program, with the login it has.
    Claude(claude::Settings),
}

impl Brain {
    /// What it calls itself: `offline`, `anthropic:claude-sonnet-4-5`.
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
    /// Reads everything. A key that is not there stops nobody: see `Brain::Keyless`.
    pub fn read(environment: &Environment) -> Result<Self, Failed> {
        let (settings, refused) = Self::read_on(environment)?;
        let first = refused.into_iter().find(|refusal| refusal.part != Part::Key);
        first.map_or(Ok(settings), |first| Err(first.why))
    }

    /// Reads all that can be read. A part that is refused is as if nobody had said anything about it.
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

    /// The same of what `environment` alone says: what was set up once is in it already, or is not to count.
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

/// What is told where the last text that worked took the place of a broken settings file.
const AS_BEFORE: &str = "Until it is fixed, I use the last settings that worked. Fix the file and restart; \
                         `ollim-bot doctor` checks it.";

/// What is told where no earlier text can be used: half a sentence, and what to do.
fn restrained() -> String {
    format!(
        "until it is fixed, updates are off, the model is off unless OLLIM_MODEL names one, web search is off unless \
         OLLIM_SEARCH allows it, unattended spending is off unless `/config daily_limit` allows it, and one answer may use \
         {}k tokens. Reminders work. Fix the file and restart; `ollim-bot doctor` checks it.",
        file::FEW_TOKENS / 1000
    )
}

/// Returns what is wrong with a value of `file`, whatever the environment says.
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

/// Returns how many tokens are read at once if the settings do not say it.
fn usual_window(brain: &Brain) -> u64 {
    match brain {
        Brain::OpenAi(server) if is_ollama(&server.base_url) => OLLAMA_WINDOW,
        Brain::Anthropic(_) | Brain::OpenAi(_) | Brain::Claude(_) | Brain::Offline | Brain::Keyless(_) => {
            USUAL_WINDOW
        }
    }
}

/// Whether `address` has the port of Ollama.
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

/// How many tokens of a conversation are read at once. A model that reads less gets less.
const USUAL_WINDOW: u64 = 200_000;

/// The window that our instructions set for Ollama. It cuts a longer prompt without an error, so the conversation must be
/// summed up before.
const OLLAMA_WINDOW: u64 = 64_000;

/// How many tokens a model can be said to read at once. Our own instructions and tools take a good part of the fewest; the
/// most are more than any model reads.
const CONTEXT_TOKENS: RangeInclusive<u64> = 4_000..=100_000_000;

impl Settings {
    /// The models that can be chosen while the program runs, if `usual` is the one that answers.
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

    /// The names, with the one that the human said in the chat, if they did.
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

/// Why nobody answers.
enum NoBrain {
    /// The one that was chosen once lacks its key: it may have stayed on another machine.
    Keyless(Failed),
    /// A variable or a key cannot be used.
    Wrong(Failed),
    /// There is none of that name.
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
    // A key that nobody asks for cannot be in the way.
    let key = if wanted == "auto" || wanted.starts_with("anthropic:") { read(key::ANTHROPIC)? } else { None };
    let wanted = match (wanted, &key) {
        ("auto", Some(_)) => "anthropic:sonnet",
        ("auto", None) => "offline",
        (other, _) => other,
    };
    let unset = |what: &str| {
        let why = Failed::Configuration(format!("OLLIM_MODEL asks for {wanted}, but {what}"));
        // Whoever says it now is here to read it; what was kept must not keep a reminder from ringing.
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

/// How much is thought.
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

/// Nothing, if neither a key nor a server of one's own is named: the vendor itself wants to be paid.
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

    /// The room for a conversation with a server at `url`, with this settings file.
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

    /// Ollama cuts a prompt that is longer than its window without an error, so the conversation is summed up before.
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

    /// The last good settings and the defaults need no key of Anthropic here, so they could hide that the variable is wrong.
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

    /// Each mistake in the file itself is one that the last good settings help with.
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

    /// Without earlier settings little is allowed, and what a variable or `/config` still allows is told.
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
