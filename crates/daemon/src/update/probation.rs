//! Probation of a new program: if it fails to start or crashes within a minute, the previous one is
//! restored.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Query, Request};
use engine::handle::AssistantHandle;
use jiff::Timestamp;

use journal::disk::Disk;
use journal::{Lock, Paths};

use super::checkout::AvailableUpdate;
use super::mark::{self, UnprovenUpdate, UpdateMark};
use super::rollback::roll_back;

/// The number of starts before a rollback. A single kill does not prove that the program is broken.
const MAX_STARTS: u32 = 2;

/// The number of answers of the event loop, and their interval, that end the probation.
const REQUIRED_ANSWERS: u32 = 60;
const ANSWER_INTERVAL: Duration = Duration::from_secs(1);

/// The relation of this start to an update.
#[derive(Debug, PartialEq, Eq)]
pub enum UpdateStatus {
    None,
    /// This is a new program on probation.
    OnProbation,
    /// The previous program was restored and must be started.
    RolledBack,
    /// The previous program cannot be restored now, for this reason. This start ends, and the next
    /// one tries again.
    RollbackPostponed(String),
}

/// Determines at `now` what this start has to do with an update.
pub fn check_update(disk: &dyn Disk, paths: &Paths, now: Timestamp) -> UpdateStatus {
    let state = paths.state();
    match mark::read(disk, &state) {
        None
        | Some(
            UpdateMark::Pulling { .. }
            | UpdateMark::WentBack { .. }
            | UpdateMark::Refused { .. }
            | UpdateMark::Stayed { .. },
        ) => UpdateStatus::None,
        // Another process is running. This start will end at once and proves nothing.
        Some(UpdateMark::Unproven(_)) if journal::is_in_use(paths) => UpdateStatus::None,
        Some(
            UpdateMark::Unproven(UnprovenUpdate { starts: MAX_STARTS.., .. }) | UpdateMark::GoingBack(_),
        ) => with_lock(disk, paths, || roll_back(disk, paths, "it ended too often", now)),
        Some(UpdateMark::Unproven(mut unproven)) => {
            unproven.starts += 1;
            match mark::write(disk, &state, &UpdateMark::Unproven(unproven)) {
                Ok(()) => UpdateStatus::OnProbation,
                Err(_) => UpdateStatus::None,
            }
        }
    }
}

/// Runs the rollback under the data directory's lock. If another process holds it, this start ends
/// at once; if one just finished the rollback, the restored program must be started.
fn with_lock(disk: &dyn Disk, paths: &Paths, go_back: impl FnOnce() -> UpdateStatus) -> UpdateStatus {
    let Ok(_lock) = Lock::take(&paths.state(), std::process::id()) else { return UpdateStatus::None };
    match mark::read(disk, &paths.state()) {
        Some(UpdateMark::Unproven(_) | UpdateMark::GoingBack(_)) => go_back(),
        Some(
            UpdateMark::Pulling { .. }
            | UpdateMark::WentBack { .. }
            | UpdateMark::Refused { .. }
            | UpdateMark::Stayed { .. },
        )
        | None => UpdateStatus::RolledBack,
    }
}

/// Returns the notice about an update at this start.
pub fn startup_notice(disk: &dyn Disk, paths: &Paths) -> Option<String> {
    let state = paths.state();
    match mark::read(disk, &state)? {
        UpdateMark::Pulling { .. } | UpdateMark::GoingBack(_) | UpdateMark::Refused { .. } => None,
        UpdateMark::Unproven(UnprovenUpdate { commits, .. }) => {
            Some(format!("i am the new version now:{}", AvailableUpdate { commits }.summary()))
        }
        UpdateMark::WentBack { why, aside, from } => {
            match from {
                Some(from) => write_or_log(disk, &state, &UpdateMark::Refused { from }),
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
        UpdateMark::Stayed { why, aside } => {
            mark::clear(disk, &state);
            let aside = aside.map_or_else(String::new, |aside| {
                format!(" the journal is the copy from before; the later one is kept as {}.", aside.display())
            });
            Some(format!("the new version did not start well ({why}). so i stay, and try on.{aside}"))
        }
    }
}

/// Writes `mark`; a failure is only logged.
pub fn write_or_log(disk: &dyn Disk, state: &Path, mark: &UpdateMark) {
    if let Err(error) = mark::write(disk, state, mark) {
        tracing::warn!(%error, "It cannot be told what became of an update.");
    }
}

/// L2: Ends the probation once the event loop has answered for a minute.
pub async fn end_probation(
    proof: &UpdateStatus,
    assistant: AssistantHandle,
    disk: Arc<dyn Disk>,
    paths: Paths,
) -> Infallible {
    if *proof == UpdateStatus::OnProbation {
        for _ in 0..REQUIRED_ANSWERS {
            assistant.ask(Request::Query(Query::Attention)).await;
            tokio::time::sleep(ANSWER_INTERVAL).await;
        }
        // A mark without starts belongs to an even newer program.
        if let Some(UpdateMark::Unproven(UnprovenUpdate { starts: 1.., .. })) =
            mark::read(&*disk, &paths.state())
        {
            mark::clear(&*disk, &paths.state());
        }
    }
    std::future::pending().await
}

/// Uncounts this start: a requested exit is no crash.
pub fn uncount_start(disk: &dyn Disk, paths: &Paths) {
    let state = paths.state();
    let Some(UpdateMark::Unproven(mut unproven)) = mark::read(disk, &state) else { return };
    if unproven.starts == 0 {
        return;
    }
    unproven.starts -= 1;
    if let Err(error) = mark::write(disk, &state, &UpdateMark::Unproven(unproven)) {
        tracing::warn!(%error, "This start of a new program counts as a fall.");
    }
}

#[cfg(test)]
mod tests {
    use engine::handle::Input;
    use journal::disk::RealDisk;
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;

    use super::*;
    use domain::assistant::Answer;

    fn unproven(starts: u32) -> UpdateMark {
        let from = "abc".to_owned();
        let program = "/nowhere/ollim-bot".into();
        UpdateMark::Unproven(UnprovenUpdate {
            from,
            commits: Vec::new(),
            program,
            starts,
            journal: None,
            at: None,
        })
    }

    /// A new program on probation after some starts, with a simulated event loop.
    struct ProbationTest {
        dir: tempfile::TempDir,
        pile: mpsc::Receiver<Input>,
        proving: JoinSet<Infallible>,
    }

    impl ProbationTest {
        fn begin(starts: u32) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let paths = Paths::new(dir.path());
            RealDisk.create_dir(&paths.state()).unwrap();
            mark::write(&RealDisk, &paths.state(), &unproven(starts)).unwrap();
            let (desk, pile) = AssistantHandle::new();
            let mut proving = JoinSet::new();
            proving.spawn(async move {
                end_probation(&UpdateStatus::OnProbation, desk, Arc::new(RealDisk), paths).await
            });
            Self { dir, pile, proving }
        }

        /// Answers as the event loop, this many times.
        async fn answer(&mut self, times: u32) {
            for _ in 0..times {
                let asked = tokio::time::timeout(ANSWER_INTERVAL * 2, self.pile.recv()).await;
                let Ok(Some(Input::Request(_, reply))) = asked else { panic!("nobody asks") };
                let _ = reply.send(Answer::Done);
            }
        }

        async fn wait(&mut self, time: Duration) {
            assert!(tokio::time::timeout(time, self.proving.join_next()).await.is_err());
        }

        fn mark(&self) -> Option<UpdateMark> {
            mark::read(&RealDisk, &Paths::new(self.dir.path()).state())
        }
    }

    /// L2: The probation ends after the event loop has answered for a minute, and not before.
    #[tokio::test(start_paused = true)]
    async fn probation_ends_after_a_minute_of_answers() {
        let mut lives = ProbationTest::begin(1);
        let began = tokio::time::Instant::now();
        lives.answer(REQUIRED_ANSWERS - 1).await;
        lives.wait(Duration::from_secs(3_600)).await;
        assert_eq!(lives.mark(), Some(unproven(1)), "a loop that stands still proves nothing");
        lives.answer(1).await;
        lives.wait(ANSWER_INTERVAL * 2).await;
        assert_eq!(lives.mark(), None);
        assert!(began.elapsed() >= Duration::from_secs(60));
    }

    /// L2: A program does not end the probation of an even newer one.
    #[tokio::test(start_paused = true)]
    async fn program_does_not_end_the_probation_of_a_newer_one() {
        let mut lives = ProbationTest::begin(0);
        lives.answer(REQUIRED_ANSWERS).await;
        lives.wait(ANSWER_INTERVAL * 2).await;
        assert_eq!(lives.mark(), Some(unproven(0)));
    }
}
