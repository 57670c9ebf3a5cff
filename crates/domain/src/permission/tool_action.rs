//! The action of a call, from its tool and input. Shell text is not interpreted: it is either one
//! command of this program, word by word, or runs in the sandbox as a whole.

use super::own_command;
use super::path;
use crate::label::{Label, Realm};
use crate::tool::{ServerToolKind, ToolCall, ToolClass};

/// The action of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAction {
    pub capability: Capability,
    pub destination: Destination,
    /// The label of what it reads, as far as known before it runs.
    pub read_label: Label,
}

/// The kind of effect that a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// It notifies the user or main, within the rules for that.
    Notify,
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
    Sandboxed,
    /// It runs a command in the sandbox with a network.
    SandboxedNetwork,
    /// Only the user may do it.
    UserOnly,
}

impl Capability {
    pub const ALL: [Self; 11] = [
        Self::Notify,
        Self::Reads,
        Self::Notes,
        Self::Authority,
        Self::Routine,
        Self::Reversible,
        Self::Destructive,
        Self::Egress,
        Self::Sandboxed,
        Self::SandboxedNetwork,
        Self::UserOnly,
    ];

    /// Returns whether outside text must not cause it without an approval.
    pub fn is_grave(self) -> bool {
        match self {
            Self::Authority
            | Self::Routine
            | Self::Destructive
            | Self::Egress
            | Self::SandboxedNetwork
            | Self::UserOnly => true,
            Self::Notify | Self::Reads | Self::Notes | Self::Reversible | Self::Sandboxed => false,
        }
    }
}

/// The destination of a call's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// It stays on this machine.
    Local,
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
    File(NoteOrigin),
}

/// The origin of the text in a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteOrigin {
    /// Notes that may contain outside text.
    Outside,
    /// The user's own notes.
    User,
}

/// Returns the action of `call` of a tool of this class.
pub fn tool_action(call: &ToolCall, class: ToolClass) -> ToolAction {
    let plain =
        |power, reads| ToolAction { capability: power, destination: Destination::Local, read_label: reads };
    match class {
        ToolClass::Own => plain(Capability::Notify, Label::PLAIN),
        ToolClass::Notes => plain(Capability::Notes, Label::PLAIN),
        // The effect depends on the text, see `tool_action_at`.
        ToolClass::Plans => plain(Capability::Authority, Label::private(Realm::Tasks)),
        ToolClass::Reads => plain(Capability::Reads, path::read_label(call)),
        ToolClass::Edits => path::edit_action(call),
        ToolClass::Acts => plain(Capability::Destructive, Label::PLAIN),
        ToolClass::Delegates => plain(Capability::Notify, Label::PLAIN),
        ToolClass::Shell => shell_action(call),
        ToolClass::Fetches => {
            let to = parse_address(&call.input.text("url").unwrap_or_default());
            ToolAction {
                capability: Capability::Egress,
                destination: to,
                read_label: Label::outside(Realm::Web),
            }
        }
        ToolClass::Searches => ToolAction {
            capability: Capability::Egress,
            destination: Destination::Search,
            read_label: Label::outside(Realm::Web),
        },
        ToolClass::Foreign => ToolAction {
            capability: Capability::Egress,
            destination: Destination::Server,
            read_label: Label::both(Realm::Server),
        },
    }
}

/// Returns the action of a call of a server tool with its accepted kind. A kind never makes a call
/// freer than its row of the matrix.
pub fn server_action(call: &ToolCall, kind: Option<ServerToolKind>) -> ToolAction {
    let unknown = tool_action(call, ToolClass::Foreign);
    match kind {
        Some(ServerToolKind::Read) => {
            ToolAction { capability: Capability::Reads, destination: Destination::Local, ..unknown }
        }
        Some(ServerToolKind::Own) => {
            ToolAction { capability: Capability::Reversible, destination: Destination::Local, ..unknown }
        }
        Some(ServerToolKind::Search) => ToolAction { destination: Destination::Search, ..unknown },
        Some(ServerToolKind::Fetch) => match call.input.only_text_in("input") {
            Some(url) => ToolAction { destination: Destination::ServerAddress(url), ..unknown },
            // Input with more than an address is a request that the model composed.
            None => unknown,
        },
        Some(ServerToolKind::Send) => {
            ToolAction { capability: Capability::Destructive, destination: Destination::Local, ..unknown }
        }
        None => unknown,
    }
}

fn shell_action(call: &ToolCall) -> ToolAction {
    let command = call.input.text("command").unwrap_or_default();
    if let Some(words) = own_command::parse(&command) {
        let (power, reads) = own_command::capability(&words);
        return ToolAction { capability: power, destination: Destination::Local, read_label: reads };
    }
    let files = Label::private(Realm::Files);
    let (power, reads) = match call.input.is_true("network") {
        // Text from the network is outside text.
        true => (Capability::SandboxedNetwork, files.join(Label::outside(Realm::Web))),
        false => (Capability::Sandboxed, files),
    };
    ToolAction { capability: power, destination: Destination::Local, read_label: reads }
}

/// Parses an address; the host is empty if it cannot be read.
fn parse_address(url: &str) -> Destination {
    let url = url.trim();
    let rest =
        ["https://", "http://"].into_iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or_default();
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |_| "");
    let host = host.split_once(':').map_or(host, |(host, _)| host).trim_end_matches('.');
    Destination::Address { url: url.to_owned(), host: host.to_ascii_lowercase() }
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
pub(super) fn trim_punctuation(word: &str) -> &str {
    word.trim_matches(|c: char| "<>()[]{}\"'`,;:.!?".contains(c))
}

/// Returns the addresses in a text.
pub fn links_in(words: &str) -> impl Iterator<Item = String> {
    let link = |word: &str| {
        let word = trim_punctuation(word);
        let known = word.starts_with("https://") || word.starts_with("http://");
        known.then(|| word.to_owned())
    };
    words.split_whitespace().filter_map(link).collect::<Vec<_>>().into_iter()
}
