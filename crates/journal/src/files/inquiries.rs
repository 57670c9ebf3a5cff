//! The prompts that buttons send when pressed: `inquiries.json`.
//!
//! The database contains the same; other programs read and write the file. It is read once and then
//! only replaced, preserving foreign keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::sent::{Inquiry, InquiryId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::fork_messages::{instant, seconds};
use super::state::{Reading, StateFile, json};
use super::{Found, Trouble};
use crate::disk::Disk;

#[derive(Clone)]
pub struct Inquiries {
    file: StateFile,
    /// Content of the file, as last read or written.
    said: Kept,
}

impl Inquiries {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("inquiries.json")), said: Kept::new() }
    }

    /// Loads all inquiries.
    pub fn load(&mut self, now: Timestamp) -> Result<Found<Vec<Inquiry>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        self.said = value.unwrap_or_default();
        if damage.is_some() && !self.said.is_empty() {
            self.write(&self.said)?;
        }
        let inquiries = self.said.iter().filter_map(|(id, record)| record.inquiry(id)).collect();
        Ok(Found { value: inquiries, damage })
    }

    /// Replaces the content by `inquiries`. Does not create an empty file.
    pub fn replace(&mut self, inquiries: &[Inquiry]) -> Result<(), Trouble> {
        let record = |inquiry: &Inquiry| {
            let said = self.said.get(&inquiry.id.0).filter(|said| said.is_of(inquiry)).cloned();
            (inquiry.id.0.clone(), said.unwrap_or_else(|| Record::of(inquiry)))
        };
        let next: Kept = inquiries.iter().map(record).collect();
        if !(next.is_empty() && self.said.is_empty()) {
            self.write(&next)?;
            self.said = next;
        }
        Ok(())
    }

    fn write(&self, kept: &Kept) -> Result<(), Trouble> {
        let text = serde_json::to_vec(kept).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

type Kept = BTreeMap<String, Record>;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    prompt: String,
    ts: f64,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Record {
    fn of(inquiry: &Inquiry) -> Self {
        let prompt = inquiry.prompt.clone();
        let ts = seconds(inquiry.at);
        Self { prompt, ts, extra: serde_json::Map::new() }
    }

    fn is_of(&self, inquiry: &Inquiry) -> bool {
        self.prompt == inquiry.prompt && self.ts == seconds(inquiry.at)
    }

    fn inquiry(&self, id: &str) -> Option<Inquiry> {
        Some(Inquiry {
            id: InquiryId(id.to_owned()),
            prompt: self.prompt.clone(),
            at: instant(self.ts)?,
            label: domain::label::Label::PLAIN,
        })
    }
}

fn read(text: &str) -> Result<Reading<Kept>, String> {
    let values: serde_json::Map<String, serde_json::Value> = json(text)?;
    let all = values.len();
    let record = |(id, value): (String, serde_json::Value)| {
        let record = Record::deserialize(&value).ok().filter(|record| record.inquiry(&id).is_some());
        record.map(|record| (id, record))
    };
    let kept: Kept = values.into_iter().filter_map(record).collect();
    match all - kept.len() {
        0 => Ok(Reading::Whole(kept)),
        lost if kept.is_empty() => Err(format!("none of its {lost} prompts can be read")),
        lost => Ok(Reading::Partly(kept, format!("{lost} of its {all} prompts cannot be read"))),
    }
}
