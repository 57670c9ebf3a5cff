//! How we change files, so that a power cut leaves the old or the new and never neither.
//!
//! Each of these returns `Ok` only when what it did survives. Each can be called again after it failed.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Disk, Listed, Seen};
use crate::lock::is_alive;

/// The most leftovers of earlier crashes, or writers at the same time, that a write steps around.
const NAMES_TRIED: u32 = 100;

/// Puts `bytes` in the place of the file at `path`, whole.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_if(disk, path, bytes, || true).map(drop)
}

/// Like [`replace`], but leaves the file as it is unless `is_expected` says so when the new text is already on the disk.
/// Returns whether the file was replaced. Bringing the text to the disk takes so long that another program may have
/// changed the file meanwhile.
pub fn replace_if(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    is_expected: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let dir = ready(disk, path)?;
    let made = create_beside(disk, path, bytes)?;
    if !is_expected() {
        disk.remove(&made)?;
        return Ok(false);
    }
    put(disk, &made, path)?;
    disk.sync_dir(dir)?;
    Ok(true)
}

/// Puts each of some texts in the place of the file in `dir` that has its name, whole, and brings all of the names to the
/// disk together.
pub fn replace_all(disk: &dyn Disk, dir: &Path, files: &[(String, &str)]) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    ensure_dir(disk, dir)?;
    for (name, text) in files {
        let path = dir.join(name);
        put(disk, &create_beside(disk, &path, text.as_bytes())?, &path)?;
    }
    disk.sync_dir(dir)
}

/// Puts a file with `bytes` at `path`, whole, unless something is there: then that is the error.
pub fn add(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = ready(disk, path)?;
    let made = create_beside(disk, path, bytes)?;
    if let Err(error) = disk.name(&made, path) {
        let _ = disk.remove(&made);
        return Err(error);
    }
    disk.sync_dir(dir)
}

/// Adds `line` and a line feed to the end of the file at `path`.
pub fn append_line(disk: &dyn Disk, path: &Path, line: &[u8]) -> io::Result<()> {
    let dir = ready(disk, path)?;
    disk.append(path, &[line, b"\n"].concat())?;
    disk.sync_dir(dir)
}

/// Removes the file at `path`, and says whether there was one.
pub fn remove(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    let there = match disk.remove(path) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    // Also when it was already gone: an earlier call may have removed it and failed here.
    match disk.sync_dir(parent(path)?) {
        Err(error) if there || error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(there),
    }
}

/// Moves what is at `path` to a name that says it is damaged, and gives that name.
pub fn set_aside(disk: &dyn Disk, path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let aside = free_name(disk, path, now)?;
    disk.rename(path, &aside)?;
    disk.sync_dir(parent(path)?)?;
    Ok(aside)
}

/// Keeps `bytes`, which were found damaged at `path`, beside it, and gives their name.
pub fn keep_copy(disk: &dyn Disk, path: &Path, bytes: &[u8], now: Timestamp) -> io::Result<PathBuf> {
    let aside = free_name(disk, path, now)?;
    if let Err(error) = disk.create(&aside, bytes) {
        let _ = disk.remove(&aside);
        return Err(error);
    }
    disk.sync_dir(parent(path)?)?;
    Ok(aside)
}

/// Makes `dir` and its parents where they are missing.
pub fn ensure_dir(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let Ok(above) = parent(dir) else { return Ok(()) };
    if disk.look(dir)? == Some(Seen::Directory) {
        // An earlier call may have made it and failed to bring its name to the disk. Where we may not even
        // look, we did not make it.
        return match disk.sync_dir(above) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            other => other,
        };
    }
    ensure_dir(disk, above)?;
    disk.create_dir(dir)?;
    disk.sync_dir(above)
}

/// Removes what writes that never ended left in `dir`, and says how many there were.
///
/// Only for the one process that writes there: another one's unfinished write looks the same, unless its name tells
/// whose it is.
pub fn sweep(disk: &dyn Disk, dir: &Path) -> io::Result<usize> {
    if disk.look(dir)?.is_none() {
        return Ok(0);
    }
    let left = |name: &&Listed| name.is_file() && is_half_written(&name.path) && !is_of_another(&name.path);
    let mut removed = 0;
    for name in disk.list(dir)?.iter().filter(left) {
        disk.remove(&name.path)?;
        removed += 1;
    }
    Ok(removed)
}

/// Whether what is called so is being written, or was when somebody ended. SQLite keeps things of its own beside a
/// copy that it writes.
pub fn is_half_written(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    end == "tmp" || end.starts_with("tmp-")
}

/// Whether it belongs to another process, which still runs: such a name ends in the number of its process, as
/// `export-123.tmp` does.
pub fn is_of_another(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let owner = name.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    owner.is_some_and(|owner| owner != std::process::id() && is_alive(owner))
}

/// Removes what writes of the files with these `names` left beside them in `dir`, where other files may end in `.tmp` too.
pub fn sweep_beside(disk: &dyn Disk, dir: &Path, names: &[&str]) -> io::Result<()> {
    let of_ours = |path: &Path| {
        let (of, number) = path.file_name()?.to_str()?.strip_suffix(".tmp")?.rsplit_once('.')?;
        let tried = number.parse().is_ok_and(|n: u32| n < NAMES_TRIED && n.to_string() == number);
        Some(tried && names.contains(&of))
    };
    for left in disk.list(dir)?.iter().filter(|it| it.is_file() && of_ours(&it.path) == Some(true)) {
        disk.remove(&left.path)?;
    }
    Ok(())
}

/// The directory of `path`, which is there to stay. A file that has its name already was put there by a write
/// that saw to its directory.
fn ready<'a>(disk: &dyn Disk, path: &'a Path) -> io::Result<&'a Path> {
    let dir = parent(path)?;
    if disk.look(path)?.is_none() {
        ensure_dir(disk, dir)?;
    }
    Ok(dir)
}

/// Gives what was `made` the name `path`.
fn put(disk: &dyn Disk, made: &Path, path: &Path) -> io::Result<()> {
    disk.rename(made, path).inspect_err(|_| {
        // The first error is the one to tell of; a leftover is swept on the next start.
        let _ = disk.remove(made);
    })
}

fn create_beside(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    for n in 0..NAMES_TRIED {
        let beside = with_end(path, &format!(".{n}.tmp"));
        match disk.create(&beside, bytes) {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let _ = disk.remove(&beside);
                return Err(error);
            }
        }
    }
    Err(io::Error::other(format!("{NAMES_TRIED} unfinished `.tmp` files are in the way; remove them")))
}

fn free_name(disk: &dyn Disk, path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let end = format!(".corrupt-{}", now.strftime("%Y%m%dT%H%M%SZ"));
    for n in 1..NAMES_TRIED {
        let name = match n {
            1 => with_end(path, &end),
            n => with_end(path, &format!("{end}-{n}")),
        };
        if disk.look(&name)?.is_none() {
            return Ok(name);
        }
    }
    Err(io::Error::other("too many damaged files were kept in this second; move them away"))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn parent(path: &Path) -> io::Result<&Path> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    above.ok_or_else(|| io::Error::other(format!("{} is not inside a directory", path.display())))
}
