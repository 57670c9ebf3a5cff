//! Eyes: a message that has to wait is marked as seen, until its turn comes.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::post::PostKey;
use domain::record::MessageId;
use engine::ports::Receipt;
use tokio::time::{Instant, timeout};

use super::Shared;
use crate::discord::Snowflake;

const EYES: &str = "👀";
/// The receipts of marks that stand.
const KIND: &str = "eyes:";
/// How long a message waits before it is marked.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long a mark may take: it never holds up a message for long.
const BRIEFLY: Duration = Duration::from_secs(5);

/// The messages that wait.
#[derive(Default)]
pub(super) struct Eyes {
    waiting: BTreeMap<MessageId, Waiting>,
}

struct Waiting {
    message: Snowflake,
    since: Instant,
    marked: Marked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    Not,
    Is,
}

impl Eyes {
    /// `id` was heard as `message`, and may have to wait.
    pub(super) fn heard(&mut self, id: MessageId, message: Snowflake) {
        self.waiting.insert(id, Waiting { message, since: Instant::now(), marked: Marked::Not });
    }

    /// MC-3: whoever waits longer than a moment is marked.
    pub(super) async fn tend(&mut self, shared: &Shared) {
        for waiting in self.waiting.values_mut() {
            if waiting.marked == Marked::Not && waiting.since.elapsed() >= PATIENCE {
                waiting.marked = Marked::Is;
                let at = shared.ports.clock.now().timestamp();
                // On disk first: a mark that nobody knows of would stay for ever.
                if shared.ports.outbox.became(receipt(waiting.message), at).await.is_ok() {
                    let _ =
                        timeout(BRIEFLY, shared.rest.react(shared.channel(), waiting.message, EYES)).await;
                }
            }
        }
    }

    /// The turn of `id` has come, or never will.
    pub(super) async fn over(&mut self, id: MessageId, shared: &Shared) {
        if let Some(Waiting { message, marked: Marked::Is, .. }) = self.waiting.remove(&id) {
            unmark(message, shared).await;
        }
    }

    /// When somebody has waited long enough to be marked.
    pub(super) fn next(&self) -> Option<Instant> {
        let unmarked = self.waiting.values().filter(|waiting| waiting.marked == Marked::Not);
        unmarked.map(|waiting| waiting.since + PATIENCE).min()
    }
}

/// Marks that a crash left behind are taken away.
pub(super) async fn sweep(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of(KIND).await.unwrap_or_default() {
        unmark(Snowflake(receipt.message), shared).await;
    }
}

async fn unmark(message: Snowflake, shared: &Shared) {
    // A message that is gone has no mark either.
    let _ = timeout(BRIEFLY, shared.rest.unreact(shared.channel(), message, EYES)).await;
    let _ = shared.ports.outbox.is_gone(receipt(message)).await;
}

fn receipt(message: Snowflake) -> Receipt {
    Receipt { key: PostKey(format!("{KIND}{message}")), part: 0, message: message.0 }
}
