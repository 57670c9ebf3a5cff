//! A vendor's API key, which is hidden from debug output and may change while the program runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::HeaderValue;

use crate::door::BadSettings;

/// A secret key. Its source is read for every request, so that a new key needs no restart.
#[derive(Clone)]
pub struct Key(Arc<Kept>);

struct Kept {
    source: Box<dyn Fn() -> String + Send + Sync>,
    last: Mutex<Last>,
}

/// The key of the last request.
#[derive(Default)]
struct Last {
    text: String,
    fate: Fate,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Sent,
    Refused,
}

impl Key {
    /// Creates a constant key.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::kept_by(move || text.clone())
    }

    /// Creates a key that is read from `source` for each request.
    pub fn kept_by(source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let source = Box::new(source);
        let last = Mutex::new(Last { text: source(), fate: Fate::Sent });
        Self(Arc::new(Kept { source, last }))
    }

    /// Returns whether the last key was refused and the source has a different one.
    pub fn renewed(&self) -> bool {
        let last = self.last();
        last.fate == Fate::Refused && (self.0.source)() != last.text
    }

    /// Records that the vendor refused the last key.
    pub(crate) fn refused(&self) {
        self.last().fate = Fate::Refused;
    }

    /// Returns the last key that was sent.
    pub(crate) fn sent(&self) -> String {
        self.last().text.clone()
    }

    /// Returns the key after `scheme` as a sensitive header, or none if the key is empty: local
    /// servers often need none.
    pub(crate) fn header(&self, scheme: &str) -> Result<Option<HeaderValue>, BadSettings> {
        let text = (self.0.source)();
        *self.last() = Last { text: text.clone(), fate: Fate::Sent };
        if text.is_empty() {
            return Ok(None);
        }
        let mut header = HeaderValue::from_str(&format!("{scheme}{text}")).map_err(|_| BadSettings::Key)?;
        header.set_sensitive(true);
        Ok(Some(header))
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Key {
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_renewed_when_it_was_refused_and_is_another_one() {
        let place = Arc::new(Mutex::new("old".to_owned()));
        let key = Key::kept_by({
            let place = place.clone();
            move || place.lock().unwrap().clone()
        });
        let header = || key.header("Bearer ").unwrap().unwrap();
        assert_eq!((header().to_str().unwrap(), key.renewed()), ("Bearer old", false));
        key.refused();
        assert!(!key.renewed(), "it is still the same");
        *place.lock().unwrap() = "new".to_owned();
        assert!(key.renewed());
        assert_eq!((header().to_str().unwrap(), key.renewed()), ("Bearer new", false));
        assert!(header().is_sensitive() && format!("{key:?}") == "Key(hidden)");
        *place.lock().unwrap() = String::new();
        assert_eq!(key.header("").unwrap(), None);
    }
}
