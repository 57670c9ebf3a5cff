//! Errors of requests, by how to handle them.

use serde_json::Value;

use crate::discord::wire::{Answer, Auth, Broken, Call, Method};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The user must provide another token.
    #[error("Discord does not accept the token; make a new one on the Bot page of discord.com/developers")]
    Token,
    /// The user must permit it. 50007 and 50278: no messages accepted; 50001: no access to the
    /// channel.
    #[error("Discord does not allow it: {message} ({code})")]
    NotAllowed {
        /// Discord's error code.
        code: u64,
        /// Discord's error message.
        message: String,
    },
    /// The target no longer exists. 10003 channel, 10008 message, 10062 interaction, 10015
    /// interaction token.
    #[error("Discord no longer has it ({code})")]
    Gone {
        /// Discord's error code.
        code: u64,
    },
    /// The request is invalid and would fail again.
    #[error("Discord refuses it: {message} ({code})")]
    Refused {
        /// Discord's error code.
        code: u64,
        /// Discord's error message.
        message: String,
    },
    /// It was not executed and can be retried.
    #[error("{0}")]
    Away(String),
    /// It may have been executed; the caller must check before retrying.
    #[error("it is not known whether Discord did it: {0}")]
    Unknown(String),
}

/// Returns the response if it is successful.
pub fn sort(call: &Call, answer: Answer) -> Result<Answer, Trouble> {
    let (code, message) = words(&answer);
    match answer.status {
        200..=299 => Ok(answer),
        401 if call.auth == Auth::Bot => Err(Trouble::Token),
        // A proxy in front of Discord sends no JSON, and may accept the request later.
        status @ 400..=499 if !is_json(&answer) => {
            Err(unfinished(call.method, format!("something before Discord answered {status}")))
        }
        403 => Err(Trouble::NotAllowed { code, message }),
        401 | 404 | 410 => Err(Trouble::Gone { code }),
        // Only this status says that nothing was executed.
        503 => Err(Trouble::Away("Discord is busy (503)".to_owned())),
        status @ 500..=599 => Err(unfinished(call.method, format!("Discord answered {status}"))),
        _ => Err(Trouble::Refused { code, message }),
    }
}

fn is_json(answer: &Answer) -> bool {
    serde_json::from_slice::<Value>(&answer.body).is_ok()
}

/// Converts a failure without a response.
pub fn broken(method: Method, broken: Broken) -> Trouble {
    match broken {
        Broken::Before(_) => Trouble::Away(broken.to_string()),
        Broken::Maybe(_) => unfinished(method, broken.to_string()),
    }
}

/// Reports a successful response with an invalid body.
pub fn unreadable(method: Method, why: &str) -> Trouble {
    unfinished(method, format!("its answer cannot be read: {why}"))
}

/// Only a POST creates something, so only a POST must not be repeated.
fn unfinished(method: Method, why: String) -> Trouble {
    match method {
        Method::Post => Trouble::Unknown(why),
        Method::Get | Method::Put | Method::Patch | Method::Delete => Trouble::Away(why),
    }
}

fn words(answer: &Answer) -> (u64, String) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut message = body["message"].as_str().unwrap_or("it gives no reason").to_owned();
    if let Some(errors) = body.get("errors") {
        message = format!("{message} {errors}");
    }
    (body["code"].as_u64().unwrap_or_default(), message.chars().take(500).collect())
}
