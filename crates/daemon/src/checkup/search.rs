//! Checks the web search: which provider is used, and whether its key may be sent. Makes no search.

use domain::conversation::Usage;
use domain::cost::Call;

use super::Finding;
use crate::settings::refused::WHERE_IT_IS_SET;
use crate::settings::web::{SearchWay, way};
use crate::settings::{Brain, Settings};

/// Checks the web search in use.
pub fn look(settings: &Settings) -> Finding {
    match way(settings) {
        SearchWay::Engine(engine) => match engine.guarded() {
            Ok(()) => Finding::fine("search", told(settings)),
            Err(readable) => {
                Finding::wrong("search", format!("OLLIM_SEARCH_URL: {readable}")).fixed_by(WHERE_IT_IS_SET)
            }
        },
        SearchWay::Vendor(_) => Finding::fine("search", told(settings)),
        SearchWay::Off(_) => Finding::absent("search", told(settings)),
    }
}

/// Describes the web search in use in one line.
pub fn told(settings: &Settings) -> String {
    match way(settings) {
        SearchWay::Engine(engine) => format!("{} (OLLIM_SEARCH_URL)", engine.address()),
        SearchWay::Vendor(model) => {
            let (vendor, prefix) = match &settings.brain {
                Brain::OpenAi(_) => ("OpenAI", "openai"),
                Brain::Offline | Brain::Keyless(_) | Brain::Anthropic(_) | Brain::Claude(_) => {
                    ("Anthropic", "anthropic")
                }
            };
            let call = Call { model: format!("{prefix}:web_search"), usage: Usage::default() };
            let price = settings.spend.purse.prices.of(&call);
            let price = price.map(|price| format!(", {price} for each search and the tokens of its model"));
            format!("{vendor}'s web search by {model}{}", price.unwrap_or_default())
        }
        SearchWay::Off(why) => format!("off: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Environment;

    fn looked(variables: &[(&str, &str)]) -> String {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        look(&Settings::read(&Environment::new(known)).unwrap()).told()
    }

    /// J1: The doctor reports that a key is not sent to an engine over plain http.
    #[test]
    fn a_search_engine_that_gets_no_key_is_told() {
        let far = ("OLLIM_SEARCH_URL", "http://192.0.2.5:8888");
        let key = ("OLLIM_SEARCH_KEY", "sk-canary");
        let readable = looked(&[far, key]);
        let why = "✗ search   OLLIM_SEARCH_URL: over http everybody on the way to 192.0.2.5:8888 could read the key";
        assert!(
            readable.starts_with(why) && readable.contains("fix: change it where it is set"),
            "{readable}"
        );
        assert!(!readable.contains("sk-canary"), "{readable}");
        assert_eq!(looked(&[far]), "✓ search   http://192.0.2.5:8888/ (OLLIM_SEARCH_URL)\n");
        assert!(looked(&[("OLLIM_SEARCH_URL", "http://127.0.0.1:8888"), key]).starts_with("✓ search"));
    }

    #[test]
    fn the_search_in_use_is_told_with_its_price() {
        assert_eq!(
            looked(&[("ANTHROPIC_API_KEY", "k")]),
            "✓ search   Anthropic's web search by claude-haiku-5-5, $0.01 for each search and the tokens of its model\n"
        );
        let openai = [("OLLIM_MODEL", "openai:gpt-6-sol"), ("OPENAI_API_KEY", "k")];
        assert!(looked(&openai).starts_with("✓ search   OpenAI's web search by gpt-6-sol, $0.01 for each"));
        let off = looked(&[("OLLIM_MODEL", "claude")]);
        assert!(
            off.starts_with("– search   off: no search engine is set") && off.contains("OLLIM_SEARCH_URL")
        );
    }
}
