//! The action of a call, from its tool and input. Shell text is not interpreted: it is either one
//! command of this program, word by word, or runs in the sandbox as a whole.

use super::own_command;
use super::path;
use crate::label::{Label, Realm};
use crate::tool::{Class, ServerKind, ToolCall};

/// The action of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    pub power: Power,
    pub to: To,
    /// The label of what it reads, as far as known before it runs.
    pub reads: Label,
}

/// The kind of effect that a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It notifies the user or main, within the rules for that.
    Tells,
    /// It reads the user's data.
    Reads,
    /// It writes a note.
    Notes,
    /// It changes permissions or jobs.
    Authority,
    /// It plans a routine without tools of its own, or sets quiet hours.
    Routine,
    /// It changes the user's data, and that can be undone.
    Reversible,
    /// It deletes data or reaches other people.
    Destructive,
    /// It sends data to another machine.
    Egress,
    /// It runs a command in the sandbox without a network.
    Caged,
    /// It runs a command in the sandbox with a network.
    Networked,
    /// Only the user may do it.
    Human,
}

impl Power {
    pub const ALL: [Self; 11] = [
        Self::Tells,
        Self::Reads,
        Self::Notes,
        Self::Authority,
        Self::Routine,
        Self::Reversible,
        Self::Destructive,
        Self::Egress,
        Self::Caged,
        Self::Networked,
        Self::Human,
    ];

    /// Returns whether outside text must not cause it without an approval.
    pub fn is_grave(self) -> bool {
        match self {
            Self::Authority
            | Self::Routine
            | Self::Destructive
            | Self::Egress
            | Self::Networked
            | Self::Human => true,
            Self::Tells | Self::Reads | Self::Notes | Self::Reversible | Self::Caged => false,
        }
    }
}

/// The destination of a call's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// It stays on this machine.
    Nobody,
    /// The address `url` at `host`.
    Address { url: String, host: String },
    /// The configured search provider.
    Search,
    /// A tool server.
    Server,
    /// An address that a server tool opens. Unlike the own fetch tool, the server may send the
    /// user's credentials.
    ServerAddress(String),
    /// A note.
    File(Corner),
}

/// The origin of the text in a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Notes that may contain outside text.
    Outside,
    /// The user's own notes.
    Ours,
}

/// Returns the action of `call` of a tool of this class.
pub fn deed(call: &ToolCall, class: Class) -> Deed {
    let plain = |power, reads| Deed { power, to: To::Nobody, reads };
    match class {
        Class::Own => plain(Power::Tells, Label::PLAIN),
        Class::Notes => plain(Power::Notes, Label::PLAIN),
        // The effect depends on the text, see `tool_action_at`.
        Class::Plans => plain(Power::Authority, Label::private(Realm::Tasks)),
        Class::Reads => plain(Power::Reads, path::read_label(call)),
        Class::Edits => path::edit(call),
        Class::Acts => plain(Power::Destructive, Label::PLAIN),
        Class::Delegates => plain(Power::Tells, Label::PLAIN),
        Class::Shell => shell(call),
        Class::Fetches => {
            let to = address(&call.input.text("url").unwrap_or_default());
            Deed { power: Power::Egress, to, reads: Label::outside(Realm::Web) }
        }
        Class::Searches => Deed { power: Power::Egress, to: To::Search, reads: Label::outside(Realm::Web) },
        Class::Foreign => Deed { power: Power::Egress, to: To::Server, reads: Label::both(Realm::Server) },
    }
}

/// Returns the action of a call of a server tool with its accepted kind. A kind never makes a call
/// freer than its row of the matrix.
pub fn server_deed(call: &ToolCall, kind: Option<ServerKind>) -> Deed {
    let unknown = deed(call, Class::Foreign);
    match kind {
        Some(ServerKind::Read) => Deed { power: Power::Reads, to: To::Nobody, ..unknown },
        Some(ServerKind::Own) => Deed { power: Power::Reversible, to: To::Nobody, ..unknown },
        Some(ServerKind::Search) => Deed { to: To::Search, ..unknown },
        Some(ServerKind::Fetch) => match call.input.only_text_in("input") {
            Some(url) => Deed { to: To::ServerAddress(url), ..unknown },
            // Input with more than an address is a request that the model composed.
            None => unknown,
        },
        Some(ServerKind::Send) => Deed { power: Power::Destructive, to: To::Nobody, ..unknown },
        None => unknown,
    }
}

fn shell(call: &ToolCall) -> Deed {
    let command = call.input.text("command").unwrap_or_default();
    if let Some(words) = own_command::words(&command) {
        let (power, reads) = own_command::power(&words);
        return Deed { power, to: To::Nobody, reads };
    }
    let files = Label::private(Realm::Files);
    let (power, reads) = match call.input.says_yes("network") {
        // Text from the network is outside text.
        true => (Power::Networked, files.join(Label::outside(Realm::Web))),
        false => (Power::Caged, files),
    };
    Deed { power, to: To::Nobody, reads }
}

/// Parses an address; the host is empty if it cannot be read.
fn address(url: &str) -> To {
    let url = url.trim();
    let rest =
        ["https://", "http://"].into_iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or_default();
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |_| "");
    let host = host.split_once(':').map_or(host, |(host, _)| host).trim_end_matches('.');
    To::Address { url: url.to_owned(), host: host.to_ascii_lowercase() }
}

/// Returns the site of an address, such as `https://news.example:8443`; `None` if parsers could
/// disagree about it.
pub fn site(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = ["https", "http"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let known = !host.is_empty() && host.chars().all(plain) && !url.contains('\\');
    known.then(|| format!("{scheme}://{}", host.to_ascii_lowercase()))
}

/// Returns a word without surrounding punctuation.
pub(super) fn address_in(word: &str) -> &str {
    word.trim_matches(|c: char| "<>()[]{}\"'`,;:.!?".contains(c))
}

/// Returns the addresses in a text.
pub fn links(words: &str) -> impl Iterator<Item = String> {
    let link = |word: &str| {
        let word = address_in(word);
        let known = word.starts_with("https://") || word.starts_with("http://");
        known.then(|| word.to_owned())
    };
    words.split_whitespace().filter_map(link).collect::<Vec<_>>().into_iter()
}
