//! Delivers one post as one or more messages, each exactly once.
//!
//! Every part has a nonce derived from its key, so Discord drops a repeat as long as it remembers
//! the nonce. After that, the history is searched before anything is sent again. If it cannot be
//! read, the message is sent with a note.

use domain::outbox::{MessageBody, OutboxKey, Sound};
use engine::ports::{PendingPost as Waiting, PostAction, PostOutcome, Receipt};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::Shared;
use super::pending_message;
use super::rendering::{render, render_plain, render_text};
use crate::discord::Snowflake;
use crate::discord::events::{Author, Message};
use crate::discord::message::OutgoingMessage;
use crate::discord::rest::{DiscordError, Rest};

/// How long Discord certainly remembers a nonce.
pub(super) const NONCE_LIFETIME: SignedDuration = SignedDuration::from_mins(2);
/// Age after which a message says when it was meant to arrive.
const LATE_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// Age after which a post is dropped.
const STALE_AFTER: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Maximum difference between the clocks of two machines.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(1);
/// Error code for too many edits of an old message.
const TOO_MANY_EDITS: u64 = 30046;
/// Error code for missing access to a channel. Applications installed by a user receive it at
/// random for their DM, although the user changed nothing.
pub(super) const NO_ACCESS: u64 = 50001;
/// Error code for an unknown channel.
const NO_CHANNEL: u64 = 10003;

/// Whether a post may have been sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentBefore {
    No,
    Maybe,
}

/// Result of an attempt to deliver a post.
#[derive(Debug)]
pub(super) enum DeliveryOutcome {
    Settled(PostOutcome),
    /// To be tried again, and whether it may have been sent.
    Retry(String, SentBefore),
    /// Discord refuses access to the DM, for this reason. It may work after the DM is reopened.
    NoAccess(String),
    /// The token is invalid; nothing more can be sent.
    InvalidToken,
}

/// Sends text outside the conversation, such as the answer to a command. Losing one is harmless.
pub(super) async fn send_notice(shared: &Shared, text: &str) {
    for outgoing in render_text(text) {
        let mut said = shared.rest.create_message(shared.channel(), &outgoing, None).await;
        if let Err(DiscordError::Forbidden { code: NO_ACCESS, .. }) = said {
            shared.reopen_dm().await;
            said = shared.rest.create_message(shared.channel(), &outgoing, None).await;
        }
        if let Err(trouble) = said {
            tracing::warn!(%trouble, "Something could not be said in Discord.");
            return;
        }
    }
}

/// P3: delivers one post.
pub(super) async fn deliver(
    shared: &Shared,
    rest: &Rest,
    waiting: &Waiting,
    sent_before: SentBefore,
) -> DeliveryOutcome {
    let age = shared.ports.clock.now().timestamp().duration_since(waiting.post.at);
    if waiting.action == PostAction::Send && age >= STALE_AFTER {
        return DeliveryOutcome::Settled(PostOutcome::Dropped("it was older than a week".to_owned()));
    }
    if waiting.action == PostAction::Send && age >= LATE_AFTER && waiting.post.body.reply_to.is_some() {
        return DeliveryOutcome::Settled(PostOutcome::Dropped(
            "it replies to something, and came too late for that".to_owned(),
        ));
    }
    let late = match waiting.action {
        PostAction::Send => age >= LATE_AFTER,
        PostAction::Edit => was_late(shared, waiting).await,
    };
    let body = if late { with_late_note(shared, waiting) } else { waiting.post.body.clone() };
    let mut parts = render(&body, waiting.post.sound);
    if let (Some(first), Some(to)) = (parts.first_mut(), &body.reply_to) {
        let receipts = shared.ports.outbox.receipts(to.clone()).await.unwrap_or_default();
        first.reply_to = receipts.first().map(|receipt| Snowflake(receipt.message));
    }
    let sending = Delivery { shared, rest, waiting, age, sent_before };
    match sending.send_parts(&parts).await {
        Err(DiscordError::Rejected { code, message }) if code != TOO_MANY_EDITS => {
            tracing::error!(code, message, key = %waiting.post.key, "Discord refused a message as it was.");
            let plain = render_plain(&body, waiting.post.sound);
            to_outcome(sending.send_parts(&plain).await)
        }
        done => to_outcome(done),
    }
}

fn to_outcome(done: Result<(), DiscordError>) -> DeliveryOutcome {
    match done {
        Ok(()) => DeliveryOutcome::Settled(PostOutcome::Sent),
        Err(DiscordError::Unavailable(why)) => DeliveryOutcome::Retry(why, SentBefore::No),
        Err(DiscordError::OutcomeUnknown(why)) => DeliveryOutcome::Retry(why, SentBefore::Maybe),
        Err(DiscordError::InvalidToken) => DeliveryOutcome::InvalidToken,
        Err(trouble @ DiscordError::Forbidden { code: NO_ACCESS, .. }) => {
            DeliveryOutcome::NoAccess(hint(&trouble))
        }
        Err(
            trouble @ (DiscordError::Forbidden { .. }
            | DiscordError::NotFound { .. }
            | DiscordError::Rejected { .. }),
        ) => DeliveryOutcome::Settled(PostOutcome::Failed(hint(&trouble))),
    }
}

/// Returns a text that says what the user can do.
fn hint(trouble: &DiscordError) -> String {
    match trouble {
        DiscordError::Forbidden { code: 50007 | 50278, .. } => {
            "it is not allowed to write to you. share a server with it, or add it to your account, and allow \
             direct messages. you can read everything here."
                .to_owned()
        }
        DiscordError::Forbidden { code: NO_ACCESS, .. } => {
            "I have no access to our DM (50001). Remove the application from your account and add it again, or share a \
             server with it; `ollim-bot doctor` shows the link. You can read everything here."
                .to_owned()
        }
        DiscordError::InvalidToken
        | DiscordError::Forbidden { .. }
        | DiscordError::NotFound { .. }
        | DiscordError::Rejected { .. }
        | DiscordError::Unavailable(_)
        | DiscordError::OutcomeUnknown(_) => format!("{trouble}. you can read everything here."),
    }
}

/// Returns true if the message to be edited was sent late; the edited one still says so.
async fn was_late(shared: &Shared, waiting: &Waiting) -> bool {
    let receipts = shared.ports.outbox.receipts(waiting.post.key.clone()).await.unwrap_or_default();
    let late = waiting.post.at.saturating_add(LATE_AFTER).unwrap_or(waiting.post.at);
    receipts.first().is_some_and(|first| first.message >= Snowflake::first_at(late).0)
}

/// A8, D8: adds a note to a late message.
fn with_late_note(shared: &Shared, waiting: &Waiting) -> MessageBody {
    let at = waiting.post.at.to_zoned(shared.ports.clock.now().time_zone().clone());
    let late = format!("from {}, discord could not be reached before", at.strftime("%a %H:%M"));
    let foot = match waiting.post.body.footer.as_str() {
        "" => late,
        foot => format!("{foot}\n{late}"),
    };
    MessageBody { footer: foot, ..waiting.post.body.clone() }
}

/// The delivery of one post.
struct Delivery<'a> {
    shared: &'a Shared,
    /// Client for the requests; that of reminders overtakes all other requests.
    rest: &'a Rest,
    waiting: &'a Waiting,
    age: SignedDuration,
    sent_before: SentBefore,
}

impl Delivery<'_> {
    /// Sends or edits every part in order and deletes surplus messages.
    async fn send_parts(&self, parts: &[OutgoingMessage]) -> Result<(), DiscordError> {
        let receipts = self.receipts().await?;
        if self.waiting.action == PostAction::Edit && receipts.is_empty() {
            // The post was never sent, so there is nothing to edit.
            return Ok(());
        }
        for (part, outgoing) in parts.iter().enumerate() {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            match receipts.iter().find(|receipt| receipt.part == part) {
                Some(receipt) => self.edit(receipt, outgoing).await?,
                None => self.create(part, outgoing).await?,
            }
        }
        for receipt in receipts.iter().skip_while(|receipt| (receipt.part as usize) < parts.len()) {
            delete_message(self.shared, receipt).await?;
        }
        Ok(())
    }

    async fn receipts(&self) -> Result<Vec<Receipt>, DiscordError> {
        let found = self.shared.ports.outbox.receipts(self.waiting.post.key.clone()).await;
        found.map_err(|error| DiscordError::Unavailable(error.to_string()))
    }

    async fn edit(&self, receipt: &Receipt, outgoing: &OutgoingMessage) -> Result<(), DiscordError> {
        let channel = self.shared.channel();
        let id = Snowflake(receipt.message);
        match self.rest.edit_message(channel, id, outgoing).await {
            Ok(_) => Ok(()),
            // Deleted by the user; an edit is not worth a new message.
            Err(DiscordError::NotFound { code })
                if code != NO_CHANNEL && self.waiting.action == PostAction::Edit =>
            {
                Ok(())
            }
            Err(DiscordError::NotFound { code }) if code != NO_CHANNEL => {
                self.create(receipt.part, outgoing).await
            }
            Err(DiscordError::Rejected { code: TOO_MANY_EDITS, .. }) => {
                let nonce = nonce(&self.waiting.post.key, "again", receipt.part);
                let message = self.rest.create_message(channel, outgoing, Some(&nonce)).await?;
                save_receipt(self.shared, &self.waiting.post.key, receipt.part, message.id).await
            }
            Err(trouble) => Err(trouble),
        }
    }

    async fn create(&self, part: u32, outgoing: &OutgoingMessage) -> Result<(), DiscordError> {
        let found = if self.sent_before == SentBefore::Maybe && self.age > NONCE_LIFETIME {
            self.find_sent(outgoing).await?
        } else {
            SearchResult::NotFound
        };
        let id = match found {
            SearchResult::Found(id) => id,
            SearchResult::NotFound => self.post(part, outgoing).await?,
            SearchResult::Unreadable => {
                let mut doubtful = outgoing.clone();
                doubtful.content.push_str("\n-# may be a repeat");
                self.post(part, &doubtful).await?
            }
        };
        save_receipt(self.shared, &self.waiting.post.key, part, id).await
    }

    async fn post(&self, part: u32, outgoing: &OutgoingMessage) -> Result<Snowflake, DiscordError> {
        post_part(self.shared, self.rest, &self.waiting.post.key, part, outgoing).await
    }

    /// P3: searches for a message that arrived although the response was lost.
    async fn find_sent(&self, outgoing: &OutgoingMessage) -> Result<SearchResult, DiscordError> {
        find_between(self.shared, self.rest, self.waiting.post.at, None, outgoing).await
    }
}

/// Searches the history between `since` and `until` for a message of ours with the same content
/// that belongs to no other post.
pub(super) async fn find_between(
    shared: &Shared,
    rest: &Rest,
    since: Timestamp,
    until: Option<Timestamp>,
    outgoing: &OutgoingMessage,
) -> Result<SearchResult, DiscordError> {
    let mut after = Snowflake::first_at(since.checked_sub(CLOCK_SLACK).unwrap_or(since));
    let end = until.and_then(|until| until.checked_add(CLOCK_SLACK).ok()).map(Snowflake::first_at);
    loop {
        let page = match rest.messages_after(shared.channel(), after, 100).await {
            Ok(page) => page,
            Err(DiscordError::Forbidden { .. } | DiscordError::Rejected { .. }) => {
                return Ok(SearchResult::Unreadable);
            }
            Err(trouble) => return Err(trouble),
        };
        for message in &page {
            if is_same_message(shared, message, outgoing).await {
                return Ok(SearchResult::Found(message.id));
            }
        }
        match page.last() {
            Some(last) if page.len() == 100 && end.is_none_or(|end| last.id < end) => after = last.id,
            _ => return Ok(SearchResult::NotFound),
        }
    }
}

/// Returns true if `message` is ours, has the same content, and belongs to no other post.
async fn is_same_message(shared: &Shared, message: &Message, outgoing: &OutgoingMessage) -> bool {
    let ours = message.author == Author::Bot(shared.identity.bot);
    let bare = without_late_note(&outgoing.content);
    let title = outgoing.embeds.first().map(|embed| embed.title.as_str()).unwrap_or_default();
    let same = without_late_note(&message.content) == bare && message.embed.starts_with(title);
    if !ours || !same {
        return false;
    }
    let known = shared.ports.outbox.posted_as(message.id.0).await;
    matches!(known, Ok(None))
}

pub(super) enum SearchResult {
    Found(Snowflake),
    NotFound,
    Unreadable,
}

/// Returns the content without the note about the delay.
fn without_late_note(content: &str) -> &str {
    content.rsplit_once("\n-# from ").map_or(content, |(words, _)| words).trim_end()
}

/// Posts one part, or finds the message that Discord has of it and edits it if it differs.
pub(super) async fn post_part(
    shared: &Shared,
    rest: &Rest,
    key: &OutboxKey,
    part: u32,
    outgoing: &OutgoingMessage,
) -> Result<Snowflake, DiscordError> {
    let nonce = nonce(key, "", part);
    let channel = shared.channel();
    if let Some(id) = pending_message::find(shared, key, part).await? {
        return rest.edit_message(channel, id, outgoing).await.map(|message| message.id);
    }
    let message = match rest.create_message(channel, outgoing, Some(&nonce)).await {
        // Discord still remembers the nonce of a deleted message.
        Err(DiscordError::NotFound { code }) if code != NO_CHANNEL => {
            let nonce = self::nonce(key, "anew", part);
            rest.create_message(channel, outgoing, Some(&nonce)).await?
        }
        created => created?,
    };
    if message.content.trim_end() != outgoing.content.trim() {
        rest.edit_message(channel, message.id, outgoing).await?;
    }
    Ok(message.id)
}

/// Stores the receipt of a part.
pub(super) async fn save_receipt(
    shared: &Shared,
    key: &OutboxKey,
    part: u32,
    id: Snowflake,
) -> Result<(), DiscordError> {
    let receipt = Receipt { key: key.clone(), part, message: id.0 };
    let kept = shared.ports.outbox.save_receipt(receipt, shared.ports.clock.now().timestamp()).await;
    kept.map_err(|error| DiscordError::Unavailable(error.to_string()))?;
    pending_message::clear(shared, key, part);
    Ok(())
}

/// Deletes a message of ours and its receipt.
pub(super) async fn delete_message(shared: &Shared, receipt: &Receipt) -> Result<(), DiscordError> {
    match shared.rest.delete_message(shared.channel(), Snowflake(receipt.message)).await {
        Ok(()) | Err(DiscordError::NotFound { .. }) => {
            let gone = shared.ports.outbox.delete_receipt(receipt.clone()).await;
            gone.map_err(|error| DiscordError::Unavailable(error.to_string()))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Returns a nonce of 24 characters derived from the key.
fn nonce(key: &OutboxKey, sort: &str, part: u32) -> String {
    let digest = Sha256::digest(format!("{key}/{sort}/{part}"));
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a small, silent status message.
pub(super) fn status_message(text: &str) -> OutgoingMessage {
    render(&MessageBody::from_footer(text), Sound::Silent).into_iter().next().unwrap_or_default()
}
