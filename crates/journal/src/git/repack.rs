//! Repacks the git repository now and then, in the background.
//!
//! Until it is packed, each version of a file is stored whole, and the session history grows with
//! every run: after a year it would fill a disk. A packed version takes only the size of its
//! change.
//!
//! Uses `repack` and not `gc`, which also expires reflogs and prunes unreachable objects. Those may
//! be the only copy of what the user reset or dropped, so they are packed too (`-k`). No ref is
//! touched and no hook runs. Git allows commits meanwhile, and an interrupted repack loses nothing,
//! because old objects are removed only when the new pack is complete.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process_group};

use super::program::{Program, is_repository};
use crate::disk::Disk;

/// Number of commits between two checks of the size.
const COMMITS_PER_CHECK: u32 = 32;
/// Kilobytes of loose objects from which a repack is worthwhile.
const LOOSE_LIMIT_KB: u64 = 8 * 1024;
/// The age at which a temporary file of a repack is certainly abandoned.
const TEMPORARY_MAX_AGE: SignedDuration = SignedDuration::from_hours(1);

/// One thread and limited memory, because the repack is not urgent.
const REPACK_ARGUMENTS: [&str; 12] = [
    "-c",
    "pack.threads=1",
    "-c",
    "pack.windowMemory=64m",
    "-c",
    "core.bigFileThreshold=64m",
    "repack",
    "-a",
    "-d",
    "-k",
    "-l",
    "-q",
];

/// The repacking of one repository.
pub(super) struct Repacker {
    dir: PathBuf,
    commits: u32,
    /// Kilobytes that the last repack left loose, so that objects which cannot be packed do not
    /// trigger another.
    unpacked_kb: u64,
    running: Option<Child>,
}

impl Repacker {
    /// For the repository in `dir`.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, commits: 0, unpacked_kb: 0, running: None }
    }

    /// Counts a commit.
    pub(super) fn on_commit(&mut self, program: &Program) {
        self.commits += 1;
        if self.commits >= COMMITS_PER_CHECK {
            self.start_if_needed(program);
        }
    }

    /// Starts a repack if there are enough loose objects.
    pub(super) fn start_if_needed(&mut self, program: &Program) {
        self.commits = 0;
        if self.is_running(program) || self.loose_kilobytes(program) < self.unpacked_kb + LOOSE_LIMIT_KB {
            return;
        }
        match program.spawn(&self.dir, &REPACK_ARGUMENTS) {
            Ok(running) => self.running = Some(running),
            Err(error) => tracing::warn!(%error, "The history of the files could not be packed."),
        }
    }

    /// Returns whether a repack is running.
    pub(super) fn is_running(&mut self, program: &Program) -> bool {
        match self.running.as_mut().map(Child::try_wait) {
            None => false,
            Some(Ok(None)) => true,
            Some(ended) => {
                self.running = None;
                self.unpacked_kb = self.loose_kilobytes(program);
                if !matches!(ended, Ok(Some(status)) if ExitStatus::success(&status)) {
                    let dir = self.dir.display();
                    tracing::warn!(%dir, "The history of the files could not be packed; `git fsck` there tells why.");
                }
                false
            }
        }
    }

    /// The kilobytes of loose objects.
    fn loose_kilobytes(&self, program: &Program) -> u64 {
        if !is_repository(&self.dir) {
            return 0;
        }
        let told = program.output(&self.dir, &["count-objects"]).unwrap_or_default();
        // For example `12 objects, 48 kilobytes`.
        let told = String::from_utf8_lossy(&told);
        told.split_whitespace().nth(2).and_then(|size| size.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Repacker {
    /// Stops the repack instead of waiting at shutdown. The next start repeats it.
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let _ = kill_process_group(Pid::from_child(&running), Signal::TERM);
        let _ = running.wait();
    }
}

/// Returns whether `name` in the pack directory is that of a temporary file of git.
pub(crate) fn is_temporary_pack(name: &str) -> bool {
    name.starts_with("tmp_") || name.starts_with(".tmp-")
}

/// Removes temporary files of interrupted repacks of `dir`, which git would keep for ever.
pub(super) fn remove_temporary_packs(disk: &dyn Disk, dir: &Path, now: Timestamp) {
    let half = |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_temporary_pack);
    let packs = disk.list(&dir.join(".git/objects/pack")).unwrap_or_default();
    for left in packs.iter().filter(|listed| listed.is_file() && half(&listed.path)) {
        if now.duration_since(left.stamp.changed) > TEMPORARY_MAX_AGE
            && let Err(error) = disk.remove(&left.path)
        {
            tracing::warn!(%error, path = %left.path.display(), "A half-written pack of git stays.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{self, FileKind, RealDisk};
    use crate::git::{ChangeKind, CommitTask, worker};

    struct TestRepository {
        dir: tempfile::TempDir,
        program: Program,
        /// The content written so far.
        text: String,
    }

    impl TestRepository {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let program = Program::new("git");
            program.run(dir.path(), &["init", "--quiet"]).unwrap();
            Self { dir, program, text: String::new() }
        }

        /// Appends 64 KB of incompressible text to the file and commits it.
        fn grow(&mut self, packing: &mut Repacker) {
            let mut state = self.text.len() as u64 + 1;
            for _ in 0..4096 {
                // A fixed pseudo-random generator: the same text in every run.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                self.text.push_str(&format!("{:016x}", state ^ (state >> 29)));
            }
            let path = self.dir.path().join("history.jsonl");
            disk::replace(&RealDisk, &path, self.text.as_bytes()).unwrap();
            let task = CommitTask { path, message: "grown".to_owned(), change: ChangeKind::Written };
            let mut postponed = [task].into();
            worker::commit_postponed(&self.program, &mut postponed, &mut Default::default(), Some(packing));
            assert!(postponed.is_empty());
        }

        fn repacker(&self) -> Repacker {
            Repacker::new(self.dir.path().to_owned())
        }

        fn git_output(&self, arguments: &[&str]) -> String {
            String::from_utf8(self.program.output(self.dir.path(), arguments).unwrap()).unwrap()
        }

        /// Checks that each version has its content.
        fn check_versions(&self) -> usize {
            let commits = self.git_output(&["log", "--reverse", "--format=%H"]);
            for (number, id) in commits.lines().enumerate() {
                let text = self.git_output(&["show", &format!("{id}:history.jsonl")]);
                assert!(self.text[..(number + 1) * 64 * 1024] == text, "version {number}");
            }
            commits.lines().count()
        }
    }

    fn directory_size(dir: &Path) -> u64 {
        let listed = RealDisk.list(dir).unwrap();
        let size = |listed: &disk::FileEntry| match listed.stamp.kind {
            Some(FileKind::File(length)) => length,
            Some(FileKind::Directory) => directory_size(&listed.path),
            Some(FileKind::Other) | None => 0,
        };
        listed.iter().map(size).sum()
    }

    fn wait_for(packing: &mut Repacker, program: &Program) {
        while packing.is_running(program) {
            std::thread::yield_now();
        }
    }

    /// B12, DD-12: a growing file takes space only for its growth, every version is readable, and
    /// unreachable commits of the user are preserved.
    #[test]
    fn the_history_of_a_growing_file_stays_small_and_complete() {
        let mut house = TestRepository::new();
        let mut packing = house.repacker();
        house.grow(&mut packing);
        let named = house.program.identity_options(house.dir.path());
        let dropped = house.git_output(&[named, &["commit-tree", "HEAD^{tree}", "-m", "dropped"]].concat());
        for _ in 1..COMMITS_PER_CHECK {
            house.grow(&mut packing);
        }
        wait_for(&mut packing, &house.program);
        let git = directory_size(&house.dir.path().join(".git"));
        assert!(git < 3 * 1024 * 1024, "{} KB", git / 1024);
        assert_eq!(house.check_versions(), COMMITS_PER_CHECK as usize);
        assert_eq!(house.git_output(&["cat-file", "-t", dropped.trim()]), "commit\n");
    }

    /// B12: an interrupted repack causes no damage, and its temporary files are removed later.
    #[test]
    fn an_interrupted_repack_causes_no_damage() {
        let mut house = TestRepository::new();
        let mut packing = house.repacker();
        for _ in 1..COMMITS_PER_CHECK {
            house.grow(&mut packing);
        }
        assert!(packing.running.is_none(), "too early");
        packing.start_if_needed(&house.program);
        assert!(packing.running.is_some(), "there is enough to be packed");
        drop(packing);
        assert_eq!(house.check_versions(), COMMITS_PER_CHECK as usize - 1);

        let packs = house.dir.path().join(".git/objects/pack");
        let left = packs.join("tmp_pack_FOIsx1");
        disk::replace(&RealDisk, &left, b"half").unwrap();
        let written = RealDisk.stamp(&left).unwrap().unwrap().changed;
        remove_temporary_packs(&RealDisk, house.dir.path(), written + TEMPORARY_MAX_AGE);
        assert!(RealDisk.stamp(&left).unwrap().is_some(), "somebody may be writing it");
        remove_temporary_packs(&RealDisk, house.dir.path(), written + TEMPORARY_MAX_AGE * 2);
        let half = RealDisk.list(&packs).unwrap().into_iter().filter(|listed| {
            let name = listed.path.file_name().unwrap().to_string_lossy().into_owned();
            name.contains("tmp")
        });
        assert_eq!(half.count(), 0);

        let mut packing = house.repacker();
        packing.start_if_needed(&house.program);
        wait_for(&mut packing, &house.program);
        assert!(directory_size(&house.dir.path().join(".git")) < 3 * 1024 * 1024);
        assert_eq!(house.check_versions(), COMMITS_PER_CHECK as usize - 1);
    }
}
