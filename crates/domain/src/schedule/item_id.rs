//! The id of a routine, a reminder or a webhook.

use std::fmt;

use super::InvalidField;

/// The maximum length of an id, in bytes.
const MAX_LEN: usize = 64;

/// An id that is safe as a file name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(String);

impl ItemId {
    /// Validates `text` as an id, unchanged.
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let right = text.len() <= MAX_LEN
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(inner)
            && !text.ends_with(".tmp");
        if right { Ok(Self(text.to_owned())) } else { Err(InvalidField::new("id", invalid_reason(text))) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn invalid_reason(text: &str) -> String {
    let shown: String = text.chars().take(MAX_LEN).collect();
    format!(
        "{shown:?} cannot be an id; use 1 to {MAX_LEN} letters, digits, `.`, `_` or `-`, starting with a letter \
         or a digit and not ending in `.tmp`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-35: ids that could leave their directory or look like a temporary file are refused.
    #[test]
    fn an_id_cannot_leave_its_directory() {
        for good in ["a", "0", "12345678", "00123456", "1e234567", "a.b_c-d", &"x".repeat(64)] {
            assert_eq!(ItemId::parse(good).unwrap().as_str(), good);
        }
        let bad = [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "-a",
            "_a",
            ".a",
            "a b",
            "a\n",
            "é",
            "a.tmp",
            &"x".repeat(65),
            "a\0",
        ];
        for bad in bad {
            assert!(ItemId::parse(bad).is_err(), "{bad:?} was taken");
        }
    }
}
