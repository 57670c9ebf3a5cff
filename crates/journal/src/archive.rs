//! Export and import of a whole data directory as an archive.
//!
//! An archive contains a manifest with the hash of each file and the list of excluded files. It is
//! written while the daemon runs. Import trusts nothing in it: it unpacks next to the target,
//! verifies everything, and then replaces the target at once or not at all.

mod manifest;
mod pack_error;
mod packer;
mod path;
mod placement;
mod secrets;
mod selection;
mod unpacker;
mod walker;

pub use manifest::{ArchivedFile, ExcludedFile, Manifest};
pub use pack_error::PackError;
pub use packer::{PackRequest, pack};
pub use placement::{PlaceError, Placement, StagingDir};
pub use selection::{ExclusionReason, GitHistory, Secrets};
pub use unpacker::{UnpackError, UnpackLimits, unpack};

/// Progress of an export or import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub files: u64,
    pub bytes: u64,
}

/// Callback for progress.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Progress);

/// Name of the manifest in an archive.
const MANIFEST_NAME: &str = "manifest.json";

/// Prefix of the data files in an archive.
const DATA_PREFIX: &str = "data/";

/// Name of the database in an archive.
const JOURNAL_NAME: &str = "state/journal.db";
