//! Scripted replies over HTTP, shared by the scripted model servers of all APIs.

mod gate;
pub(crate) mod http_responses;
pub(crate) mod http_server;
mod reply;
pub(crate) mod reply_queue;
mod script;
pub(crate) mod stream;

pub use gate::Gate;
pub(crate) use reply::WaitPoint;
pub use reply::{ErrorReply, ReplyFault, ReplyPiece, ScriptedReply, SearchOutcome, WebPage};
pub use script::{SCRIPT_FORMAT, ScriptError, parse};

/// The maximum number of characters of one delta.
const DELTA_CHARS: usize = 9;

/// Splits `text` into deltas.
pub(crate) fn split_into_deltas(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA_CHARS).map(|part| part.iter().collect()).collect()
}
