//! Marks messages that have to wait with a reaction until their turn starts.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::post::PostKey;
use domain::record::MessageId;
use engine::ports::Receipt;
use tokio::time::{Instant, timeout};

use super::Shared;
use crate::discord::Snowflake;

const EYES: &str = "👀";
/// Key prefix of the receipts of set marks.
const KIND: &str = "eyes:";
/// How long a message waits before it is marked.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Timeout for setting a mark, so that it does not delay messages for long.
const BRIEFLY: Duration = Duration::from_secs(5);

/// The waiting messages.
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
    /// Adds a message that may have to wait.
    pub(super) fn heard(&mut self, id: MessageId, message: Snowflake) {
        self.waiting.insert(id, Waiting { message, since: Instant::now(), marked: Marked::Not });
    }

    /// MC-3: marks messages that have waited long enough.
    pub(super) async fn tend(&mut self, shared: &Shared) {
        for waiting in self.waiting.values_mut() {
            if waiting.marked == Marked::Not && waiting.since.elapsed() >= PATIENCE {
                waiting.marked = Marked::Is;
                let at = shared.ports.clock.now().timestamp();
                // Stored first: an unknown mark would stay for ever.
                if shared.ports.outbox.became(receipt(waiting.message), at).await.is_ok() {
                    let _ =
                        timeout(BRIEFLY, shared.rest.react(shared.channel(), waiting.message, EYES)).await;
                }
            }
        }
    }

    /// Removes a message whose turn has started or was dropped.
    pub(super) async fn over(&mut self, id: MessageId, shared: &Shared) {
        if let Some(Waiting { message, marked: Marked::Is, .. }) = self.waiting.remove(&id) {
            unmark(message, shared).await;
        }
    }

    /// Returns when the next message is due to be marked.
    pub(super) fn next(&self) -> Option<Instant> {
        let unmarked = self.waiting.values().filter(|waiting| waiting.marked == Marked::Not);
        unmarked.map(|waiting| waiting.since + PATIENCE).min()
    }
}

/// Removes marks left behind by a crash.
pub(super) async fn sweep(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of(KIND).await.unwrap_or_default() {
        unmark(Snowflake(receipt.message), shared).await;
    }
}

async fn unmark(message: Snowflake, shared: &Shared) {
    // A deleted message has no mark either.
    let _ = timeout(BRIEFLY, shared.rest.unreact(shared.channel(), message, EYES)).await;
    let _ = shared.ports.outbox.is_gone(receipt(message)).await;
}

fn receipt(message: Snowflake) -> Receipt {
    Receipt { key: PostKey(format!("{KIND}{message}")), part: 0, message: message.0 }
}
