//! Maps the vendor's error responses and error events to failures with advice for the user.

use domain::failure::{Failure, SpendLimit};

use super::VENDOR;
use super::capabilities::Capabilities;
use super::protocol::{ErrorBody, ErrorInfo};
use crate::vendor_client::{Refusal, is_about_key};

/// The error code of a monthly limit that the account's owner has set. The vendor sends no retry
/// time with it.
const SPEND_LIMIT: &str = "enforced_spend_limit_reached";

/// Returns the error message in `refusal`.
pub fn message(refusal: &Refusal) -> String {
    error_info(refusal).message
}

/// Returns the failure that `refusal` of a request for `model` means.
pub fn failure(refusal: &Refusal, model: &str) -> Failure {
    let trouble = error_info(refusal);
    let message = format!("{}: {}", refusal.status, trouble.message);
    let names_model = trouble.message.contains("model");
    match (refusal.status, trouble.kind.as_str()) {
        (404, "not_found_error") if names_model => {
            no_such_model(model, trouble.message, UnavailableModel::Unknown)
        }
        (403, "permission_error") if names_model => {
            no_such_model(model, trouble.message, UnavailableModel::NoAccess)
        }
        (401, _) => bad_key(&message),
        // A missing permission is a problem of the key; any other 403 concerns this request.
        (403, kind) if is_about_key(kind) || is_about_key(&trouble.message) => bad_key(&message),
        (402, _) | (_, "billing_error") => Failure::SpendLimit(SpendLimit::Account(message)),
        (429, _) if trouble.error_code() == Some(SPEND_LIMIT) => {
            Failure::SpendLimit(SpendLimit::Account(message))
        }
        (429, _) if refusal.is_about_money(&trouble.message) => {
            Failure::SpendLimit(SpendLimit::Account(message))
        }
        (400, _) if trouble.message.contains("credit balance") => {
            Failure::SpendLimit(SpendLimit::Account(message))
        }
        (429 | 503 | 529, _) | (_, "overloaded_error") => Failure::Overloaded(refusal.retry_seconds()),
        (413, _) => Failure::ContextFull(message),
        (400, _) if is_full(&trouble) => Failure::ContextFull(message),
        (300..400, _) => Failure::Unreachable(format!("{}: the address points elsewhere", refusal.status)),
        (500.., _) => Failure::VendorError(message),
        _ => Failure::Rejected(message),
    }
}

/// Returns the failure that an `error` event in a stream means.
pub fn from_event(trouble: ErrorInfo) -> Failure {
    match trouble.kind.as_str() {
        "overloaded_error" | "rate_limit_error" => Failure::Overloaded(None),
        "billing_error" => Failure::SpendLimit(SpendLimit::Account(trouble.message)),
        "authentication_error" | "permission_error" => bad_key(&trouble.message),
        _ if is_full(&trouble) => Failure::ContextFull(trouble.message),
        "invalid_request_error" | "not_found_error" => Failure::Rejected(trouble.message),
        _ => Failure::VendorError(trouble.message),
    }
}

/// Why a model cannot be used.
#[derive(Clone, Copy, Debug)]
enum UnavailableModel {
    /// The vendor does not know it, or no longer has it.
    Unknown,
    /// The key may not use it.
    NoAccess,
}

fn no_such_model(model: &str, reason: String, missing: UnavailableModel) -> Failure {
    let family = ["opus", "sonnet", "haiku", "fable"].into_iter().find(|family| model.contains(family));
    let replacement = family.unwrap_or("sonnet");
    let other = if replacement == "sonnet" { "haiku" } else { "sonnet" };
    let advice = match missing {
        // A current model exists, so its own family is no replacement.
        UnavailableModel::Unknown if Capabilities::built_in(model).is_some() => format!(
            "Your key has no access to it, or the server at ANTHROPIC_BASE_URL does not have it. Switch with \
             `/model {other}`, or give the key's workspace access in the vendor's console."
        ),
        UnavailableModel::Unknown => format!(
            "It is retired, or its name is misspelt. `/model {replacement}` switches to the current {replacement}; \
             OLLIM_MODEL or `use` under `[model]` in settings.toml sets it for good."
        ),
        UnavailableModel::NoAccess => format!(
            "Your key has no access to it. Give the key's workspace access in the vendor's console, or switch with \
             `/model {other}`."
        ),
    };
    Failure::NoSuchModel { model: model.to_owned(), reason, advice }
}

/// Returns whether the conversation exceeds the model's context window or the vendor's size limit.
fn is_full(trouble: &ErrorInfo) -> bool {
    let text = trouble.message.to_lowercase();
    trouble.kind == "request_too_large"
        || text.contains("prompt is too long")
        || text.contains("exceed context limit")
}

fn bad_key(message: &str) -> Failure {
    Failure::BadKey(format!("{}, {message}", VENDOR.key_variable))
}

fn error_info(refusal: &Refusal) -> ErrorInfo {
    match serde_json::from_slice::<ErrorBody>(&refusal.body) {
        Ok(problem) => problem.error,
        Err(_) => ErrorInfo { message: refusal.text(), ..ErrorInfo::default() },
    }
}

impl ErrorInfo {
    fn error_code(&self) -> Option<&str> {
        self.details.as_ref()?.error_code.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_current_model_is_not_suggested_as_its_own_replacement() {
        let advice = |model: &str| {
            let failure = no_such_model(model, String::new(), UnavailableModel::Unknown);
            let Failure::NoSuchModel { advice, .. } = failure else { panic!("{failure:?}") };
            advice
        };
        assert!(advice("claude-opus-4-1").contains("`/model opus` switches to the current opus"));
        let current = advice("claude-sonnet-5-5");
        assert!(current.contains("`/model haiku`") && !current.contains("/model sonnet"), "{current}");
    }
}
