//! Setup of the model.

use super::prompt::{Attempts, SecretSource, SectionError, not_reachable};
use super::store::Draft;
use super::{SectionResult, SetupContext};
use crate::checks::model::Cause;
use crate::checks::{State, model};
use crate::cli::ModelSetup;
use crate::exit::CommandError;
use crate::settings::secrets::{self, ANTHROPIC, OPENAI};
use crate::settings::{ANTHROPIC_URL, OPENAI_URL, is_ollama};

const CHOICES: &str = "\
who should answer?
  1 anthropic  with an api key (console.anthropic.com, API keys)
  2 a server   openai, or one with its api: ollama, llama.cpp, openrouter
  3 claude     the Claude Code program, with the login it has
  4 nobody     the brain in here: plans and reminders, no talk";

const NO_MODEL: &str = "say who should answer: --model anthropic:sonnet, openai:NAME, claude or offline";
const NO_KEY: &str = "give the key with --key-file FILE or --key-stdin";

/// Ollama's default context is 4096 tokens on most machines, and longer prompts are truncated
/// without an error. The API cannot change it, so the server has to be started with another one.
const OLLAMA_CONTEXT: &str = "Ollama reads only 4,000 tokens by default and forgets the rest. Start it with \
    `OLLAMA_CONTEXT_LENGTH=64000 ollama serve`. For another length, set `context_tokens` under `[model]` in settings.toml.";

/// Returns a hint for servers that need other settings than their defaults.
fn start_advice(place: &str) -> Option<&'static str> {
    is_ollama(place).then_some(OLLAMA_CONTEXT)
}

/// Connects a model, unless one works and nothing new was given.
pub async fn set_up(here: &mut SetupContext, given: ModelSetup) -> Result<SectionResult, SectionError> {
    let key = SecretSource::new((given.key_file.as_deref(), given.key_stdin));
    let nothing_new = given.model.is_none() && given.url.is_none() && !key.is_given();
    if nothing_new {
        let model::ModelCheck { finding: found, cause } = model::diagnose(&here.settings).await;
        if found.state == State::Fine {
            return Ok(SectionResult::unchanged("model", format!("{}. nothing to do", found.text)));
        }
        if cause == Cause::Network {
            return Err(not_reachable(&found.text, "--model NAME"));
        }
        here.prompter.print(&format!("{} model  {}", found.state.symbol(), found.text));
    }
    let mut chosen = choose(here, &given, key)?;
    let mut tries = Attempts::default();
    let mut typed = None;
    let (draft, found) = loop {
        let draft = draft(here, &chosen, key, typed.take())?;
        let trial = here.store.trial(&draft)?;
        let model::ModelCheck { finding, cause } = model::diagnose(&trial.settings).await;
        if finding.state == State::Fine || chosen.name == "offline" {
            break (draft, finding);
        }
        // If nothing was typed, asking again makes no sense.
        let asked = if draft.secret.is_some() || given.model.is_none() { key } else { SecretSource::Stdin };
        tries.retry(&here.prompter, asked, &finding.text)?;
        if cause == Cause::Key {
            continue;
        }
        // Only a rejected key is asked for again.
        typed = chosen.server(here).zip(draft.secret);
        if given.model.is_none() && !chosen.name.starts_with("anthropic:") {
            chosen = choose(here, &given, key)?
        } else {
            wait_for_retry(here)?
        }
    };
    let mut asides = here.store.save(&draft)?;
    asides.extend(chosen.server(here).and_then(|place| start_advice(&place)).map(str::to_owned));
    let text = match chosen.name.as_str() {
        "offline" => "nobody answers but the brain in here".to_owned(),
        _ => found.text,
    };
    Ok(SectionResult::changed("model", with_notes(here, text, asides).await))
}

/// Waits until the user wants to try again.
fn wait_for_retry(here: &SetupContext) -> Result<(), SectionError> {
    let answer = here.prompter.line("press enter to try again, or q: ")?;
    answer.filter(|answer| answer.is_empty()).map(drop).ok_or(SectionError::Cancelled)
}

/// Appends notes, and the restart hint, to `text`.
pub async fn with_notes(here: &SetupContext, text: String, asides: Vec<String>) -> String {
    let asides = asides.into_iter().chain(here.store.restart_hint().await);
    asides.fold(text, |text, aside| format!("{text}\n  {aside}"))
}

struct ModelChoice {
    /// The full name, such as `openai:qwen3`.
    name: String,
    /// The address of the server, if it was given.
    url: Option<String>,
}

/// The variables of a vendor.
struct VendorConfig {
    secret: secrets::SecretPlaces,
    /// The variable with the address of the server.
    url_variable: &'static str,
    /// The vendor's own server.
    default_url: &'static str,
}

impl ModelChoice {
    fn new(name: &str, url: Option<&str>) -> Self {
        Self { name: name.to_owned(), url: url.map(str::to_owned) }
    }

    /// Returns the vendor whose API is called, if any.
    fn vendor(&self) -> Option<VendorConfig> {
        let (secret, address, usual) = match self.name.split_once(':')?.0 {
            "anthropic" => (ANTHROPIC, "ANTHROPIC_BASE_URL", ANTHROPIC_URL),
            "openai" => (OPENAI, "OPENAI_BASE_URL", OPENAI_URL),
            _ => return None,
        };
        Some(VendorConfig { secret, url_variable: address, default_url: usual })
    }

    /// Returns the address that was given or that this shell has. The stored one does not count,
    /// because it belongs to the previous model.
    fn url(&self, here: &SetupContext) -> Option<String> {
        self.url.clone().or_else(|| here.store.shell_value(self.vendor()?.url_variable))
    }

    /// Returns the server that receives the key.
    fn server(&self, here: &SetupContext) -> Option<String> {
        let usual = self.vendor()?.default_url;
        Some(self.url(here).unwrap_or_else(|| usual.to_owned()))
    }
}

/// Returns whether both addresses have the same origin and therefore share a key.
fn is_same_server(one: &str, other: &str) -> bool {
    let origin = |address: &str| address.trim().parse::<reqwest::Url>().ok().map(|url| url.origin());
    origin(one).is_some_and(|one| Some(one) == origin(other))
}

fn choose(
    here: &SetupContext,
    given: &ModelSetup,
    key: SecretSource<'_>,
) -> Result<ModelChoice, SectionError> {
    let url = given.url.as_deref();
    if let Some(name) = given.model.as_deref().map(str::trim) {
        return if is_model_name(name) {
            Ok(ModelChoice::new(name, url))
        } else {
            Err(CommandError::Usage(format!("--model: `{name}` is not a brain i know. {NO_MODEL}")).into())
        };
    }
    if key.is_given() {
        // A key alone is taken to be one of Anthropic.
        return Ok(ModelChoice::new("anthropic:sonnet", url));
    }
    here.prompter.print(CHOICES);
    loop {
        match here.prompter.text(None, "choose 1-4, or q: ", NO_MODEL)?.as_str() {
            "1" | "anthropic" => return Ok(ModelChoice::new("anthropic:sonnet", url)),
            "2" => return ask_for_server(here, given),
            "3" | "claude" => return Ok(ModelChoice::new("claude", None)),
            "4" | "nobody" | "offline" => return Ok(ModelChoice::new("offline", None)),
            _ => here.prompter.print("that is none of them."),
        }
    }
}

/// Returns whether `name` is a valid model name.
fn is_model_name(name: &str) -> bool {
    match name.split_once(':') {
        Some(("anthropic" | "openai" | "claude", model)) => !model.is_empty(),
        Some(_) => false,
        None => matches!(name, "claude" | "offline"),
    }
}

/// Asks for an OpenAI-compatible server and one of its models.
fn ask_for_server(here: &SetupContext, given: &ModelSetup) -> Result<ModelChoice, SectionError> {
    let url = here.prompter.text(
        given.url.as_deref(),
        "where is it? (such as http://127.0.0.1:11434): ",
        "say where it is: --url URL",
    )?;
    let name = here.prompter.text(None, "which of its models? (such as qwen3): ", NO_MODEL)?;
    Ok(ModelChoice::new(&format!("openai:{name}"), Some(&url)))
}

/// A typed secret and the server that it was typed for.
type TypedSecret = Option<(String, (secrets::SecretPlaces, Option<accounts::Secret>))>;

fn draft(
    here: &SetupContext,
    chosen: &ModelChoice,
    key: SecretSource<'_>,
    typed: TypedSecret,
) -> Result<Draft, SectionError> {
    let draft = Draft::default().with("OLLIM_MODEL", Some(&chosen.name));
    let (Some(vendor), Some(place)) = (chosen.vendor(), chosen.server(here)) else {
        return Ok(if chosen.name == "offline" { draft } else { with_program_path(here, draft) });
    };
    let url = chosen.url(here);
    let draft = draft.with(vendor.url_variable, url.as_deref());
    let is_for_it = |(before, (whose, _)): &(String, (secrets::SecretPlaces, _))| {
        whose.file == vendor.secret.file && is_same_server(before, &place)
    };
    if let Some((_, secret)) = typed.filter(is_for_it) {
        return Ok(Draft { secret: Some(secret), ..draft });
    }
    // A key must not be sent to another server than its own.
    let before = here.store.value(vendor.url_variable);
    let is_kept = is_same_server(before.as_deref().unwrap_or(vendor.default_url), &place)
        && here.store.has_secret(vendor.secret);
    // A self-hosted server often needs no key.
    let may_want_none = chosen.name.starts_with("openai:") && url.is_some();
    let secret = match (key, may_want_none) {
        (SecretSource::Prompt, _) if is_kept && !here.prompter.can_ask() => return Ok(draft),
        (SecretSource::Prompt, true) if !here.prompter.can_ask() => None,
        (SecretSource::Prompt, true) if is_kept => {
            match here.prompter.prompt_hidden("paste its key (hidden; enter keeps the one you gave): ")? {
                None => return Ok(draft),
                typed => typed,
            }
        }
        (SecretSource::Prompt, true) => {
            here.prompter.prompt_hidden("paste its key (hidden; enter, if it wants none): ")?
        }
        (key, _) => Some(here.prompter.secret(key, "paste the key (hidden): ", NO_KEY)?),
    };
    Ok(match secret {
        Some(secret) => draft.secret(vendor.secret, secret),
        None => draft.without_secret(vendor.secret),
    })
}

/// Stores the path of the claude program, because a service may have a shorter `PATH`.
fn with_program_path(here: &SetupContext, draft: Draft) -> Draft {
    let places = here.settings.integrations.program_path.clone().unwrap_or_default();
    let found =
        std::env::split_paths(&places).map(|place| place.join("claude")).find(|place| place.is_file());
    match found {
        Some(found) => draft.with("OLLIM_CLAUDE", Some(&found.to_string_lossy())),
        None => draft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ollama's default context truncates every conversation, so the setup and the README show how
    /// to start it.
    #[test]
    fn ollama_advice_raises_the_context_length() {
        let command = "`OLLAMA_CONTEXT_LENGTH=64000 ollama serve`";
        for place in ["http://127.0.0.1:11434", "http://192.168.1.5:11434/v1"] {
            assert!(start_advice(place).is_some_and(|text| text.contains(command)), "{place}");
        }
        assert_eq!(start_advice("http://127.0.0.1:8080/v1"), None);
        let readme = include_str!("../../../../../README.md");
        let line = readme.lines().find(|line| line.starts_with("- Ollama:"));
        assert!(line.is_some_and(|line| line.contains(command)), "{line:?}");
    }
}
