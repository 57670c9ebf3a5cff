//! Unfinished: the message of a growing answer whose receipt is not kept yet.
//!
//! The first words of an answer are sent before the whole answer is in the outbox, so no post says that a message may
//! have been sent. They are written down before they are sent. After a crash, or when Discord's answer was lost, the
//! message is looked for in the history, because Discord remembers nonces only for minutes.
//!
//! The carrier sends one message at a time, and reminders are never unfinished, so only the newest of these is kept.

use std::sync::PoisonError;

use domain::post::PostKey;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Shared;
use super::sending::{REMEMBERED, Sought, keep, sent_between};
use crate::discord::Snowflake;
use crate::discord::message::Outgoing;
use crate::discord::rest::Trouble;

/// The keepsake that holds it.
const UNFINISHED: &str = "discord:unfinished";

/// A message that arrives at all arrives within this time after it was written down.
const ARRIVES: SignedDuration = SignedDuration::from_mins(10);

/// A message that may have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    key: PostKey,
    part: u32,
    at: Timestamp,
    content: String,
}

impl Unfinished {
    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            key: PostKey(value["key"].as_str()?.to_owned()),
            part: u32::try_from(value["part"].as_u64()?).ok()?,
            at: value["at"].as_str()?.parse().ok()?,
            content: value["content"].as_str()?.to_owned(),
        })
    }

    fn written(&self) -> String {
        let Self { key, part, at, content } = self;
        json!({ "key": key.0, "part": part, "at": at.to_string(), "content": content }).to_string()
    }

    fn is_of(&self, key: &PostKey, part: u32) -> bool {
        self.key == *key && self.part == part
    }
}

/// Writes down that this part of `key` is about to be sent.
pub(super) async fn begin(
    shared: &Shared,
    key: &PostKey,
    part: u32,
    outgoing: &Outgoing,
) -> Result<(), Trouble> {
    // The message of an earlier try may have arrived, and would be what this one becomes.
    if is_known(shared, key, part) {
        return Ok(());
    }
    let at = shared.ports.clock.now().timestamp();
    let unfinished = Unfinished { key: key.clone(), part, at, content: outgoing.content.clone() };
    let written = shared.ports.outbox.keep(UNFINISHED, unfinished.written()).await;
    written.map_err(|error| Trouble::Away(error.to_string()))?;
    *shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished);
    Ok(())
}

fn is_known(shared: &Shared, key: &PostKey, part: u32) -> bool {
    let unfinished = shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.as_ref().is_some_and(|unfinished| unfinished.is_of(key, part))
}

/// The receipt of this part of `key` is kept.
pub(super) fn end(shared: &Shared, key: &PostKey, part: u32) {
    let mut unfinished = shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.take_if(|unfinished| unfinished.is_of(key, part));
}

/// Keeps the receipt of a message that was sent right before a crash. If that fails, it is looked for again before this
/// part is sent.
pub(super) async fn recover(shared: &Shared) {
    let kept = shared.ports.outbox.keepsake(UNFINISHED).await.ok().flatten();
    let Some(unfinished) = kept.as_deref().and_then(Unfinished::read) else { return };
    let receipts = shared.ports.outbox.receipts(unfinished.key.clone()).await.unwrap_or_default();
    if receipts.iter().any(|receipt| receipt.part == unfinished.part) {
        return;
    }
    let settled = match search(shared, &unfinished).await {
        Ok(Some(id)) => keep(shared, &unfinished.key, unfinished.part, id).await,
        Ok(None) => Ok(()),
        Err(trouble) => Err(trouble),
    };
    if let Err(trouble) = settled {
        tracing::warn!(%trouble, "An unfinished message is looked for again before its answer is sent.");
        *shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished);
        return;
    }
    // The next start need not look again. If this is not written, it does.
    let _ = shared.ports.outbox.keep(UNFINISHED, String::new()).await;
}

/// The message that this part of `key` became, if it may have been sent so long ago that Discord has forgotten its nonce.
pub(super) async fn find(shared: &Shared, key: &PostKey, part: u32) -> Result<Option<Snowflake>, Trouble> {
    let unfinished = shared.unfinished.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(unfinished) = unfinished.filter(|unfinished| unfinished.is_of(key, part)) else {
        return Ok(None);
    };
    let age = shared.ports.clock.now().timestamp().duration_since(unfinished.at);
    if age <= REMEMBERED { Ok(None) } else { search(shared, &unfinished).await }
}

async fn search(shared: &Shared, unfinished: &Unfinished) -> Result<Option<Snowflake>, Trouble> {
    let outgoing = Outgoing::words(unfinished.content.clone());
    let until = unfinished.at.checked_add(ARRIVES).ok();
    match sent_between(shared, &shared.rest, unfinished.at, until, &outgoing).await? {
        Sought::Found(id) => Ok(Some(id)),
        Sought::Nothing | Sought::Unreadable => Ok(None),
    }
}
