//! Translates the user's search text to IMAP search keys. User text is always sent as a string, so
//! it cannot inject commands.

use super::date;
use super::line::Word;
use crate::Trouble;

/// The maximum number of words.
const WORDS: usize = 20;
/// The maximum number of bytes of a word.
const WORD: usize = 200;

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The folder as typed by the user; without it all searchable folders.
    pub folder: Option<String>,
    /// The search keys, all of which must match.
    pub keys: Vec<Word>,
}

impl Query {
    /// Matches unread messages.
    pub fn unread() -> Self {
        Self { folder: None, keys: vec![Word::plain("UNSEEN"), Word::plain("UNDELETED")] }
    }

    /// Parses the user's search text.
    pub fn read(text: &str) -> Result<Self, Trouble> {
        let words = split(text);
        let mut query = Self { folder: None, keys: vec![Word::plain("UNDELETED")] };
        if words.is_empty() {
            return Err(Trouble::Wrong("search for what? write some words.".to_owned()));
        }
        if words.len() > WORDS || words.iter().any(|word| word.len() > WORD) {
            return Err(Trouble::Wrong(format!(
                "that is too much to search for. use at most {WORDS} words."
            )));
        }
        for word in &words {
            query.add(word)?;
        }
        Ok(query)
    }

    fn add(&mut self, word: &str) -> Result<(), Trouble> {
        if let Some(word) = word.strip_prefix('-').filter(|word| !word.is_empty()) {
            self.keys.push(Word::plain("NOT"));
            return self.key(word);
        }
        match word.split_once(':') {
            Some(("in" | "label", folder)) if !folder.is_empty() => {
                self.folder = Some(folder.to_owned());
                Ok(())
            }
            _ => self.key(word),
        }
    }

    fn key(&mut self, word: &str) -> Result<(), Trouble> {
        let (name, value) = word.split_once(':').filter(|(_, value)| !value.is_empty()).unwrap_or(("", word));
        let string = |name: &'static str| vec![Word::plain(name), Word::string(value)];
        let day = |name: &'static str| match date::said(value) {
            Some(day) => Ok(vec![Word::plain(name), Word::plain(date::write(day))]),
            None => Err(Trouble::Wrong(format!("`{word}` is not a date. write it like after:2026-11-16."))),
        };
        self.keys.extend(match name {
            "from" => string("FROM"),
            "to" => string("TO"),
            "cc" => string("CC"),
            "subject" => string("SUBJECT"),
            "body" => string("BODY"),
            "after" | "since" => day("SINCE")?,
            "before" => day("BEFORE")?,
            "is" => vec![Word::plain(state(value)?)],
            _ => vec![Word::plain("TEXT"), Word::string(word)],
        });
        Ok(())
    }
}

fn state(value: &str) -> Result<&'static str, Trouble> {
    match value {
        "unread" | "unseen" => Ok("UNSEEN"),
        "read" | "seen" => Ok("SEEN"),
        "starred" | "flagged" => Ok("FLAGGED"),
        _ => Err(Trouble::Wrong(
            "that cannot be searched for. use is:unread, is:read or is:starred.".to_owned(),
        )),
    }
}

/// Splits into words; quotes group words: `subject:"two words"`.
fn split(text: &str) -> Vec<String> {
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
        let query = Query::read(text).unwrap();
        let keys: Vec<String> = query.keys[1..].iter().map(Word::shown).collect();
        let folder = query.folder.map(|folder| format!(" in {folder}")).unwrap_or_default();
        format!("{}{folder}", keys.join(" "))
    }

    #[test]
    fn the_words_of_a_human_become_keys() {
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
    fn no_word_can_be_more_than_a_word() {
        assert_eq!(keys("a\"b OR 1:* \\"), r#"TEXT "ab OR 1:* \\""#);
        assert_eq!(keys("\"a\r\nb2 DELETE x\""), r#"TEXT "a  b2 DELETE x""#);
    }

    #[test]
    fn what_cannot_be_searched_for_is_told() {
        let refused = |text: &str| Query::read(text).unwrap_err().to_string();
        assert_eq!(refused("  "), "search for what? write some words.");
        assert_eq!(refused("is:funny"), "that cannot be searched for. use is:unread, is:read or is:starred.");
        assert_eq!(refused("after:soon"), "`after:soon` is not a date. write it like after:2026-11-16.");
        assert!(refused(&"a ".repeat(21)).starts_with("that is too much"));
    }
}
