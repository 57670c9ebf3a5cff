//! Common code of the small state files, which are read and replaced as a whole.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Damage, FileError};
use crate::disk::{self, Disk, FileKind};

/// The maximum size of a state file in bytes. Larger files are never written, so a larger one is
/// foreign.
const MAX_SIZE: usize = 16 << 20;

/// The loaded content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileContent<T> {
    /// The value, as far as it is readable.
    pub value: T,
    /// The damage of the file, if any.
    pub damage: Option<Damage>,
}

/// Result of parsing a text.
pub(super) enum ParsedText<T> {
    Complete(T),
    /// Only part is readable; with the reason.
    Partial(T, String),
}

#[derive(Clone)]
pub(super) struct StateFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl StateFile {
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the file with the parser `read`, which returns a reason if nothing is readable. A
    /// damaged file is set aside or copied.
    pub(super) fn load<T>(
        &self,
        now: Timestamp,
        read: impl FnOnce(&str) -> Result<ParsedText<T>, String>,
    ) -> Result<FileContent<Option<T>>, FileError> {
        let bytes = match self.bytes()? {
            FileBytes::Missing => return Ok(FileContent { value: None, damage: None }),
            FileBytes::Refused(reason) => return self.set_aside(now, reason),
            FileBytes::Present(bytes) => bytes,
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return self.set_aside(now, "it is not text (UTF-8)".to_owned());
        };
        match read(text.strip_prefix('\u{feff}').unwrap_or(text)) {
            Ok(ParsedText::Complete(value)) => Ok(FileContent { value: Some(value), damage: None }),
            Ok(ParsedText::Partial(value, reason)) => self.copy_damaged(&bytes, now, (value, reason)),
            Err(reason) => self.set_aside(now, reason),
        }
    }

    /// Reads what is readable, without changing the file.
    pub(super) fn preview<T>(
        &self,
        read: impl FnOnce(&str) -> Result<ParsedText<T>, String>,
    ) -> Result<Option<T>, String> {
        let bytes = match self.bytes().map_err(|trouble| trouble.to_string())? {
            FileBytes::Missing => return Ok(None),
            FileBytes::Refused(reason) => return Err(format!("{}: {reason}", self.path.display())),
            FileBytes::Present(bytes) => bytes,
        };
        match read(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}')) {
            Ok(ParsedText::Complete(value) | ParsedText::Partial(value, _)) => Ok(Some(value)),
            Err(reason) => Err(format!("{}: {reason}", self.path.display())),
        }
    }

    /// The text of the file, without changing the file. `None` if it is missing or blank.
    pub(super) fn text(&self) -> Result<Option<String>, FileError> {
        match self.bytes()? {
            FileBytes::Missing => Ok(None),
            FileBytes::Refused(reason) => Err(FileError::refused(&self.path, reason)),
            FileBytes::Present(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim_start_matches('\u{feff}');
                Ok((!text.trim().is_empty()).then(|| text.to_owned()))
            }
        }
    }

    pub(super) fn save(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.save_if(bytes, || true).map(drop)
    }

    /// Replaces the file if `is_expected` returns true immediately before. Returns whether it was
    /// replaced.
    pub(super) fn save_if(
        &self,
        bytes: &[u8],
        is_expected: impl FnOnce() -> bool,
    ) -> Result<bool, FileError> {
        if bytes.len() > MAX_SIZE {
            let reason =
                format!("it would be larger than {} MB; remove some of what is in it", MAX_SIZE >> 20);
            return Err(FileError::refused(&self.path, reason));
        }
        disk::replace_if(&*self.disk, &self.path, bytes, is_expected).map_err(FileError::on_write(&self.path))
    }

    /// Removes the file. Returns whether it existed.
    pub(super) fn remove(&self) -> Result<bool, FileError> {
        disk::remove(&*self.disk, &self.path).map_err(FileError::on_write(&self.path))
    }

    fn bytes(&self) -> Result<FileBytes, FileError> {
        let reading = || FileError::on_read(&self.path);
        match self.disk.file_kind(&self.path).map_err(reading())? {
            None => return Ok(FileBytes::Missing),
            Some(FileKind::Directory) => {
                return Ok(FileBytes::Refused("it is a directory, not a file".to_owned()));
            }
            Some(FileKind::Other) => return Ok(FileBytes::Refused("it is not a plain file".to_owned())),
            Some(FileKind::File(_)) => {}
        }
        match self.disk.read_part(&self.path, 0, MAX_SIZE + 1) {
            Ok(bytes) if bytes.len() > MAX_SIZE => {
                Ok(FileBytes::Refused(format!("it is larger than {} MB", MAX_SIZE >> 20)))
            }
            Ok(bytes) => Ok(FileBytes::Present(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(FileBytes::Missing),
            Err(error) => Err(reading()(error)),
        }
    }

    fn set_aside<T>(&self, now: Timestamp, reason: String) -> Result<FileContent<Option<T>>, FileError> {
        let kept_as =
            disk::set_aside(&*self.disk, &self.path, now).map_err(FileError::on_write(&self.path))?;
        Ok(FileContent { value: None, damage: Some(self.damage(kept_as, reason)) })
    }

    /// Copies the damaged file, which stays until its readable part is saved.
    fn copy_damaged<T>(
        &self,
        bytes: &[u8],
        now: Timestamp,
        (value, reason): (T, String),
    ) -> Result<FileContent<Option<T>>, FileError> {
        let kept_as = disk::save_damaged_copy(&*self.disk, &self.path, bytes, now);
        let kept_as = kept_as.map_err(FileError::on_write(&self.path))?;
        Ok(FileContent { value: Some(value), damage: Some(self.damage(kept_as, reason)) })
    }

    fn damage(&self, kept_as: PathBuf, reason: String) -> Damage {
        Damage { path: self.path.clone(), kept_as, reason }
    }
}

enum FileBytes {
    Missing,
    Refused(String),
    Present(Vec<u8>),
}

/// Parses JSON. The error is a sentence.
pub(super) fn parse_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_matches([' ', '\n', '\r', '\t', '\0']).is_empty() {
        return Err("it is empty".to_owned());
    }
    serde_json::from_str(text).map_err(|error| format!("it cannot be read ({error})"))
}
