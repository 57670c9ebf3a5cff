//! Checks the web search: which provider is used, and whether its key may be sent. Makes no search.

use domain::conversation::Usage;
use domain::cost::ModelCall;

use super::Finding;
use crate::settings::rejections::FIX_WHERE_SET;
use crate::settings::web::{SearchProvider, search_provider};
use crate::settings::{ModelConfig, Settings};

/// Checks the web search in use.
pub fn check(settings: &Settings) -> Finding {
    match search_provider(settings) {
        SearchProvider::Engine(engine) => match engine.require_safe_transport() {
            Ok(()) => Finding::fine("search", description(settings)),
            Err(readable) => {
                Finding::wrong("search", format!("OLLIM_SEARCH_URL: {readable}")).with_fix(FIX_WHERE_SET)
            }
        },
        SearchProvider::Vendor(_) => Finding::fine("search", description(settings)),
        SearchProvider::Off(_) => Finding::absent("search", description(settings)),
    }
}

/// Describes the web search in use in one line.
pub fn description(settings: &Settings) -> String {
    match search_provider(settings) {
        SearchProvider::Engine(engine) => format!("{} (OLLIM_SEARCH_URL)", engine.display_url()),
        SearchProvider::Vendor(model) => {
            let (vendor, prefix) = match &settings.model {
                ModelConfig::OpenAi(_) => ("OpenAI", "openai"),
                ModelConfig::Offline
                | ModelConfig::MissingKey(_)
                | ModelConfig::Anthropic(_)
                | ModelConfig::Claude(_) => ("Anthropic", "anthropic"),
            };
            let call = ModelCall { model: format!("{prefix}:web_search"), usage: Usage::default() };
            let price = settings.spend.budget.prices.cost_of(&call);
            let price = price.map(|price| format!(", {price} for each search and the tokens of its model"));
            format!("{vendor}'s web search by {model}{}", price.unwrap_or_default())
        }
        SearchProvider::Off(why) => format!("off: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Environment;

    fn check_text(variables: &[(&str, &str)]) -> String {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        check(&Settings::read(&Environment::new(known)).unwrap()).to_text()
    }

    /// J1: The doctor reports that a key is not sent to an engine over plain http.
    #[test]
    fn withheld_search_key_is_reported() {
        let far = ("OLLIM_SEARCH_URL", "http://192.0.2.5:8888");
        let key = ("OLLIM_SEARCH_KEY", "sk-canary");
        let readable = check_text(&[far, key]);
        let why = "✗ search   OLLIM_SEARCH_URL: over http everybody on the way to 192.0.2.5:8888 could read the key";
        assert!(
            readable.starts_with(why) && readable.contains("fix: change it where it is set"),
            "{readable}"
        );
        assert!(!readable.contains("sk-canary"), "{readable}");
        assert_eq!(check_text(&[far]), "✓ search   http://192.0.2.5:8888/ (OLLIM_SEARCH_URL)\n");
        assert!(check_text(&[("OLLIM_SEARCH_URL", "http://127.0.0.1:8888"), key]).starts_with("✓ search"));
    }

    #[test]
    fn search_in_use_is_shown_with_its_price() {
        assert_eq!(
            check_text(&[("ANTHROPIC_API_KEY", "k")]),
            "✓ search   Anthropic's web search by claude-haiku-5-5, $0.01 for each search and the tokens of its model\n"
        );
        let openai = [("OLLIM_MODEL", "openai:gpt-6-sol"), ("OPENAI_API_KEY", "k")];
        assert!(
            check_text(&openai).starts_with("✓ search   OpenAI's web search by gpt-6-sol, $0.01 for each")
        );
        let off = check_text(&[("OLLIM_MODEL", "claude")]);
        assert!(
            off.starts_with("– search   off: no search engine is set") && off.contains("OLLIM_SEARCH_URL")
        );
    }
}
