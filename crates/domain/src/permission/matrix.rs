//! The matrix: what may be done where, with what is known there. The rows are places, clean or with words from outside
//! in them; the columns are powers. Outside words, private things and a grave deed never meet without a yes.

use super::deed::{Corner, Deed, Power, To};
use super::{Allowed, Authority, Mode, Refused, Shut};
use crate::place::{Place, PlacedTool};
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN, Pattern};

/// What the matrix says of a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// It is done.
    Free(Allowed),
    /// The human is asked.
    Ask,
    /// It is not done, whatever anybody says.
    Never(Refused),
}

/// The cell for `deed`, which is `call`.
pub(super) fn cell(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let free = Cell::Free(Allowed::Context);
    let (tainted, unattended) = (authority.knows.is_tainted(), is_unattended(authority.place));
    match deed.power {
        Power::Tells if tainted && unattended && call.input.says_yes("critical") => shut(Shut::Critical),
        // What becomes main carries its words there, so the human decides.
        Power::Tells if tainted && call.name == PlacedTool::Save.name() => Cell::Ask,
        Power::Tells => Cell::Free(Allowed::OwnTool),
        Power::Reads => Cell::Free(Allowed::Reads),
        Power::Notes => notes(call, deed, authority),
        Power::Authority | Power::Destructive => Cell::Ask,
        Power::Reversible if tainted => Cell::Ask,
        Power::Reversible => free,
        Power::Egress => egress(call, deed, authority),
        Power::Caged => free,
        Power::Networked if tainted || unattended => shut(Shut::Network),
        Power::Networked => Cell::Ask,
        Power::Human => shut(Shut::Human),
    }
}

/// A note is free where its words are ours, or where words of anybody lie.
fn notes(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let is_listed = || {
        is_unattended(authority.place)
            || MAIN.iter().filter_map(|line| Pattern::read(line).ok()).any(|line| line.covers(call))
    };
    match (&deed.to, authority.knows.is_tainted()) {
        (To::File(Corner::Outside), _) => Cell::Free(Allowed::Context),
        (_, true) => Cell::Ask,
        (To::File(Corner::Ours), false) if !is_listed() => Cell::Ask,
        (_, false) => Cell::Free(Allowed::Context),
    }
}

/// Words that leave: an address that the human wrote carries nothing that the human did not write.
fn egress(call: &ToolCall, deed: &Deed, authority: &Authority) -> Cell {
    let typed = matches!(&deed.to, To::Address { url, .. } if authority.links.contains(url));
    let searches = deed.to == To::Search;
    let (tainted, private) = (authority.knows.is_tainted(), authority.knows.is_private());
    match (is_unattended(authority.place), tainted) {
        (false, true) => Cell::Ask,
        (false, false) if typed || searches => Cell::Free(Allowed::Context),
        (false, false) => Cell::Ask,
        (true, _) if typed => Cell::Free(Allowed::Context),
        (true, true) if private => shut(Shut::Leak),
        // Nobody knows what a tool of others does with what words from outside want.
        (true, true) if deed.to == To::Server => Cell::Ask,
        (true, _) if !private => Cell::Free(Allowed::Context),
        (true, _) if searches || names_host(call, authority) => Cell::Free(Allowed::Context),
        (true, _) => Cell::Ask,
    }
}

/// Whether the job's file names where these words go, and not only that they may go anywhere.
fn names_host(call: &ToolCall, authority: &Authority) -> bool {
    let lines = authority.tools.allowed().unwrap_or_default();
    lines.iter().filter_map(|line| Pattern::read(line).ok()).any(|line| line.is_narrow() && line.covers(call))
}

/// Why `call` may be done without asking although the matrix asks: the human has said so before. With words from
/// outside around, a yes to many things is a yes to none of the grave ones.
pub(super) fn said_before(deed: &Deed, authority: &Authority, session: Option<Allowed>) -> Option<Allowed> {
    let tainted = authority.knows.is_tainted();
    match (session, authority.mode) {
        (Some(granted @ (Allowed::Granted(_) | Allowed::Approved(_))), _) => Some(granted),
        (Some(allowed), _) if !tainted => Some(allowed),
        (_, Mode::Bypass) if !tainted && deed.power != Power::Authority => Some(Allowed::Mode(Mode::Bypass)),
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
