//! Proving: a new program that does not start, or falls before it has gone on for a minute, gives its place back to the
//! one before.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Question, Request};
use engine::desk::Desk;
use jiff::Timestamp;

use journal::Paths;
use journal::disk::Disk;
use journal::migration;

use super::beside;
use super::checkout::News;
use super::mark::{self, Mark};

/// How often a new program is started before the one before is taken back: whoever was killed in between may be well.
const STARTS: u32 = 2;

/// How often, and how long apart, the loop of a new program must have answered until it counts as well.
const BEATS: u32 = 60;
const APART: Duration = Duration::from_secs(1);

/// What a start has to do with an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    None,
    /// This is a new program: it must become ready.
    Owed,
    /// The one before is back in its place, and is to be started.
    Back,
}

/// What this start at `now` has to do with an update of `paths`.
pub fn prove(disk: &dyn Disk, paths: &Paths, now: Timestamp) -> Proof {
    let state = paths.state();
    match mark::read(disk, &state) {
        None | Some(Mark::Pulling { .. } | Mark::WentBack { .. } | Mark::Stayed { .. }) => Proof::None,
        // Another one runs: this start ends at once, and tells nothing about the program.
        Some(Mark::Unproven { .. }) if journal::is_in_use(paths) => Proof::None,
        Some(Mark::Unproven { starts, .. }) if starts >= STARTS => {
            go_back(disk, paths, "it ended too often", now)
        }
        Some(Mark::Unproven { from, commits, program, starts, journal }) => {
            let mark = Mark::Unproven { from, commits, program, starts: starts + 1, journal };
            match mark::write(disk, &state, &mark) {
                Ok(()) => Proof::Owed,
                Err(_) => Proof::None,
            }
        }
    }
}

/// What the human hears of an update when the program starts.
pub fn told(disk: &dyn Disk, paths: &Paths) -> Option<String> {
    match mark::read(disk, &paths.state())? {
        Mark::Pulling { .. } => None,
        Mark::Unproven { commits, .. } => {
            Some(format!("i am the new version now:{}", News { commits }.tell()))
        }
        Mark::WentBack { why, aside } => {
            mark::clear(disk, &paths.state());
            let aside = aside.map_or_else(String::new, |aside| {
                format!(
                    " it had changed the journal so that i cannot read it: that one is kept as {}, and i go on from the \
                     copy from before. what was said since the update is in the kept one.",
                    aside.display()
                )
            });
            Some(format!("the new version did not start ({why}), so i went back to the one before.{aside}"))
        }
        Mark::Stayed { why } => {
            mark::clear(disk, &paths.state());
            Some(format!("the new version did not start well ({why}). so i stay, and try on."))
        }
    }
}

/// L2: a program that still owes its proof has given it when the loop behind `desk` has answered for a minute.
pub async fn prove_well(proof: &Proof, desk: Desk, (disk, paths): (Arc<dyn Disk>, Paths)) -> Infallible {
    if *proof == Proof::Owed {
        for _ in 0..BEATS {
            desk.ask(Request::Tell(Question::Attention)).await;
            tokio::time::sleep(APART).await;
        }
        // A mark without a start is that of an even newer program, which is not us.
        if let Some(Mark::Unproven { starts: 1.., .. }) = mark::read(&*disk, &paths.state()) {
            mark::clear(&*disk, &paths.state());
        }
    }
    std::future::pending().await
}

/// Whoever ends because it was told to has not fallen: this start counts for nothing.
pub fn ended_well(disk: &dyn Disk, paths: &Paths) {
    let state = paths.state();
    let Some(Mark::Unproven { from, commits, program, starts: starts @ 1.., journal }) =
        mark::read(disk, &state)
    else {
        return;
    };
    let mark = Mark::Unproven { from, commits, program, starts: starts - 1, journal };
    if let Err(error) = mark::write(disk, &state, &mark) {
        tracing::warn!(%error, "This start of a new program counts as a fall.");
    }
}

/// Puts the program from before back in its place, with a journal that it can read. Where there is none, the new one stays.
pub fn go_back(disk: &dyn Disk, paths: &Paths, why: &str, now: Timestamp) -> Proof {
    let state = paths.state();
    let Some(Mark::Unproven { program, journal, .. }) = mark::read(disk, &state) else { return Proof::None };
    let (why, previous) = (why.to_owned(), beside(&program, ".previous"));
    let left = match (disk.look(&previous), readable(disk, paths, journal)) {
        (Ok(Some(_)), Some(readable)) => take_back(disk, (paths, now), (&previous, &program), readable),
        (Ok(Some(_)), None) => Err("there is no journal that it could read".to_owned()),
        (Ok(None) | Err(_), _) => Err("it is not there any more".to_owned()),
    };
    let (mark, proof) = match left {
        Ok(aside) => (Mark::WentBack { why, aside }, Proof::Back),
        Err(not) => {
            tracing::error!(not, "The program from before could not be put back.");
            (Mark::Stayed { why: format!("{why}; the one before could not be put back: {not}") }, Proof::None)
        }
    };
    if let Err(error) = mark::write(disk, &state, &mark) {
        tracing::warn!(%error, "It cannot be told what became of an update.");
    }
    proof
}

/// What the program from before can go on from.
enum Readable {
    /// The journal as it is.
    AsItIs,
    /// This copy from before.
    Kept(PathBuf),
}

/// What a program can go on from that knows formats up to `known`; nothing, if nobody can tell.
fn readable(disk: &dyn Disk, paths: &Paths, known: Option<i64>) -> Option<Readable> {
    match (migration::standing(paths, disk).ok()?, known) {
        (None, _) => Some(Readable::AsItIs),
        (Some(standing), Some(known)) if standing.found <= known => Some(Readable::AsItIs),
        (Some(_), Some(known)) => migration::kept_for(paths, disk, known).map(Readable::Kept),
        (Some(_), None) => None,
    }
}

/// The journal comes first: the new program reads the old one too, but not the other way about.
fn take_back(
    disk: &dyn Disk,
    (paths, now): (&Paths, Timestamp),
    (previous, program): (&Path, &Path),
    readable: Readable,
) -> Result<Option<PathBuf>, String> {
    let aside = match readable {
        Readable::AsItIs => None,
        Readable::Kept(kept) => {
            migration::lay_back(paths, disk, &kept, now).map_err(|error| error.to_string())?
        }
    };
    disk.rename(previous, program).map_err(|error| error.to_string())?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use engine::desk::Letter;
    use journal::disk::RealDisk;
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;

    use super::*;
    use domain::assistant::Answer;

    fn unproven(starts: u32) -> Mark {
        let (from, program) = ("abc".to_owned(), "/nowhere/ollim-bot".into());
        Mark::Unproven { from, commits: Vec::new(), program, starts, journal: None }
    }

    /// A new program that was started so often, and lives behind a desk.
    struct Lives {
        dir: tempfile::TempDir,
        pile: mpsc::Receiver<Letter>,
        proving: JoinSet<Infallible>,
    }

    impl Lives {
        fn begin(starts: u32) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let paths = Paths::new(dir.path());
            RealDisk.create_dir(&paths.state()).unwrap();
            mark::write(&RealDisk, &paths.state(), &unproven(starts)).unwrap();
            let (desk, pile) = Desk::new();
            let mut proving = JoinSet::new();
            proving.spawn(async move { prove_well(&Proof::Owed, desk, (Arc::new(RealDisk), paths)).await });
            Self { dir, pile, proving }
        }

        /// The loop answers so often.
        async fn answer(&mut self, times: u32) {
            for _ in 0..times {
                let asked = tokio::time::timeout(APART * 2, self.pile.recv()).await;
                let Ok(Some(Letter::Asked(_, reply))) = asked else { panic!("nobody asks") };
                let _ = reply.send(Answer::Noted);
            }
        }

        /// Lets so much time go by.
        async fn wait(&mut self, time: Duration) {
            assert!(tokio::time::timeout(time, self.proving.join_next()).await.is_err());
        }

        fn mark(&self) -> Option<Mark> {
            mark::read(&RealDisk, &Paths::new(self.dir.path()).state())
        }
    }

    /// L2: a new program is proven when its loop has answered for a minute, and not before.
    #[tokio::test(start_paused = true)]
    async fn a_new_program_is_proven_after_a_minute_in_which_it_answered() {
        let mut lives = Lives::begin(1);
        let began = tokio::time::Instant::now();
        lives.answer(BEATS - 1).await;
        lives.wait(Duration::from_secs(3_600)).await;
        assert_eq!(lives.mark(), Some(unproven(1)), "a loop that stands still proves nothing");
        lives.answer(1).await;
        lives.wait(APART * 2).await;
        assert_eq!(lives.mark(), None);
        assert!(began.elapsed() >= Duration::from_secs(60));
    }

    /// A journal of a newer format than the program from before knows, with what SQLite keeps beside it; `kept` names the
    /// formats of the journals from before.
    fn migrated(dir: &Path, kept: &[i64]) -> Paths {
        let paths = Paths::new(dir.join("data"));
        RealDisk.create_dir(&paths.before_migration()).unwrap();
        let log = rusqlite::Connection::open(paths.database()).unwrap();
        log.pragma_update(None, "user_version", 7).unwrap();
        drop(log);
        RealDisk.create(&beside(&paths.database(), "-wal"), b"").unwrap();
        for format in kept {
            let name = format!("journal-20261117T00000{format}Z-format-{format}.db");
            RealDisk
                .create(&paths.before_migration().join(name), format!("kept {format}").as_bytes())
                .unwrap();
        }
        let program = dir.join("ollim-bot");
        RealDisk.create(&program, b"new").unwrap();
        RealDisk.create(&beside(&program, ".previous"), b"old").unwrap();
        let mark = Mark::Unproven {
            from: "abc".to_owned(),
            commits: Vec::new(),
            program,
            starts: 2,
            journal: Some(6),
        };
        mark::write(&RealDisk, &paths.state(), &mark).unwrap();
        paths
    }

    /// L2, B11: who goes back after a migration keeps the newer journal whole beside, and tells where it is.
    #[test]
    fn going_back_throws_no_journal_away() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[4, 6, 7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(prove(&RealDisk, &paths, Timestamp::UNIX_EPOCH), Proof::Back);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"old");
        assert_eq!(RealDisk.read(&paths.database()).unwrap(), b"kept 6", "the newest that it reads");
        let Some(Mark::WentBack { aside: Some(aside), .. }) = mark::read(&RealDisk, &paths.state()) else {
            panic!("it is told")
        };
        assert_eq!(RealDisk.read(&aside).unwrap(), newer);
        assert!(RealDisk.look(&beside(&aside, "-wal")).unwrap().is_some(), "with what belongs to it");
        assert_eq!(RealDisk.look(&beside(&paths.database(), "-wal")).unwrap(), None);
        let told = told(&RealDisk, &paths).unwrap();
        assert!(told.contains("i went back") && told.contains(&*aside.to_string_lossy()), "{told}");
    }

    /// L2: without a journal that the one before could read, the new one stays, and says so.
    #[test]
    fn nobody_goes_back_to_a_journal_that_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(prove(&RealDisk, &paths, Timestamp::UNIX_EPOCH), Proof::None);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"new");
        assert_eq!(RealDisk.read(&paths.database()).unwrap(), newer);
        let told = told(&RealDisk, &paths).unwrap();
        assert!(told.contains("there is no journal that it could read") && told.contains("i stay"), "{told}");
    }

    /// L2: what an even newer program owes is not given by the one before.
    #[tokio::test(start_paused = true)]
    async fn nobody_proves_the_next_one() {
        let mut lives = Lives::begin(0);
        lives.answer(BEATS).await;
        lives.wait(APART * 2).await;
        assert_eq!(lives.mark(), Some(unproven(0)));
    }
}
