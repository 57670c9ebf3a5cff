//! Makes a vendor's text safe to show: limits its length, removes control characters and redacts
//! the key.

use domain::failure::{Failure, SpendLimit};

/// The most characters of a vendor's text that are shown.
const MESSAGE_CHARS: usize = 300;

/// Returns `failure` with texts that are safe to show.
pub fn presentable(failure: Failure, secret: &str) -> Failure {
    let safe = |text: String| presentable_text(text, secret);
    match failure {
        Failure::Unreachable(text) => Failure::Unreachable(safe(text)),
        Failure::Away(text) => Failure::Away(safe(text)),
        Failure::SpendLimit(SpendLimit::Account(text)) => {
            Failure::SpendLimit(SpendLimit::Account(safe(text)))
        }
        Failure::SpendLimit(SpendLimit::Day(_)) => failure,
        Failure::BadKey(text) => Failure::BadKey(safe(text)),
        Failure::NoSuchModel { model, reason, advice } => {
            Failure::NoSuchModel { model: safe(model), reason: safe(reason), advice }
        }
        Failure::Rejected(text) => Failure::Rejected(safe(text)),
        Failure::Broken(text) => Failure::Broken(safe(text)),
        Failure::CutOff(text) => Failure::CutOff(safe(text)),
        Failure::Garbled(text) => Failure::Garbled(safe(text)),
        Failure::Stopped(text) => Failure::Stopped(safe(text)),
        Failure::Full(text) => Failure::Full(safe(text)),
        Failure::Busy(_) | Failure::Unsaid(_) => failure,
    }
}

/// Returns `text` in a form that is safe to show. The key is redacted after the removal of control
/// characters, which could split it, and before the truncation, which could leave a part of it.
pub fn presentable_text(text: String, secret: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    let text = if secret.is_empty() { text } else { text.replace(secret, "[key]") };
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendors_words_are_bounded_and_never_hold_the_key() {
        let check = |text: String, expected: &str| {
            assert_eq!(presentable(Failure::Broken(text), "sk-1"), Failure::Broken(expected.to_owned()));
        };
        check("plain".into(), "plain");
        check("a\u{1b}[31m\r\n\tb\0".into(), "a[31mb");
        check("bad key sk-1!".into(), "bad key [key]!");
        check("bad key s\nk-1!".into(), "bad key [key]!");
        check("é".repeat(301), &format!("{}...", "é".repeat(300)));
        check(format!("{}sk-1", "a".repeat(298)), &format!("{}[k...", "a".repeat(298)));
    }

    #[test]
    fn without_a_key_the_words_stay_as_they_are() {
        let failure = Failure::Broken("plain".to_owned());
        assert_eq!(presentable(failure.clone(), ""), failure);
    }
}
