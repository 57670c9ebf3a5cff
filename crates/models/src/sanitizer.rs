//! Makes a vendor's text safe to show: limits its length, removes control characters and redacts
//! the key.

use domain::failure::{Failure, SpendLimit};

/// The most characters of a vendor's text that are shown.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns `failure` with texts that are safe to show.
pub fn sanitize_failure(failure: Failure, secret: &str) -> Failure {
    let safe = |text: String| sanitize_text(text, secret);
    match failure {
        Failure::Unreachable(text) => Failure::Unreachable(safe(text)),
        Failure::Unavailable(text) => Failure::Unavailable(safe(text)),
        Failure::SpendLimit(SpendLimit::Account(text)) => {
            Failure::SpendLimit(SpendLimit::Account(safe(text)))
        }
        Failure::SpendLimit(SpendLimit::Day(_)) => failure,
        Failure::BadKey(text) => Failure::BadKey(safe(text)),
        Failure::NoSuchModel { model, reason, advice } => {
            Failure::NoSuchModel { model: safe(model), reason: safe(reason), advice }
        }
        Failure::Rejected(text) => Failure::Rejected(safe(text)),
        Failure::VendorError(text) => Failure::VendorError(safe(text)),
        Failure::CutOff(text) => Failure::CutOff(safe(text)),
        Failure::InvalidResponse(text) => Failure::InvalidResponse(safe(text)),
        Failure::Stopped(text) => Failure::Stopped(safe(text)),
        Failure::ContextFull(text) => Failure::ContextFull(safe(text)),
        Failure::Overloaded(_) | Failure::InvalidReply(_) => failure,
    }
}

/// Returns `text` in a form that is safe to show. The key is redacted after the removal of control
/// characters, which could split it, and before the truncation, which could leave a part of it.
pub fn sanitize_text(text: String, secret: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    let text = if secret.is_empty() { text } else { text.replace(secret, "[key]") };
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_text_is_bounded_and_never_contains_the_key() {
        let check = |text: String, expected: &str| {
            assert_eq!(
                sanitize_failure(Failure::VendorError(text), "sk-1"),
                Failure::VendorError(expected.to_owned())
            );
        };
        check("plain".into(), "plain");
        check("a\u{1b}[31m\r\n\tb\0".into(), "a[31mb");
        check("bad key sk-1!".into(), "bad key [key]!");
        check("bad key s\nk-1!".into(), "bad key [key]!");
        check("é".repeat(301), &format!("{}...", "é".repeat(300)));
        check(format!("{}sk-1", "a".repeat(298)), &format!("{}[k...", "a".repeat(298)));
    }

    #[test]
    fn text_is_unchanged_without_a_key() {
        let failure = Failure::VendorError("plain".to_owned());
        assert_eq!(sanitize_failure(failure.clone(), ""), failure);
    }
}
