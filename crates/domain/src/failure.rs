//! The reasons why a turn did not end with an answer, as text for the user.
//!
//! Each variant says what happened to the user's message and who must act. None of them counts as
//! an answer.

use crate::compaction::IncompleteSummary;
use crate::cost::BudgetRefusal;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The connection failed.
    #[error(
        "i can't reach the model ({0}). your message is kept; say it again, or check `ollim-bot doctor`."
    )]
    Unreachable(String),
    /// The server is overloaded; it may say how many seconds to wait.
    #[error("the model is overloaded right now{}. your message is kept; say it again in a moment.", wait(.0))]
    Overloaded(Option<u64>),
    /// The model is temporarily unavailable. The message is retried and answered later.
    #[error("{0} your message is kept, and answered when it is back; your reminders still work.")]
    Unavailable(String),
    /// A spending limit is reached, so a retry does not help.
    #[error("{0}")]
    SpendLimit(#[from] SpendLimit),
    /// The key was refused.
    #[error(
        "The model refused the key ({0}). Your messages are kept and answered in order once it accepts a key. \
         `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a \
         message."
    )]
    BadKey(String),
    /// The model does not exist, is retired, or the key may not use it.
    #[error("The model `{model}` is not available ({reason}). {advice} Your message is kept.")]
    NoSuchModel {
        /// The requested model id.
        model: String,
        /// The reason from the vendor.
        reason: String,
        /// The next step for the user.
        advice: String,
    },
    /// The request was refused.
    #[error(
        "The model refused the request ({0}). `ollim-bot doctor` tries the connection with a small request; `/model` \
         chooses another model. Your message is kept."
    )]
    Rejected(String),
    /// The server failed before or during the reply.
    #[error("the model failed on its side ({0}). your message is kept; say it again.")]
    VendorError(String),
    /// The reply stopped in the middle.
    #[error("the model stopped in the middle ({0}). what it said so far is kept; say `go on` to continue.")]
    CutOff(String),
    /// The response does not follow the protocol.
    #[error("the model answered something i can't read: {0}. your message is kept; say it again.")]
    InvalidResponse(String),
    /// The reply has no usable answer.
    #[error("{0}")]
    InvalidReply(#[from] InvalidReply),
    /// The conversation exceeds the context window.
    #[error("our conversation is longer than the model can read ({0}). shorten it: ollim-bot compact")]
    ContextFull(String),
    /// The program stopped the call, or has an internal error.
    #[error("{0}")]
    Stopped(String),
}

impl Failure {
    /// Returns whether the model is unavailable for now, so that a retry may succeed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Unavailable(_)
            | Self::Unreachable(_)
            | Self::Overloaded(_)
            | Self::VendorError(_)
            | Self::SpendLimit(SpendLimit::Account(_)) => true,
            Self::SpendLimit(SpendLimit::Day(_))
            | Self::BadKey(_)
            | Self::NoSuchModel { .. }
            | Self::Rejected(_)
            | Self::CutOff(_)
            | Self::InvalidResponse(_)
            | Self::InvalidReply(_)
            | Self::ContextFull(_)
            | Self::Stopped(_) => false,
        }
    }

    /// Returns the text for a background run or a check, in which no message of the user could be
    /// kept.
    pub fn job_text(&self) -> String {
        let text = self.to_string();
        let kept = [". your message is kept", ". Your message is kept"];
        match kept.into_iter().find_map(|kept| text.split_once(kept)) {
            Some((what, _)) => format!("{what}."),
            None => text,
        }
    }
}

/// The spending limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpendLimit {
    /// The vendor's limit: the account has no money or quota left.
    #[error(
        "The account at the model's vendor is at its spend limit ({0}). Raise the limit in the vendor's console, or wait \
         until it resets."
    )]
    Account(String),
    /// The daily limit of unattended work.
    #[error("{0}")]
    Day(#[from] BudgetRefusal),
}

/// The reason why a reply is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReply {
    #[error("the model answered nothing. your message is kept; say it again, or in other words.")]
    Empty,
    /// It reached the token limit.
    #[error("the answer grew longer than the limit and was cut. say `go on` to hear the rest.")]
    TooLong,
    /// It reached the size limit.
    #[error(
        "The reply grew larger than {kilobytes} KB, so I stopped reading it there. Its beginning is kept, and any tool \
         calls in it were not run. Say `go on` to hear more."
    )]
    TooLarge {
        /// The most kilobytes of a reply.
        kilobytes: usize,
    },
    /// All tokens went into thinking, twice.
    #[error(
        "The model used its whole limit for thinking and wrote no answer. Raise `max_tokens` under `[model]` in \
         settings.toml, or lower the effort with `/effort low` if it is higher. Your message is kept; say it again."
    )]
    OnlyThinking,
    /// The model declined.
    #[error("The model declined to answer{}. Your message is kept; say it in other words, or ask another model with \
        `/model`.", .0.reason())]
    Refused(DeclineReason),
    /// A summary lacked required facts, twice.
    #[error("the summary left out what matters ({}), twice, so i kept our conversation as it is.", forgotten(.0))]
    IncompleteSummary(IncompleteSummary),
}

/// The reason that a vendor gives when its model declines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeclineReason {
    Cyber,
    Biology,
    AiDevelopment,
    ReasoningExtraction,
    GeneralHarms,
    /// No reason is given, or one that we do not know.
    #[default]
    Unstated,
}

impl DeclineReason {
    fn reason(self) -> &'static str {
        match self {
            Self::Cyber => ": its vendor blocks this kind of cyber security request",
            Self::Biology => ": its vendor blocks this kind of biology request",
            Self::AiDevelopment => ": its vendor blocks this kind of request about building AI models",
            Self::ReasoningExtraction => ": it may not write out its internal reasoning",
            Self::GeneralHarms => ": its vendor counts the request as harmful",
            Self::Unstated => "",
        }
    }
}

fn wait(seconds: &Option<u64>) -> String {
    seconds.map(|seconds| format!(", and asks to wait {seconds} s")).unwrap_or_default()
}

/// Names the first missing facts and counts the others.
fn forgotten(lost: &IncompleteSummary) -> String {
    const NAMED: usize = 3;
    match lost {
        IncompleteSummary::TooShort => "nearly everything".to_owned(),
        IncompleteSummary::Missing(missing) if missing.len() > NAMED => {
            format!("{}, and {} more", missing[..NAMED].join(", "), missing.len() - NAMED)
        }
        IncompleteSummary::Missing(missing) => missing.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_text_mentions_no_kept_message() {
        let of = |failure: Failure| failure.job_text();
        assert_eq!(
            of(InvalidReply::Refused(DeclineReason::Unstated).into()),
            "The model declined to answer."
        );
        assert_eq!(of(InvalidReply::Empty.into()), "the model answered nothing.");
        let missing =
            Failure::NoSuchModel { model: "m".into(), reason: "no".into(), advice: "Use another.".into() };
        assert_eq!(of(missing), "The model `m` is not available (no). Use another.");
        assert!(of(InvalidReply::OnlyThinking.into()).ends_with("with `/effort low` if it is higher."));
    }
}
