//! The file system of this machine.
#![expect(clippy::disallowed_methods, reason = "this module is the access to the file system")]

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Disk, FileEntry, FileKind, Stamp};

#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        if from > 0 {
            file.seek(SeekFrom::Start(from))?;
        }
        // Most files are small and are read in one piece.
        let mut bytes = Vec::with_capacity(most.min(4096));
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some(file_kind(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        if let Ok(metadata) = std::fs::metadata(path) {
            return Ok(Some(stamp(&metadata, Some(file_kind(&metadata)))));
        }
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(stamp(&metadata, None))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        let named = |entry: io::Result<std::fs::DirEntry>| {
            let path = entry?.path();
            // The file can disappear while the directory is listed.
            Ok(self.stamp(&path)?.map(|stamp| FileEntry { path, stamp }))
        };
        std::fs::read_dir(dir)?.filter_map(|entry| named(entry).transpose()).collect()
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
    }

    fn is_executable(&self, path: &Path) -> io::Result<bool> {
        std::fs::metadata(path).map(|found| found.mode() & 0o100 != 0)
    }

    fn make_executable(&self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        file.set_permissions(PermissionsExt::from_mode(0o700))?;
        file.sync_all()
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match std::fs::hard_link(from, to) {
            Ok(()) => std::fs::remove_file(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Without hard links, checking and renaming are not atomic.
            Err(_) if std::fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

fn file_kind(metadata: &Metadata) -> FileKind {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => FileKind::File(metadata.len()),
        (false, true) => FileKind::Directory,
        (false, false) => FileKind::Other,
    }
}

fn stamp(metadata: &Metadata, seen: Option<FileKind>) -> Stamp {
    let nanoseconds = i32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    let changed = Timestamp::new(metadata.ctime(), nanoseconds).unwrap_or_default();
    Stamp { kind: seen, inode: metadata.ino(), changed }
}
