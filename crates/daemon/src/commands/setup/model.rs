//! Setup of the model.

use super::asking::{Ended, Given, Tries, unreached};
use super::keeping::Draft;
use super::{Done, Here};
use crate::checkup::model::Cause;
use crate::checkup::{State, model};
use crate::cli::ModelSetup;
use crate::exit::Failed;
use crate::settings::key::{self, ANTHROPIC, OPENAI};
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
fn advice(place: &str) -> Option<&'static str> {
    is_ollama(place).then_some(OLLAMA_CONTEXT)
}

/// Connects a model, unless one works and nothing new was given.
pub async fn set_up(here: &mut Here, given: ModelSetup) -> Result<Done, Ended> {
    let key = Given::new((given.key_file.as_deref(), given.key_stdin));
    let nothing_new = given.model.is_none() && given.url.is_none() && !key.is_said();
    if nothing_new {
        let model::Looked { finding: found, cause } = model::examine(&here.settings).await;
        if found.state == State::Fine {
            return Ok(Done::works("model", format!("{}. nothing to do", found.text)));
        }
        if cause == Cause::Network {
            return Err(unreached(&found.text, "--model NAME"));
        }
        here.asker.say(&format!("{} model  {}", found.state.mark(), found.text));
    }
    let mut chosen = choose(here, &given, key)?;
    let mut tries = Tries::default();
    let mut typed = None;
    let (draft, found) = loop {
        let draft = draft(here, &chosen, key, typed.take())?;
        let trial = here.keeping.trial(&draft)?;
        let model::Looked { finding, cause } = model::examine(&trial.settings).await;
        if finding.state == State::Fine || chosen.name == "offline" {
            break (draft, finding);
        }
        // If nothing was typed, asking again makes no sense.
        let asked = if draft.secret.is_some() || given.model.is_none() { key } else { Given::Stdin };
        tries.again(&here.asker, asked, &finding.text)?;
        if cause == Cause::Key {
            continue;
        }
        // Only a rejected key is asked for again.
        typed = chosen.place(here).zip(draft.secret);
        if given.model.is_none() && !chosen.name.starts_with("anthropic:") {
            chosen = choose(here, &given, key)?
        } else {
            wait(here)?
        }
    };
    let mut asides = here.keeping.keep(&draft)?;
    asides.extend(chosen.place(here).and_then(|place| advice(&place)).map(str::to_owned));
    let text = match chosen.name.as_str() {
        "offline" => "nobody answers but the brain in here".to_owned(),
        _ => found.text,
    };
    Ok(Done::changed("model", here_and(here, text, asides).await))
}

/// Waits until the user wants to try again.
fn wait(here: &Here) -> Result<(), Ended> {
    let answer = here.asker.line("press enter to try again, or q: ")?;
    answer.filter(|answer| answer.is_empty()).map(drop).ok_or(Ended::Left)
}

/// Appends notes, and the restart hint, to `text`.
pub async fn here_and(here: &Here, text: String, asides: Vec<String>) -> String {
    let asides = asides.into_iter().chain(here.keeping.heard().await);
    asides.fold(text, |text, aside| format!("{text}\n  {aside}"))
}

struct Chosen {
    /// The full name, such as `openai:qwen3`.
    name: String,
    /// The address of the server, if it was given.
    url: Option<String>,
}

/// The variables of a vendor.
struct Vendor {
    secret: key::Vendor,
    /// The variable with the address of the server.
    address: &'static str,
    /// The vendor's own server.
    usual: &'static str,
}

impl Chosen {
    fn new(name: &str, url: Option<&str>) -> Self {
        Self { name: name.to_owned(), url: url.map(str::to_owned) }
    }

    /// Returns the vendor whose API is called, if any.
    fn vendor(&self) -> Option<Vendor> {
        let (secret, address, usual) = match self.name.split_once(':')?.0 {
            "anthropic" => (ANTHROPIC, "ANTHROPIC_BASE_URL", ANTHROPIC_URL),
            "openai" => (OPENAI, "OPENAI_BASE_URL", OPENAI_URL),
            _ => return None,
        };
        Some(Vendor { secret, address, usual })
    }

    /// Returns the address that was given or that this shell has. The stored one does not count,
    /// because it belongs to the previous model.
    fn url(&self, here: &Here) -> Option<String> {
        self.url.clone().or_else(|| here.keeping.said(self.vendor()?.address))
    }

    /// Returns the server that receives the key.
    fn place(&self, here: &Here) -> Option<String> {
        let usual = self.vendor()?.usual;
        Some(self.url(here).unwrap_or_else(|| usual.to_owned()))
    }
}

/// Returns whether both addresses have the same origin and therefore share a key.
fn is_same(one: &str, other: &str) -> bool {
    let origin = |address: &str| address.trim().parse::<reqwest::Url>().ok().map(|url| url.origin());
    origin(one).is_some_and(|one| Some(one) == origin(other))
}

fn choose(here: &Here, given: &ModelSetup, key: Given<'_>) -> Result<Chosen, Ended> {
    let url = given.url.as_deref();
    if let Some(name) = given.model.as_deref().map(str::trim) {
        return if is_brain(name) {
            Ok(Chosen::new(name, url))
        } else {
            Err(Failed::Usage(format!("--model: `{name}` is not a brain i know. {NO_MODEL}")).into())
        };
    }
    if key.is_said() {
        // A key alone is taken to be one of Anthropic.
        return Ok(Chosen::new("anthropic:sonnet", url));
    }
    here.asker.say(CHOICES);
    loop {
        match here.asker.text(None, "choose 1-4, or q: ", NO_MODEL)?.as_str() {
            "1" | "anthropic" => return Ok(Chosen::new("anthropic:sonnet", url)),
            "2" => return server(here, given),
            "3" | "claude" => return Ok(Chosen::new("claude", None)),
            "4" | "nobody" | "offline" => return Ok(Chosen::new("offline", None)),
            _ => here.asker.say("that is none of them."),
        }
    }
}

/// Returns whether `name` is a valid model name.
fn is_brain(name: &str) -> bool {
    match name.split_once(':') {
        Some(("anthropic" | "openai" | "claude", model)) => !model.is_empty(),
        Some(_) => false,
        None => matches!(name, "claude" | "offline"),
    }
}

/// Asks for an OpenAI-compatible server and one of its models.
fn server(here: &Here, given: &ModelSetup) -> Result<Chosen, Ended> {
    let url = here.asker.text(
        given.url.as_deref(),
        "where is it? (such as http://127.0.0.1:11434): ",
        "say where it is: --url URL",
    )?;
    let name = here.asker.text(None, "which of its models? (such as qwen3): ", NO_MODEL)?;
    Ok(Chosen::new(&format!("openai:{name}"), Some(&url)))
}

/// A typed secret and the server that it was typed for.
type Typed = Option<(String, (key::Vendor, Option<accounts::Secret>))>;

fn draft(here: &Here, chosen: &Chosen, key: Given<'_>, typed: Typed) -> Result<Draft, Ended> {
    let draft = Draft::default().and("OLLIM_MODEL", Some(&chosen.name));
    let (Some(vendor), Some(place)) = (chosen.vendor(), chosen.place(here)) else {
        return Ok(if chosen.name == "offline" { draft } else { with_program(here, draft) });
    };
    let url = chosen.url(here);
    let draft = draft.and(vendor.address, url.as_deref());
    let is_for_it = |(before, (whose, _)): &(String, (key::Vendor, _))| {
        whose.file == vendor.secret.file && is_same(before, &place)
    };
    if let Some((_, secret)) = typed.filter(is_for_it) {
        return Ok(Draft { secret: Some(secret), ..draft });
    }
    // A key must not be sent to another server than its own.
    let before = here.keeping.known(vendor.address);
    let is_kept =
        is_same(before.as_deref().unwrap_or(vendor.usual), &place) && here.keeping.has_secret(vendor.secret);
    // A self-hosted server often needs no key.
    let may_want_none = chosen.name.starts_with("openai:") && url.is_some();
    let secret = match (key, may_want_none) {
        (Given::Nothing, _) if is_kept && !here.asker.can_ask() => return Ok(draft),
        (Given::Nothing, true) if !here.asker.can_ask() => None,
        (Given::Nothing, true) if is_kept => {
            match here.asker.typed("paste its key (hidden; enter keeps the one you gave): ")? {
                None => return Ok(draft),
                typed => typed,
            }
        }
        (Given::Nothing, true) => here.asker.typed("paste its key (hidden; enter, if it wants none): ")?,
        (key, _) => Some(here.asker.secret(key, "paste the key (hidden): ", NO_KEY)?),
    };
    Ok(match secret {
        Some(secret) => draft.secret(vendor.secret, secret),
        None => draft.without_secret(vendor.secret),
    })
}

/// Stores the path of the claude program, because a service may have a shorter `PATH`.
fn with_program(here: &Here, draft: Draft) -> Draft {
    let places = here.settings.places.programs.clone().unwrap_or_default();
    let found =
        std::env::split_paths(&places).map(|place| place.join("claude")).find(|place| place.is_file());
    match found {
        Some(found) => draft.and("OLLIM_CLAUDE", Some(&found.to_string_lossy())),
        None => draft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ollama's default context truncates every conversation, so the setup and the README show how
    /// to start it.
    #[test]
    fn ollama_is_started_with_a_window_that_holds_a_conversation() {
        let command = "`OLLAMA_CONTEXT_LENGTH=64000 ollama serve`";
        for place in ["http://127.0.0.1:11434", "http://192.168.1.5:11434/v1"] {
            assert!(advice(place).is_some_and(|text| text.contains(command)), "{place}");
        }
        assert_eq!(advice("http://127.0.0.1:8080/v1"), None);
        let readme = include_str!("../../../../../README.md");
        let line = readme.lines().find(|line| line.starts_with("- Ollama:"));
        assert!(line.is_some_and(|line| line.contains(command)), "{line:?}");
    }
}
