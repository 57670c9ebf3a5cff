//! Chores: what is done beside everything else, in nobody's way.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Event, Look, Shown};
use domain::context::{REFERENCES, Reference};
use domain::schedule::FileNews;
use engine::desk::Desk;
use engine::ports::{Clock, Surface};
use journal::{Journal, jobs};
use surfaces::stage::Stage;
use tokio::sync::mpsc;

use crate::house::Doors;
use crate::tool_lists::Check;

/// How often to look whether a backup is due.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How many looks are left out after a backup failed: about an hour, so that the human is not nagged.
const LOOKS_AFTER_FAILURE: u32 = 120;

/// Checks the tool lists of the files, and goes on with `chores`.
pub async fn after_a_check(check: Check, journal: Arc<Journal>, chores: impl Future<Output = ()>) {
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

/// What is done beside everything else, in nobody's way.
pub async fn chores(journal: Arc<Journal>, clock: Arc<dyn Clock>, stage: Arc<Stage>, doors: Doors) {
    let documents: &[Reference] = match doors {
        Doors::LocalAndPage => &REFERENCES,
        // Whoever asks one question does not wait for a library.
        Doors::Asked | Doors::Local => &[],
    };
    if let Err(problem) = journal.place(documents).await {
        tracing::warn!(problem, "The reference documents could not be placed; the next start tries again.");
    }
    back_up_daily(journal, clock, stage).await;
}

/// Backs the journal up once a day. It looks at the clock often instead of sleeping long, because a machine
/// that sleeps stops the timers too.
async fn back_up_daily(journal: Arc<Journal>, clock: Arc<dyn Clock>, stage: Arc<Stage>) {
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
