//! An act, played over HTTP: what the scripted servers share, whatever wire they speak.

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

/// The most characters of one delta.
const DELTA_CHARS: usize = 9;

/// `text` in the pieces in which a model would say it.
pub(crate) fn split(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA_CHARS).map(|part| part.iter().collect()).collect()
}
