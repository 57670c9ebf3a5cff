//! How far a model that keeps a memory of its own has heard each branch: `model_places.json`.
//!
//! Nothing is lost with it: a model whose place is not known is told the conversation anew.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::conversation::Branch;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{Reading, StateFile, json};
use super::{Found, Trouble};
use crate::disk::Disk;

/// Where a model is on one branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPlace {
    /// The name under which the model remembers.
    pub session: String,
    /// What it has certainly heard.
    pub heard: ModelMark,
    /// What it may have heard.
    pub told: ModelMark,
    /// Fingerprint of the instructions that it began with, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// The beginning of what was said on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMark {
    /// How many things said.
    pub said: usize,
    /// Their fingerprint.
    pub print: String,
}

/// The file `model_places.json`.
#[derive(Clone)]
pub struct ModelPlaces {
    file: StateFile,
}

impl ModelPlaces {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("model_places.json")) }
    }

    /// Every place that is known.
    pub fn load(&self, now: Timestamp) -> Result<Found<BTreeMap<Branch, ModelPlace>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        Ok(Found { value: value.unwrap_or_default(), damage })
    }

    /// Keeps these places, and no others.
    pub fn save(&mut self, places: &BTreeMap<Branch, ModelPlace>) -> Result<(), Trouble> {
        let spelled: BTreeMap<String, &ModelPlace> =
            places.iter().map(|(branch, place)| (branch.to_string(), place)).collect();
        let text = serde_json::to_vec(&spelled);
        self.file.save(&text.map_err(|error| Trouble::refused(self.file.path(), error))?)
    }
}

fn read(text: &str) -> Result<Reading<BTreeMap<Branch, ModelPlace>>, String> {
    let spelled: BTreeMap<String, ModelPlace> = json(text)?;
    let place = |(branch, place): (String, ModelPlace)| {
        let branch: Branch = branch.parse().map_err(|wrong| format!("{wrong}"))?;
        Ok((branch, place))
    };
    spelled.into_iter().map(place).collect::<Result<_, String>>().map(Reading::Whole)
}
