//! Permissions: decides whether a tool call may run.
//!
//! Every call is checked here, and the decision is recorded before the tool runs. The model reads
//! refusals, so they name the alternative.

mod matrix;
mod mode;
pub mod own_command;
mod path;
mod planner_text;
mod refusal;
mod tool_action;

pub use mode::{Mode, Modes};
pub use path::OUTSIDE_DIR;
pub(crate) use planner_text::equivalent_commands;
pub use planner_text::{PlannerClock, tool_action_at};
pub use refusal::{AbsoluteRefusal, RefusalReason};
pub use tool_action::{
    Capability, Destination, NoteOrigin, ToolAction, links_in, server_action, site, tool_action,
};

use crate::approval::{ApprovalId, Consent};
use crate::label::{Label, Realms};
use crate::place::{ChainPosition, ContextToolKind, Place};
use crate::schedule::ToolRule;
use crate::tool::pattern::{self, MAIN_TOOLS, Pattern, covers_together, forbids};
use crate::tool::{ServerToolKind, ServerToolKinds, ToolCall, ToolClass, ToolResult, ToolSpec};
use matrix::{MatrixResult, is_unattended, matrix_result, prior_permission};
use path::is_protected;

/// The state of a call after the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallDisposition {
    Decided(Decision),
    /// The user is asked under this approval id; the decision follows.
    Asked(ApprovalId, ToolCall),
    /// A subagent works on it; the result follows.
    Delegated(ToolCall),
    /// It was allowed and has this result already.
    Answered(ToolResult),
}

/// The decision about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub call: ToolCall,
    pub rule: Rule,
    /// The label of the conversation at the time of the call.
    pub label: Label,
}

impl Decision {
    /// Creates a decision that allows `call`.
    pub fn allowed(call: &ToolCall, allowed: AllowReason) -> Self {
        Self { call: call.clone(), rule: Rule::Allowed(allowed), label: Label::PLAIN }
    }

    /// Creates a decision that refuses `call`.
    pub fn refused(call: &ToolCall, refused: RefusalReason) -> Self {
        Self { call: call.clone(), rule: Rule::Refused(refused), label: Label::PLAIN }
    }

    /// Returns the result of a refused call; `None` if it may run.
    pub fn refusal(&self) -> Option<ToolResult> {
        match &self.rule {
            Rule::Allowed(_) => None,
            Rule::Refused(refused) => Some(ToolResult {
                call: self.call.id.clone(),
                text: refused.text(&self.call.name),
                outcome: refused.outcome(),
                label: Label::PLAIN,
            }),
        }
    }
}

/// The rule that allowed or refused a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Allowed(AllowReason),
    Refused(RefusalReason),
}

impl Rule {
    /// Returns the stored name of the rule.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Allowed(allowed) => allowed.id(),
            Self::Refused(refused) => refused.id(),
        }
    }
}

/// The reason why a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowReason {
    /// It only asks the assistant, which checks the request.
    OwnTool,
    /// It only reads.
    Reads,
    /// The matrix allows it with the label of the conversation.
    Context,
    /// The permission mode allows it.
    Mode(Mode),
    /// A standing approval covers it.
    Standing(ApprovalId),
    /// The user approved this call.
    Approved(ApprovalId),
    /// An unused grant from a late approval covers exactly this call.
    Granted(ApprovalId),
}

impl AllowReason {
    fn id(self) -> &'static str {
        match self {
            Self::OwnTool => "own-tool",
            Self::Reads => "reads",
            Self::Context => "context",
            Self::Mode(_) => "mode",
            Self::Standing(_) => "standing",
            Self::Approved(_) => "approved",
            Self::Granted(_) => "granted",
        }
    }
}

/// The permissions of a run: its place, the tools of its job, the user's mode, and the label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    pub place: Place,
    /// The tools that it may use.
    pub tools: ToolRule,
    pub mode: Mode,
    /// The label of the conversation.
    pub label: Label,
    /// Addresses that the user wrote, and those that were seen in pages, search results and mail.
    pub links: Vec<String>,
    /// The user's request in this turn in their own words, or the text of the job's file; `None` in
    /// other turns.
    pub request: Option<String>,
    /// The accepted kinds of the server tools that are called in this step.
    pub server_kinds: ServerToolKinds,
    /// The time and habits for reading planner text. Without them such text counts as its worst
    /// meaning.
    pub clock: Option<PlannerClock>,
}

impl Authority {
    /// The permissions of an ordinary turn in the main conversation.
    pub const MAIN: Self = Self {
        place: Place::Main(ChainPosition::NotInChain),
        tools: ToolRule::SameAsMain,
        mode: Mode::Ask,
        label: Label::PLAIN,
        links: Vec::new(),
        request: None,
        server_kinds: ServerToolKinds::new(),
        clock: None,
    };

    /// Returns the accepted kind of the server tool that `call` names.
    fn kind_of(&self, call: &ToolCall) -> Option<ServerToolKind> {
        self.server_kinds.get(&call.input.text("tool")?).copied()
    }
}

/// Decides whether `call` of one of `tools` may run with `authority` and the user's `consent`;
/// `None` if the user must be asked.
pub fn decide(
    call: &ToolCall,
    tools: &[ToolSpec],
    authority: &Authority,
    consent: &Consent,
) -> Option<Decision> {
    let decision = apply_rules(call, tools, authority, consent)?;
    Some(Decision { label: authority.label, ..decision })
}

fn apply_rules(
    call: &ToolCall,
    tools: &[ToolSpec],
    authority: &Authority,
    consent: &Consent,
) -> Option<Decision> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        let names = tools.iter().map(|tool| tool.name).collect();
        return Some(Decision::refused(call, RefusalReason::Unknown(names)));
    };
    if let Err(refused) = check_hard_rules(call, tool.class, authority) {
        return Some(Decision::refused(call, refused));
    }
    let deed = if tool.class == ToolClass::Foreign {
        server_action(call, authority.kind_of(call))
    } else {
        tool_action_at(call, tool.class, authority.clock.as_ref())
    };
    match matrix_result(call, &deed, authority) {
        MatrixResult::Free(allowed) => Some(Decision::allowed(call, allowed)),
        MatrixResult::Never(refused) => Some(Decision::refused(call, refused)),
        MatrixResult::Ask if is_unattended(authority.place) => None,
        MatrixResult::Ask => {
            match (prior_permission(&deed, authority, consent.permission_for(call)), authority.mode) {
                (Some(allowed), _) => Some(Decision::allowed(call, allowed)),
                // A call that needs a question only because of outside text is asked for even in
                // `dontAsk` mode.
                (None, Mode::DontAsk) if !is_free_untainted(call, &deed, authority) => {
                    Some(Decision::refused(call, RefusalReason::AskingDisabled))
                }
                (None, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
            }
        }
    }
}

/// Returns whether the call would be free without outside text.
fn is_free_untainted(call: &ToolCall, deed: &ToolAction, authority: &Authority) -> bool {
    let knows = Label { outside: Realms::NONE, ..authority.label };
    matches!(
        matrix_result(call, deed, &Authority { label: knows, ..authority.clone() }),
        MatrixResult::Free(_)
    )
}

/// Checks the rules that no mode and no approval lifts. The protection of `state/` comes first.
fn check_hard_rules(call: &ToolCall, class: ToolClass, authority: &Authority) -> Result<(), RefusalReason> {
    if class == ToolClass::Edits {
        match call.input.text("file_path") {
            None => return Err(RefusalReason::MissingPath),
            Some(path) if is_protected(&path) => return Err(RefusalReason::Protected),
            Some(_) => {}
        }
    }
    let placed =
        ContextToolKind::from_name(&call.name).map_or(Ok(()), |tool| authority.place.check_tool(tool));
    placed.map_err(RefusalReason::WrongPlace)?;
    if !is_listed(call, class, authority) {
        return Err(RefusalReason::Unlisted);
    }
    match class {
        // The assistant checks the input of these against its schema.
        ToolClass::Own | ToolClass::Notes | ToolClass::Plans | ToolClass::Delegates | ToolClass::Acts => {
            Ok(())
        }
        _ if call.input.is_valid_object() => Ok(()),
        ToolClass::Reads
        | ToolClass::Edits
        | ToolClass::Shell
        | ToolClass::Fetches
        | ToolClass::Searches
        | ToolClass::Foreign => Err(RefusalReason::Absolute(AbsoluteRefusal::AmbiguousInput)),
    }
}

/// Returns whether the job's list allows `call`. In the background only declared tools and the
/// assistant's own are allowed.
fn is_listed(call: &ToolCall, class: ToolClass, authority: &Authority) -> bool {
    let unattended = is_unattended(authority.place);
    let main = || covers_together(MAIN_TOOLS.iter().filter_map(|line| Pattern::parse(line).ok()), call);
    match &authority.tools {
        ToolRule::Only(listed) => covers_together(patterns(listed), call),
        ToolRule::Except(listed)
            if listed.iter().any(|line| forbids(line, call, authority.clock.as_ref())) =>
        {
            false
        }
        ToolRule::Except(_) | ToolRule::SameAsMain if unattended && class != ToolClass::Own => {
            matches!(authority.tools, ToolRule::Except(_)) && main()
        }
        ToolRule::Intersection(outer, inner) => {
            let with = |tools: &ToolRule| Authority { tools: tools.clone(), ..authority.clone() };
            is_listed(call, class, &with(outer)) && is_listed(call, class, &with(inner))
        }
        ToolRule::Except(_) | ToolRule::SameAsMain => true,
    }
}

/// Returns whether a job with these tools must not run the program in `words`.
pub fn forbids_program(tools: &ToolRule, words: &[String]) -> bool {
    match tools {
        ToolRule::SameAsMain | ToolRule::Only(_) => false,
        ToolRule::Except(listed) => listed.iter().any(|line| pattern::forbids_program(line, words)),
        ToolRule::Intersection(outer, inner) => {
            forbids_program(outer, words) || forbids_program(inner, words)
        }
    }
}

/// Returns the valid lines of an allow list; invalid lines allow nothing.
fn patterns(listed: &[String]) -> impl Iterator<Item = Pattern<'_>> + Clone {
    listed.iter().filter_map(|text| Pattern::parse(text).ok())
}

#[cfg(test)]
mod tests;
