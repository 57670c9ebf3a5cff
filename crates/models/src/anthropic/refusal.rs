//! What the vendor says when it does not answer, and what that means for the human.

use domain::failure::Failure;

use super::wire::{Problem, Trouble};

/// The most characters of the vendor's words that the human reads.
const MESSAGE_CHARS: usize = 300;

/// Words of an account without money, in a refusal that gives no time to come back.
const SPENT: [&str; 4] = ["spend", "credit", "billing", "quota"];

/// A refused request.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    pub status: u16,
    pub retry_after: Option<&'a str>,
    pub body: &'a [u8],
}

impl Refusal<'_> {
    /// What it means.
    pub fn failure(self) -> Failure {
        let trouble = self.trouble();
        let message = format!("{}: {}", self.status, trouble.message);
        match (self.status, trouble.kind.as_str()) {
            (401 | 403, _) => Failure::BadKey(message),
            (402, _) | (_, "billing_error") => Failure::SpendLimit(message),
            (429, _) if self.retry_after.is_none() && speaks_of_money(&trouble.message) => {
                Failure::SpendLimit(message)
            }
            (400, _) if trouble.message.contains("credit balance") => Failure::SpendLimit(message),
            (429 | 503 | 529, _) | (_, "overloaded_error") => Failure::Busy(self.seconds()),
            (300..400, _) => Failure::Unreachable(format!("{}: the address points elsewhere", self.status)),
            (500.., _) => Failure::Broken(message),
            _ => Failure::Rejected(message),
        }
    }

    fn trouble(&self) -> Trouble {
        match serde_json::from_slice::<Problem>(self.body) {
            Ok(problem) => problem.error,
            Err(_) => {
                Trouble { kind: String::new(), message: String::from_utf8_lossy(self.body).into_owned() }
            }
        }
    }

    /// A date instead of a number still asks to wait; for how long is not worth a calendar.
    fn seconds(&self) -> Option<u64> {
        self.retry_after?.trim().parse().ok()
    }
}

/// An `error` event in a stream that began well.
pub fn from_event(trouble: Trouble) -> Failure {
    match trouble.kind.as_str() {
        "overloaded_error" | "rate_limit_error" => Failure::Busy(None),
        "billing_error" => Failure::SpendLimit(trouble.message),
        "authentication_error" | "permission_error" => Failure::BadKey(trouble.message),
        "invalid_request_error" | "request_too_large" | "not_found_error" => {
            Failure::Rejected(trouble.message)
        }
        _ => Failure::Broken(trouble.message),
    }
}

/// `failure` with words that are safe to show: bounded, on one line, and without the key.
pub fn presentable(failure: Failure, secret: &str) -> Failure {
    let safe = |text: String| presentable_text(text, secret);
    match failure {
        Failure::Unreachable(text) => Failure::Unreachable(safe(text)),
        Failure::SpendLimit(text) => Failure::SpendLimit(safe(text)),
        Failure::BadKey(text) => Failure::BadKey(safe(text)),
        Failure::Rejected(text) => Failure::Rejected(safe(text)),
        Failure::Broken(text) => Failure::Broken(safe(text)),
        Failure::CutOff(text) => Failure::CutOff(safe(text)),
        Failure::Garbled(text) => Failure::Garbled(safe(text)),
        Failure::Stopped(text) => Failure::Stopped(safe(text)),
        Failure::Busy(_) | Failure::Empty | Failure::TooLong | Failure::Refused => failure,
    }
}

fn speaks_of_money(message: &str) -> bool {
    let message = message.to_lowercase();
    SPENT.iter().any(|word| message.contains(word))
}

/// The key goes after the control characters, which could hide it in pieces, and before the end is cut off,
/// which could leave half of it.
fn presentable_text(text: String, secret: &str) -> String {
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
}
