//! The search engine: whether it can be asked with the key that it wants.

use super::Finding;
use crate::settings::Settings;
use crate::settings::refused::WHERE_IT_IS_SET;

/// What keeps the search engine from being asked, if anything does. Nobody is asked for that.
pub fn look(settings: &Settings) -> Option<Finding> {
    let readable = settings.places.search.as_ref()?.guarded().err()?;
    Some(Finding::wrong("search", format!("OLLIM_SEARCH_URL: {readable}")).fixed_by(WHERE_IT_IS_SET))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Environment;

    /// J1: the doctor says that a key is kept from an engine, because others could read it on the way.
    #[test]
    fn a_search_engine_that_gets_no_key_is_told() {
        let told = |variables: &[(&str, &str)]| {
            let known = |name: &str| match name {
                "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
                _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            };
            look(&Settings::read(&Environment::new(known)).unwrap()).map(|found| found.told())
        };
        let (far, key) = (("OLLIM_SEARCH_URL", "http://192.0.2.5:8888"), ("OLLIM_SEARCH_KEY", "sk-canary"));
        let readable = told(&[far, key]).unwrap();
        let why = "✗ search   OLLIM_SEARCH_URL: over http everybody on the way to 192.0.2.5:8888 could read the key";
        assert!(
            readable.starts_with(why) && readable.contains("fix: change it where it is set"),
            "{readable}"
        );
        assert!(!readable.contains("sk-canary"), "{readable}");
        assert_eq!(told(&[far]), None);
        assert_eq!(told(&[("OLLIM_SEARCH_URL", "http://127.0.0.1:8888"), key]), None);
        assert_eq!(told(&[]), None);
    }
}
