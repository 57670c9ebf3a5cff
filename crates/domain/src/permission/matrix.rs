//! The matrix: what may be done where, with what is known there. Labels gate actions and never information, so reading
//! is always free. One row for each power: in a context without text from outside, and in one with it.
//!
//! | Power | without outside text | with outside text |
//! | --- | --- | --- |
//! | own and reversible, notes | free | free, marked with its origin |
//! | read, sandboxed shell | free | free |
//! | web search | free | free; with private things around only a search that the user asked for |
//! | fetch of an address that was written by the user or seen | free | free |
//! | fetch of a composed address, a tool of a server without an accepted kind | ask | ask |
//! | authority | ask; a routine without tools, and quiet hours, are free if the user asked for them in this turn | ask |
//! | third parties, deletion | ask | ask |
//! | shell with a network | ask | never |
//!
//! Words for the planner are in the row of what they mean. Those that the user wrote in this turn, and that the model only
//! passes on, are free.
//!
//! A tool of a server is in the row of the kind that the user accepted for it. One that opens an address is free only if
//! the user wrote that address in this turn: what the server sends along is not known here.
//!
//! In the background `ask` leaves a card. There the file of the job may name hosts and server tools: without outside
//! text those are free, because the user wrote them down.

use super::deed::{Corner, Deed, Power, To, address_in};
use super::{Allowed, Authority, Mode, Refused, Shut, plan_words};
use crate::place::Place;
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN, Pattern};

/// What the matrix says of a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// It is done.
    Free(Allowed),
    /// The user is asked: now, or by a card.
    Ask,
    /// It is not done, whatever anybody says.
    Never(Refused),
}

/// The cell for `deed`, which is `call`.
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

/// Returns true if the call passes on exactly the message that the user wrote in this turn. The model then chose none of
/// the words, so text from outside could not influence them.
fn passes_on(call: &ToolCall, authority: &Authority) -> bool {
    let same = |(words, request): (String, &String)| words.split_whitespace().eq(request.split_whitespace());
    !is_unattended(authority.place)
        && plan_words::said(call).zip(authority.request.as_ref()).is_some_and(same)
}

/// A note is free. An edit of another file of the user is asked for, unless the job may make it.
fn notes(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let is_listed = || {
        is_unattended(authority.place)
            || MAIN.iter().filter_map(|line| Pattern::read(line).ok()).any(|line| line.covers(call))
    };
    if deed.to == To::File(Corner::Ours) && !is_listed() { Cell::Ask } else { Cell::Free(Allowed::Context) }
}

/// Words that leave. An address that the user wrote, or that was seen, carries no private bytes.
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

/// Whether the user wrote this address in this turn, as a word of its own.
fn wrote(address: &str, authority: &Authority) -> bool {
    let request = authority.request.as_deref().unwrap_or_default();
    !address.is_empty() && request.split_whitespace().any(|word| address_in(word) == address)
}

/// Words that say nothing alone, which a query may have besides those of the user.
const SMALL: [&str; 24] = [
    "a", "an", "and", "are", "at", "by", "for", "from", "how", "in", "is", "near", "of", "on", "or", "the",
    "to", "vs", "what", "when", "where", "who", "why", "with",
];

/// Returns true if the user asked for this search in this turn: every significant word of the query is in their message, and
/// the query has no other characters than letters, digits, spaces and ASCII punctuation.
fn asked_for(call: &ToolCall, authority: &Authority) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let asked = words(authority.request.as_deref().unwrap_or_default());
    let query = call.input.text("query").unwrap_or_default();
    // Other characters, such as those that nobody sees, could spell something.
    let is_plain = query.chars().all(|c| c.is_alphanumeric() || c == ' ' || c.is_ascii_punctuation());
    let is_said = |word: &String| asked.contains(word) || SMALL.contains(&word.as_str());
    let query = words(&query);
    is_plain && query.iter().all(is_said) && query.iter().any(|word| asked.contains(word))
}

/// Whether the file of the job names the host or the tool of a server, and not only that anything may be reached. An
/// agent has no such file: it may do no more than the turn that sent it.
fn is_declared(call: &ToolCall, authority: &Authority) -> bool {
    let lines = authority.tools.allowed().unwrap_or_default();
    let covers = |text: &String| {
        let named = text.starts_with("mcp__");
        Pattern::read(text).is_ok_and(|line| (named || line.is_narrow()) && line.covers(call))
    };
    let is_job = is_unattended(authority.place) && authority.request.is_some();
    is_job && lines.iter().any(covers)
}

/// Why `call` may be done without asking although the matrix asks: the user has said so before. With text from outside
/// around, a wide yes covers nothing.
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

/// Whether nobody is there to be asked.
pub(super) fn is_unattended(place: Place) -> bool {
    match place {
        Place::Background(_) => true,
        Place::Main(_) | Place::Fork => false,
    }
}
