//! Permissions: decides whether a tool call may run.
//!
//! Every call is checked here, and the decision is recorded before the tool runs. The model reads
//! refusals, so they name the alternative.

mod deed;
mod matrix;
mod mode;
pub mod own_command;
mod path;
mod plan_words;
mod refusal;

pub use deed::{Corner, Deed, Power, To, deed, links, server_deed, site};
pub use mode::{Mode, Modes};
pub use path::OUTSIDE;
pub(crate) use plan_words::same_commands;
pub use plan_words::{Clock, deed_at};
pub use refusal::{Refused, Shut};

use crate::approval::{ApprovalId, Consent};
use crate::label::{Label, Realms};
use crate::place::{Follow, Place, PlacedTool};
use crate::schedule::ToolRule;
use crate::tool::pattern::{self, MAIN, Pattern, covered, forbids};
use crate::tool::{Class, ServerKind, ServerKinds, ToolCall, ToolResult, ToolSpec};
use matrix::{Cell, cell, is_unattended, said_before};
use path::is_protected;

/// The state of a call after the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
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
    pub knows: Label,
}

impl Decision {
    /// Creates a decision that allows `call`.
    pub fn allowed(call: &ToolCall, allowed: Allowed) -> Self {
        Self { call: call.clone(), rule: Rule::Allowed(allowed), knows: Label::PLAIN }
    }

    /// Creates a decision that refuses `call`.
    pub fn refused(call: &ToolCall, refused: Refused) -> Self {
        Self { call: call.clone(), rule: Rule::Refused(refused), knows: Label::PLAIN }
    }

    /// Returns the result of a refused call; `None` if it may run.
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

/// The rule that allowed or refused a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Allowed(Allowed),
    Refused(Refused),
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
pub enum Allowed {
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

impl Allowed {
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
    pub knows: Label,
    /// Addresses that the user wrote, and those that were seen in pages, search results and mail.
    pub links: Vec<String>,
    /// The user's request in this turn in their own words, or the text of the job's file; `None` in
    /// other turns.
    pub request: Option<String>,
    /// The accepted kinds of the server tools that are called in this step.
    pub kinds: ServerKinds,
    /// The time and habits for reading planner text. Without them such text counts as its worst
    /// meaning.
    pub clock: Option<Clock>,
}

impl Authority {
    /// The permissions of an ordinary turn in the main conversation.
    pub const MAIN: Self = Self {
        place: Place::Main(Follow::Alone),
        tools: ToolRule::Usual,
        mode: Mode::Ask,
        knows: Label::PLAIN,
        links: Vec::new(),
        request: None,
        kinds: ServerKinds::new(),
        clock: None,
    };

    /// Returns the accepted kind of the server tool that `call` names.
    fn kind_of(&self, call: &ToolCall) -> Option<ServerKind> {
        self.kinds.get(&call.input.text("tool")?).copied()
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
    let decision = weigh(call, tools, authority, consent)?;
    Some(Decision { knows: authority.knows, ..decision })
}

fn weigh(call: &ToolCall, tools: &[ToolSpec], authority: &Authority, consent: &Consent) -> Option<Decision> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        let names = tools.iter().map(|tool| tool.name).collect();
        return Some(Decision::refused(call, Refused::Unknown(names)));
    };
    if let Err(refused) = forbidden(call, tool.class, authority) {
        return Some(Decision::refused(call, refused));
    }
    let deed = if tool.class == Class::Foreign {
        server_deed(call, authority.kind_of(call))
    } else {
        deed_at(call, tool.class, authority.clock.as_ref())
    };
    match cell(call, &deed, authority) {
        Cell::Free(allowed) => Some(Decision::allowed(call, allowed)),
        Cell::Never(refused) => Some(Decision::refused(call, refused)),
        Cell::Ask if is_unattended(authority.place) => None,
        Cell::Ask => match (said_before(&deed, authority, consent.to(call)), authority.mode) {
            (Some(allowed), _) => Some(Decision::allowed(call, allowed)),
            // A call that needs a question only because of outside text is asked for even in
            // `dontAsk` mode.
            (None, Mode::DontAsk) if !is_free_without(call, &deed, authority) => {
                Some(Decision::refused(call, Refused::Unasked))
            }
            (None, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
        },
    }
}

/// Returns whether the call would be free without outside text.
fn is_free_without(call: &ToolCall, deed: &Deed, authority: &Authority) -> bool {
    let knows = Label { outside: Realms::NONE, ..authority.knows };
    matches!(cell(call, deed, &Authority { knows, ..authority.clone() }), Cell::Free(_))
}

/// Checks the rules that no mode and no approval lifts. The protection of `state/` comes first.
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
    if !is_listed(call, class, authority) {
        return Err(Refused::Unlisted);
    }
    match class {
        // The assistant checks the input of these against its schema.
        Class::Own | Class::Notes | Class::Plans | Class::Delegates | Class::Acts => Ok(()),
        _ if call.input.is_readable() => Ok(()),
        Class::Reads | Class::Edits | Class::Shell | Class::Fetches | Class::Searches | Class::Foreign => {
            Err(Refused::Shut(Shut::Unreadable))
        }
    }
}

/// Returns whether the job's list allows `call`. In the background only declared tools and the
/// assistant's own are allowed.
fn is_listed(call: &ToolCall, class: Class, authority: &Authority) -> bool {
    let unattended = is_unattended(authority.place);
    let main = || covered(MAIN.iter().filter_map(|line| Pattern::read(line).ok()), call);
    match &authority.tools {
        ToolRule::Only(listed) => covered(patterns(listed), call),
        ToolRule::Except(listed)
            if listed.iter().any(|line| forbids(line, call, authority.clock.as_ref())) =>
        {
            false
        }
        ToolRule::Except(_) | ToolRule::Usual if unattended && class != Class::Own => {
            matches!(authority.tools, ToolRule::Except(_)) && main()
        }
        ToolRule::Within(outer, inner) => {
            let with = |tools: &ToolRule| Authority { tools: tools.clone(), ..authority.clone() };
            is_listed(call, class, &with(outer)) && is_listed(call, class, &with(inner))
        }
        ToolRule::Except(_) | ToolRule::Usual => true,
    }
}

/// Returns whether a job with these tools must not run the program in `words`.
pub fn forbids_program(tools: &ToolRule, words: &[String]) -> bool {
    match tools {
        ToolRule::Usual | ToolRule::Only(_) => false,
        ToolRule::Except(listed) => listed.iter().any(|line| pattern::forbids_program(line, words)),
        ToolRule::Within(outer, inner) => forbids_program(outer, words) || forbids_program(inner, words),
    }
}

/// Returns the valid lines of an allow list; invalid lines allow nothing.
fn patterns(listed: &[String]) -> impl Iterator<Item = Pattern<'_>> + Clone {
    listed.iter().filter_map(|text| Pattern::read(text).ok())
}

#[cfg(test)]
mod tests;
