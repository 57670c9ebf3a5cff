//! Common code of the small state files, which are read and replaced as a whole.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Damage, Trouble};
use crate::disk::{self, Disk, Seen};

/// The maximum size of a state file in bytes. Larger files are never written, so a larger one is
/// foreign.
const LARGEST: usize = 16 << 20;

/// The loaded content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// The value, as far as it is readable.
    pub value: T,
    /// The damage of the file, if any.
    pub damage: Option<Damage>,
}

/// Result of parsing a text.
pub(super) enum Reading<T> {
    Whole(T),
    /// Only part is readable; with the reason.
    Partly(T, String),
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
        read: impl FnOnce(&str) -> Result<Reading<T>, String>,
    ) -> Result<Found<Option<T>>, Trouble> {
        let bytes = match self.bytes()? {
            Bytes::Missing => return Ok(Found { value: None, damage: None }),
            Bytes::Refused(reason) => return self.set_aside(now, reason),
            Bytes::Here(bytes) => bytes,
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return self.set_aside(now, "it is not text (UTF-8)".to_owned());
        };
        match read(text.strip_prefix('\u{feff}').unwrap_or(text)) {
            Ok(Reading::Whole(value)) => Ok(Found { value: Some(value), damage: None }),
            Ok(Reading::Partly(value, reason)) => self.keep_copy(&bytes, now, (value, reason)),
            Err(reason) => self.set_aside(now, reason),
        }
    }

    /// Reads what is readable, without changing the file.
    pub(super) fn glance<T>(
        &self,
        read: impl FnOnce(&str) -> Result<Reading<T>, String>,
    ) -> Result<Option<T>, String> {
        let bytes = match self.bytes().map_err(|trouble| trouble.to_string())? {
            Bytes::Missing => return Ok(None),
            Bytes::Refused(reason) => return Err(format!("{}: {reason}", self.path.display())),
            Bytes::Here(bytes) => bytes,
        };
        match read(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}')) {
            Ok(Reading::Whole(value) | Reading::Partly(value, _)) => Ok(Some(value)),
            Err(reason) => Err(format!("{}: {reason}", self.path.display())),
        }
    }

    /// The text of the file, without changing the file. `None` if it is missing or blank.
    pub(super) fn text(&self) -> Result<Option<String>, Trouble> {
        match self.bytes()? {
            Bytes::Missing => Ok(None),
            Bytes::Refused(reason) => Err(Trouble::refused(&self.path, reason)),
            Bytes::Here(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim_start_matches('\u{feff}');
                Ok((!text.trim().is_empty()).then(|| text.to_owned()))
            }
        }
    }

    pub(super) fn save(&self, bytes: &[u8]) -> Result<(), Trouble> {
        self.save_if(bytes, || true).map(drop)
    }

    /// Replaces the file if `is_expected` returns true immediately before. Returns whether it was
    /// replaced.
    pub(super) fn save_if(&self, bytes: &[u8], is_expected: impl FnOnce() -> bool) -> Result<bool, Trouble> {
        if bytes.len() > LARGEST {
            let reason =
                format!("it would be larger than {} MB; remove some of what is in it", LARGEST >> 20);
            return Err(Trouble::refused(&self.path, reason));
        }
        disk::replace_if(&*self.disk, &self.path, bytes, is_expected).map_err(Trouble::writing(&self.path))
    }

    /// Removes the file. Returns whether it existed.
    pub(super) fn remove(&self) -> Result<bool, Trouble> {
        disk::remove(&*self.disk, &self.path).map_err(Trouble::writing(&self.path))
    }

    fn bytes(&self) -> Result<Bytes, Trouble> {
        let reading = || Trouble::reading(&self.path);
        match self.disk.look(&self.path).map_err(reading())? {
            None => return Ok(Bytes::Missing),
            Some(Seen::Directory) => return Ok(Bytes::Refused("it is a directory, not a file".to_owned())),
            Some(Seen::Strange) => return Ok(Bytes::Refused("it is not a plain file".to_owned())),
            Some(Seen::File(_)) => {}
        }
        match self.disk.read_part(&self.path, 0, LARGEST + 1) {
            Ok(bytes) if bytes.len() > LARGEST => {
                Ok(Bytes::Refused(format!("it is larger than {} MB", LARGEST >> 20)))
            }
            Ok(bytes) => Ok(Bytes::Here(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Bytes::Missing),
            Err(error) => Err(reading()(error)),
        }
    }

    fn set_aside<T>(&self, now: Timestamp, reason: String) -> Result<Found<Option<T>>, Trouble> {
        let kept_as = disk::set_aside(&*self.disk, &self.path, now).map_err(Trouble::writing(&self.path))?;
        Ok(Found { value: None, damage: Some(self.damage(kept_as, reason)) })
    }

    /// Copies the damaged file, which stays until its readable part is saved.
    fn keep_copy<T>(
        &self,
        bytes: &[u8],
        now: Timestamp,
        (value, reason): (T, String),
    ) -> Result<Found<Option<T>>, Trouble> {
        let kept_as = disk::keep_copy(&*self.disk, &self.path, bytes, now);
        let kept_as = kept_as.map_err(Trouble::writing(&self.path))?;
        Ok(Found { value: Some(value), damage: Some(self.damage(kept_as, reason)) })
    }

    fn damage(&self, kept_as: PathBuf, reason: String) -> Damage {
        Damage { path: self.path.clone(), kept_as, reason }
    }
}

enum Bytes {
    Missing,
    Refused(String),
    Here(Vec<u8>),
}

/// Parses JSON. The error is a sentence.
pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_matches([' ', '\n', '\r', '\t', '\0']).is_empty() {
        return Err("it is empty".to_owned());
    }
    serde_json::from_str(text).map_err(|error| format!("it cannot be read ({error})"))
}
