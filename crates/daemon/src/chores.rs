//! Periodic background tasks of the daemon: watching files, folding the write-ahead log, backups.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, Look, Request, Shown};
use domain::schedule::FileNews;
use engine::desk::Desk;
use engine::ports::{Clock, Surface};
use jiff::Timestamp;
use journal::{Journal, jobs};
use surfaces::stage::Stage;
use tokio::sync::mpsc;

use crate::beginning::Bundle;
use crate::tool_lists::Check;

/// Interval for checking the state files. A change is applied when it is seen twice, so within a
/// second.
const STATE_FILES: Duration = Duration::from_millis(300);
/// Interval for checking whether the journal is idle. An idle journal does not depend on its
/// write-ahead log.
const IDLE: Duration = Duration::from_secs(5);
/// Interval for checking whether a backup is due.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Checks skipped after a failed backup: about an hour, so that the user is not notified all the
/// time.
const LOOKS_AFTER_FAILURE: u32 = 120;

/// Writes the bundled files, checks the tool lists of all files, then runs `chores`.
pub async fn once_placed(
    bundle: Bundle,
    check: Check,
    journal: Arc<Journal>,
    chores: impl Future<Output = ()>,
) {
    if let Err(problem) = journal.place(bundle.documents, bundle.agents).await {
        tracing::warn!(
            problem,
            "What comes with the program could not be placed; the next start tries again."
        );
    }
    check.log(&journal).await;
    chores.await;
}

/// Reports changes of the job files to the assistant.
pub async fn follow(mut news: mpsc::Receiver<Vec<FileNews>>, watch: jobs::Watch, desk: Desk) {
    while let Some(changed) = news.recv().await {
        desk.tell(Event::Files(changed, Look::Again)).await;
    }
    drop(watch);
}

/// Reports changes that other programs make to the state files to the assistant.
pub async fn follow_state_files(journal: Arc<Journal>, desk: Desk, clock: Arc<dyn Clock>) {
    loop {
        tokio::time::sleep(STATE_FILES).await;
        take_state_files(&journal, &desk, false, clock.now().timestamp()).await;
    }
}

/// Checks the state files once, and waits until the assistant has applied the changes.
pub async fn take_state_files(journal: &Journal, desk: &Desk, at_once: bool, now: Timestamp) {
    match journal.changed_outside(at_once, now).await {
        Ok(edits) if edits.is_empty() => {}
        Ok(edits) => {
            if let Answer::Refused(why) = desk.ask(Request::StateFiles(edits)).await {
                tracing::warn!(why, "A change of the state files could not be followed; it is tried again.");
            }
            // The files agree now, so our own pending changes can be written.
            if let Err(error) = journal.changed_outside(at_once, now).await {
                tracing::warn!(%error, "The state files could not be looked at.");
            }
        }
        Err(error) => tracing::warn!(%error, "The state files could not be looked at."),
    }
}

/// Checkpoints the write-ahead log of the journal after some seconds without writes.
pub async fn fold_when_idle(journal: Arc<Journal>) {
    loop {
        tokio::time::sleep(IDLE).await;
        if let Err(error) = journal.fold_when_idle().await {
            tracing::warn!(%error, "The write-ahead log could not be folded into the journal; it is tried again.");
        }
    }
}

/// Backs the journal up once a day. Polls the clock instead of sleeping for a day, because timers
/// stop while the machine sleeps.
pub async fn back_up_daily(journal: Arc<Journal>, clock: Arc<dyn Clock>, stage: Arc<Stage>) {
    let mut looks_left_out = 0;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if looks_left_out > 0 {
            looks_left_out -= 1;
        } else if let Err(problem) = journal.back_up(clock.now().timestamp()).await {
            tracing::error!(problem, "The journal could not be backed up.");
            stage.show(&Shown::Notice(format!("i could not back up our conversation: {problem}.")));
            looks_left_out = LOOKS_AFTER_FAILURE;
        }
    }
}
