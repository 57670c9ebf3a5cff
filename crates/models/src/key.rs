//! A vendor's key, which does not show itself.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::door::BadSettings;

/// A secret that does not show itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether there is none: a server on the same machine often wants none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The key after `scheme`, as a header that is not logged.
    pub(crate) fn header(&self, scheme: &str) -> Result<HeaderValue, BadSettings> {
        let text = format!("{scheme}{}", self.0);
        let mut header = HeaderValue::from_str(&text).map_err(|_| BadSettings::Key)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}
