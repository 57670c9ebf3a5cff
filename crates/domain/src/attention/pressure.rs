//! Finds words that put pressure on the user or blame them.

/// Pressuring words, matched as whole words.
const PRESSURING_WORDS: [&str; 6] = ["overdue", "failed", "again", "streak", "lazy", "forgot"];
/// Pressuring phrases.
const PRESSURING_PHRASES: [&str; 5] =
    ["still haven't", "still not", "you should have", "you didn't", "why haven't you"];

/// The first pressuring word or phrase in `text`. Texts of the program must contain none.
pub fn find_pressure(text: &str) -> Option<&'static str> {
    if text.contains('!') {
        return Some("!");
    }
    let plain = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = plain.split(|letter: char| !letter.is_alphanumeric()).collect();
    let alone = PRESSURING_WORDS.into_iter().find(|pressing| words.contains(pressing));
    alone.or_else(|| PRESSURING_PHRASES.into_iter().find(|pressing| plain.contains(pressing)))
}

/// Like [`find_pressure`], for texts of a model: words are allowed where they are not about the
/// user ("the backup failed").
pub fn find_blame(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    let of_the_human = words.any(|word| matches!(word, "you" | "your" | "yours"));
    find_pressure(text).filter(|word| of_the_human || *word == "!")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pressuring words and exclamation marks are found; words that merely contain them are not.
    #[test]
    fn pressuring_words_are_found() {
        for (text, found) in [
            ("your report is overdue", Some("overdue")),
            ("You still haven’t called mum", Some("still haven't")),
            ("call mum!", Some("!")),
            ("that is a streak of three", Some("streak")),
            ("you moved it Again", Some("again")),
            ("two mails need an answer", None),
            ("a scheme against rain", None),
            ("call mum, 2 minutes", None),
        ] {
            assert_eq!(find_pressure(text), found, "{text}");
        }
        for (text, found) in [
            ("the backup failed, and runs again at 9", None),
            ("your backup failed", Some("failed")),
            ("the train is late!", Some("!")),
        ] {
            assert_eq!(find_blame(text), found, "{text}");
        }
    }
}
