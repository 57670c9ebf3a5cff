//! A vendor's API key, which is hidden from debug output and may change while the program runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::HeaderValue;

use crate::connection::SettingsError;

/// A secret key. Its source is read for every request, so that a new key needs no restart.
#[derive(Clone)]
pub struct ApiKey(Arc<KeyState>);

struct KeyState {
    source: Box<dyn Fn() -> String + Send + Sync>,
    last: Mutex<LastSent>,
}

/// The key of the last request.
#[derive(Default)]
struct LastSent {
    text: String,
    status: SentStatus,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum SentStatus {
    #[default]
    Sent,
    Refused,
}

impl ApiKey {
    /// Creates a constant key.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::from_source(move || text.clone())
    }

    /// Creates a key that is read from `source` for each request.
    pub fn from_source(source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let source = Box::new(source);
        let last = Mutex::new(LastSent { text: source(), status: SentStatus::Sent });
        Self(Arc::new(KeyState { source, last }))
    }

    /// Returns whether the last key was refused and the source has a different one.
    pub fn has_new_key(&self) -> bool {
        let last = self.last();
        last.status == SentStatus::Refused && (self.0.source)() != last.text
    }

    /// Records that the vendor refused the last key.
    pub(crate) fn mark_refused(&self) {
        self.last().status = SentStatus::Refused;
    }

    /// Returns the last key that was sent.
    pub(crate) fn last_sent(&self) -> String {
        self.last().text.clone()
    }

    /// Returns the key after `scheme` as a sensitive header, or none if the key is empty: local
    /// servers often need none.
    pub(crate) fn header(&self, scheme: &str) -> Result<Option<HeaderValue>, SettingsError> {
        let text = (self.0.source)();
        *self.last() = LastSent { text: text.clone(), status: SentStatus::Sent };
        if text.is_empty() {
            return Ok(None);
        }
        let mut header =
            HeaderValue::from_str(&format!("{scheme}{text}")).map_err(|_| SettingsError::InvalidKey)?;
        header.set_sensitive(true);
        Ok(Some(header))
    }

    fn last(&self) -> MutexGuard<'_, LastSent> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ApiKey {
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_counts_as_new_when_it_differs_from_the_refused_one() {
        let place = Arc::new(Mutex::new("old".to_owned()));
        let key = ApiKey::from_source({
            let place = place.clone();
            move || place.lock().unwrap().clone()
        });
        let header = || key.header("Bearer ").unwrap().unwrap();
        assert_eq!((header().to_str().unwrap(), key.has_new_key()), ("Bearer old", false));
        key.mark_refused();
        assert!(!key.has_new_key(), "it is still the same");
        *place.lock().unwrap() = "new".to_owned();
        assert!(key.has_new_key());
        assert_eq!((header().to_str().unwrap(), key.has_new_key()), ("Bearer new", false));
        assert!(header().is_sensitive() && format!("{key:?}") == "Key(hidden)");
        *place.lock().unwrap() = String::new();
        assert_eq!(key.header("").unwrap(), None);
    }
}
