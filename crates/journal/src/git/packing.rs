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
const EVERY: u32 = 32;
/// Kilobytes of loose objects from which a repack is worthwhile.
const LOOSE: u64 = 8 * 1024;
/// The age at which a temporary file of a repack is certainly abandoned.
const LEFT_ALONE: SignedDuration = SignedDuration::from_hours(1);

/// One thread and limited memory, because the repack is not urgent.
const REPACK: [&str; 12] = [
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
pub(super) struct Packing {
    dir: PathBuf,
    commits: u32,
    /// Kilobytes that the last repack left loose, so that objects which cannot be packed do not
    /// trigger another.
    left: u64,
    running: Option<Child>,
}

impl Packing {
    /// For the repository in `dir`.
    pub(super) fn of(dir: PathBuf) -> Self {
        Self { dir, commits: 0, left: 0, running: None }
    }

    /// Counts a commit.
    pub(super) fn committed(&mut self, program: &Program) {
        self.commits += 1;
        if self.commits >= EVERY {
            self.look(program);
        }
    }

    /// Starts a repack if there are enough loose objects.
    pub(super) fn look(&mut self, program: &Program) {
        self.commits = 0;
        if self.goes_on(program) || self.loose(program) < self.left + LOOSE {
            return;
        }
        match program.begin(&self.dir, &REPACK) {
            Ok(running) => self.running = Some(running),
            Err(error) => tracing::warn!(%error, "The history of the files could not be packed."),
        }
    }

    /// Returns whether a repack is running.
    pub(super) fn goes_on(&mut self, program: &Program) -> bool {
        match self.running.as_mut().map(Child::try_wait) {
            None => false,
            Some(Ok(None)) => true,
            Some(ended) => {
                self.running = None;
                self.left = self.loose(program);
                if !matches!(ended, Ok(Some(status)) if ExitStatus::success(&status)) {
                    let dir = self.dir.display();
                    tracing::warn!(%dir, "The history of the files could not be packed; `git fsck` there tells why.");
                }
                false
            }
        }
    }

    /// The kilobytes of loose objects.
    fn loose(&self, program: &Program) -> u64 {
        if !is_repository(&self.dir) {
            return 0;
        }
        let told = program.ask(&self.dir, &["count-objects"]).unwrap_or_default();
        // For example `12 objects, 48 kilobytes`.
        let told = String::from_utf8_lossy(&told);
        told.split_whitespace().nth(2).and_then(|size| size.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Packing {
    /// Stops the repack instead of waiting at shutdown. The next start repeats it.
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let _ = kill_process_group(Pid::from_child(&running), Signal::TERM);
        let _ = running.wait();
    }
}

/// Returns whether `name` in the pack directory is that of a temporary file of git.
pub(crate) fn is_half_packed(name: &str) -> bool {
    name.starts_with("tmp_") || name.starts_with(".tmp-")
}

/// Removes temporary files of interrupted repacks of `dir`, which git would keep for ever.
pub(super) fn sweep(disk: &dyn Disk, dir: &Path, now: Timestamp) {
    let half = |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_half_packed);
    let packs = disk.list(&dir.join(".git/objects/pack")).unwrap_or_default();
    for left in packs.iter().filter(|listed| listed.is_file() && half(&listed.path)) {
        if now.duration_since(left.stamp.changed) > LEFT_ALONE
            && let Err(error) = disk.remove(&left.path)
        {
            tracing::warn!(%error, path = %left.path.display(), "A half-written pack of git stays.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{self, RealDisk, Seen};
    use crate::git::{FileChange, Task, worker};

    struct House {
        dir: tempfile::TempDir,
        program: Program,
        /// The content written so far.
        text: String,
    }

    impl House {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let program = Program::new("git");
            program.run(dir.path(), &["init", "--quiet"]).unwrap();
            Self { dir, program, text: String::new() }
        }

        /// Appends 64 KB of incompressible text to the file and commits it.
        fn grow(&mut self, packing: &mut Packing) {
            let mut state = self.text.len() as u64 + 1;
            for _ in 0..4096 {
                // A fixed pseudo-random generator: the same text in every run.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                self.text.push_str(&format!("{:016x}", state ^ (state >> 29)));
            }
            let path = self.dir.path().join("history.jsonl");
            disk::replace(&RealDisk, &path, self.text.as_bytes()).unwrap();
            let task = Task { path, message: "grown".to_owned(), change: FileChange::Written };
            let mut postponed = [task].into();
            worker::drain(&self.program, &mut postponed, &mut Default::default(), Some(packing));
            assert!(postponed.is_empty());
        }

        fn packing(&self) -> Packing {
            Packing::of(self.dir.path().to_owned())
        }

        fn ask(&self, arguments: &[&str]) -> String {
            String::from_utf8(self.program.ask(self.dir.path(), arguments).unwrap()).unwrap()
        }

        /// Checks that each version has its content.
        fn versions(&self) -> usize {
            let commits = self.ask(&["log", "--reverse", "--format=%H"]);
            for (number, id) in commits.lines().enumerate() {
                let text = self.ask(&["show", &format!("{id}:history.jsonl")]);
                assert!(self.text[..(number + 1) * 64 * 1024] == text, "version {number}");
            }
            commits.lines().count()
        }
    }

    fn bytes(dir: &Path) -> u64 {
        let listed = RealDisk.list(dir).unwrap();
        let size = |listed: &disk::Listed| match listed.stamp.seen {
            Some(Seen::File(length)) => length,
            Some(Seen::Directory) => bytes(&listed.path),
            Some(Seen::Strange) | None => 0,
        };
        listed.iter().map(size).sum()
    }

    fn wait_for(packing: &mut Packing, program: &Program) {
        while packing.goes_on(program) {
            std::thread::yield_now();
        }
    }

    /// B12, DD-12: a growing file takes space only for its growth, every version is readable, and
    /// unreachable commits of the user are preserved.
    #[test]
    fn the_history_of_a_growing_file_stays_small_and_whole() {
        let mut house = House::new();
        let mut packing = house.packing();
        house.grow(&mut packing);
        let named = house.program.identity(house.dir.path());
        let dropped = house.ask(&[named, &["commit-tree", "HEAD^{tree}", "-m", "dropped"]].concat());
        for _ in 1..EVERY {
            house.grow(&mut packing);
        }
        wait_for(&mut packing, &house.program);
        let git = bytes(&house.dir.path().join(".git"));
        assert!(git < 3 * 1024 * 1024, "{} KB", git / 1024);
        assert_eq!(house.versions(), EVERY as usize);
        assert_eq!(house.ask(&["cat-file", "-t", dropped.trim()]), "commit\n");
    }

    /// B12: an interrupted repack causes no damage, and its temporary files are removed later.
    #[test]
    fn a_packing_that_is_ended_in_the_middle_harms_nothing() {
        let mut house = House::new();
        let mut packing = house.packing();
        for _ in 1..EVERY {
            house.grow(&mut packing);
        }
        assert!(packing.running.is_none(), "too early");
        packing.look(&house.program);
        assert!(packing.running.is_some(), "there is enough to be packed");
        drop(packing);
        assert_eq!(house.versions(), EVERY as usize - 1);

        let packs = house.dir.path().join(".git/objects/pack");
        let left = packs.join("tmp_pack_FOIsx1");
        disk::replace(&RealDisk, &left, b"half").unwrap();
        let written = RealDisk.stamp(&left).unwrap().unwrap().changed;
        sweep(&RealDisk, house.dir.path(), written + LEFT_ALONE);
        assert!(RealDisk.stamp(&left).unwrap().is_some(), "somebody may be writing it");
        sweep(&RealDisk, house.dir.path(), written + LEFT_ALONE * 2);
        let half = RealDisk.list(&packs).unwrap().into_iter().filter(|listed| {
            let name = listed.path.file_name().unwrap().to_string_lossy().into_owned();
            name.contains("tmp")
        });
        assert_eq!(half.count(), 0);

        let mut packing = house.packing();
        packing.look(&house.program);
        wait_for(&mut packing, &house.program);
        assert!(bytes(&house.dir.path().join(".git")) < 3 * 1024 * 1024);
        assert_eq!(house.versions(), EVERY as usize - 1);
    }
}
