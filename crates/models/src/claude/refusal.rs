//! Maps failed turns and exits of the program to failures for the user.

use domain::failure::{DeclineReason, Failure, InvalidReply, SpendLimit};

use super::protocol::TurnResult;
use super::settings::Environment;
use crate::anthropic::refusal;
use crate::sanitizer::sanitize_failure;
use crate::vendor_client::Refusal;

/// The program's error for an unknown session.
const SESSION_NOT_FOUND: &str = "No conversation found with session ID";

/// Advice for a program that is not signed in.
const SIGN_IN_HINT: &str = "the claude program is not signed in: `/login` gives you a link";

/// Advice for installing the program.
const INSTALL_HINT: &str =
    "install it with `npm install -g @anthropic-ai/claude-code`, or set OLLIM_CLAUDE to its path";

/// Returns the failure of a turn that ended with an error.
pub fn failure(ended: &TurnResult, environment: &Environment) -> Failure {
    let text = if ended.result.is_empty() { ended.errors.join("; ") } else { ended.result.clone() };
    let text = environment.redact(&text);
    let lower = text.to_lowercase();
    if ended.stop_reason.as_deref() == Some("refusal") {
        return InvalidReply::Refused(DeclineReason::Unstated).into();
    }
    let failure = match status(ended, &text) {
        Some(status) => {
            let body = json_part(&text).as_bytes().to_vec();
            refusal::failure(&Refusal { status, retry_after: None, body }, "claude")
        }
        None if lower.contains("not logged in") => Failure::BadKey(SIGN_IN_HINT.to_owned()),
        None if lower.contains("login") || lower.contains("api key") => Failure::BadKey(text),
        None if lower.contains("credit balance") || lower.contains("usage limit") => {
            Failure::SpendLimit(SpendLimit::Account(text))
        }
        None if lower.contains("output token maximum") => InvalidReply::TooLong.into(),
        None if lower.contains("prompt is too long") => Failure::ContextFull(text),
        None if lower.contains("connect") || lower.contains("timed out") => Failure::Unreachable(text),
        None if text.is_empty() => Failure::VendorError(ended.subtype.clone()),
        None => Failure::VendorError(text),
    };
    sanitize_failure(failure, "")
}

/// Returns whether the program was asked to resume an unknown session.
pub fn is_lost_session(ended: &TurnResult) -> bool {
    ended.is_error && ended.errors.iter().any(|error| error.contains(SESSION_NOT_FOUND))
}

/// Returns the failure of a program that could not be started.
pub fn start_failure(program: &str, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Failure::Unreachable(format!("there is no program `{program}`; {INSTALL_HINT}"));
    }
    Failure::Unreachable(format!("the program `{program}` does not start: {error}; {INSTALL_HINT}"))
}

/// Returns the failure of a program that is not signed in.
pub fn logged_out_failure() -> Failure {
    Failure::BadKey(
        "the claude program is not logged in; run `claude auth login` once, or set ANTHROPIC_API_KEY"
            .to_owned(),
    )
}

/// Returns the failure of a program that ended unexpectedly.
pub fn exit_failure(stderr: &str) -> Failure {
    let why = match stderr {
        "" => "the claude program ended".to_owned(),
        stderr => format!("the claude program ended: {stderr}"),
    };
    sanitize_failure(Failure::VendorError(why), "")
}

fn status(ended: &TurnResult, words: &str) -> Option<u16> {
    ended.api_error_status.or_else(|| {
        let (_, after) = words.split_once("API Error: ")?;
        after.get(..3)?.parse().ok()
    })
}

/// Returns the vendor's JSON error body, if the text contains it.
fn json_part(words: &str) -> &str {
    words.find('{').map_or(words, |start| &words[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_turn_maps_to_a_specific_failure() {
        let check = |status: Option<u16>, result: &str, expected: Failure| {
            let ended =
                TurnResult { api_error_status: status, result: result.to_owned(), ..TurnResult::default() };
            let mut environment = Environment::default();
            environment.set("ANTHROPIC_API_KEY", "sk-1");
            assert_eq!(failure(&ended, &environment), expected);
        };
        let json =
            r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
        check(None, json, Failure::Rejected("400: no".to_owned()));
        check(Some(529), "Overloaded", Failure::Overloaded(None));
        check(None, "API Error: 529 Overloaded", Failure::Overloaded(None));
        check(Some(401), "no sk-1", Failure::BadKey("ANTHROPIC_API_KEY, 401: no [key]".to_owned()));
        check(None, "Not logged in · Please run /login", Failure::BadKey(SIGN_IN_HINT.to_owned()));
        check(
            None,
            "API Error: Claude's response exceeded the 32000 output token maximum.",
            InvalidReply::TooLong.into(),
        );
        check(None, "Connection refused", Failure::Unreachable("Connection refused".to_owned()));
        check(None, "", Failure::VendorError(String::new()));
    }
}
