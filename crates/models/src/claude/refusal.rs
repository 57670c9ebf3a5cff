//! Maps failed turns and exits of the program to failures for the user.

use domain::failure::{Declined, Failure, SpendLimit, Unsaid};

use super::settings::Environment;
use super::wire::Ended;
use crate::anthropic::refusal;
use crate::line::Refusal;
use crate::presentable::presentable;

/// The program's error for an unknown session.
const LOST: &str = "No conversation found with session ID";

/// Advice for a program that is not signed in.
const SIGNED_OUT: &str = "the claude program is not signed in: `/login` gives you a link";

/// Advice for installing the program.
const REMEDY: &str =
    "install it with `npm install -g @anthropic-ai/claude-code`, or set OLLIM_CLAUDE to its path";

/// Returns the failure of a turn that ended with an error.
pub fn failure(ended: &Ended, environment: &Environment) -> Failure {
    let words = if ended.result.is_empty() { ended.errors.join("; ") } else { ended.result.clone() };
    let words = environment.hide(&words);
    let lower = words.to_lowercase();
    if ended.stop_reason.as_deref() == Some("refusal") {
        return Unsaid::Refused(Declined::Unstated).into();
    }
    let failure = match status(ended, &words) {
        Some(status) => {
            let body = body(&words).as_bytes().to_vec();
            refusal::failure(&Refusal { status, retry_after: None, body }, "claude")
        }
        None if lower.contains("not logged in") => Failure::BadKey(SIGNED_OUT.to_owned()),
        None if lower.contains("login") || lower.contains("api key") => Failure::BadKey(words),
        None if lower.contains("credit balance") || lower.contains("usage limit") => {
            Failure::SpendLimit(SpendLimit::Account(words))
        }
        None if lower.contains("output token maximum") => Unsaid::TooLong.into(),
        None if lower.contains("prompt is too long") => Failure::Full(words),
        None if lower.contains("connect") || lower.contains("timed out") => Failure::Unreachable(words),
        None if words.is_empty() => Failure::Broken(ended.subtype.clone()),
        None => Failure::Broken(words),
    };
    presentable(failure, "")
}

/// Returns whether the program was asked to resume an unknown session.
pub fn lost_session(ended: &Ended) -> bool {
    ended.is_error && ended.errors.iter().any(|error| error.contains(LOST))
}

/// Returns the failure of a program that could not be started.
pub fn unstarted(program: &str, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Failure::Unreachable(format!("there is no program `{program}`; {REMEDY}"));
    }
    Failure::Unreachable(format!("the program `{program}` does not start: {error}; {REMEDY}"))
}

/// Returns the failure of a program that is not signed in.
pub fn logged_out() -> Failure {
    Failure::BadKey(
        "the claude program is not logged in; run `claude auth login` once, or set ANTHROPIC_API_KEY"
            .to_owned(),
    )
}

/// Returns the failure of a program that ended unexpectedly.
pub fn gone(complaint: &str) -> Failure {
    let why = match complaint {
        "" => "the claude program ended".to_owned(),
        complaint => format!("the claude program ended: {complaint}"),
    };
    presentable(Failure::Broken(why), "")
}

fn status(ended: &Ended, words: &str) -> Option<u16> {
    ended.api_error_status.or_else(|| {
        let (_, after) = words.split_once("API Error: ")?;
        after.get(..3)?.parse().ok()
    })
}

/// Returns the vendor's JSON error body, if the text contains it.
fn body(words: &str) -> &str {
    words.find('{').map_or(words, |start| &words[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_end_says_who_must_act() {
        let check = |status: Option<u16>, result: &str, expected: Failure| {
            let ended = Ended { api_error_status: status, result: result.to_owned(), ..Ended::default() };
            let mut environment = Environment::default();
            environment.set("ANTHROPIC_API_KEY", "sk-1");
            assert_eq!(failure(&ended, &environment), expected);
        };
        let json =
            r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
        check(None, json, Failure::Rejected("400: no".to_owned()));
        check(Some(529), "Overloaded", Failure::Busy(None));
        check(None, "API Error: 529 Overloaded", Failure::Busy(None));
        check(Some(401), "no sk-1", Failure::BadKey("ANTHROPIC_API_KEY, 401: no [key]".to_owned()));
        check(None, "Not logged in · Please run /login", Failure::BadKey(SIGNED_OUT.to_owned()));
        check(
            None,
            "API Error: Claude's response exceeded the 32000 output token maximum.",
            Unsaid::TooLong.into(),
        );
        check(None, "Connection refused", Failure::Unreachable("Connection refused".to_owned()));
        check(None, "", Failure::Broken(String::new()));
    }
}
