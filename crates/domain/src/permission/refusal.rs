//! The reasons of refused calls, and the text that the model reads instead of a result.

use crate::approval::ApprovalId;
use crate::tool::Outcome;

/// The reason why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The tool does not exist; these exist.
    Unknown(Vec<&'static str>),
    /// It does not work at this place, for this reason.
    WrongPlace(&'static str),
    /// The job's file does not allow it.
    Unlisted,
    /// It would write to the program's directory.
    Protected,
    /// It names no file.
    MissingPath,
    /// It needs an approval in a background run: a card runs it if the user approves.
    Deferred(ApprovalId),
    /// No approval helps.
    Absolute(AbsoluteRefusal),
    /// It needs an approval, and the mode does not allow questions.
    AskingDisabled,
    /// It needs an approval, and too many approvals are open.
    TooManyApprovals,
    Denied(ApprovalId),
    /// Another message or a stop came before the answer.
    Cancelled(ApprovalId),
    /// The user has not answered yet, and still may.
    Unanswered(ApprovalId),
}

impl RefusalReason {
    pub(super) fn id(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown-tool",
            Self::WrongPlace(_) => "out-of-place",
            Self::Unlisted => "unlisted-tool",
            Self::Protected => "write-protected",
            Self::MissingPath => "no-path",
            Self::Deferred(_) => "deferred",
            Self::Absolute(shut) => shut.id(),
            Self::AskingDisabled => "requires-permission",
            Self::TooManyApprovals => "too-many-approvals",
            Self::Denied(_) => "denied",
            Self::Cancelled(_) => "cancelled",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// Invalid calls have failed; valid ones were denied.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Unknown(_) | Self::WrongPlace(_) => Outcome::Failed,
            Self::Unlisted
            | Self::Protected
            | Self::MissingPath
            | Self::Deferred(_)
            | Self::Absolute(_)
            | Self::AskingDisabled
            | Self::TooManyApprovals
            | Self::Denied(_)
            | Self::Cancelled(_)
            | Self::Unanswered(_) => Outcome::Denied,
        }
    }

    /// Returns the text for the model instead of a result of the tool `name`.
    pub(super) fn text(&self, name: &str) -> String {
        match self {
            Self::Unknown(names) => format!(
                "Error: there is no tool called `{name}`. the tools are: {}. use one of those, or answer in words.",
                names.join(", ")
            ),
            Self::WrongPlace(sentence) => (*sentence).to_owned(),
            Self::Unlisted => format!(
                "Error: `{name}` is not available in background forks of this job: its file does not allow it. go on \
                 with the tools it allows."
            ),
            Self::Protected => {
                "Error: `state/` is write-protected: only the program itself writes there, in every \
                mode. write somewhere else, or tell the human what you wanted to change."
                    .to_owned()
            }
            Self::MissingPath => format!(
                "Error: `{name}` was called without a `file_path`, so nobody can say whether it may write there. call \
                 it again with one."
            ),
            Self::Deferred(_) => format!(
                "Error: `{name}` needs the human's yes, so it was not run. a card shows it to them, and it is done exactly \
                 so if they say yes within a day. do not call it again. go on without it."
            ),
            Self::Absolute(shut) => shut.text(name),
            Self::AskingDisabled => format!(
                "Error: `{name}` requires permission, and the human does not want to be asked now. it was not run. \
                 tell them what you wanted to do: with `/permissions default` they are asked, and you can try again."
            ),
            Self::TooManyApprovals => format!(
                "Error: `{name}` requires permission, and too many approvals wait for the human's answer already. it was \
                 not run. tell the human, and wait until they have answered some."
            ),
            Self::Denied(_) => format!(
                "Error: the human denied this. `{name}` was not run. do not try it again unless they ask for it."
            ),
            Self::Cancelled(_) => format!(
                "Error: cancelled, not run. something else came before the human said yes or no to `{name}`."
            ),
            Self::Unanswered(_) => format!(
                "Error: no answer yet, so `{name}` was not run. the approval stays open for the human, and you will be \
                 told if they allow it. do not call it again before that. go on without it, and tell them."
            ),
        }
    }
}

/// A refusal that no approval lifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsoluteRefusal {
    /// A shell with a network, in a conversation with outside text.
    Network,
    /// Only the user may do it.
    UserOnly,
    /// A critical ping, in a run with outside text.
    CriticalPing,
    /// Input that different parsers could read differently.
    AmbiguousInput,
}

impl AbsoluteRefusal {
    fn id(self) -> &'static str {
        match self {
            Self::Network => "no-network",
            Self::UserOnly => "only-the-human",
            Self::CriticalPing => "no-alarm",
            Self::AmbiguousInput => "unreadable-input",
        }
    }

    fn text(self, name: &str) -> String {
        match self {
            Self::Network => format!(
                "Error: `{name}` with a network is not available here: text from outside is in this conversation. run \
                 it without one, or tell the human what you wanted."
            ),
            Self::UserOnly => {
                "Error: only the human does this, on the command line or the page. tell them how.".to_owned()
            }
            Self::CriticalPing => {
                "Error: words from outside are in this run, so nothing it says is critical. say it \
                without `critical`, or leave it for main."
                    .to_owned()
            }
            Self::AmbiguousInput => format!(
                "Error: the input of `{name}` cannot be read: give one JSON object that names each thing once."
            ),
        }
    }
}
