//! Permission: whether a tool may run.
//!
//! The one door for authority. Every call passes it, and what is decided is written down before the tool
//! runs. A refusal is read by the model, so it says what to do instead.

mod mode;

pub use mode::{Mode, Modes};

use crate::approval::{ApprovalId, Consent};
use crate::label::Label;
use crate::place::{Follow, Place, PlacedTool};
use crate::schedule::ToolRule;
use crate::tool::pattern::Pattern;
use crate::tool::{Class, Outcome, ToolCall, ToolResult, ToolSpec};

/// The folder that only the program itself writes to.
const STATE: &str = "state";

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is decided.
    Decided(Decision),
    /// The human is asked, under this number; the decision follows.
    Asked(ApprovalId, ToolCall),
}

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call.
    pub call: ToolCall,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decision {
    /// That `call` may run, because of `allowed`.
    pub fn allowed(call: &ToolCall, allowed: Allowed) -> Self {
        Self { call: call.clone(), rule: Rule::Allowed(allowed) }
    }

    /// That `call` may not run, because of `refused`.
    pub fn refused(call: &ToolCall, refused: Refused) -> Self {
        Self { call: call.clone(), rule: Rule::Refused(refused) }
    }

    /// The result of a call that may not run: nothing, if it may.
    pub fn refusal(&self) -> Option<ToolResult> {
        match &self.rule {
            Rule::Allowed(_) => None,
            Rule::Refused(refused) => Some(ToolResult {
                call: self.call.id.clone(),
                text: refused.told(&self.call.name),
                outcome: refused.outcome(),
                label: Label::PLAIN,
            }),
        }
    }
}

/// Why a call was allowed or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It may run.
    Allowed(Allowed),
    /// It may not.
    Refused(Refused),
}

impl Rule {
    /// The name under which a decision is kept.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Allowed(allowed) => allowed.id(),
            Self::Refused(refused) => refused.id(),
        }
    }
}

/// Why a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// It only asks the assistant, which checks what it is asked.
    OwnTool,
    /// It changes nothing.
    Reads,
    /// The mode that the human set allows it.
    Mode(Mode),
    /// The human has allowed this tool for the session.
    Session,
    /// The human has said yes to it, this once.
    Approved(ApprovalId),
    /// The human said yes to exactly this after its turn had gone on, and it was not done since.
    Granted(ApprovalId),
}

impl Allowed {
    fn id(self) -> &'static str {
        match self {
            Self::OwnTool => "own-tool",
            Self::Reads => "reads",
            Self::Mode(_) => "mode",
            Self::Session => "session",
            Self::Approved(_) => "approved",
            Self::Granted(_) => "granted",
        }
    }
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such tool exists; these do.
    Unknown(Vec<&'static str>),
    /// It does not work where it was called, for this reason.
    OutOfPlace(&'static str),
    /// The job may not use it.
    Unlisted,
    /// It would write where only the program writes.
    Protected,
    /// It does not say which file it would write.
    Pathless,
    /// It needs a yes, and nobody is there to give it.
    Background,
    /// It needs a yes, and the human does not want to be asked.
    Unasked,
    /// It needs a yes, and too many approvals wait already.
    Crowded,
    /// The human said no.
    Denied(ApprovalId),
    /// Something else happened before the human answered.
    Cancelled(ApprovalId),
    /// The human has not answered, and may still.
    Unanswered(ApprovalId),
}

impl Refused {
    fn id(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown-tool",
            Self::OutOfPlace(_) => "out-of-place",
            Self::Unlisted => "unlisted-tool",
            Self::Protected => "write-protected",
            Self::Pathless => "no-path",
            Self::Background => "background",
            Self::Unasked => "requires-permission",
            Self::Crowded => "too-many-approvals",
            Self::Denied(_) => "denied",
            Self::Cancelled(_) => "cancelled",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// A call that makes no sense has failed; one that would have made sense was denied.
    fn outcome(&self) -> Outcome {
        match self {
            Self::Unknown(_) | Self::OutOfPlace(_) => Outcome::Failed,
            Self::Unlisted
            | Self::Protected
            | Self::Pathless
            | Self::Background
            | Self::Unasked
            | Self::Crowded
            | Self::Denied(_)
            | Self::Cancelled(_)
            | Self::Unanswered(_) => Outcome::Denied,
        }
    }

    /// What the model is told instead of a result of the tool `name`.
    fn told(&self, name: &str) -> String {
        match self {
            Self::Unknown(names) => format!(
                "Error: there is no tool called `{name}`. the tools are: {}. use one of those, or answer in words.",
                names.join(", ")
            ),
            Self::OutOfPlace(sentence) => (*sentence).to_owned(),
            Self::Unlisted => format!(
                "Error: `{name}` is not available in background forks of this job: its file does not allow it. go on \
                 with the tools it allows."
            ),
            Self::Protected => {
                "Error: `state/` is write-protected: only the program itself writes there, in every \
                mode. write somewhere else, or tell the human what you wanted to change."
                    .to_owned()
            }
            Self::Pathless => format!(
                "Error: `{name}` was called without a `file_path`, so nobody can say whether it may write there. call \
                 it again with one."
            ),
            Self::Background => format!(
                "Error: `{name}` needs the human's yes and is not available in background forks. leave what you \
                 wanted with `report_updates`."
            ),
            Self::Unasked => format!(
                "Error: `{name}` requires permission, and the human does not want to be asked now. it was not run. \
                 tell them what you wanted to do: with `/permissions default` they are asked, and you can try again."
            ),
            Self::Crowded => format!(
                "Error: `{name}` requires permission, and too many approvals wait for the human's answer already. it was \
                 not run. tell the human, and wait until they have answered some."
            ),
            Self::Denied(_) => format!(
                "Error: the human denied this. `{name}` was not run. do not try it again unless they ask for it."
            ),
            Self::Cancelled(_) => format!(
                "Error: cancelled, not run. something else came before the human said yes or no to `{name}`."
            ),
            Self::Unanswered(ApprovalId(number)) => format!(
                "Error: no answer yet, so `{name}` was not run. approval {number} stays open for the human, and you will \
                 be told if they allow it. do not call it again before that. go on without it, and tell them."
            ),
        }
    }
}

/// What a run is allowed: where it is, what its job's file says, and what the human has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Where it runs.
    pub place: Place,
    /// Which tools it may use there.
    pub tools: ToolRule,
    /// What may be done there without asking.
    pub mode: Mode,
}

impl Authority {
    /// That of an ordinary turn in the main conversation.
    pub const MAIN: Self =
        Self { place: Place::Main(Follow::Alone), tools: ToolRule::Usual, mode: Mode::DontAsk };
}

/// Decides whether `call`, of one of `tools`, may run with `authority`, and with what the human has said yes to:
/// nothing, if the human must be asked.
pub fn decide(
    call: &ToolCall,
    tools: &[ToolSpec],
    authority: &Authority,
    consent: &Consent,
) -> Option<Decision> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        let names = tools.iter().map(|tool| tool.name).collect();
        return Some(Decision::refused(call, Refused::Unknown(names)));
    };
    if let Err(refused) = forbidden(call, tool.class, authority) {
        return Some(Decision::refused(call, refused));
    }
    match (free(tool.class, authority.mode).or_else(|| consent.to(call)), authority.mode) {
        (Some(allowed), _) => Some(Decision::allowed(call, allowed)),
        (None, Mode::DontAsk) => Some(Decision::refused(call, Refused::Unasked)),
        (None, Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
    }
}

/// What no mode and no yes can lift. The protection of `state/` comes before everything else.
fn forbidden(call: &ToolCall, class: Class, authority: &Authority) -> Result<(), Refused> {
    if class == Class::Edits {
        match call.input.text("file_path") {
            None => return Err(Refused::Pathless),
            Some(path) if is_protected(&path) => return Err(Refused::Protected),
            Some(_) => {}
        }
    }
    let placed = PlacedTool::named(&call.name).map_or(Ok(()), |tool| authority.place.admits(tool));
    placed.map_err(Refused::OutOfPlace)?;
    match (&authority.tools, authority.place, class) {
        (ToolRule::Only(listed), _, _) if !patterns(listed).any(|line| line.allows(&call.name)) => {
            Err(Refused::Unlisted)
        }
        (ToolRule::Except(listed), _, _) if patterns(listed).any(|line| line.names(&call.name)) => {
            Err(Refused::Unlisted)
        }
        (_, Place::Background(_), Class::Reads | Class::Edits | Class::Acts) => Err(Refused::Background),
        (ToolRule::Usual | ToolRule::Only(_) | ToolRule::Except(_), _, _) => Ok(()),
    }
}

/// What needs nobody's yes.
fn free(class: Class, mode: Mode) -> Option<Allowed> {
    match (class, mode) {
        (Class::Own, _) => Some(Allowed::OwnTool),
        (Class::Reads, _) => Some(Allowed::Reads),
        (Class::Edits, Mode::AcceptEdits | Mode::Bypass) | (Class::Acts, Mode::Bypass) => {
            Some(Allowed::Mode(mode))
        }
        (Class::Edits, Mode::DontAsk | Mode::Ask)
        | (Class::Acts, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits) => None,
    }
}

/// Whether `path` may lead into the folder of the program. Nobody here knows where that is, so every folder of its
/// name counts; links are for the tool to follow.
fn is_protected(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part.trim().eq_ignore_ascii_case(STATE))
}

/// The lines of a list that can be read: the others allow nothing, and forbid nothing.
fn patterns(listed: &[String]) -> impl Iterator<Item = Pattern<'_>> {
    listed.iter().filter_map(|text| Pattern::read(text).ok())
}

#[cfg(test)]
mod tests;
