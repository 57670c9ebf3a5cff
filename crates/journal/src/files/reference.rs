//! The reference documents, placed where the model can read them: `routine-reminder-spec.md` and its siblings.
//!
//! A document ends with a seal over its words. While the seal fits, nobody has changed the document, and a newer
//! version may take its place; once somebody has, it is theirs and stays as it is.

use std::io;
use std::path::Path;

use domain::context::Reference;

use crate::disk::{Disk, Seen, replace};

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is new, or newer than what was there.
    Written,
    /// It was there.
    Kept,
    /// Somebody changed it, or something else is there; it was left alone.
    Theirs,
}

/// Places `documents` in the data directory `data`, and clears away what a write of them that never ended left.
pub fn place(disk: &dyn Disk, data: &Path, documents: &[Reference]) -> io::Result<Vec<Placed>> {
    if disk.look(data)? == Some(Seen::Directory) {
        for listed in
            disk.list(data)?.iter().filter(|listed| listed.is_file() && is_leftover(&listed.path, documents))
        {
            disk.remove(&listed.path)?;
        }
    }
    documents.iter().map(|document| place_one(disk, data, document)).collect()
}

fn place_one(disk: &dyn Disk, data: &Path, document: &Reference) -> io::Result<Placed> {
    let path = data.join(document.name);
    let sealed = sealed(document.text);
    match disk.look(&path)? {
        None => {}
        Some(Seen::Directory | Seen::Strange) => return Ok(Placed::Theirs),
        Some(Seen::File(_)) => match disk.read(&path)? {
            bytes if bytes == sealed.as_bytes() => return Ok(Placed::Kept),
            bytes if is_ours(&bytes) => {}
            _ => return Ok(Placed::Theirs),
        },
    }
    replace(disk, &path, sealed.as_bytes())?;
    Ok(Placed::Written)
}

fn is_leftover(path: &Path, documents: &[Reference]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_ours =
        |document: &Reference| name.strip_prefix(document.name).is_some_and(|rest| rest.starts_with('.'));
    name.ends_with(".tmp") && documents.iter().any(of_ours)
}

/// `text`, with a seal below it.
fn sealed(text: &str) -> String {
    let text = text.trim_end();
    format!(
        "{text}\n\n<!-- newer versions take the place of this file until you change it. seal {:016x} -->\n",
        sum(text)
    )
}

fn is_ours(bytes: &[u8]) -> bool {
    let Ok(whole) = str::from_utf8(bytes) else { return false };
    whole.rsplit_once("\n\n<!-- ").is_some_and(|(text, _)| sealed(text) == whole)
}

/// FNV-1a: it need not withstand an attacker, only notice a change.
fn sum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
