//! Decodes text as UTF-8, or else as Latin-1, which most such files use.

use std::borrow::Cow;

pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}
