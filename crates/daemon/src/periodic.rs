//! Periodic background tasks of the daemon: watching files, folding the write-ahead log, backups.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, FileScan, Request, Update};
use domain::schedule::JobFileChange;
use engine::handle::AssistantHandle;
use engine::ports::{Clock, Surface};
use jiff::Timestamp;
use journal::{Journal, jobs};
use surfaces::event_hub::EventHub;
use tokio::sync::mpsc;

use crate::startup::Bundle;
use crate::tool_lists::ToolListCheck;

/// Interval for checking the state files. A change is applied when it is seen twice, so within a
/// second.
const STATE_FILE_INTERVAL: Duration = Duration::from_millis(300);
/// Interval for checking whether the journal is idle. An idle journal does not depend on its
/// write-ahead log.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval for checking whether a backup is due.
const BACKUP_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Checks skipped after a failed backup: about an hour, so that the user is not notified all the
/// time.
const CHECKS_SKIPPED_AFTER_FAILURE: u32 = 120;

/// Writes the bundled files, checks the tool lists of all files, then runs `tasks`.
pub async fn run_after_placing(
    bundle: Bundle,
    check: ToolListCheck,
    journal: Arc<Journal>,
    tasks: impl Future<Output = ()>,
) {
    if let Err(problem) = journal.install_bundled(bundle.documents, bundle.agents).await {
        tracing::warn!(
            problem,
            "What comes with the program could not be placed; the next start tries again."
        );
    }
    check.log_problems(&journal).await;
    tasks.await;
}

/// Reports changes of the job files to the assistant.
pub async fn watch_job_files(
    mut news: mpsc::Receiver<Vec<JobFileChange>>,
    watch: jobs::JobFileWatch,
    assistant: AssistantHandle,
) {
    while let Some(changed) = news.recv().await {
        assistant.send_event(Event::FilesChanged(changed, FileScan::Later)).await;
    }
    drop(watch);
}

/// Reports changes that other programs make to the state files to the assistant.
pub async fn watch_state_files(journal: Arc<Journal>, assistant: AssistantHandle, clock: Arc<dyn Clock>) {
    loop {
        tokio::time::sleep(STATE_FILE_INTERVAL).await;
        apply_state_file_edits(&journal, &assistant, false, clock.now().timestamp()).await;
    }
}

/// Checks the state files once, and waits until the assistant has applied the changes.
pub async fn apply_state_file_edits(
    journal: &Journal,
    assistant: &AssistantHandle,
    at_once: bool,
    now: Timestamp,
) {
    match journal.external_edits(at_once, now).await {
        Ok(edits) if edits.is_empty() => {}
        Ok(edits) => {
            if let Answer::Refused(why) = assistant.ask(Request::StateFiles(edits)).await {
                tracing::warn!(why, "A change of the state files could not be followed; it is tried again.");
            }
            // The files agree now, so our own pending changes can be written.
            if let Err(error) = journal.external_edits(at_once, now).await {
                tracing::warn!(%error, "The state files could not be looked at.");
            }
        }
        Err(error) => tracing::warn!(%error, "The state files could not be looked at."),
    }
}

/// Checkpoints the write-ahead log of the journal after some seconds without writes.
pub async fn checkpoint_when_idle(journal: Arc<Journal>) {
    loop {
        tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        if let Err(error) = journal.checkpoint_when_idle().await {
            tracing::warn!(%error, "The write-ahead log could not be folded into the journal; it is tried again.");
        }
    }
}

/// Backs the journal up once a day. Polls the clock instead of sleeping for a day, because timers
/// stop while the machine sleeps.
pub async fn back_up_daily(journal: Arc<Journal>, clock: Arc<dyn Clock>, hub: Arc<EventHub>) {
    let mut checks_to_skip = 0;
    loop {
        tokio::time::sleep(BACKUP_CHECK_INTERVAL).await;
        if checks_to_skip > 0 {
            checks_to_skip -= 1;
        } else if let Err(problem) = journal.back_up(clock.now().timestamp()).await {
            tracing::error!(problem, "The journal could not be backed up.");
            hub.show(&Update::Notice(format!("i could not back up our conversation: {problem}.")));
            checks_to_skip = CHECKS_SKIPPED_AFTER_FAILURE;
        }
    }
}
