//! Stores known facts about models in the data directory: the vendor's records and unsupported
//! features.
//!
//! The file can be deleted at any time; its content is fetched again.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::Clock;
use jiff::Timestamp;
use journal::disk::{self, Disk};
use models::anthropic::CapabilityStore;

/// The name of the file in `state/`.
const FILE: &str = "models.json";

/// The file with the records.
pub struct ModelRecords {
    disk: Arc<dyn Disk>,
    file: PathBuf,
    clock: Arc<dyn Clock>,
}

impl ModelRecords {
    /// Creates the store in the `state` directory.
    pub fn new(disk: Arc<dyn Disk>, state: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { disk, file: state.join(FILE), clock }
    }
}

impl fmt::Debug for ModelRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRecords").field("file", &self.file).finish_non_exhaustive()
    }
}

impl CapabilityStore for ModelRecords {
    fn load(&self) -> Option<String> {
        std::fs::read_to_string(&self.file).ok()
    }

    fn save(&self, text: &str) {
        if let Err(error) = disk::replace(&*self.disk, &self.file, text.as_bytes()) {
            tracing::warn!(%error, "the model records cannot be saved");
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now().timestamp()
    }
}
