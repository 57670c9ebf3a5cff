//! What the vendor says when it does not answer, and what that means for the human.

use domain::failure::{Failure, SpendLimit};

use super::VENDOR;
use super::wire::{Problem, Trouble};
use crate::line::{Refusal, is_about_key};

/// What `refusal` means.
pub fn failure(refusal: &Refusal) -> Failure {
    let trouble = trouble(refusal);
    let message = format!("{}: {}", refusal.status, trouble.message);
    match (refusal.status, trouble.kind.as_str()) {
        (401, _) => bad_key(&message),
        // A permission that is missing is ours to get; anything else was about these words.
        (403, kind) if is_about_key(kind) || is_about_key(&trouble.message) => bad_key(&message),
        (402, _) | (_, "billing_error") => Failure::SpendLimit(SpendLimit::Account(message)),
        (429, _) if refusal.is_about_money(&trouble.message) => {
            Failure::SpendLimit(SpendLimit::Account(message))
        }
        (400, _) if trouble.message.contains("credit balance") => {
            Failure::SpendLimit(SpendLimit::Account(message))
        }
        (429 | 503 | 529, _) | (_, "overloaded_error") => Failure::Busy(refusal.seconds()),
        (413, _) => Failure::Full(message),
        (400, _) if is_full(&trouble) => Failure::Full(message),
        (300..400, _) => Failure::Unreachable(format!("{}: the address points elsewhere", refusal.status)),
        (500.., _) => Failure::Broken(message),
        _ => Failure::Rejected(message),
    }
}

/// An `error` event in a stream that began well.
pub fn from_event(trouble: Trouble) -> Failure {
    match trouble.kind.as_str() {
        "overloaded_error" | "rate_limit_error" => Failure::Busy(None),
        "billing_error" => Failure::SpendLimit(SpendLimit::Account(trouble.message)),
        "authentication_error" | "permission_error" => bad_key(&trouble.message),
        _ if is_full(&trouble) => Failure::Full(trouble.message),
        "invalid_request_error" | "not_found_error" => Failure::Rejected(trouble.message),
        _ => Failure::Broken(trouble.message),
    }
}

/// Whether the conversation is longer than the model reads, or larger than the vendor takes.
fn is_full(trouble: &Trouble) -> bool {
    let text = trouble.message.to_lowercase();
    trouble.kind == "request_too_large"
        || text.contains("prompt is too long")
        || text.contains("exceed context limit")
}

fn bad_key(message: &str) -> Failure {
    Failure::BadKey(format!("{}, {message}", VENDOR.variable))
}

fn trouble(refusal: &Refusal) -> Trouble {
    match serde_json::from_slice::<Problem>(&refusal.body) {
        Ok(problem) => problem.error,
        Err(_) => Trouble { kind: String::new(), message: refusal.text() },
    }
}
