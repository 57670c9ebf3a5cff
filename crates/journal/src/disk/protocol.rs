//! Durable file changes: a power cut leaves the old or the new state, never a mixture.
//!
//! Each function returns `Ok` only when its effect is durable. Each can be retried after an error.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Disk, FileEntry, FileKind};
use crate::lock::is_alive;

/// The most names that are tried when leftovers or concurrent writers occupy some.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// Replaces the file at `path` by `bytes`.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_if(disk, path, bytes, || true).map(drop)
}

/// Like [`replace`], but only if `is_expected` returns true once the new content is on the disk.
/// Syncing takes so long that another program may have changed the file meanwhile. Returns whether
/// the file was replaced.
pub fn replace_if(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    is_expected: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let dir = ensure_parent(disk, path)?;
    let made = create_beside(disk, path, bytes)?;
    if !is_expected() {
        disk.remove(&made)?;
        return Ok(false);
    }
    move_into_place(disk, &made, path)?;
    disk.sync_dir(dir)?;
    Ok(true)
}

/// Replaces the files with these names in `dir`, with a single sync of the directory.
pub fn replace_all(disk: &dyn Disk, dir: &Path, files: &[(String, &str)]) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    ensure_dir(disk, dir)?;
    for (name, text) in files {
        let path = dir.join(name);
        move_into_place(disk, &create_beside(disk, &path, text.as_bytes())?, &path)?;
    }
    disk.sync_dir(dir)
}

/// Creates the file at `path`; fails if it exists.
pub fn create_new(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = ensure_parent(disk, path)?;
    let made = create_beside(disk, path, bytes)?;
    if let Err(error) = disk.rename_new(&made, path) {
        let _ = disk.remove(&made);
        return Err(error);
    }
    disk.sync_dir(dir)
}

/// Appends `line` and a line feed to the file at `path`.
pub fn append_line(disk: &dyn Disk, path: &Path, line: &[u8]) -> io::Result<()> {
    let dir = ensure_parent(disk, path)?;
    disk.append(path, &[line, b"\n"].concat())?;
    disk.sync_dir(dir)
}

/// Removes the file at `path`. Returns whether it existed.
pub fn remove(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    let there = match disk.remove(path) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    // Syncs also if it was already gone, because an earlier call may have failed here.
    match disk.sync_dir(parent(path)?) {
        Err(error) if there || error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(there),
    }
}

/// Renames the file at `path` to a name that marks it as damaged. Returns that path.
pub fn set_aside(disk: &dyn Disk, path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let aside = free_damaged_name(disk, path, now)?;
    disk.rename(path, &aside)?;
    disk.sync_dir(parent(path)?)?;
    Ok(aside)
}

/// Saves `bytes`, the damaged content of `path`, next to it. Returns the path of the copy.
pub fn save_damaged_copy(disk: &dyn Disk, path: &Path, bytes: &[u8], now: Timestamp) -> io::Result<PathBuf> {
    let aside = free_damaged_name(disk, path, now)?;
    if let Err(error) = disk.create(&aside, bytes) {
        let _ = disk.remove(&aside);
        return Err(error);
    }
    disk.sync_dir(parent(path)?)?;
    Ok(aside)
}

/// Creates `dir` and its parents if missing.
pub fn ensure_dir(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let Ok(above) = parent(dir) else { return Ok(()) };
    if disk.file_kind(dir)? == Some(FileKind::Directory) {
        // An earlier call may have created it and failed to sync its name. A directory that we may
        // not read was not created by us.
        return match disk.sync_dir(above) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            other => other,
        };
    }
    ensure_dir(disk, above)?;
    disk.create_dir(dir)?;
    disk.sync_dir(above)
}

/// Removes the leftovers of interrupted writes in `dir` and returns their number.
///
/// Call this only in the process that writes there: unfinished writes of other processes look the
/// same, unless their names contain the process id.
pub fn remove_leftovers(disk: &dyn Disk, dir: &Path) -> io::Result<usize> {
    if disk.file_kind(dir)?.is_none() {
        return Ok(0);
    }
    let left = |name: &&FileEntry| {
        name.is_file() && is_temporary(&name.path) && !belongs_to_live_process(&name.path)
    };
    let mut removed = 0;
    for name in disk.list(dir)?.iter().filter(left) {
        disk.remove(&name.path)?;
        removed += 1;
    }
    Ok(removed)
}

/// Returns whether `path` is the name of an unfinished write. SQLite adds its own suffixes to the
/// name of such a file.
pub fn is_temporary(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    end == "tmp" || end.starts_with("tmp-")
}

/// Returns whether the file belongs to another running process. Such names end in a process id, as
/// in `export-123.tmp`.
pub fn belongs_to_live_process(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let owner = name.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    owner.is_some_and(|owner| owner != std::process::id() && is_alive(owner))
}

/// Removes the leftovers of writes to the files with these `names` in `dir`, where foreign files
/// may end in `.tmp` too.
pub fn remove_leftovers_of(disk: &dyn Disk, dir: &Path, names: &[&str]) -> io::Result<()> {
    let of_ours = |path: &Path| {
        let (of, number) = path.file_name()?.to_str()?.strip_suffix(".tmp")?.rsplit_once('.')?;
        let tried = number.parse().is_ok_and(|n: u32| n < MAX_NAME_ATTEMPTS && n.to_string() == number);
        Some(tried && names.contains(&of))
    };
    for left in disk.list(dir)?.iter().filter(|it| it.is_file() && of_ours(&it.path) == Some(true)) {
        disk.remove(&left.path)?;
    }
    Ok(())
}

/// Returns the directory of `path` after making it durable. Skipped if `path` exists, because the
/// write that created it did so.
fn ensure_parent<'a>(disk: &dyn Disk, path: &'a Path) -> io::Result<&'a Path> {
    let dir = parent(path)?;
    if disk.file_kind(path)?.is_none() {
        ensure_dir(disk, dir)?;
    }
    Ok(dir)
}

fn move_into_place(disk: &dyn Disk, made: &Path, path: &Path) -> io::Result<()> {
    disk.rename(made, path).inspect_err(|_| {
        // Keeps the first error; the next start removes a leftover file.
        let _ = disk.remove(made);
    })
}

fn create_beside(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    for n in 0..MAX_NAME_ATTEMPTS {
        let beside = with_suffix(path, &format!(".{n}.tmp"));
        match disk.create(&beside, bytes) {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let _ = disk.remove(&beside);
                return Err(error);
            }
        }
    }
    Err(io::Error::other(format!("{MAX_NAME_ATTEMPTS} unfinished `.tmp` files are in the way; remove them")))
}

fn free_damaged_name(disk: &dyn Disk, path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let end = format!(".corrupt-{}", now.strftime("%Y%m%dT%H%M%SZ"));
    for n in 1..MAX_NAME_ATTEMPTS {
        let name = match n {
            1 => with_suffix(path, &end),
            n => with_suffix(path, &format!("{end}-{n}")),
        };
        if disk.file_kind(&name)?.is_none() {
            return Ok(name);
        }
    }
    Err(io::Error::other("too many damaged files were kept in this second; move them away"))
}

fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn parent(path: &Path) -> io::Result<&Path> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    above.ok_or_else(|| io::Error::other(format!("{} is not inside a directory", path.display())))
}
