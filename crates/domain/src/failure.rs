//! Why a turn did not end with an answer, in words for the human.
//!
//! Each kind says what happened to what the human wanted, and who must act. None of them counts as an
//! answer.

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
    /// A limit of spending is reached. Trying again will not help.
    #[error(transparent)]
    SpendLimit(SpendLimit),
    /// It does not accept our key.
    #[error("the model refused the key ({0}). check it, and `ollim-bot doctor` tells whether it works.")]
    BadKey(String),
    /// It does not accept our request.
    #[error("the model did not accept the request: {0}")]
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
    /// It ended without a word.
    #[error("the model answered nothing. your message is kept; say it again, or in other words.")]
    Empty,
    /// It ran out of room for its answer.
    #[error("the answer grew longer than the limit and was cut. say `go on` to hear the rest.")]
    TooLong,
    /// It declined.
    #[error("the model declined to answer that.")]
    Refused,
    /// We stopped it, or something in us broke.
    #[error("{0}")]
    Stopped(String),
}

/// Whose limit of spending is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpendLimit {
    /// The vendor's: the account has no money or quota left.
    #[error(
        "the model's account is at its spend limit ({0}). raise the limit there, or wait until it resets."
    )]
    Account(String),
    /// Ours, for a day of work that nobody waits for.
    #[error(transparent)]
    Day(#[from] Refusal),
}

fn wait(seconds: &Option<u64>) -> String {
    seconds.map(|seconds| format!(", and asks to wait {seconds} s")).unwrap_or_default()
}

/// Who must act before trying again makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Nobody: it may work the next time.
    Nobody,
    /// The human: a key, a limit, an address.
    Human,
    /// We, the people who write this program.
    Us,
}

impl Failure {
    /// Who must act.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Busy(_)
            | Self::Broken(_)
            | Self::CutOff(_)
            | Self::Empty
            | Self::TooLong
            | Self::Refused
            | Self::Stopped(_) => Actor::Nobody,
            Self::Unreachable(_) | Self::SpendLimit(_) | Self::BadKey(_) => Actor::Human,
            Self::Rejected(_) | Self::Garbled(_) => Actor::Us,
        }
    }
}
