//! What can go wrong with a request, sorted by who must act.

use serde_json::Value;

use crate::discord::wire::{Answer, Auth, Broken, Call, Method};

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The human must give us another token.
    #[error("Discord does not accept the token; make a new one on the Bot page of discord.com/developers")]
    Token,
    /// The human must allow it: 50007 and 50278 they take no messages of ours, 50001 we do not see the place.
    #[error("Discord does not allow it: {message} ({code})")]
    NotAllowed {
        /// Discord's number for it.
        code: u64,
        /// Discord's words.
        message: String,
    },
    /// Nobody can: it is no more. 10003 channel, 10008 message, 10062 interaction, 10015 its token.
    #[error("Discord no longer has it ({code})")]
    Gone {
        /// Discord's number for it.
        code: u64,
    },
    /// We must: the request is wrong as it is, and would be wrong again.
    #[error("Discord refuses it: {message} ({code})")]
    Refused {
        /// Discord's number for it.
        code: u64,
        /// Discord's words.
        message: String,
    },
    /// Nobody: it was not carried out, and later it may be.
    #[error("{0}")]
    Away(String),
    /// Whoever sent it must ask first: it may have been carried out.
    #[error("it is not known whether Discord did it: {0}")]
    Unknown(String),
}

/// The answer, if it is a good one.
pub fn sort(call: &Call, answer: Answer) -> Result<Answer, Trouble> {
    let (code, message) = words(&answer);
    match answer.status {
        200..=299 => Ok(answer),
        401 if call.auth == Auth::Bot => Err(Trouble::Token),
        // Whoever stands before Discord speaks no JSON, and may let us through later.
        status @ 400..=499 if !is_json(&answer) => {
            Err(unfinished(call.method, format!("something before Discord answered {status}")))
        }
        403 => Err(Trouble::NotAllowed { code, message }),
        401 | 404 | 410 => Err(Trouble::Gone { code }),
        // Only this one says that nothing was done.
        503 => Err(Trouble::Away("Discord is busy (503)".to_owned())),
        status @ 500..=599 => Err(unfinished(call.method, format!("Discord answered {status}"))),
        _ => Err(Trouble::Refused { code, message }),
    }
}

fn is_json(answer: &Answer) -> bool {
    serde_json::from_slice::<Value>(&answer.body).is_ok()
}

/// No answer came.
pub fn broken(method: Method, broken: Broken) -> Trouble {
    match broken {
        Broken::Before(_) => Trouble::Away(broken.to_string()),
        Broken::Maybe(_) => unfinished(method, broken.to_string()),
    }
}

/// The answer was a good one, and cannot be read.
pub fn unreadable(method: Method, why: &str) -> Trouble {
    unfinished(method, format!("its answer cannot be read: {why}"))
}

/// Only what makes something new must not be done twice.
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
