//! Why a turn did not end with an answer, in words for the human.
//!
//! Each kind says what happened to what the human wanted, and who must act. None of them counts as an
//! answer.

use crate::compaction::Lost;
use crate::cost::Refusal;

/// Why the model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody answered at the address.
    #[error(
        "i can't reach the model ({0}). your message is kept; say it again, or check `ollim-bot doctor`."
    )]
    Unreachable(String),
    /// It asks us to come back later.
    #[error("the model is overloaded right now{}. your message is kept; say it again in a moment.", wait(.0))]
    Busy(Option<u64>),
    /// It is not there for now, as this says; it is tried again, and the answer still comes.
    #[error("{0} your message is kept, and answered when it is back; your reminders still work.")]
    Away(String),
    /// A limit of spending is reached. Trying again will not help.
    #[error("{0}")]
    SpendLimit(#[from] SpendLimit),
    /// It does not accept our key.
    #[error(
        "The model refused the key ({0}). Your messages are kept and answered in order once it accepts a key. \
         `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a \
         message."
    )]
    BadKey(String),
    /// It does not exist, is retired, or our key may not use it.
    #[error("The model `{model}` is not available ({reason}). {advice} Your message is kept.")]
    NoSuchModel {
        /// The id that was asked for.
        model: String,
        /// The vendor's sentence.
        reason: String,
        /// The next step for the user.
        advice: String,
    },
    /// It does not accept our request.
    #[error(
        "The model refused the request ({0}). `ollim-bot doctor` tries the connection with a small request; `/model` \
         chooses another model. Your message is kept."
    )]
    Rejected(String),
    /// It broke on its side, before or after it started to speak.
    #[error("the model failed on its side ({0}). your message is kept; say it again.")]
    Broken(String),
    /// It stopped speaking in the middle.
    #[error("the model stopped in the middle ({0}). what it said so far is kept; say `go on` to continue.")]
    CutOff(String),
    /// What it said is not in the language of its wire.
    #[error("the model answered something i can't read: {0}. your message is kept; say it again.")]
    Garbled(String),
    /// It replied, but not with what was wanted.
    #[error("{0}")]
    Unsaid(#[from] Unsaid),
    /// Our conversation no longer fits into what it reads at once.
    #[error("our conversation is longer than the model can read ({0}). shorten it: ollim-bot compact")]
    Full(String),
    /// We stopped it, or something in us broke.
    #[error("{0}")]
    Stopped(String),
}

impl Failure {
    /// Whether the model is not there for now: later the same words may well be answered.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Away(_)
            | Self::Unreachable(_)
            | Self::Busy(_)
            | Self::Broken(_)
            | Self::SpendLimit(SpendLimit::Account(_)) => true,
            Self::SpendLimit(SpendLimit::Day(_))
            | Self::BadKey(_)
            | Self::NoSuchModel { .. }
            | Self::Rejected(_)
            | Self::CutOff(_)
            | Self::Garbled(_)
            | Self::Unsaid(_)
            | Self::Full(_)
            | Self::Stopped(_) => false,
        }
    }

    /// The same for a background run or a check, in which the user has sent no message that could be kept.
    pub fn of_a_job(&self) -> String {
        let text = self.to_string();
        let kept = [". your message is kept", ". Your message is kept"];
        match kept.into_iter().find_map(|kept| text.split_once(kept)) {
            Some((what, _)) => format!("{what}."),
            None => text,
        }
    }
}

/// Whose limit of spending is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpendLimit {
    /// The vendor's: the account has no money or quota left.
    #[error(
        "The account at the model's vendor is at its spend limit ({0}). Raise the limit in the vendor's console, or wait \
         until it resets."
    )]
    Account(String),
    /// Ours, for a day of work that nobody waits for.
    #[error("{0}")]
    Day(#[from] Refusal),
}

/// What a reply lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsaid {
    /// Words.
    #[error("the model answered nothing. your message is kept; say it again, or in other words.")]
    Empty,
    /// Its end: there was no room for more.
    #[error("the answer grew longer than the limit and was cut. say `go on` to hear the rest.")]
    TooLong,
    /// An end within the bytes that a reply may have.
    #[error(
        "The reply grew larger than {kilobytes} KB, so I stopped reading it there. Its beginning is kept, and any tool \
         calls in it were not run. Say `go on` to hear more."
    )]
    TooLarge {
        /// The most kilobytes of a reply.
        kilobytes: usize,
    },
    /// Words: all of its tokens went into thinking, twice.
    #[error(
        "The model used its whole limit for thinking and wrote no answer. Raise `max_tokens` under `[model]` in \
         settings.toml, or lower the effort with `/effort low` if it is higher. Your message is kept; say it again."
    )]
    OnlyThought,
    /// Willingness.
    #[error("The model declined to answer{}. Your message is kept; say it in other words, or ask another model with \
        `/model`.", .0.reason())]
    Refused(Declined),
    /// What must not get lost in a summary, twice.
    #[error("the summary left out what matters ({}), twice, so i kept our conversation as it is.", forgotten(.0))]
    Forgetful(Lost),
}

/// The reason that a vendor gives when its model declines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Declined {
    Cyber,
    Biology,
    AiDevelopment,
    ReasoningExtraction,
    GeneralHarms,
    /// No reason is given, or one that we do not know.
    #[default]
    Unstated,
}

impl Declined {
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

/// The first few things that are missing: the human wants to know what kind of thing, not all of them.
fn forgotten(lost: &Lost) -> String {
    const NAMED: usize = 3;
    match lost {
        Lost::Everything => "nearly everything".to_owned(),
        Lost::Some(missing) if missing.len() > NAMED => {
            format!("{}, and {} more", missing[..NAMED].join(", "), missing.len() - NAMED)
        }
        Lost::Some(missing) => missing.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_a_message_is_not_told_that_one_is_kept() {
        let of = |failure: Failure| failure.of_a_job();
        assert_eq!(of(Unsaid::Refused(Declined::Unstated).into()), "The model declined to answer.");
        assert_eq!(of(Unsaid::Empty.into()), "the model answered nothing.");
        let missing =
            Failure::NoSuchModel { model: "m".into(), reason: "no".into(), advice: "Use another.".into() };
        assert_eq!(of(missing), "The model `m` is not available (no). Use another.");
        assert!(of(Unsaid::OnlyThought.into()).ends_with("with `/effort low` if it is higher."));
    }
}
