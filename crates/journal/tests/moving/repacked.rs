//! Git may repack its objects during an export.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use journal::archive::Secrets;
use journal::disk::{Disk, FileEntry, FileKind, RealDisk, Stamp};

use super::{TestDirectory, pack_directory, unpack_into};

/// The moment at which git repacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepackAt {
    /// After the listing, before the first file is read.
    FirstRead,
    /// After the packs were listed, before the loose objects are.
    PacksListed,
}

/// A disk on which git repacks once.
struct RepackingDisk {
    root: PathBuf,
    when: RepackAt,
    done: AtomicBool,
}

impl RepackingDisk {
    fn repack_once(&self, when: RepackAt) {
        if self.when == when && !self.done.swap(true, Ordering::SeqCst) {
            git(&self.root, &["repack", "-a", "-d", "-q"]);
        }
    }
}

impl Disk for RepackingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(path)
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        RealDisk.read_part(path, from, most)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        RealDisk.canonicalize(path)
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        RealDisk.file_kind(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        if path.starts_with(self.root.join(".git/objects")) {
            self.repack_once(RepackAt::FirstRead);
        }
        RealDisk.stamp(path)
    }

    /// Lists the packs first, which is a possible order.
    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        let mut listed = RealDisk.list(dir)?;
        listed.sort_by(|one, other| other.path.cmp(&one.path));
        if dir.ends_with(".git/objects/pack") {
            self.repack_once(RepackAt::PacksListed);
        }
        Ok(listed)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.create_dir(dir)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        RealDisk.create(path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
}

/// The output of git in `dir`.
fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(arguments);
    let output = git.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// DD-12: whenever git repacks, the archive contains the complete history and no unfinished pack.
#[test]
fn the_git_history_is_complete_despite_a_concurrent_repack() {
    for when in [RepackAt::FirstRead, RepackAt::PacksListed] {
        let desk = TestDirectory::new();
        let target = tempfile::tempdir().unwrap();
        for version in ["one", "two", "three"] {
            desk.write("notes/mine.md", version);
            git(&desk.root(), &["add", "notes"]);
            git(&desk.root(), &["commit", "-q", "-m", version]);
        }
        desk.write(".git/objects/pack/tmp_pack_FOIsx1", "half");
        let disk = RepackingDisk { root: desk.root(), when, done: AtomicBool::new(false) };
        let (archive, manifest) = pack_directory(&desk.paths(), &disk, Secrets::Exclude).unwrap();
        assert!(disk.done.into_inner(), "{when:?}: git has not packed");
        let stage = target.path().join("stage");
        unpack_into(&archive, &stage).unwrap();
        assert_eq!(git(&stage, &["fsck", "--full"]), "", "{when:?}");
        let log = git(&stage, &["log", "--format=%s", "--", "notes/mine.md"]);
        assert_eq!(log, "three\ntwo\none\n", "{when:?}");
        let left: Vec<&str> = manifest.left_out.iter().map(|left| left.path.as_str()).collect();
        assert!(left.contains(&".git/objects/pack/tmp_pack_FOIsx1"), "{left:?}");
        assert!(
            !left.iter().any(|path| path.starts_with(".git/objects/") && !path.contains("tmp_pack")),
            "{left:?}"
        );
    }
}
