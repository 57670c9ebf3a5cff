//! The permission matrix. Labels restrict actions and never reading. There is one row per
//! capability, with a column without and one with outside text:
//!
//! | Capability | without outside text | with outside text |
//! | --- | --- | --- |
//! | own and reversible, notes | free | free, marked with its origin |
//! | read, sandboxed shell | free | free |
//! | web search | free | free; with private data only a search that the user asked for |
//! | fetch of an address that was written by the user or seen | free | free |
//! | fetch of a composed address, a server tool without an accepted kind | ask | ask |
//! | authority | ask; a routine without tools, and quiet hours, are free if the user asked for them in this turn | ask |
//! | third parties, deletion | ask | ask |
//! | shell with a network | ask | never |
//!
//! Planner text is in the row of its meaning. Text that the user wrote in this turn, and that the
//! model only forwards, is free.
//!
//! A server tool is in the row of its accepted kind. One that opens an address is free only if the
//! user wrote that address in this turn, because the data that the server adds is unknown.
//!
//! In the background `ask` leaves a card. There the job's file may name hosts and server tools,
//! which are free without outside text because the user wrote them.

use super::deed::{Corner, Deed, Power, To, address_in};
use super::{Allowed, Authority, Mode, Refused, Shut, plan_words};
use crate::place::Place;
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN, Pattern};

/// The result of the matrix for an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// It may run.
    Free(Allowed),
    /// The user is asked now or by a card.
    Ask,
    /// It may not run, and no approval helps.
    Never(Refused),
}

/// Returns the result for `call`, whose action is `action`.
pub(super) fn cell(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let free = Cell::Free(Allowed::Context);
    let tainted = authority.knows.is_tainted();
    match deed.power {
        Power::Tells if tainted && is_unattended(authority.place) && call.input.says_yes("critical") => {
            shut(Shut::Critical)
        }
        Power::Tells => Cell::Free(Allowed::OwnTool),
        Power::Reads => Cell::Free(Allowed::Reads),
        Power::Notes => notes(call, deed, authority),
        Power::Reversible | Power::Caged => free,
        Power::Routine if !tainted && authority.request.is_some() => free,
        Power::Routine | Power::Authority | Power::Destructive if passes_on(call, authority) => free,
        Power::Routine | Power::Authority | Power::Destructive => Cell::Ask,
        Power::Egress => egress(call, deed, authority),
        Power::Networked if tainted => shut(Shut::Network),
        Power::Networked => Cell::Ask,
        Power::Human => shut(Shut::Human),
    }
}

/// Returns whether the call forwards exactly the message that the user wrote in this turn. The
/// model then chose none of the words, so outside text could not influence them.
fn passes_on(call: &ToolCall, authority: &Authority) -> bool {
    let same = |(words, request): (String, &String)| words.split_whitespace().eq(request.split_whitespace());
    !is_unattended(authority.place)
        && plan_words::said(call).zip(authority.request.as_ref()).is_some_and(same)
}

/// Decides on a note. An edit of another file of the user is asked for, unless the job may make it.
fn notes(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let is_listed = || {
        is_unattended(authority.place)
            || MAIN.iter().filter_map(|line| Pattern::read(line).ok()).any(|line| line.covers(call))
    };
    if deed.to == To::File(Corner::Ours) && !is_listed() { Cell::Ask } else { Cell::Free(Allowed::Context) }
}

/// Decides on data that leaves. An address that the user wrote, or that was seen, carries no
/// private data.
fn egress(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let tainted = authority.knows.is_tainted();
    let private = authority.knows.is_private();
    let is_free = match &deed.to {
        To::Search => !tainted || !private || asked_for(call, authority),
        To::Address { url, .. } => {
            authority.links.contains(url) || (!tainted && is_declared(call, authority))
        }
        To::ServerAddress(url) => wrote(url, authority) || (!tainted && is_declared(call, authority)),
        To::Server => !tainted && is_declared(call, authority),
        To::Nobody | To::File(_) => false,
    };
    if is_free { Cell::Free(Allowed::Context) } else { Cell::Ask }
}

/// Returns whether the user wrote this address in this turn, as a separate word.
fn wrote(address: &str, authority: &Authority) -> bool {
    let request = authority.request.as_deref().unwrap_or_default();
    !address.is_empty() && request.split_whitespace().any(|word| address_in(word) == address)
}

/// Words without a meaning of their own, which a query may contain besides the user's words.
const SMALL: [&str; 24] = [
    "a", "an", "and", "are", "at", "by", "for", "from", "how", "in", "is", "near", "of", "on", "or", "the",
    "to", "vs", "what", "when", "where", "who", "why", "with",
];

/// Returns whether the user asked for this search in this turn: every significant word of the query
/// is in their message, and the query only has letters, digits, spaces and ASCII punctuation.
fn asked_for(call: &ToolCall, authority: &Authority) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let asked = words(authority.request.as_deref().unwrap_or_default());
    let query = call.input.text("query").unwrap_or_default();
    // Other characters, such as invisible ones, could encode data.
    let is_plain = query.chars().all(|c| c.is_alphanumeric() || c == ' ' || c.is_ascii_punctuation());
    let is_said = |word: &String| asked.contains(word) || SMALL.contains(&word.as_str());
    let query = words(&query);
    is_plain && query.iter().all(is_said) && query.iter().any(|word| asked.contains(word))
}

/// Returns whether the job's file names the host or the server tool explicitly. A subagent has no
/// such file: it may do no more than the turn that started it.
fn is_declared(call: &ToolCall, authority: &Authority) -> bool {
    let lines = authority.tools.allowed().unwrap_or_default();
    let covers = |text: &String| {
        let named = text.starts_with("mcp__");
        Pattern::read(text).is_ok_and(|line| (named || line.is_narrow()) && line.covers(call))
    };
    let is_job = is_unattended(authority.place) && authority.request.is_some();
    is_job && lines.iter().any(covers)
}

/// Returns an earlier permission of the user that covers a call for which the matrix asks. With
/// outside text, standing approvals and modes cover nothing.
pub(super) fn said_before(deed: &Deed, authority: &Authority, session: Option<Allowed>) -> Option<Allowed> {
    let tainted = authority.knows.is_tainted();
    let gives_authority = matches!(deed.power, Power::Authority | Power::Routine);
    match (session, authority.mode) {
        (Some(granted @ (Allowed::Granted(_) | Allowed::Approved(_))), _) => Some(granted),
        (Some(allowed), _) if !tainted => Some(allowed),
        (_, Mode::Bypass) if !tainted && !gives_authority => Some(Allowed::Mode(Mode::Bypass)),
        (_, Mode::AcceptEdits) if !tainted && deed.power == Power::Notes => {
            Some(Allowed::Mode(Mode::AcceptEdits))
        }
        (Some(_) | None, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
    }
}

fn shut(shut: Shut) -> Cell {
    Cell::Never(Refused::Shut(shut))
}

/// Returns whether no user is present to be asked.
pub(super) fn is_unattended(place: Place) -> bool {
    match place {
        Place::Background(_) => true,
        Place::Main(_) | Place::Fork => false,
    }
}
