//! Installs the reference documents for the model: `routine-reminder-spec.md` and others.
//!
//! Each document ends with a seal, a checksum of its text. While the seal is valid, the document is
//! unchanged and may be updated; a document edited by the user stays as it is.

use std::io;
use std::path::Path;

use domain::context::Reference;

use crate::disk::{Disk, FileKind, replace};

/// Result of installing a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallOutcome {
    /// The document is new or was updated.
    Written,
    Unchanged,
    /// It was edited, or is not a regular file, and was left alone.
    UserOwned,
}

/// Installs `documents` in the data directory `data` and removes leftovers of interrupted writes.
pub fn install(disk: &dyn Disk, data: &Path, documents: &[Reference]) -> io::Result<Vec<InstallOutcome>> {
    if disk.file_kind(data)? == Some(FileKind::Directory) {
        for listed in
            disk.list(data)?.iter().filter(|listed| listed.is_file() && is_leftover(&listed.path, documents))
        {
            disk.remove(&listed.path)?;
        }
    }
    documents.iter().map(|document| install_one(disk, data, document)).collect()
}

fn install_one(disk: &dyn Disk, data: &Path, document: &Reference) -> io::Result<InstallOutcome> {
    let path = data.join(document.name);
    let sealed = with_seal(document.text);
    match disk.file_kind(&path)? {
        None => {}
        Some(FileKind::Directory | FileKind::Other) => return Ok(InstallOutcome::UserOwned),
        Some(FileKind::File(_)) => match disk.read(&path)? {
            bytes if bytes == sealed.as_bytes() => return Ok(InstallOutcome::Unchanged),
            bytes if has_valid_seal(&bytes) => {}
            _ => return Ok(InstallOutcome::UserOwned),
        },
    }
    replace(disk, &path, sealed.as_bytes())?;
    Ok(InstallOutcome::Written)
}

fn is_leftover(path: &Path, documents: &[Reference]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_ours =
        |document: &Reference| name.strip_prefix(document.name).is_some_and(|rest| rest.starts_with('.'));
    name.ends_with(".tmp") && documents.iter().any(of_ours)
}

/// `text` with its seal.
fn with_seal(text: &str) -> String {
    let text = text.trim_end();
    format!(
        "{text}\n\n<!-- newer versions take the place of this file until you change it. seal {:016x} -->\n",
        fnv1a(text)
    )
}

fn has_valid_seal(bytes: &[u8]) -> bool {
    let Ok(whole) = str::from_utf8(bytes) else { return false };
    whole.rsplit_once("\n\n<!-- ").is_some_and(|(text, _)| with_seal(text) == whole)
}

/// FNV-1a, which suffices to detect an edit.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
