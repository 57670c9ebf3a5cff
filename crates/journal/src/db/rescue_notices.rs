//! Notices about recovered journals that the user has not received yet.
//!
//! A notice is written next to the journal before the recovered one takes its place, and removed
//! once a complete start has delivered it. A crash in between leaves it to the next start.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::replacement::{ReplaceReason, Replacement, parent_dir, with_suffix};
use crate::disk::{Disk, FileEntry, create_new, is_temporary, remove};

/// Part of a notice's file name.
const NOTICE_INFIX: &str = ".untold-";

/// Saves the notice `words` about the journal at `path`; `name` is the suffix of the old one.
pub fn save_notice(path: &Path, name: &str, words: &str, disk: &dyn Disk) -> io::Result<()> {
    match create_new(disk, &with_suffix(path, &format!("{NOTICE_INFIX}{name}")), words.as_bytes()) {
        // An interrupted attempt has written it already, with more information.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        kept => kept,
    }
}

/// The pending notices about the journal at `path`, oldest first.
pub fn pending_notices(path: &Path, disk: &dyn Disk) -> io::Result<Vec<String>> {
    let words = |note: &PathBuf| {
        let read = disk.read(note).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // An unreadable notice does not prevent a start.
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %note.display(), "What is to be told of a rescue cannot be read.");
            let note = note.to_string_lossy();
            let aside =
                note.rsplit_once(NOTICE_INFIX).map(|(_, name)| with_suffix(path, &format!(".{name}")));
            let aside = aside.filter(|aside| matches!(disk.file_kind(aside), Ok(Some(_))));
            Replacement { reason: ReplaceReason::Damaged, old_path: aside }.notice()
        })
    };
    Ok(notice_files(path, disk)?.iter().map(words).collect())
}

/// Removes the delivered notices.
pub fn remove_notices(path: &Path, disk: &dyn Disk) {
    let removed = notice_files(path, disk)
        .and_then(|notes| notes.iter().try_for_each(|note| remove(disk, note).map(drop)));
    if let Err(error) = removed {
        tracing::warn!(%error, "What was told of a rescue is told again at the next start.");
    }
}

fn notice_files(path: &Path, disk: &dyn Disk) -> io::Result<Vec<PathBuf>> {
    let start = with_suffix(path, NOTICE_INFIX);
    let is_note = |listed: &FileEntry| {
        let path = listed.path.as_os_str().as_encoded_bytes();
        let named = path.starts_with(start.as_os_str().as_encoded_bytes());
        named && listed.is_file() && !is_temporary(&listed.path)
    };
    let mut notes: Vec<PathBuf> =
        disk.list(parent_dir(path)?)?.into_iter().filter(is_note).map(|listed| listed.path).collect();
    notes.sort();
    Ok(notes)
}
