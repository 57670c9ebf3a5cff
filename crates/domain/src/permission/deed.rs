//! Deeds: what a call would do, from its tool and what it is given. Nobody guesses what a shell would make of a text:
//! either it is one command of ours, word by word, or it goes into the cage as a whole.

use super::own_command;
use super::path;
use crate::label::{Label, Realm};
use crate::tool::{Class, ServerKind, ToolCall};

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What it has power over.
    pub power: Power,
    /// Where its words go.
    pub to: To,
    /// What it reads, as far as that is known before it runs.
    pub reads: Label,
}

/// What a call has power over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It speaks to the human or to main, within the rules for that.
    Tells,
    /// It looks at what is the human's.
    Reads,
    /// It writes a note.
    Notes,
    /// It changes what somebody may do, or what runs by itself.
    Authority,
    /// It plans a routine that brings no tools of its own, or sets quiet hours.
    Routine,
    /// It changes something of the user's own, and that can be taken back.
    Reversible,
    /// It destroys something, or reaches others.
    Destructive,
    /// Its words leave this machine.
    Egress,
    /// It runs a command in the cage, without a network.
    Caged,
    /// It runs a command in the cage, with one.
    Networked,
    /// Only the human does that.
    Human,
}

impl Power {
    /// All of them.
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

    /// Whether it is among the lower rows of the matrix, which text from outside must not cause without a yes.
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

/// Where the words of a call go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Nowhere that matters here.
    Nobody,
    /// To the address `url`, at `host`.
    Address {
        /// The whole address.
        url: String,
        /// Whose it is.
        host: String,
    },
    /// To the search that the human has set up.
    Search,
    /// To a server that lends us tools.
    Server,
    /// To this address, which a tool of a server opens. Unlike our own fetch it may send a sign-in of the user along.
    ServerAddress(String),
    /// Into a note.
    File(Corner),
}

/// Which files a note is among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Those that may hold anybody's words.
    Outside,
    /// The human's own.
    Ours,
}

/// What `call`, of a tool of this class, would do.
pub fn deed(call: &ToolCall, class: Class) -> Deed {
    let plain = |power, reads| Deed { power, to: To::Nobody, reads };
    match class {
        Class::Own => plain(Power::Tells, Label::PLAIN),
        Class::Notes => plain(Power::Notes, Label::PLAIN),
        // What it does is in its words, see `deed_at`.
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

/// What a call of a tool of a server would do, if the user accepted the tool as one of this kind. A kind never makes a
/// call freer than the same row of the matrix.
pub fn server_deed(call: &ToolCall, kind: Option<ServerKind>) -> Deed {
    let unknown = deed(call, Class::Foreign);
    match kind {
        Some(ServerKind::Read) => Deed { power: Power::Reads, to: To::Nobody, ..unknown },
        Some(ServerKind::Own) => Deed { power: Power::Reversible, to: To::Nobody, ..unknown },
        Some(ServerKind::Search) => Deed { to: To::Search, ..unknown },
        Some(ServerKind::Fetch) => match call.input.only_text_in("input") {
            Some(url) => Deed { to: To::ServerAddress(url), ..unknown },
            // More than an address is a request that the model composed.
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
        // What it fetches and prints was written by anybody.
        true => (Power::Networked, files.join(Label::outside(Realm::Web))),
        false => (Power::Caged, files),
    };
    Deed { power, to: To::Nobody, reads }
}

/// Where an address leads: nowhere that anybody declared, if it cannot be read.
fn address(url: &str) -> To {
    let url = url.trim();
    let rest =
        ["https://", "http://"].into_iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or_default();
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |_| "");
    let host = host.split_once(':').map_or(host, |(host, _)| host).trim_end_matches('.');
    To::Address { url: url.to_owned(), host: host.to_ascii_lowercase() }
}

/// The site of an address, such as `https://news.example:8443`: nothing, unless everybody reads the same one in it.
pub fn site(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = ["https", "http"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let known = !host.is_empty() && host.chars().all(plain) && !url.contains('\\');
    known.then(|| format!("{scheme}://{}", host.to_ascii_lowercase()))
}

/// A word without the punctuation around it.
pub(super) fn address_in(word: &str) -> &str {
    word.trim_matches(|c: char| "<>()[]{}\"'`,;:.!?".contains(c))
}

/// The addresses in words of the human.
pub fn links(words: &str) -> impl Iterator<Item = String> {
    let link = |word: &str| {
        let word = address_in(word);
        let known = word.starts_with("https://") || word.starts_with("http://");
        known.then(|| word.to_owned())
    };
    words.split_whitespace().filter_map(link).collect::<Vec<_>>().into_iter()
}
