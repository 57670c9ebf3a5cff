//! Moving: a whole data directory in one archive, and out of it again.
//!
//! An archive says what is inside, with a hash of every file, and what is not. It is taken while the assistant goes
//! on working. Whoever unpacks one trusts nothing in it: everything is laid beside its place, looked over, and put
//! there whole, or not at all.

mod choosing;
mod manifest;
mod not_packed;
mod packing;
mod path;
mod placing;
mod secrets;
mod unpacking;
mod walking;

pub use choosing::{History, Secrets, Why};
pub use manifest::{Inside, LeftOut, Manifest};
pub use not_packed::NotPacked;
pub use packing::{Order, pack};
pub use placing::{NotPlaced, Placed, Stage};
pub use unpacking::{Bounds, Refused, unpack};

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many files are done.
    pub files: u64,
    /// How many bytes are done.
    pub bytes: u64,
}

/// Who is told how far it is.
pub type Tell<'a> = &'a mut dyn FnMut(Progress);

/// What the list of all that is inside is called in an archive.
const MANIFEST: &str = "manifest.json";

/// What the names of files begin with in an archive.
const DATA: &str = "data/";

/// The journal, as it is named in an archive.
const JOURNAL: &str = "state/journal.db";
