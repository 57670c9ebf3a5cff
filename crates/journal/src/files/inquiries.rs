//! What a button will ask when it is pressed: `inquiries.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::fork_messages::{KEPT_SECONDS, seconds};
use super::state::{Reading, StateFile, json};
use super::{Damage, Found, Trouble};
use crate::disk::Disk;

/// The file `inquiries.json`.
#[derive(Clone)]
pub struct Inquiries {
    file: StateFile,
}

impl Inquiries {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("inquiries.json")) }
    }

    /// Keeps a prompt under `id`, and drops those that are older than seven days.
    pub fn keep(&mut self, id: &str, prompt: &str, now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: mut kept, damage } = self.all(now)?;
        kept.retain(|_, inquiry| inquiry.is_live(now));
        let inquiry = Inquiry { prompt: prompt.to_owned(), ts: seconds(now), extra: serde_json::Map::new() };
        kept.insert(id.to_owned(), inquiry);
        self.write(&kept)?;
        Ok(damage)
    }

    /// The prompt under `id`: nothing, if it was taken or is older than seven days.
    pub fn peek(&self, id: &str, now: Timestamp) -> Result<Found<Option<String>>, Trouble> {
        let Found { value: kept, damage } = self.all(now)?;
        let live = kept.get(id).filter(|inquiry| inquiry.is_live(now));
        Ok(Found { value: live.map(|inquiry| inquiry.prompt.clone()), damage })
    }

    /// Takes the prompt under `id`, so that nobody takes it again.
    pub fn take(&mut self, id: &str, now: Timestamp) -> Result<Found<Option<String>>, Trouble> {
        let Found { value: mut kept, damage } = self.all(now)?;
        let Some(inquiry) = kept.remove(id) else {
            return Ok(Found { value: None, damage });
        };
        kept.retain(|_, inquiry| inquiry.is_live(now));
        self.write(&kept)?;
        let live = inquiry.is_live(now);
        Ok(Found { value: live.then_some(inquiry.prompt), damage })
    }

    fn all(&self, now: Timestamp) -> Result<Found<Kept>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let kept = value.unwrap_or_default();
        if damage.is_some() && !kept.is_empty() {
            self.write(&kept)?;
        }
        Ok(Found { value: kept, damage })
    }

    fn write(&self, kept: &Kept) -> Result<(), Trouble> {
        let text = serde_json::to_vec(kept).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

type Kept = BTreeMap<String, Inquiry>;

#[derive(Clone, Serialize, Deserialize)]
struct Inquiry {
    prompt: String,
    ts: f64,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Inquiry {
    fn is_live(&self, now: Timestamp) -> bool {
        self.ts > seconds(now) - KEPT_SECONDS
    }
}

fn read(text: &str) -> Result<Reading<Kept>, String> {
    let values: serde_json::Map<String, serde_json::Value> = json(text)?;
    let all = values.len();
    let read = values.into_iter().filter_map(|(id, value)| Some((id, Inquiry::deserialize(&value).ok()?)));
    let kept: Kept = read.collect();
    match all - kept.len() {
        0 => Ok(Reading::Whole(kept)),
        lost if kept.is_empty() => Err(format!("none of its {lost} prompts can be read")),
        lost => Ok(Reading::Partly(kept, format!("{lost} of its {all} prompts cannot be read"))),
    }
}
