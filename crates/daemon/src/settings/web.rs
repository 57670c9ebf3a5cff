//! The web search provider: a configured engine, or the model's vendor.

use journal::Paths;
use tools::web::{Engine, Key};

use super::file::File;
use super::key::{self, SEARCH};
use super::{Brain, Environment, OPENAI_URL, Settings};
use crate::exit::Failed;

/// The configured web search.
#[derive(Clone, Debug)]
pub struct Search {
    pub choice: Choice,
    pub engine: Option<Engine>,
}

/// The user's choice of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The configured engine; without one the vendor, if it can search.
    Auto,
    Vendor,
    None,
}

/// The provider that results from all settings.
#[derive(Clone, Debug)]
pub enum SearchWay {
    Engine(Engine),
    /// The vendor, with this model.
    Vendor(String),
    /// None; the reason as half a sentence.
    Off(String),
}

/// Reads the settings. An engine uses Brave's API if it has a key, else that of SearXNG.
pub fn read(environment: &Environment, file: &File, paths: &Paths) -> Result<Search, Failed> {
    let wanted = environment.get("OLLIM_SEARCH").unwrap_or(&file.search.r#use);
    let choice = match wanted {
        "auto" => Choice::Auto,
        "vendor" => Choice::Vendor,
        "none" => Choice::None,
        other => {
            return Err(Failed::Configuration(format!(
                "OLLIM_SEARCH: I don't understand `{other}`. Use `auto`, `vendor` (the model's vendor searches) or `none`."
            )));
        }
    };
    let Some(url) = environment.get("OLLIM_SEARCH_URL") else { return Ok(Search { choice, engine: None }) };
    let key = key::source(environment, paths, SEARCH)?.map(Key::kept_by);
    let engine = Engine::read(url, key)
        .map_err(|wrong| Failed::Configuration(format!("OLLIM_SEARCH_URL: {wrong}")))?;
    Ok(Search { choice, engine: Some(engine) })
}

/// A hint how to configure a search engine.
const SET_ONE: &str = "OLLIM_SEARCH_URL sets a SearXNG, or an API like Brave's";

/// Returns the provider for these settings.
pub fn way(settings: &Settings) -> SearchWay {
    let Search { choice, engine } = &settings.places.search;
    match (choice, engine) {
        (Choice::None, _) => {
            return SearchWay::Off("the user turned it off (OLLIM_SEARCH is `none`)".to_owned());
        }
        (Choice::Auto, Some(engine)) => return SearchWay::Engine(engine.clone()),
        (Choice::Auto | Choice::Vendor, _) => {}
    }
    match &settings.brain {
        Brain::Anthropic(brain) => {
            SearchWay::Vendor(cheapest(settings).unwrap_or_else(|| brain.model.clone()))
        }
        Brain::OpenAi(brain) if brain.base_url == OPENAI_URL || *choice == Choice::Vendor => {
            SearchWay::Vendor(brain.model.clone())
        }
        Brain::OpenAi(brain) => SearchWay::Off(format!(
            "no search engine is set, and {} is not known to search. {SET_ONE}; OLLIM_SEARCH=vendor tries the server",
            wire::without_secrets(&brain.base_url)
        )),
        Brain::Claude(_) => SearchWay::Off(format!(
            "no search engine is set, and the claude program keeps its web search to itself. {SET_ONE}"
        )),
        Brain::Offline | Brain::Keyless(_) => {
            SearchWay::Off(format!("no search engine is set, and no model is connected. {SET_ONE}"))
        }
    }
}

/// Returns Anthropic's cheapest model, which is good enough for searches.
pub fn cheapest(settings: &Settings) -> Option<String> {
    settings.aliases.get("haiku").cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        Settings::read(&Environment::new(known)).map_err(|failed| failed.to_string())
    }

    const URL: (&str, &str) = ("OLLIM_SEARCH_URL", "http://127.0.0.1:8888");

    #[test]
    fn a_search_engine_is_what_is_said_about_it() {
        let engine = |variables: &[(&str, &str)]| settings(variables).map(|read| read.places.search.engine);
        assert!(engine(&[]).unwrap().is_none());
        assert!(matches!(engine(&[URL]).unwrap(), Some(Engine::Open(_))));
        assert!(matches!(engine(&[URL, ("OLLIM_SEARCH_KEY", "k")]).unwrap(), Some(Engine::Keyed(..))));
        let wrong = engine(&[("OLLIM_SEARCH_URL", "searx")]).unwrap_err();
        assert!(wrong.contains("OLLIM_SEARCH_URL: `searx` is no address"), "{wrong}");
        let wrong = engine(&[("OLLIM_SEARCH", "google")]).unwrap_err();
        assert!(wrong.contains("OLLIM_SEARCH: I don't understand `google`. Use `auto`"), "{wrong}");
    }

    /// The vendor searches without configuration; a configured engine takes precedence.
    #[test]
    fn the_vendor_searches_unless_an_engine_is_set() {
        let told = |variables: &[(&str, &str)]| match way(&settings(variables).unwrap()) {
            SearchWay::Engine(_) => "engine".to_owned(),
            SearchWay::Vendor(model) => model,
            SearchWay::Off(why) => format!("off: {why}"),
        };
        let anthropic = ("ANTHROPIC_API_KEY", "k");
        let openai = ("OLLIM_MODEL", "openai:gpt-6-sol");
        let key = ("OPENAI_API_KEY", "k");
        let own = ("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1");
        assert_eq!(told(&[anthropic]), "claude-haiku-5-5");
        assert_eq!(told(&[anthropic, URL]), "engine");
        assert_eq!(told(&[anthropic, URL, ("OLLIM_SEARCH", "vendor")]), "claude-haiku-5-5");
        assert_eq!(told(&[openai, key]), "gpt-6-sol");
        assert_eq!(told(&[openai, own, ("OLLIM_SEARCH", "vendor")]), "gpt-6-sol");
        for (variables, why) in [
            (&[anthropic, URL, ("OLLIM_SEARCH", "none")][..], "turned it off"),
            (&[openai, own], "http://127.0.0.1:11434/v1 is not known to search"),
            (&[("OLLIM_MODEL", "claude")], "the claude program"),
            (&[], "no model is connected"),
        ] {
            let told = told(variables);
            assert!(told.starts_with("off: ") && told.contains(why), "{told}");
        }
    }
}
