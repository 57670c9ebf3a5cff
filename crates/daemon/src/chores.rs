//! Chores: what is done beside everything else, in nobody's way.

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

/// How often the state files are looked at. A change that is seen twice is followed, so it takes effect within a second.
const STATE_FILES: Duration = Duration::from_millis(300);
/// How often to look whether the journal is idle. One that is does not depend on its write-ahead log.
const IDLE: Duration = Duration::from_secs(5);
/// How often to look whether a backup is due.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How many looks are left out after a backup failed: about an hour, so that the human is not nagged.
const LOOKS_AFTER_FAILURE: u32 = 120;

/// Places what comes with the program, checks the tool lists of all files, and goes on with `chores`.
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

/// Tells the assistant what changes in the job files.
pub async fn follow(mut news: mpsc::Receiver<Vec<FileNews>>, watch: jobs::Watch, desk: Desk) {
    while let Some(changed) = news.recv().await {
        desk.tell(Event::Files(changed, Look::Again)).await;
    }
    drop(watch);
}

/// Tells the assistant what other programs change in the state files.
pub async fn follow_state_files(journal: Arc<Journal>, desk: Desk, clock: Arc<dyn Clock>) {
    loop {
        tokio::time::sleep(STATE_FILES).await;
        take_state_files(&journal, &desk, false, clock.now().timestamp()).await;
    }
}

/// Looks at the state files once, and waits until the assistant has followed them.
pub async fn take_state_files(journal: &Journal, desk: &Desk, at_once: bool, now: Timestamp) {
    match journal.changed_outside(at_once, now).await {
        Ok(edits) if edits.is_empty() => {}
        Ok(edits) => {
            if let Answer::Refused(why) = desk.ask(Request::StateFiles(edits)).await {
                tracing::warn!(why, "A change of the state files could not be followed; it is tried again.");
            }
            // The files agree now, and nothing of ours waits any more to be written into them.
            if let Err(error) = journal.changed_outside(at_once, now).await {
                tracing::warn!(%error, "The state files could not be looked at.");
            }
        }
        Err(error) => tracing::warn!(%error, "The state files could not be looked at."),
    }
}

/// Folds the write-ahead log of the journal into it whenever nothing is written for some seconds.
pub async fn fold_when_idle(journal: Arc<Journal>) {
    loop {
        tokio::time::sleep(IDLE).await;
        if let Err(error) = journal.fold_when_idle().await {
            tracing::warn!(%error, "The write-ahead log could not be folded into the journal; it is tried again.");
        }
    }
}

/// Backs the journal up once a day. It looks at the clock often instead of sleeping long, because a machine
/// that sleeps stops the timers too.
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
