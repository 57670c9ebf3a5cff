//! Tracks the message of a growing answer whose receipt is not stored yet.
//!
//! The first part of an answer is sent before the whole answer is in the outbox, so no post records
//! that a message may have been sent. It is stored here before it is sent. After a crash or a lost
//! response, the message is searched in the history, because Discord remembers nonces only for
//! minutes.
//!
//! Only the newest one is stored: `OutboxSender` sends one message at a time, and reminders are
//! always complete.

use std::sync::PoisonError;

use domain::outbox::OutboxKey;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Shared;
use super::delivery::{NONCE_LIFETIME, SearchResult, find_between, save_receipt};
use crate::discord::Snowflake;
use crate::discord::message::OutgoingMessage;
use crate::discord::rest::DiscordError;

/// Key of the stored value.
const STORE_KEY: &str = "discord:unfinished";

/// A message that arrives at all arrives within this time after it was recorded.
const MAX_TRANSIT: SignedDuration = SignedDuration::from_mins(10);

/// A message that may have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingMessage {
    key: OutboxKey,
    part: u32,
    at: Timestamp,
    content: String,
}

impl PendingMessage {
    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            key: OutboxKey(value["key"].as_str()?.to_owned()),
            part: u32::try_from(value["part"].as_u64()?).ok()?,
            at: value["at"].as_str()?.parse().ok()?,
            content: value["content"].as_str()?.to_owned(),
        })
    }

    fn to_json(&self) -> String {
        let Self { key, part, at, content } = self;
        json!({ "key": key.0, "part": part, "at": at.to_string(), "content": content }).to_string()
    }

    fn is_for(&self, key: &OutboxKey, part: u32) -> bool {
        self.key == *key && self.part == part
    }
}

/// Records that this part of `key` is about to be sent.
pub(super) async fn record(
    shared: &Shared,
    key: &OutboxKey,
    part: u32,
    outgoing: &OutgoingMessage,
) -> Result<(), DiscordError> {
    // The message of an earlier attempt may have arrived and is reused.
    if is_recorded(shared, key, part) {
        return Ok(());
    }
    let at = shared.ports.clock.now().timestamp();
    let unfinished = PendingMessage { key: key.clone(), part, at, content: outgoing.content.clone() };
    let written = shared.ports.outbox.kv_set(STORE_KEY, unfinished.to_json()).await;
    written.map_err(|error| DiscordError::Unavailable(error.to_string()))?;
    *shared.pending_message.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished);
    Ok(())
}

fn is_recorded(shared: &Shared, key: &OutboxKey, part: u32) -> bool {
    let unfinished = shared.pending_message.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.as_ref().is_some_and(|unfinished| unfinished.is_for(key, part))
}

/// Forgets the record after the receipt was stored.
pub(super) fn clear(shared: &Shared, key: &OutboxKey, part: u32) {
    let mut unfinished = shared.pending_message.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.take_if(|unfinished| unfinished.is_for(key, part));
}

/// Stores the receipt of a message that was sent right before a crash. If that fails, the message
/// is searched again before this part is sent.
pub(super) async fn recover(shared: &Shared) {
    let kept = shared.ports.outbox.kv_get(STORE_KEY).await.ok().flatten();
    let Some(unfinished) = kept.as_deref().and_then(PendingMessage::parse) else { return };
    let receipts = shared.ports.outbox.receipts(unfinished.key.clone()).await.unwrap_or_default();
    if receipts.iter().any(|receipt| receipt.part == unfinished.part) {
        return;
    }
    let settled = match search(shared, &unfinished).await {
        Ok(Some(id)) => save_receipt(shared, &unfinished.key, unfinished.part, id).await,
        Ok(None) => Ok(()),
        Err(trouble) => Err(trouble),
    };
    if let Err(trouble) = settled {
        tracing::warn!(%trouble, "An unfinished message is looked for again before its answer is sent.");
        *shared.pending_message.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished);
        return;
    }
    // If this fails, the next start searches again.
    let _ = shared.ports.outbox.kv_set(STORE_KEY, String::new()).await;
}

/// Returns the message of this part of `key`, if it may have been sent so long ago that Discord
/// forgot its nonce.
pub(super) async fn find(
    shared: &Shared,
    key: &OutboxKey,
    part: u32,
) -> Result<Option<Snowflake>, DiscordError> {
    let unfinished = shared.pending_message.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(unfinished) = unfinished.filter(|unfinished| unfinished.is_for(key, part)) else {
        return Ok(None);
    };
    let age = shared.ports.clock.now().timestamp().duration_since(unfinished.at);
    if age <= NONCE_LIFETIME { Ok(None) } else { search(shared, &unfinished).await }
}

async fn search(shared: &Shared, unfinished: &PendingMessage) -> Result<Option<Snowflake>, DiscordError> {
    let outgoing = OutgoingMessage::text(unfinished.content.clone());
    let until = unfinished.at.checked_add(MAX_TRANSIT).ok();
    match find_between(shared, &shared.rest, unfinished.at, until, &outgoing).await? {
        SearchResult::Found(id) => Ok(Some(id)),
        SearchResult::NotFound | SearchResult::Unreadable => Ok(None),
    }
}
