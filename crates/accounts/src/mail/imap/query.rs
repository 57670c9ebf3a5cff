//! Translates the user's search text to IMAP search keys. User text is always sent as a string, so
//! it cannot inject commands.

use super::connection::CommandArg;
use super::date;
use crate::AccountError;

/// The maximum number of words.
const MAX_WORDS: usize = 20;
/// The maximum number of bytes of a word.
const MAX_WORD_BYTES: usize = 200;

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// The folder as typed by the user; without it all searchable folders.
    pub folder: Option<String>,
    /// The search keys, all of which must match.
    pub keys: Vec<CommandArg>,
}

impl SearchQuery {
    /// Matches unread messages.
    pub fn unread() -> Self {
        Self { folder: None, keys: vec![CommandArg::atom("UNSEEN"), CommandArg::atom("UNDELETED")] }
    }

    /// Parses the user's search text.
    pub fn parse(text: &str) -> Result<Self, AccountError> {
        let words = split_words(text);
        let mut query = Self { folder: None, keys: vec![CommandArg::atom("UNDELETED")] };
        if words.is_empty() {
            return Err(AccountError::InvalidRequest("search for what? write some words.".to_owned()));
        }
        if words.len() > MAX_WORDS || words.iter().any(|word| word.len() > MAX_WORD_BYTES) {
            return Err(AccountError::InvalidRequest(format!(
                "that is too much to search for. use at most {MAX_WORDS} words."
            )));
        }
        for word in &words {
            query.add_term(word)?;
        }
        Ok(query)
    }

    fn add_term(&mut self, word: &str) -> Result<(), AccountError> {
        if let Some(word) = word.strip_prefix('-').filter(|word| !word.is_empty()) {
            self.keys.push(CommandArg::atom("NOT"));
            return self.add_key(word);
        }
        match word.split_once(':') {
            Some(("in" | "label", folder)) if !folder.is_empty() => {
                self.folder = Some(folder.to_owned());
                Ok(())
            }
            _ => self.add_key(word),
        }
    }

    fn add_key(&mut self, word: &str) -> Result<(), AccountError> {
        let (name, value) = word.split_once(':').filter(|(_, value)| !value.is_empty()).unwrap_or(("", word));
        let string = |name: &'static str| vec![CommandArg::atom(name), CommandArg::string(value)];
        let day = |name: &'static str| match date::parse_search_date(value) {
            Some(day) => Ok(vec![CommandArg::atom(name), CommandArg::atom(date::format_date(day))]),
            None => Err(AccountError::InvalidRequest(format!(
                "`{word}` is not a date. write it like after:2026-11-16."
            ))),
        };
        self.keys.extend(match name {
            "from" => string("FROM"),
            "to" => string("TO"),
            "cc" => string("CC"),
            "subject" => string("SUBJECT"),
            "body" => string("BODY"),
            "after" | "since" => day("SINCE")?,
            "before" => day("BEFORE")?,
            "is" => vec![CommandArg::atom(flag_key(value)?)],
            _ => vec![CommandArg::atom("TEXT"), CommandArg::string(word)],
        });
        Ok(())
    }
}

fn flag_key(value: &str) -> Result<&'static str, AccountError> {
    match value {
        "unread" | "unseen" => Ok("UNSEEN"),
        "read" | "seen" => Ok("SEEN"),
        "starred" | "flagged" => Ok("FLAGGED"),
        _ => Err(AccountError::InvalidRequest(
            "that cannot be searched for. use is:unread, is:read or is:starred.".to_owned(),
        )),
    }
}

/// Splits into words; quotes group words: `subject:"two words"`.
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match (c, words.last_mut()) {
            ('"', _) => quoted = !quoted,
            (c, _) if c.is_whitespace() && !quoted => words.push(String::new()),
            (c, Some(word)) => word.push(if c.is_control() { ' ' } else { c }),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> String {
        let query = SearchQuery::parse(text).unwrap();
        let keys: Vec<String> = query.keys[1..].iter().map(CommandArg::encoded).collect();
        let folder = query.folder.map(|folder| format!(" in {folder}")).unwrap_or_default();
        format!("{}{folder}", keys.join(" "))
    }

    #[test]
    fn search_text_becomes_keys() {
        assert_eq!(keys("invoice ann"), r#"TEXT "invoice" TEXT "ann""#);
        assert_eq!(
            keys("from:ann subject:\"two words\" is:unread"),
            r#"FROM "ann" SUBJECT "two words" UNSEEN"#
        );
        assert_eq!(
            keys("-from:ann after:2026-11-06 in:Archive"),
            r#"NOT FROM "ann" SINCE 6-Nov-2026 in Archive"#
        );
        assert_eq!(keys("Grüße"), r#"TEXT {7}Grüße"#);
        assert_eq!(keys("re: 12:30"), r#"TEXT "re:" TEXT "12:30""#);
    }

    #[test]
    fn words_cannot_inject_commands() {
        assert_eq!(keys("a\"b OR 1:* \\"), r#"TEXT "ab OR 1:* \\""#);
        assert_eq!(keys("\"a\r\nb2 DELETE x\""), r#"TEXT "a  b2 DELETE x""#);
    }

    #[test]
    fn invalid_searches_are_explained() {
        let refused = |text: &str| SearchQuery::parse(text).unwrap_err().to_string();
        assert_eq!(refused("  "), "search for what? write some words.");
        assert_eq!(refused("is:funny"), "that cannot be searched for. use is:unread, is:read or is:starred.");
        assert_eq!(refused("after:soon"), "`after:soon` is not a date. write it like after:2026-11-16.");
        assert!(refused(&"a ".repeat(21)).starts_with("that is too much"));
    }
}
