//! Chores: what is done beside everything else, in nobody's way.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Event, Look, Shown};
use domain::schedule::FileNews;
use engine::desk::Desk;
use engine::ports::{Clock, Surface};
use journal::{Journal, jobs};
use surfaces::stage::Stage;
use tokio::sync::mpsc;

use crate::beginning::Bundle;
use crate::tool_lists::Check;

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
