//! The search engine that the human has set up, if any.

use journal::Paths;
use tools::web::{Engine, Key};

use super::Environment;
use super::key::{self, SEARCH};
use crate::exit::Failed;

/// The search engine: one that speaks like Brave if there is a key, else one that speaks like SearXNG.
pub fn read(environment: &Environment, paths: &Paths) -> Result<Option<Engine>, Failed> {
    let Some(url) = environment.get("OLLIM_SEARCH_URL") else { return Ok(None) };
    let key = key::source(environment, paths, SEARCH)?.map(Key::kept_by);
    let engine = Engine::read(url, key);
    engine.map(Some).map_err(|wrong| Failed::Configuration(format!("OLLIM_SEARCH_URL: {wrong}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_engine_is_what_is_said_about_it() {
        let dir = tempfile::tempdir().unwrap();
        let engine = |variables: &[(&str, &str)]| {
            let look_up = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            read(&Environment::new(look_up), &Paths::new(dir.path())).map_err(|failed| failed.to_string())
        };
        let url = ("OLLIM_SEARCH_URL", "http://127.0.0.1:8888");
        assert!(engine(&[]).unwrap().is_none());
        assert!(matches!(engine(&[url]).unwrap(), Some(Engine::Open(_))));
        assert!(matches!(engine(&[url, ("OLLIM_SEARCH_KEY", "k")]).unwrap(), Some(Engine::Keyed(..))));
        let wrong = engine(&[("OLLIM_SEARCH_URL", "searx")]).unwrap_err();
        assert!(wrong.contains("OLLIM_SEARCH_URL: `searx` is no address"), "{wrong}");
    }
}
