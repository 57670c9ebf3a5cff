//! Delivers one post as one or more messages, each exactly once.
//!
//! Every part has a nonce derived from its key, so Discord drops a repeat as long as it remembers
//! the nonce. After that, the history is searched before anything is sent again. If it cannot be
//! read, the message is sent with a note.

use domain::post::{PostKey, Ring, Sheet};
use engine::ports::{Outgoing as Waiting, Receipt, Settled, Work};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::Shared;
use super::dressing::{dress, plainly, said};
use super::unfinished;
use crate::discord::Snowflake;
use crate::discord::events::{Author, Message};
use crate::discord::message::Outgoing;
use crate::discord::rest::{Rest, Trouble};

/// How long Discord certainly remembers a nonce.
pub(super) const REMEMBERED: SignedDuration = SignedDuration::from_mins(2);
/// Age after which a message says when it was meant to arrive.
const LATE: SignedDuration = SignedDuration::from_mins(10);
/// Age after which a post is dropped.
const STALE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Maximum difference between the clocks of two machines.
const SLACK: SignedDuration = SignedDuration::from_mins(1);
/// Error code for too many edits of an old message.
const TOO_MANY_EDITS: u64 = 30046;
/// Error code for missing access to a channel. Applications installed by a user receive it at
/// random for their DM, although the user changed nothing.
pub(super) const NO_ACCESS: u64 = 50001;
/// Error code for an unknown channel.
const NO_CHANNEL: u64 = 10003;

/// Whether a post may have been sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    Unsure,
}

/// Result of an attempt to deliver a post.
#[derive(Debug)]
pub(super) enum Tried {
    Settled(Settled),
    /// To be tried again, and whether it may have been sent.
    Later(String, Doubt),
    /// Discord refuses access to the DM, for this reason. It may work after the DM is reopened.
    NoAccess(String),
    /// The token is invalid; nothing more can be sent.
    Over,
}

/// Sends text outside the conversation, such as the answer to a command. Losing one is harmless.
pub(super) async fn say_aside(shared: &Shared, text: &str) {
    for outgoing in said(text) {
        let mut said = shared.rest.create_message(shared.channel(), &outgoing, None).await;
        if let Err(Trouble::NotAllowed { code: NO_ACCESS, .. }) = said {
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
pub(super) async fn carry(shared: &Shared, rest: &Rest, waiting: &Waiting, doubt: Doubt) -> Tried {
    let age = shared.ports.clock.now().timestamp().duration_since(waiting.post.at);
    if waiting.work == Work::New && age >= STALE {
        return Tried::Settled(Settled::Dropped("it was older than a week".to_owned()));
    }
    if waiting.work == Work::New && age >= LATE && waiting.post.sheet.to.is_some() {
        return Tried::Settled(Settled::Dropped(
            "it replies to something, and came too late for that".to_owned(),
        ));
    }
    let late = match waiting.work {
        Work::New => age >= LATE,
        Work::Says => was_late(shared, waiting).await,
    };
    let sheet = if late { labelled(shared, waiting) } else { waiting.post.sheet.clone() };
    let mut parts = dress(&sheet, waiting.post.ring);
    if let (Some(first), Some(to)) = (parts.first_mut(), &sheet.to) {
        let receipts = shared.ports.outbox.receipts(to.clone()).await.unwrap_or_default();
        first.reply_to = receipts.first().map(|receipt| Snowflake(receipt.message));
    }
    let sending = Sending { shared, rest, waiting, age, doubt };
    match sending.all(&parts).await {
        Err(Trouble::Refused { code, message }) if code != TOO_MANY_EDITS => {
            tracing::error!(code, message, key = %waiting.post.key, "Discord refused a message as it was.");
            let plain = plainly(&sheet, waiting.post.ring);
            settle(sending.all(&plain).await)
        }
        done => settle(done),
    }
}

fn settle(done: Result<(), Trouble>) -> Tried {
    match done {
        Ok(()) => Tried::Settled(Settled::Sent),
        Err(Trouble::Away(why)) => Tried::Later(why, Doubt::None),
        Err(Trouble::Unknown(why)) => Tried::Later(why, Doubt::Unsure),
        Err(Trouble::Token) => Tried::Over,
        Err(trouble @ Trouble::NotAllowed { code: NO_ACCESS, .. }) => Tried::NoAccess(hint(&trouble)),
        Err(trouble @ (Trouble::NotAllowed { .. } | Trouble::Gone { .. } | Trouble::Refused { .. })) => {
            Tried::Settled(Settled::Failed(hint(&trouble)))
        }
    }
}

/// Returns a text that says what the user can do.
fn hint(trouble: &Trouble) -> String {
    match trouble {
        Trouble::NotAllowed { code: 50007 | 50278, .. } => {
            "it is not allowed to write to you. share a server with it, or add it to your account, and allow \
             direct messages. you can read everything here."
                .to_owned()
        }
        Trouble::NotAllowed { code: NO_ACCESS, .. } => {
            "I have no access to our DM (50001). Remove the application from your account and add it again, or share a \
             server with it; `ollim-bot doctor` shows the link. You can read everything here."
                .to_owned()
        }
        Trouble::Token
        | Trouble::NotAllowed { .. }
        | Trouble::Gone { .. }
        | Trouble::Refused { .. }
        | Trouble::Away(_)
        | Trouble::Unknown(_) => format!("{trouble}. you can read everything here."),
    }
}

/// Returns true if the message to be edited was sent late; the edited one still says so.
async fn was_late(shared: &Shared, waiting: &Waiting) -> bool {
    let receipts = shared.ports.outbox.receipts(waiting.post.key.clone()).await.unwrap_or_default();
    let late = waiting.post.at.saturating_add(LATE).unwrap_or(waiting.post.at);
    receipts.first().is_some_and(|first| first.message >= Snowflake::first_of(late).0)
}

/// A8, D8: adds a note to a late message.
fn labelled(shared: &Shared, waiting: &Waiting) -> Sheet {
    let at = waiting.post.at.to_zoned(shared.ports.clock.now().time_zone().clone());
    let late = format!("from {}, discord could not be reached before", at.strftime("%a %H:%M"));
    let foot = match waiting.post.sheet.foot.as_str() {
        "" => late,
        foot => format!("{foot}\n{late}"),
    };
    Sheet { foot, ..waiting.post.sheet.clone() }
}

/// The delivery of one post.
struct Sending<'a> {
    shared: &'a Shared,
    /// Client for the requests; that of reminders overtakes all other requests.
    rest: &'a Rest,
    waiting: &'a Waiting,
    age: SignedDuration,
    doubt: Doubt,
}

impl Sending<'_> {
    /// Sends or edits every part in order and deletes surplus messages.
    async fn all(&self, parts: &[Outgoing]) -> Result<(), Trouble> {
        let receipts = self.receipts().await?;
        if self.waiting.work == Work::Says && receipts.is_empty() {
            // The post was never sent, so there is nothing to edit.
            return Ok(());
        }
        for (part, outgoing) in parts.iter().enumerate() {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            match receipts.iter().find(|receipt| receipt.part == part) {
                Some(receipt) => self.becomes(receipt, outgoing).await?,
                None => self.create(part, outgoing).await?,
            }
        }
        for receipt in receipts.iter().skip_while(|receipt| (receipt.part as usize) < parts.len()) {
            take_away(self.shared, receipt).await?;
        }
        Ok(())
    }

    async fn receipts(&self) -> Result<Vec<Receipt>, Trouble> {
        let found = self.shared.ports.outbox.receipts(self.waiting.post.key.clone()).await;
        found.map_err(|error| Trouble::Away(error.to_string()))
    }

    async fn becomes(&self, receipt: &Receipt, outgoing: &Outgoing) -> Result<(), Trouble> {
        let channel = self.shared.channel();
        let id = Snowflake(receipt.message);
        match self.rest.edit_message(channel, id, outgoing).await {
            Ok(_) => Ok(()),
            // Deleted by the user; an edit is not worth a new message.
            Err(Trouble::Gone { code }) if code != NO_CHANNEL && self.waiting.work == Work::Says => Ok(()),
            Err(Trouble::Gone { code }) if code != NO_CHANNEL => self.create(receipt.part, outgoing).await,
            Err(Trouble::Refused { code: TOO_MANY_EDITS, .. }) => {
                let nonce = nonce(&self.waiting.post.key, "again", receipt.part);
                let message = self.rest.create_message(channel, outgoing, Some(&nonce)).await?;
                keep(self.shared, &self.waiting.post.key, receipt.part, message.id).await
            }
            Err(trouble) => Err(trouble),
        }
    }

    async fn create(&self, part: u32, outgoing: &Outgoing) -> Result<(), Trouble> {
        let found = if self.doubt == Doubt::Unsure && self.age > REMEMBERED {
            self.sent_before(outgoing).await?
        } else {
            Sought::Nothing
        };
        let id = match found {
            Sought::Found(id) => id,
            Sought::Nothing => self.post(part, outgoing).await?,
            Sought::Unreadable => {
                let mut doubtful = outgoing.clone();
                doubtful.content.push_str("\n-# may be a repeat");
                self.post(part, &doubtful).await?
            }
        };
        keep(self.shared, &self.waiting.post.key, part, id).await
    }

    async fn post(&self, part: u32, outgoing: &Outgoing) -> Result<Snowflake, Trouble> {
        post(self.shared, self.rest, &self.waiting.post.key, part, outgoing).await
    }

    /// P3: searches for a message that arrived although the response was lost.
    async fn sent_before(&self, outgoing: &Outgoing) -> Result<Sought, Trouble> {
        sent_between(self.shared, self.rest, self.waiting.post.at, None, outgoing).await
    }
}

/// Searches the history between `since` and `until` for a message of ours with the same content
/// that belongs to no other post.
pub(super) async fn sent_between(
    shared: &Shared,
    rest: &Rest,
    since: Timestamp,
    until: Option<Timestamp>,
    outgoing: &Outgoing,
) -> Result<Sought, Trouble> {
    let mut after = Snowflake::first_of(since.checked_sub(SLACK).unwrap_or(since));
    let end = until.and_then(|until| until.checked_add(SLACK).ok()).map(Snowflake::first_of);
    loop {
        let page = match rest.messages_after(shared.channel(), after, 100).await {
            Ok(page) => page,
            Err(Trouble::NotAllowed { .. } | Trouble::Refused { .. }) => return Ok(Sought::Unreadable),
            Err(trouble) => return Err(trouble),
        };
        for message in &page {
            if is_it(shared, message, outgoing).await {
                return Ok(Sought::Found(message.id));
            }
        }
        match page.last() {
            Some(last) if page.len() == 100 && end.is_none_or(|end| last.id < end) => after = last.id,
            _ => return Ok(Sought::Nothing),
        }
    }
}

/// Returns true if `message` is ours, has the same content, and belongs to no other post.
async fn is_it(shared: &Shared, message: &Message, outgoing: &Outgoing) -> bool {
    let ours = message.author == Author::Bot(shared.signed.me);
    let bare = without_label(&outgoing.content);
    let title = outgoing.embeds.first().map(|embed| embed.title.as_str()).unwrap_or_default();
    let same = without_label(&message.content) == bare && message.embed.starts_with(title);
    if !ours || !same {
        return false;
    }
    let known = shared.ports.outbox.posted_as(message.id.0).await;
    matches!(known, Ok(None))
}

pub(super) enum Sought {
    Found(Snowflake),
    Nothing,
    Unreadable,
}

/// Returns the content without the note about the delay.
fn without_label(content: &str) -> &str {
    content.rsplit_once("\n-# from ").map_or(content, |(words, _)| words).trim_end()
}

/// Posts one part, or finds the message that Discord has of it and edits it if it differs.
pub(super) async fn post(
    shared: &Shared,
    rest: &Rest,
    key: &PostKey,
    part: u32,
    outgoing: &Outgoing,
) -> Result<Snowflake, Trouble> {
    let nonce = nonce(key, "", part);
    let channel = shared.channel();
    if let Some(id) = unfinished::find(shared, key, part).await? {
        return rest.edit_message(channel, id, outgoing).await.map(|message| message.id);
    }
    let message = match rest.create_message(channel, outgoing, Some(&nonce)).await {
        // Discord still remembers the nonce of a deleted message.
        Err(Trouble::Gone { code }) if code != NO_CHANNEL => {
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
pub(super) async fn keep(shared: &Shared, key: &PostKey, part: u32, id: Snowflake) -> Result<(), Trouble> {
    let receipt = Receipt { key: key.clone(), part, message: id.0 };
    let kept = shared.ports.outbox.became(receipt, shared.ports.clock.now().timestamp()).await;
    kept.map_err(|error| Trouble::Away(error.to_string()))?;
    unfinished::end(shared, key, part);
    Ok(())
}

/// Deletes a message of ours and its receipt.
pub(super) async fn take_away(shared: &Shared, receipt: &Receipt) -> Result<(), Trouble> {
    match shared.rest.delete_message(shared.channel(), Snowflake(receipt.message)).await {
        Ok(()) | Err(Trouble::Gone { .. }) => {
            let gone = shared.ports.outbox.is_gone(receipt.clone()).await;
            gone.map_err(|error| Trouble::Away(error.to_string()))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Returns a nonce of 24 characters derived from the key.
fn nonce(key: &PostKey, sort: &str, part: u32) -> String {
    let digest = Sha256::digest(format!("{key}/{sort}/{part}"));
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a small, silent status message.
pub(super) fn status(text: &str) -> Outgoing {
    dress(&Sheet::small(text), Ring::Quiet).into_iter().next().unwrap_or_default()
}
