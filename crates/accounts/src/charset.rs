//! Bytes as words: UTF-8, and where they are not, the letters of western Europe, which most such files mean.

use std::borrow::Cow;

/// The words that `bytes` are.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}
