//! The web search provider: a configured engine, or the model's vendor.

use journal::Paths;
use tools::web::{ApiKey, SearchEngine};

use super::file::SettingsFile;
use super::secrets::{self, SEARCH};
use super::{Environment, ModelConfig, OPENAI_URL, Settings};
use crate::exit::CommandError;

/// The configured web search.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    pub choice: SearchChoice,
    pub engine: Option<SearchEngine>,
}

/// The user's choice of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchChoice {
    /// The configured engine; without one the vendor, if it can search.
    Auto,
    Vendor,
    None,
}

/// The provider that results from all settings.
#[derive(Clone, Debug)]
pub enum SearchProvider {
    Engine(SearchEngine),
    /// The vendor, with this model.
    Vendor(String),
    /// None; the reason as half a sentence.
    Off(String),
}

/// Reads the settings. An engine uses Brave's API if it has a key, else that of SearXNG.
pub fn read(
    environment: &Environment,
    file: &SettingsFile,
    paths: &Paths,
) -> Result<SearchSettings, CommandError> {
    let wanted = environment.get("OLLIM_SEARCH").unwrap_or(&file.search.r#use);
    let choice = match wanted {
        "auto" => SearchChoice::Auto,
        "vendor" => SearchChoice::Vendor,
        "none" => SearchChoice::None,
        other => {
            return Err(CommandError::Configuration(format!(
                "OLLIM_SEARCH: I don't understand `{other}`. Use `auto`, `vendor` (the model's vendor searches) or `none`."
            )));
        }
    };
    let Some(url) = environment.get("OLLIM_SEARCH_URL") else {
        return Ok(SearchSettings { choice, engine: None });
    };
    let key = secrets::secret_reader(environment, paths, SEARCH)?.map(ApiKey::from_lookup);
    let engine = SearchEngine::parse(url, key)
        .map_err(|wrong| CommandError::Configuration(format!("OLLIM_SEARCH_URL: {wrong}")))?;
    Ok(SearchSettings { choice, engine: Some(engine) })
}

/// A hint how to configure a search engine.
const SETUP_HINT: &str = "OLLIM_SEARCH_URL sets a SearXNG, or an API like Brave's";

/// Returns the provider for these settings.
pub fn search_provider(settings: &Settings) -> SearchProvider {
    let SearchSettings { choice, engine } = &settings.integrations.search;
    match (choice, engine) {
        (SearchChoice::None, _) => {
            return SearchProvider::Off("the user turned it off (OLLIM_SEARCH is `none`)".to_owned());
        }
        (SearchChoice::Auto, Some(engine)) => return SearchProvider::Engine(engine.clone()),
        (SearchChoice::Auto | SearchChoice::Vendor, _) => {}
    }
    match &settings.model {
        ModelConfig::Anthropic(brain) => {
            SearchProvider::Vendor(search_model(settings).unwrap_or_else(|| brain.model.clone()))
        }
        ModelConfig::OpenAi(brain) if brain.base_url == OPENAI_URL || *choice == SearchChoice::Vendor => {
            SearchProvider::Vendor(brain.model.clone())
        }
        ModelConfig::OpenAi(brain) => SearchProvider::Off(format!(
            "no search engine is set, and {} is not known to search. {SETUP_HINT}; OLLIM_SEARCH=vendor tries the server",
            wire::redact_address(&brain.base_url)
        )),
        ModelConfig::Claude(_) => SearchProvider::Off(format!(
            "no search engine is set, and the claude program keeps its web search to itself. {SETUP_HINT}"
        )),
        ModelConfig::Offline | ModelConfig::MissingKey(_) => {
            SearchProvider::Off(format!("no search engine is set, and no model is connected. {SETUP_HINT}"))
        }
    }
}

/// Returns Anthropic's cheapest model, which is good enough for searches.
pub fn search_model(settings: &Settings) -> Option<String> {
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
    fn search_engine_follows_the_variables() {
        let engine =
            |variables: &[(&str, &str)]| settings(variables).map(|read| read.integrations.search.engine);
        assert!(engine(&[]).unwrap().is_none());
        assert!(matches!(engine(&[URL]).unwrap(), Some(SearchEngine::Searxng(_))));
        assert!(matches!(engine(&[URL, ("OLLIM_SEARCH_KEY", "k")]).unwrap(), Some(SearchEngine::Brave(..))));
        let wrong = engine(&[("OLLIM_SEARCH_URL", "searx")]).unwrap_err();
        assert!(wrong.contains("OLLIM_SEARCH_URL: `searx` is no address"), "{wrong}");
        let wrong = engine(&[("OLLIM_SEARCH", "google")]).unwrap_err();
        assert!(wrong.contains("OLLIM_SEARCH: I don't understand `google`. Use `auto`"), "{wrong}");
    }

    /// The vendor searches without configuration; a configured engine takes precedence.
    #[test]
    fn vendor_searches_unless_an_engine_is_set() {
        let told = |variables: &[(&str, &str)]| match search_provider(&settings(variables).unwrap()) {
            SearchProvider::Engine(_) => "engine".to_owned(),
            SearchProvider::Vendor(model) => model,
            SearchProvider::Off(why) => format!("off: {why}"),
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
