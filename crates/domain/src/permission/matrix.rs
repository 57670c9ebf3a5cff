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

use super::tool_action::{Capability, Destination, NoteOrigin, ToolAction, trim_punctuation};
use super::{AbsoluteRefusal, AllowReason, Authority, Mode, RefusalReason, planner_text};
use crate::place::Place;
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN_TOOLS, Pattern};

/// The result of the matrix for an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MatrixResult {
    /// It may run.
    Free(AllowReason),
    /// The user is asked now or by a card.
    Ask,
    /// It may not run, and no approval helps.
    Never(RefusalReason),
}

/// Returns the result for `call`, whose action is `action`.
pub(super) fn matrix_result(call: &ToolCall, action: &ToolAction, authority: &Authority) -> MatrixResult {
    let free = MatrixResult::Free(AllowReason::Context);
    let tainted = authority.label.is_tainted();
    match action.capability {
        Capability::Notify if tainted && is_unattended(authority.place) && call.input.is_true("critical") => {
            never(AbsoluteRefusal::CriticalPing)
        }
        Capability::Notify => MatrixResult::Free(AllowReason::OwnTool),
        Capability::Reads => MatrixResult::Free(AllowReason::Reads),
        Capability::Notes => notes_result(call, action, authority),
        Capability::Reversible | Capability::Sandboxed => free,
        Capability::Routine if !tainted && authority.request.is_some() => free,
        Capability::Routine | Capability::Authority | Capability::Destructive
            if forwards_request(call, authority) =>
        {
            free
        }
        Capability::Routine | Capability::Authority | Capability::Destructive => MatrixResult::Ask,
        Capability::Egress => egress_result(call, action, authority),
        Capability::SandboxedNetwork if tainted => never(AbsoluteRefusal::Network),
        Capability::SandboxedNetwork => MatrixResult::Ask,
        Capability::UserOnly => never(AbsoluteRefusal::UserOnly),
    }
}

/// Returns whether the call forwards exactly the message that the user wrote in this turn. The
/// model then chose none of the words, so outside text could not influence them.
fn forwards_request(call: &ToolCall, authority: &Authority) -> bool {
    let same = |(words, request): (String, &String)| words.split_whitespace().eq(request.split_whitespace());
    !is_unattended(authority.place)
        && planner_text::planner_text(call).zip(authority.request.as_ref()).is_some_and(same)
}

/// Decides on a note. An edit of another file of the user is asked for, unless the job may make it.
fn notes_result(call: &ToolCall, action: &ToolAction, authority: &Authority) -> MatrixResult {
    let is_listed = || {
        is_unattended(authority.place)
            || MAIN_TOOLS.iter().filter_map(|line| Pattern::parse(line).ok()).any(|line| line.covers(call))
    };
    if action.destination == Destination::File(NoteOrigin::User) && !is_listed() {
        MatrixResult::Ask
    } else {
        MatrixResult::Free(AllowReason::Context)
    }
}

/// Decides on data that leaves. An address that the user wrote, or that was seen, carries no
/// private data.
fn egress_result(call: &ToolCall, action: &ToolAction, authority: &Authority) -> MatrixResult {
    let tainted = authority.label.is_tainted();
    let private = authority.label.is_private();
    let is_free = match &action.destination {
        Destination::Search => !tainted || !private || is_requested_search(call, authority),
        Destination::Address { url, .. } => {
            authority.links.contains(url) || (!tainted && is_declared(call, authority))
        }
        Destination::ServerAddress(url) => {
            is_written_by_user(url, authority) || (!tainted && is_declared(call, authority))
        }
        Destination::Server => !tainted && is_declared(call, authority),
        Destination::Local | Destination::File(_) => false,
    };
    if is_free { MatrixResult::Free(AllowReason::Context) } else { MatrixResult::Ask }
}

/// Returns whether the user wrote this address in this turn, as a separate word.
fn is_written_by_user(address: &str, authority: &Authority) -> bool {
    let request = authority.request.as_deref().unwrap_or_default();
    !address.is_empty() && request.split_whitespace().any(|word| trim_punctuation(word) == address)
}

/// Words without a meaning of their own, which a query may contain besides the user's words.
const STOP_WORDS: [&str; 24] = [
    "a", "an", "and", "are", "at", "by", "for", "from", "how", "in", "is", "near", "of", "on", "or", "the",
    "to", "vs", "what", "when", "where", "who", "why", "with",
];

/// Returns whether the user asked for this search in this turn: every significant word of the query
/// is in their message, and the query only has letters, digits, spaces and ASCII punctuation.
fn is_requested_search(call: &ToolCall, authority: &Authority) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let asked = words(authority.request.as_deref().unwrap_or_default());
    let query = call.input.text("query").unwrap_or_default();
    // Other characters, such as invisible ones, could encode data.
    let is_plain = query.chars().all(|c| c.is_alphanumeric() || c == ' ' || c.is_ascii_punctuation());
    let is_said = |word: &String| asked.contains(word) || STOP_WORDS.contains(&word.as_str());
    let query = words(&query);
    is_plain && query.iter().all(is_said) && query.iter().any(|word| asked.contains(word))
}

/// Returns whether the job's file names the host or the server tool explicitly. A subagent has no
/// such file: it may do no more than the turn that started it.
fn is_declared(call: &ToolCall, authority: &Authority) -> bool {
    let lines = authority.tools.allowed().unwrap_or_default();
    let covers = |text: &String| {
        let named = text.starts_with("mcp__");
        Pattern::parse(text).is_ok_and(|line| (named || line.is_narrow()) && line.covers(call))
    };
    let is_job = is_unattended(authority.place) && authority.request.is_some();
    is_job && lines.iter().any(covers)
}

/// Returns an earlier permission of the user that covers a call for which the matrix asks. With
/// outside text, standing approvals and modes cover nothing.
pub(super) fn prior_permission(
    action: &ToolAction,
    authority: &Authority,
    consent: Option<AllowReason>,
) -> Option<AllowReason> {
    let tainted = authority.label.is_tainted();
    let gives_authority = matches!(action.capability, Capability::Authority | Capability::Routine);
    match (consent, authority.mode) {
        (Some(granted @ (AllowReason::Granted(_) | AllowReason::Approved(_))), _) => Some(granted),
        (Some(allowed), _) if !tainted => Some(allowed),
        (_, Mode::Bypass) if !tainted && !gives_authority => Some(AllowReason::Mode(Mode::Bypass)),
        (_, Mode::AcceptEdits) if !tainted && action.capability == Capability::Notes => {
            Some(AllowReason::Mode(Mode::AcceptEdits))
        }
        (Some(_) | None, Mode::DontAsk | Mode::Ask | Mode::AcceptEdits | Mode::Bypass) => None,
    }
}

fn never(shut: AbsoluteRefusal) -> MatrixResult {
    MatrixResult::Never(RefusalReason::Absolute(shut))
}

/// Returns whether no user is present to be asked.
pub(super) fn is_unattended(place: Place) -> bool {
    match place {
        Place::Background(_) => true,
        Place::Main(_) | Place::Fork => false,
    }
}
