//! The position of an external model with its own memory on each branch: `model_places.json`.
//!
//! The file may be lost: a model without a known position is sent the conversation again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::conversation::Branch;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state_file::{ParsedText, StateFile, parse_json};
use super::{FileContent, FileError};
use crate::disk::Disk;

/// The position of a model on one branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPosition {
    /// The model's own session id.
    pub session: String,
    /// The part of the conversation it has certainly received.
    pub heard: ConversationPrefix,
    /// The part it may have received.
    pub told: ConversationPrefix,
    /// Fingerprint of the instructions with which its session began, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A prefix of the conversation on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationPrefix {
    /// Number of entries.
    pub said: usize,
    /// Fingerprint of the entries.
    pub print: String,
}

#[derive(Clone)]
pub struct ModelPositions {
    file: StateFile,
}

impl ModelPositions {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("model_places.json")) }
    }

    /// Loads all known positions.
    pub fn load(&self, now: Timestamp) -> Result<FileContent<BTreeMap<Branch, ModelPosition>>, FileError> {
        let FileContent { value, damage } = self.file.load(now, read)?;
        Ok(FileContent { value: value.unwrap_or_default(), damage })
    }

    /// Replaces all positions.
    pub fn save(&mut self, places: &BTreeMap<Branch, ModelPosition>) -> Result<(), FileError> {
        let spelled: BTreeMap<String, &ModelPosition> =
            places.iter().map(|(branch, place)| (branch.to_string(), place)).collect();
        let text = serde_json::to_vec(&spelled);
        self.file.save(&text.map_err(|error| FileError::refused(self.file.path(), error))?)
    }
}

fn read(text: &str) -> Result<ParsedText<BTreeMap<Branch, ModelPosition>>, String> {
    let spelled: BTreeMap<String, ModelPosition> = parse_json(text)?;
    let place = |(branch, place): (String, ModelPosition)| {
        let branch: Branch = branch.parse().map_err(|wrong| format!("{wrong}"))?;
        Ok((branch, place))
    };
    spelled.into_iter().map(place).collect::<Result<_, String>>().map(ParsedText::Complete)
}
