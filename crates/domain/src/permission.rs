//! Permission: whether a tool may run.
//!
//! The one door for authority. Every call passes it, and what is decided is written down before the tool
//! runs. A refusal is read by the model, so it says what to do instead.

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

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is decided.
    Decided(Decision),
    /// The human is asked, under this number; the decision follows.
    Asked(ApprovalId, ToolCall),
    /// Somebody else works on it; what comes of that follows.
    Delegated(ToolCall),
    /// It was allowed, and this came of it at once.
    Answered(ToolResult),
}

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call.
    pub call: ToolCall,
    /// The rule that decided.
    pub rule: Rule,
    /// What was known where it was called.
    pub knows: Label,
}

impl Decision {
    /// That `call` may run, because of `allowed`.
    pub fn allowed(call: &ToolCall, allowed: Allowed) -> Self {
        Self { call: call.clone(), rule: Rule::Allowed(allowed), knows: Label::PLAIN }
    }

    /// That `call` may not run, because of `refused`.
    pub fn refused(call: &ToolCall, refused: Refused) -> Self {
        Self { call: call.clone(), rule: Rule::Refused(refused), knows: Label::PLAIN }
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
    /// It is free there, with what is known there.
    Context,
    /// The mode that the human set allows it.
    Mode(Mode),
    /// The human has said yes to this for a while.
    Standing(ApprovalId),
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
            Self::Context => "context",
            Self::Mode(_) => "mode",
            Self::Standing(_) => "standing",
            Self::Approved(_) => "approved",
            Self::Granted(_) => "granted",
        }
    }
}

/// What a run is allowed: where it is, what its job's file says, what the human has set, and what is known there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Where it runs.
    pub place: Place,
    /// Which tools it may use there.
    pub tools: ToolRule,
    /// What may be done there without asking.
    pub mode: Mode,
    /// What is known of all words there.
    pub knows: Label,
    /// The addresses that the user wrote, and those that were seen in pages, search results and mail.
    pub links: Vec<String>,
    /// What the user asks in this turn, in their own words; for a job, what its file says. Nothing, in other turns.
    pub request: Option<String>,
    /// What the tools of servers do that are called in this step, as the user accepted them.
    pub kinds: ServerKinds,
    /// The time and the habits by which words for the planner are read. Without them such words are taken for the worst.
    pub clock: Option<Clock>,
}

impl Authority {
    /// That of an ordinary turn in the main conversation.
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

    /// The accepted kind of the tool of a server that `call` names.
    fn kind_of(&self, call: &ToolCall) -> Option<ServerKind> {
        self.kinds.get(&call.input.text("tool")?).copied()
    }
}

/// Decides whether `call`, of one of `tools`, may run with `authority`, and with what the human has said yes to:
/// nothing, if the human must be asked.
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
            // Who would not be asked without words from outside is asked because of them, and not refused.
            (None, Mode::DontAsk) if !is_free_without(call, &deed, authority) => {
                Some(Decision::refused(call, Refused::Unasked))
            }
            (None, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
        },
    }
}

/// Whether nobody would be asked if no words from outside were there.
fn is_free_without(call: &ToolCall, deed: &Deed, authority: &Authority) -> bool {
    let knows = Label { outside: Realms::NONE, ..authority.knows };
    matches!(cell(call, deed, &Authority { knows, ..authority.clone() }), Cell::Free(_))
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
    if !is_listed(call, class, authority) {
        return Err(Refused::Unlisted);
    }
    match class {
        // These are held against their schema, and the assistant checks what they ask.
        Class::Own | Class::Notes | Class::Plans | Class::Delegates | Class::Acts => Ok(()),
        _ if call.input.is_readable() => Ok(()),
        Class::Reads | Class::Edits | Class::Shell | Class::Fetches | Class::Searches | Class::Foreign => {
            Err(Refused::Shut(Shut::Unreadable))
        }
    }
}

/// Whether the list of the job lets `call` through. In the background nothing but our own tools is let through that
/// nobody declared.
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

/// Returns whether a job with these tools must do without the program of these words.
pub fn forbids_program(tools: &ToolRule, words: &[String]) -> bool {
    match tools {
        ToolRule::Usual | ToolRule::Only(_) => false,
        ToolRule::Except(listed) => listed.iter().any(|line| pattern::forbids_program(line, words)),
        ToolRule::Within(outer, inner) => forbids_program(outer, words) || forbids_program(inner, words),
    }
}

/// The lines of a list of what is allowed that can be read: the others allow nothing.
fn patterns(listed: &[String]) -> impl Iterator<Item = Pattern<'_>> + Clone {
    listed.iter().filter_map(|text| Pattern::read(text).ok())
}

#[cfg(test)]
mod tests;
