//! Scripted replies over HTTP, shared by the scripted model servers of all APIs.

mod act;
pub(crate) mod frames;
mod gate;
pub(crate) mod house;
pub(crate) mod programme;
mod script;
pub(crate) mod sending;

pub(crate) use act::At;
pub use act::{Act, Fault, Found, Page, Piece, Refused};
pub use gate::Gate;
pub use script::{BadScript, FORMAT, parse};

/// The maximum number of characters of one delta.
const DELTA_CHARS: usize = 9;

/// Splits `text` into deltas.
pub(crate) fn split(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA_CHARS).map(|part| part.iter().collect()).collect()
}
