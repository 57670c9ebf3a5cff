//! Packing: what git keeps of each commit is made small now and then, beside everything else.
//!
//! Until it is packed, each version of a file lies there whole, and the life of the sessions grows with every run: a
//! year of it would fill a disk. Packed, a version costs what it changed.
//!
//! It is `repack` and not `gc`: that one also forgets where the human's names once stood (reflogs, after 90 days) and
//! throws away what no name leads to any more (after two weeks). It may be the only copy of what they reset or dropped,
//! so all of it is packed too (`-k`). No name is touched and no hook is run. Git itself sees to it that a commit can be
//! made meanwhile, and that nothing is missing if it is ended in the middle: the old goes when the new is whole.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process_group};

use super::program::{Program, is_repository};
use crate::disk::Disk;

/// After how many commits to look how much there is.
const EVERY: u32 = 32;
/// How many kilobytes are worth packing.
const LOOSE: u64 = 8 * 1024;
/// How old what a packing left half-written is when certainly nobody writes it any more.
const LEFT_ALONE: SignedDuration = SignedDuration::from_hours(1);

/// One thread, and little memory, whatever else the human keeps there: nobody waits for it.
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

/// The packing of one history.
pub(super) struct Packing {
    dir: PathBuf,
    commits: u32,
    /// What the last packing left, in kilobytes: what could not be packed then is not tried again for nothing.
    left: u64,
    running: Option<Child>,
}

impl Packing {
    /// The packing of the history in `dir`.
    pub(super) fn of(dir: PathBuf) -> Self {
        Self { dir, commits: 0, left: 0, running: None }
    }

    /// One more commit was made.
    pub(super) fn committed(&mut self, program: &Program) {
        self.commits += 1;
        if self.commits >= EVERY {
            self.look(program);
        }
    }

    /// Begins to pack, if there is enough to.
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

    /// Whether it is being packed now.
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

    /// How many kilobytes lie there whole.
    fn loose(&self, program: &Program) -> u64 {
        if !is_repository(&self.dir) {
            return 0;
        }
        let told = program.ask(&self.dir, &["count-objects"]).unwrap_or_default();
        // Such as `12 objects, 48 kilobytes`.
        let told = String::from_utf8_lossy(&told);
        told.split_whitespace().nth(2).and_then(|size| size.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Packing {
    /// Whoever closes the house does not wait for it; the next start goes on.
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let _ = kill_process_group(Pid::from_child(&running), Signal::TERM);
        let _ = running.wait();
    }
}

/// Whether what is called `name` among the packs is one that git writes just now, or wrote when it was ended.
pub(crate) fn is_half_packed(name: &str) -> bool {
    name.starts_with("tmp_") || name.starts_with(".tmp-")
}

/// Takes away what packings of `dir` that were ended in the middle left: git itself would keep it for ever.
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
        /// What was written so far.
        text: String,
    }

    impl House {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let program = Program::new("git");
            program.run(dir.path(), &["init", "--quiet"]).unwrap();
            Self { dir, program, text: String::new() }
        }

        /// The file grows by 64 KB that cannot be made small, and is committed.
        fn grow(&mut self, packing: &mut Packing) {
            let mut state = self.text.len() as u64 + 1;
            for _ in 0..4096 {
                // The steps of a well-known generator: the same in every run.
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

        /// Each version is as long as it was.
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

    /// B12, DD-12: a file that grows costs what it grew, every version of it can be read, and what the human took out of
    /// their history, or never put into it, is there still.
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

    /// B12: one that is ended in the middle, as by a restart, breaks nothing, and what it left is taken away later.
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
