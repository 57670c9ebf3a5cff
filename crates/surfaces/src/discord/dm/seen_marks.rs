//! Marks messages that have to wait with a reaction until their turn starts.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::outbox::OutboxKey;
use domain::record::MessageId;
use engine::ports::Receipt;
use tokio::time::{Instant, timeout};

use super::Shared;
use crate::discord::Snowflake;

const EMOJI: &str = "👀";
/// Key prefix of the receipts of set marks.
const RECEIPT_PREFIX: &str = "eyes:";
/// How long a message waits before it is marked.
const MARK_DELAY: Duration = Duration::from_millis(1_500);

/// Timeout for setting a mark, so that it does not delay messages for long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The waiting messages.
#[derive(Default)]
pub(super) struct SeenMarks {
    waiting: BTreeMap<MessageId, WaitingMessage>,
}

struct WaitingMessage {
    message: Snowflake,
    since: Instant,
    marked: Marked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    No,
    Yes,
}

impl SeenMarks {
    /// Adds a message that may have to wait.
    pub(super) fn add(&mut self, id: MessageId, message: Snowflake) {
        self.waiting.insert(id, WaitingMessage { message, since: Instant::now(), marked: Marked::No });
    }

    /// MC-3: marks messages that have waited long enough.
    pub(super) async fn update(&mut self, shared: &Shared) {
        for waiting in self.waiting.values_mut() {
            if waiting.marked == Marked::No && waiting.since.elapsed() >= MARK_DELAY {
                waiting.marked = Marked::Yes;
                let at = shared.ports.clock.now().timestamp();
                // Stored first: an unknown mark would stay for ever.
                if shared.ports.outbox.save_receipt(receipt(waiting.message), at).await.is_ok() {
                    let _ =
                        timeout(REQUEST_TIMEOUT, shared.rest.react(shared.channel(), waiting.message, EMOJI))
                            .await;
                }
            }
        }
    }

    /// Removes a message whose turn has started or was dropped.
    pub(super) async fn remove(&mut self, id: MessageId, shared: &Shared) {
        if let Some(WaitingMessage { message, marked: Marked::Yes, .. }) = self.waiting.remove(&id) {
            unmark(message, shared).await;
        }
    }

    /// Returns when the next message is due to be marked.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let unmarked = self.waiting.values().filter(|waiting| waiting.marked == Marked::No);
        unmarked.map(|waiting| waiting.since + MARK_DELAY).min()
    }
}

/// Removes marks left behind by a crash.
pub(super) async fn sweep(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of_kind(RECEIPT_PREFIX).await.unwrap_or_default() {
        unmark(Snowflake(receipt.message), shared).await;
    }
}

async fn unmark(message: Snowflake, shared: &Shared) {
    // A deleted message has no mark either.
    let _ = timeout(REQUEST_TIMEOUT, shared.rest.unreact(shared.channel(), message, EMOJI)).await;
    let _ = shared.ports.outbox.delete_receipt(receipt(message)).await;
}

fn receipt(message: Snowflake) -> Receipt {
    Receipt { key: OutboxKey(format!("{RECEIPT_PREFIX}{message}")), part: 0, message: message.0 }
}
