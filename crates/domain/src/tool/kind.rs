//! What a tool of an MCP server does, as the user accepted it. Without a kind every call is asked for.

use std::collections::BTreeMap;

/// What a tool of a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerKind {
    /// Looks something up at the server. The result may hold text by other people.
    Read,
    /// Changes only what belongs to the user, reaches nobody else, and can be undone.
    Own,
    /// Opens the address that it is given.
    Fetch,
    /// Sends its query to a search engine.
    Search,
    /// Reaches other people, spends money or deletes.
    Send,
}

/// The kinds of tools, by the names under which the model knows them: `mcp__<server>__<tool>`.
pub type ServerKinds = BTreeMap<String, ServerKind>;

impl ServerKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Own, Self::Fetch, Self::Search, Self::Send];

    /// The word for it in `mcp.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Own => "own",
            Self::Fetch => "fetch",
            Self::Search => "search",
            Self::Send => "send",
        }
    }

    /// Reads the word of `mcp.json`.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// What a tool of this kind does and when it asks, for the user who accepts it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Read => "looks things up, without asking",
            Self::Own => "changes only your own things, without asking",
            Self::Fetch => "opens addresses; asks unless you wrote the address",
            Self::Search => "searches the web; may ask when private text is involved",
            Self::Send => "reaches others, pays or deletes; asks every time",
        }
    }
}
