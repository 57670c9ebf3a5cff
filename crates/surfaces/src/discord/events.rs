//! Parses gateway events.
//!
//! Unknown events and fields are ignored. An event that lacks a required field is an error text for
//! the log. Permissions are not checked here.

use serde_json::Value;

use crate::discord::Snowflake;

pub mod interaction;
pub mod message;

pub use interaction::{Interaction, InteractionKind, InteractionToken, OptionValue};
pub use message::{Attachment, Author, Message, MessageType, QuotedMessage, ReplyTo};

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A new session began; earlier events may be missing.
    Ready {
        /// The bot's account.
        user: Snowflake,
    },
    /// The old session continues, and missed events were replayed.
    Resumed,
    /// A message of any author, including the bot.
    Message(Message),
    MessageEdited(Message),
    MessageDeleted {
        channel: Snowflake,
        message: Snowflake,
    },
    /// A reaction was added or removed by any user, including the bot.
    Reaction(Reaction),
    /// A command, a pressed component, a submitted form or an autocompletion.
    Interaction(Interaction),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub user: Snowflake,
    pub channel: Snowflake,
    pub message: Snowflake,
    /// The emoji itself, or the name of a custom one.
    pub emoji: String,
    pub change: ReactionChange,
}

/// Direction of a change of reactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReactionChange {
    Added,
    Removed,
}

/// Parses the event called `name`. Returns `None` if it is not needed.
pub fn parse(name: &str, data: &Value) -> Result<Option<Event>, String> {
    let event = match name {
        "READY" => ready(data),
        "RESUMED" => Ok(Event::Resumed),
        "MESSAGE_CREATE" => message::parse(data).map(Event::Message),
        "MESSAGE_UPDATE" => message::parse(data).map(Event::MessageEdited),
        "MESSAGE_DELETE" => message_deleted(data),
        "MESSAGE_REACTION_ADD" => reaction(data, ReactionChange::Added),
        "MESSAGE_REACTION_REMOVE" => reaction(data, ReactionChange::Removed),
        "INTERACTION_CREATE" => interaction::parse(data).map(Event::Interaction),
        _ => return Ok(None),
    };
    event.map(Some).map_err(|missing| format!("{name} from Discord has {missing}; it is passed over"))
}

fn ready(data: &Value) -> Result<Event, String> {
    Ok(Event::Ready { user: id(&data["user"], "id")? })
}

fn message_deleted(data: &Value) -> Result<Event, String> {
    Ok(Event::MessageDeleted { channel: id(data, "channel_id")?, message: id(data, "id")? })
}

fn reaction(data: &Value, change: ReactionChange) -> Result<Event, String> {
    Ok(Event::Reaction(Reaction {
        user: id(data, "user_id")?,
        channel: id(data, "channel_id")?,
        message: id(data, "message_id")?,
        emoji: text(&data["emoji"], "name")?.to_owned(),
        change,
    }))
}

/// Returns the id called `name`.
pub(crate) fn id(data: &Value, name: &str) -> Result<Snowflake, String> {
    maybe_id(data, name).ok_or_else(|| format!("no id in `{name}`"))
}

/// Returns the id called `name`, if there is one.
pub(crate) fn maybe_id(data: &Value, name: &str) -> Option<Snowflake> {
    data[name].as_str().and_then(|text| text.parse().ok())
}

/// Returns the text called `name`.
pub(crate) fn text<'a>(data: &'a Value, name: &str) -> Result<&'a str, String> {
    data[name].as_str().ok_or_else(|| format!("no text in `{name}`"))
}

/// Returns the text called `name`, or an empty one.
pub(crate) fn maybe_text(data: &Value, name: &str) -> String {
    data[name].as_str().unwrap_or_default().to_owned()
}

/// Returns the list called `name`, or an empty one.
pub(crate) fn list<'a>(data: &'a Value, name: &str) -> &'a [Value] {
    data[name].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
