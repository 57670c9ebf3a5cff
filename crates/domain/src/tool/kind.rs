//! The kind of an MCP server tool, as the user accepted it. Calls of tools without a kind need an
//! approval.

use std::collections::BTreeMap;

/// The kind of a server tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerToolKind {
    /// Reads data from the server. The result may contain text by other people.
    Read,
    /// Changes only data of the user, contacts no other person, and can be undone.
    Own,
    /// Opens the address that it is given.
    Fetch,
    /// Sends its query to a search engine.
    Search,
    /// Reaches other people, spends money or deletes.
    Send,
}

/// The kinds of tools by their full name: `mcp__<server>__<tool>`.
pub type ServerToolKinds = BTreeMap<String, ServerToolKind>;

impl ServerToolKind {
    pub const ALL: [Self; 5] = [Self::Read, Self::Own, Self::Fetch, Self::Search, Self::Send];

    /// Returns the word in `mcp.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Own => "own",
            Self::Fetch => "fetch",
            Self::Search => "search",
            Self::Send => "send",
        }
    }

    /// Parses the word in `mcp.json`.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Describes the effects of the kind and its approvals, for the user who accepts a tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::Read => "looks things up, without asking",
            Self::Own => "changes only your own things, without asking",
            Self::Fetch => "opens addresses; asks unless you wrote the address",
            Self::Search => "searches the web; may ask when private text is involved",
            Self::Send => "reaches others, pays or deletes; asks every time",
        }
    }
}
