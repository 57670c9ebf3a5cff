//! Who answers.

use super::asking::{Ended, Given, Tries};
use super::keeping::Draft;
use super::{Done, Here};
use crate::checkup::{State, model};
use crate::cli::ModelSetup;
use crate::exit::Failed;
use crate::settings::key::{ANTHROPIC, OPENAI};

const CHOICES: &str = "\
who should answer?
  1 anthropic  with an api key (console.anthropic.com, API keys)
  2 a server   that speaks chat completions: ollama, llama.cpp, openrouter, openai
  3 claude     the Claude Code program, with the login it has
  4 nobody     the brain in here: plans and reminders, no talk";

const NO_MODEL: &str = "say who should answer: --model anthropic:sonnet, openai:NAME, claude or offline";
const NO_KEY: &str = "give the key with --key-file FILE or --key-stdin";

/// Connects a model, unless one works and nothing new was given.
pub async fn set_up(here: &mut Here, given: ModelSetup) -> Result<Done, Ended> {
    let key = Given::new((given.key_file.as_deref(), given.key_stdin));
    let nothing_new = given.model.is_none() && given.url.is_none() && !key.is_said();
    if nothing_new {
        let found = model::look(&here.settings).await;
        if found.state == State::Fine {
            return Ok(Done::works("model", format!("{}. nothing to do", found.text)));
        }
        here.asker.say(&format!("{} model  {}", found.state.mark(), found.text));
    }
    let (mut name, mut url) = choose(here, &given, key)?;
    let mut tries = Tries::default();
    let (draft, found) = loop {
        let draft = draft(here, (&name, url.as_deref()), key)?;
        let trial = here.keeping.trial(&draft)?;
        let found = model::look(&trial.settings).await;
        if found.state == State::Fine || name == "offline" {
            break (draft, found);
        }
        // Where there is nothing to type, there is nothing to type again.
        let asked = if draft.secret.is_some() || given.model.is_none() { key } else { Given::Stdin };
        tries.again(&here.asker, asked, &found.text)?;
        if given.model.is_none() && !name.starts_with("anthropic:") {
            (name, url) = choose(here, &given, key)?;
        }
    };
    let asides = here.keeping.keep(&draft)?;
    let text = if name == "offline" { "nobody answers but the brain in here".to_owned() } else { found.text };
    Ok(Done::changed("model", here_and(here, text, asides).await))
}

/// `text`, and what else should be heard.
pub async fn here_and(here: &Here, text: String, asides: Vec<String>) -> String {
    let asides = asides.into_iter().chain(here.keeping.heard().await);
    asides.fold(text, |text, aside| format!("{text}\n  {aside}"))
}

fn choose(here: &Here, given: &ModelSetup, key: Given<'_>) -> Result<(String, Option<String>), Ended> {
    if let Some(name) = given.model.as_deref().map(str::trim) {
        return match is_brain(name) {
            true => Ok((name.to_owned(), given.url.clone())),
            false => {
                Err(Failed::Usage(format!("--model: `{name}` is not a brain i know. {NO_MODEL}")).into())
            }
        };
    }
    if key.is_said() {
        // Who only gives a key has one of the vendor that is usual.
        return Ok(("anthropic:sonnet".to_owned(), given.url.clone()));
    }
    here.asker.say(CHOICES);
    loop {
        match here.asker.text(None, "choose 1-4, or q: ", NO_MODEL)?.as_str() {
            "1" | "anthropic" => return Ok(("anthropic:sonnet".to_owned(), given.url.clone())),
            "2" => return server(here, given),
            "3" | "claude" => return Ok(("claude".to_owned(), None)),
            "4" | "nobody" | "offline" => return Ok(("offline".to_owned(), None)),
            _ => here.asker.say("that is none of them."),
        }
    }
}

/// Whether `name` is something that could answer.
fn is_brain(name: &str) -> bool {
    match name.split_once(':') {
        Some(("anthropic" | "openai" | "claude", model)) => !model.is_empty(),
        Some(_) => false,
        None => matches!(name, "claude" | "offline"),
    }
}

/// A server that speaks chat completions, and one of its models.
fn server(here: &Here, given: &ModelSetup) -> Result<(String, Option<String>), Ended> {
    let url = here.asker.text(
        given.url.as_deref(),
        "where is it? (such as http://127.0.0.1:11434): ",
        "say where it is: --url URL",
    )?;
    let name = here.asker.text(None, "which of its models? (such as qwen3): ", NO_MODEL)?;
    Ok((format!("openai:{name}"), Some(url)))
}

fn draft(here: &Here, (name, url): (&str, Option<&str>), key: Given<'_>) -> Result<Draft, Ended> {
    let draft = Draft::default().and("OLLIM_MODEL", Some(name));
    match name.split_once(':').map(|(vendor, _)| vendor) {
        Some("anthropic") => {
            let draft = if url.is_some() { draft.and("ANTHROPIC_BASE_URL", url) } else { draft };
            let has = matches!(here.settings.brain, crate::settings::Brain::Anthropic(_)) && !key.is_said();
            match has && !here.asker.can_ask() {
                true => Ok(draft),
                false => {
                    Ok(draft.secret(ANTHROPIC, here.asker.secret(key, "paste the key (hidden): ", NO_KEY)?))
                }
            }
        }
        Some("openai") => {
            let draft = if url.is_some() { draft.and("OPENAI_BASE_URL", url) } else { draft };
            match (key, url) {
                // A server of one's own often wants none.
                (Given::Nothing, Some(_)) if !here.asker.can_ask() => Ok(draft),
                (Given::Nothing, Some(_)) => {
                    match here.asker.typed("paste its key (hidden; enter, if it wants none): ")? {
                        Some(secret) => Ok(draft.secret(OPENAI, secret)),
                        None => Ok(draft),
                    }
                }
                (key, _) => {
                    Ok(draft.secret(OPENAI, here.asker.secret(key, "paste the key (hidden): ", NO_KEY)?))
                }
            }
        }
        None if name == "claude" => Ok(with_program(here, draft)),
        Some("claude") => Ok(with_program(here, draft)),
        Some(_) | None => Ok(draft),
    }
}

/// `draft`, and where the program is: a service may look for it in fewer places than this shell.
fn with_program(here: &Here, draft: Draft) -> Draft {
    let places = here.settings.places.programs.clone().unwrap_or_default();
    let found =
        std::env::split_paths(&places).map(|place| place.join("claude")).find(|place| place.is_file());
    match found {
        Some(found) => draft.and("OLLIM_CLAUDE", Some(&found.to_string_lossy())),
        None => draft,
    }
}
