//! Fetches messages that the user wrote while the daemon was not running: up to a week and 500
//! messages.

use std::time::Duration;

use jiff::SignedDuration;

use super::delivery::{NO_ACCESS, send_notice};
use super::inbound::LAST_SEEN_KEY;
use super::{DiscordPorts, Shared};
use crate::discord::Snowflake;
use crate::discord::events::{Author, Message};
use crate::discord::rest::DiscordError;

/// Maximum age of fetched messages.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Maximum number of fetched messages.
const MAX_MESSAGES: usize = 500;
/// Messages per request.
const PAGE_SIZE: u8 = 100;
/// Maximum difference between the clocks of two machines.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(1);
/// First and longest delay between attempts.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Returns the newest message that was handled.
pub(super) async fn last_seen(shared: &Shared) -> Option<Snowflake> {
    let kept = shared.ports.outbox.kv_get(LAST_SEEN_KEY).await.ok().flatten()?;
    kept.parse().ok()
}

/// On the very first start, stores the id from which messages are read. Called before signing in: a
/// message that arrives between that and the start of the gateway session is reported by neither.
pub(super) async fn init_last_seen(ports: &DiscordPorts) {
    if let Ok(None) = ports.outbox.kv_get(LAST_SEEN_KEY).await {
        let now = ports.clock.now().timestamp();
        let from = Snowflake::first_at(now.checked_sub(CLOCK_SLACK).unwrap_or(now)).to_string();
        if let Err(error) = ports.outbox.kv_set(LAST_SEEN_KEY, from).await {
            tracing::warn!(%error, "What was seen in Discord could not be kept.");
        }
    }
}

/// P6: returns the user's messages since the last one handled, oldest first.
pub(super) async fn fetch(shared: &Shared) -> Vec<Message> {
    let now = shared.ports.clock.now().timestamp();
    let Some(seen) = last_seen(shared).await else {
        // Storing the first id failed before the session began, so it is stored now. Messages in
        // between are lost.
        init_last_seen(&shared.ports).await;
        return Vec::new();
    };
    let oldest = Snowflake::first_at(now.checked_sub(MAX_AGE).unwrap_or(now));
    let mut messages: Vec<Message> = Vec::new();
    let mut after = seen.max(oldest);
    while let Some(page) = fetch_page(shared, after).await {
        let Some(last) = page.last() else { break };
        after = last.id;
        messages.extend(
            page.into_iter().filter(|message| message.author == Author::Person(shared.identity.owner)),
        );
    }
    let left_out = messages.len().saturating_sub(MAX_MESSAGES);
    messages.drain(..left_out);
    if left_out > 0 || seen < oldest {
        let days = MAX_AGE.as_hours() / 24;
        let text = format!(
            "-# i was away long: i read what you wrote in the last {days} days, the newest {MAX_MESSAGES} messages at most."
        );
        send_notice(shared, &text).await;
    }
    messages
}

/// Returns the next page. Waits while Discord is unreachable; later messages are handled after
/// these. A refusal for lack of access may be spurious, so the DM is reopened once.
async fn fetch_page(shared: &Shared, after: Snowflake) -> Option<Vec<Message>> {
    let mut wait = RETRY_DELAYS.0;
    let mut reopened = false;
    loop {
        match shared.rest.messages_after(shared.channel(), after, PAGE_SIZE).await {
            Ok(page) => return Some(page),
            Err(DiscordError::Unavailable(why) | DiscordError::OutcomeUnknown(why)) => {
                tracing::warn!(%why, "What was written in Discord meanwhile cannot be read yet.");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(RETRY_DELAYS.1);
            }
            Err(DiscordError::Forbidden { code: NO_ACCESS, .. }) if !reopened => {
                reopened = true;
                shared.reopen_dm().await;
            }
            Err(trouble) => {
                tracing::warn!(%trouble, "What was written in Discord meanwhile cannot be read.");
                return None;
            }
        }
    }
}
