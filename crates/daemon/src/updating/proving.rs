//! Probation of a new program: if it fails to start or crashes within a minute, the previous one is
//! restored.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Question, Request};
use engine::desk::Desk;
use jiff::Timestamp;

use journal::disk::Disk;
use journal::{Lock, Paths};

use super::checkout::News;
use super::going_back::go_back;
use super::mark::{self, Mark, Unproven};

/// The number of starts before a rollback. A single kill does not prove that the program is broken.
const STARTS: u32 = 2;

/// The number of answers of the event loop, and their interval, that end the probation.
const BEATS: u32 = 60;
const APART: Duration = Duration::from_secs(1);

/// The relation of this start to an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Proof {
    None,
    /// This is a new program on probation.
    Owed,
    /// The previous program was restored and must be started.
    Back,
    /// The previous program cannot be restored now, for this reason. This start ends, and the next
    /// one tries again.
    NotNow(String),
}

/// Determines at `now` what this start has to do with an update.
pub fn prove(disk: &dyn Disk, paths: &Paths, now: Timestamp) -> Proof {
    let state = paths.state();
    match mark::read(disk, &state) {
        None
        | Some(Mark::Pulling { .. } | Mark::WentBack { .. } | Mark::Refused { .. } | Mark::Stayed { .. }) => {
            Proof::None
        }
        // Another process is running. This start will end at once and proves nothing.
        Some(Mark::Unproven(_)) if journal::is_in_use(paths) => Proof::None,
        Some(Mark::Unproven(Unproven { starts: STARTS.., .. }) | Mark::GoingBack(_)) => {
            alone(disk, paths, || go_back(disk, paths, "it ended too often", now))
        }
        Some(Mark::Unproven(mut unproven)) => {
            unproven.starts += 1;
            match mark::write(disk, &state, &Mark::Unproven(unproven)) {
                Ok(()) => Proof::Owed,
                Err(_) => Proof::None,
            }
        }
    }
}

/// Runs the rollback under the data directory's lock. If another process holds it, this start ends
/// at once; if one just finished the rollback, the restored program must be started.
fn alone(disk: &dyn Disk, paths: &Paths, go_back: impl FnOnce() -> Proof) -> Proof {
    let Ok(_lock) = Lock::take(&paths.state(), std::process::id()) else { return Proof::None };
    match mark::read(disk, &paths.state()) {
        Some(Mark::Unproven(_) | Mark::GoingBack(_)) => go_back(),
        Some(Mark::Pulling { .. } | Mark::WentBack { .. } | Mark::Refused { .. } | Mark::Stayed { .. })
        | None => Proof::Back,
    }
}

/// Returns the notice about an update at this start.
pub fn told(disk: &dyn Disk, paths: &Paths) -> Option<String> {
    let state = paths.state();
    match mark::read(disk, &state)? {
        Mark::Pulling { .. } | Mark::GoingBack(_) | Mark::Refused { .. } => None,
        Mark::Unproven(Unproven { commits, .. }) => {
            Some(format!("i am the new version now:{}", News { commits }.tell()))
        }
        Mark::WentBack { why, aside, from } => {
            match from {
                Some(from) => leave(disk, &state, &Mark::Refused { from }),
                None => mark::clear(disk, &state),
            }
            let aside = aside.map_or_else(String::new, |aside| {
                format!(
                    " it had changed the journal so that i cannot read it: that one is kept as {}, and i go on from the \
                     copy from before. what was said since the update is in the kept one.",
                    aside.display()
                )
            });
            Some(format!("the new version did not start ({why}), so i went back to the one before.{aside}"))
        }
        Mark::Stayed { why, aside } => {
            mark::clear(disk, &state);
            let aside = aside.map_or_else(String::new, |aside| {
                format!(" the journal is the copy from before; the later one is kept as {}.", aside.display())
            });
            Some(format!("the new version did not start well ({why}). so i stay, and try on.{aside}"))
        }
    }
}

/// Writes `mark`; a failure is only logged.
pub fn leave(disk: &dyn Disk, state: &Path, mark: &Mark) {
    if let Err(error) = mark::write(disk, state, mark) {
        tracing::warn!(%error, "It cannot be told what became of an update.");
    }
}

/// L2: Ends the probation once the event loop has answered for a minute.
pub async fn prove_well(proof: &Proof, desk: Desk, disk: Arc<dyn Disk>, paths: Paths) -> Infallible {
    if *proof == Proof::Owed {
        for _ in 0..BEATS {
            desk.ask(Request::Tell(Question::Attention)).await;
            tokio::time::sleep(APART).await;
        }
        // A mark without starts belongs to an even newer program.
        if let Some(Mark::Unproven(Unproven { starts: 1.., .. })) = mark::read(&*disk, &paths.state()) {
            mark::clear(&*disk, &paths.state());
        }
    }
    std::future::pending().await
}

/// Uncounts this start: a requested exit is no crash.
pub fn ended_well(disk: &dyn Disk, paths: &Paths) {
    let state = paths.state();
    let Some(Mark::Unproven(mut unproven)) = mark::read(disk, &state) else { return };
    if unproven.starts == 0 {
        return;
    }
    unproven.starts -= 1;
    if let Err(error) = mark::write(disk, &state, &Mark::Unproven(unproven)) {
        tracing::warn!(%error, "This start of a new program counts as a fall.");
    }
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
        let from = "abc".to_owned();
        let program = "/nowhere/ollim-bot".into();
        Mark::Unproven(Unproven { from, commits: Vec::new(), program, starts, journal: None, at: None })
    }

    /// A new program on probation after some starts, with a simulated event loop.
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
            proving.spawn(async move { prove_well(&Proof::Owed, desk, Arc::new(RealDisk), paths).await });
            Self { dir, pile, proving }
        }

        /// Answers as the event loop, this many times.
        async fn answer(&mut self, times: u32) {
            for _ in 0..times {
                let asked = tokio::time::timeout(APART * 2, self.pile.recv()).await;
                let Ok(Some(Letter::Asked(_, reply))) = asked else { panic!("nobody asks") };
                let _ = reply.send(Answer::Noted);
            }
        }

        async fn wait(&mut self, time: Duration) {
            assert!(tokio::time::timeout(time, self.proving.join_next()).await.is_err());
        }

        fn mark(&self) -> Option<Mark> {
            mark::read(&RealDisk, &Paths::new(self.dir.path()).state())
        }
    }

    /// L2: The probation ends after the event loop has answered for a minute, and not before.
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

    /// L2: A program does not end the probation of an even newer one.
    #[tokio::test(start_paused = true)]
    async fn nobody_proves_the_next_one() {
        let mut lives = Lives::begin(0);
        lives.answer(BEATS).await;
        lives.wait(APART * 2).await;
        assert_eq!(lives.mark(), Some(unproven(0)));
    }
}
