//! Export and import of a whole data directory as an archive.
//!
//! An archive contains a manifest with the hash of each file and the list of excluded files. It is
//! written while the daemon runs. Import trusts nothing in it: it unpacks next to the target,
//! verifies everything, and then replaces the target at once or not at all.

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

/// Progress of an export or import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub files: u64,
    pub bytes: u64,
}

/// Callback for progress.
pub type Tell<'a> = &'a mut dyn FnMut(Progress);

/// Name of the manifest in an archive.
const MANIFEST: &str = "manifest.json";

/// Prefix of the data files in an archive.
const DATA: &str = "data/";

/// Name of the database in an archive.
const JOURNAL: &str = "state/journal.db";
