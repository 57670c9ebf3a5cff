//! The prompts that buttons send when pressed: `inquiries.json`.
//!
//! The database contains the same; other programs read and write the file. It is read once and then
//! only replaced, preserving foreign keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::sent_messages::{StoredPrompt, StoredPromptId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::fork_messages::{from_seconds, seconds};
use super::state_file::{ParsedText, StateFile, parse_json};
use super::{FileContent, FileError};
use crate::disk::Disk;

#[derive(Clone)]
pub struct InquiriesFile {
    file: StateFile,
    /// Content of the file, as last read or written.
    content: InquiryRecords,
}

impl InquiriesFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("inquiries.json")), content: InquiryRecords::new() }
    }

    /// Loads all inquiries.
    pub fn load(&mut self, now: Timestamp) -> Result<FileContent<Vec<StoredPrompt>>, FileError> {
        let FileContent { value, damage } = self.file.load(now, parse_records)?;
        self.content = value.unwrap_or_default();
        if damage.is_some() && !self.content.is_empty() {
            self.write(&self.content)?;
        }
        let inquiries = self.content.iter().filter_map(|(id, record)| record.inquiry(id)).collect();
        Ok(FileContent { value: inquiries, damage })
    }

    /// Replaces the content by `inquiries`. Does not create an empty file.
    pub fn replace(&mut self, inquiries: &[StoredPrompt]) -> Result<(), FileError> {
        let record = |inquiry: &StoredPrompt| {
            let said = self.content.get(&inquiry.id.0).filter(|said| said.matches(inquiry)).cloned();
            (inquiry.id.0.clone(), said.unwrap_or_else(|| InquiryRecord::from_inquiry(inquiry)))
        };
        let next: InquiryRecords = inquiries.iter().map(record).collect();
        if !(next.is_empty() && self.content.is_empty()) {
            self.write(&next)?;
            self.content = next;
        }
        Ok(())
    }

    fn write(&self, kept: &InquiryRecords) -> Result<(), FileError> {
        let text = serde_json::to_vec(kept).map_err(|error| FileError::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

type InquiryRecords = BTreeMap<String, InquiryRecord>;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct InquiryRecord {
    prompt: String,
    ts: f64,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl InquiryRecord {
    fn from_inquiry(inquiry: &StoredPrompt) -> Self {
        let prompt = inquiry.prompt.clone();
        let ts = seconds(inquiry.at);
        Self { prompt, ts, extra: serde_json::Map::new() }
    }

    fn matches(&self, inquiry: &StoredPrompt) -> bool {
        self.prompt == inquiry.prompt && self.ts == seconds(inquiry.at)
    }

    fn inquiry(&self, id: &str) -> Option<StoredPrompt> {
        Some(StoredPrompt {
            id: StoredPromptId(id.to_owned()),
            prompt: self.prompt.clone(),
            at: from_seconds(self.ts)?,
            label: domain::label::Label::PLAIN,
        })
    }
}

fn parse_records(text: &str) -> Result<ParsedText<InquiryRecords>, String> {
    let values: serde_json::Map<String, serde_json::Value> = parse_json(text)?;
    let all = values.len();
    let record = |(id, value): (String, serde_json::Value)| {
        let record = InquiryRecord::deserialize(&value).ok().filter(|record| record.inquiry(&id).is_some());
        record.map(|record| (id, record))
    };
    let kept: InquiryRecords = values.into_iter().filter_map(record).collect();
    match all - kept.len() {
        0 => Ok(ParsedText::Complete(kept)),
        lost if kept.is_empty() => Err(format!("none of its {lost} prompts can be read")),
        lost => Ok(ParsedText::Partial(kept, format!("{lost} of its {all} prompts cannot be read"))),
    }
}
