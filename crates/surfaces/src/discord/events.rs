//! What Discord tells us, parsed at the door.
//!
//! Unknown events and fields are passed over; an event that lacks what it must have is a sentence for the log, and
//! nothing else is touched by it. Who may say what is not decided here.

use serde_json::Value;

use crate::discord::Snowflake;

pub mod interaction;
pub mod message;

pub use interaction::{Asked, Given, Interaction, InteractionToken};
pub use message::{Attachment, Author, Message, Quoted, ReplyTo, Sort};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A new session began: whatever came before it was not told.
    Ready {
        /// Who we are.
        user: Snowflake,
    },
    /// The old session goes on; what was missed has been told.
    Resumed,
    /// A message, of anybody, ours included.
    Message(Message),
    /// A message was changed.
    MessageEdited(Message),
    /// A message is no more.
    MessageGone {
        /// Where it was.
        channel: Snowflake,
        /// Which.
        message: Snowflake,
    },
    /// A reaction was added or taken away, by anybody, us included.
    Reaction(Reaction),
    /// Somebody ran a command, pressed something or filled in a form.
    Interaction(Interaction),
}

/// A reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// Who.
    pub user: Snowflake,
    /// Where.
    pub channel: Snowflake,
    /// On which message.
    pub message: Snowflake,
    /// With what: the emoji itself, or the name of one that somebody made.
    pub emoji: String,
    /// Added or taken away.
    pub turn: Turn,
}

/// Which way a reaction went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is there now.
    Added,
    /// It is gone.
    Removed,
}

/// Reads the event called `name`: nothing, if it is none of ours.
pub fn read(name: &str, data: &Value) -> Result<Option<Event>, String> {
    let event = match name {
        "READY" => ready(data),
        "RESUMED" => Ok(Event::Resumed),
        "MESSAGE_CREATE" => message::read(data).map(Event::Message),
        "MESSAGE_UPDATE" => message::read(data).map(Event::MessageEdited),
        "MESSAGE_DELETE" => gone(data),
        "MESSAGE_REACTION_ADD" => reaction(data, Turn::Added),
        "MESSAGE_REACTION_REMOVE" => reaction(data, Turn::Removed),
        "INTERACTION_CREATE" => interaction::read(data).map(Event::Interaction),
        _ => return Ok(None),
    };
    event.map(Some).map_err(|missing| format!("{name} from Discord has {missing}; it is passed over"))
}

fn ready(data: &Value) -> Result<Event, String> {
    Ok(Event::Ready { user: id(&data["user"], "id")? })
}

fn gone(data: &Value) -> Result<Event, String> {
    Ok(Event::MessageGone { channel: id(data, "channel_id")?, message: id(data, "id")? })
}

fn reaction(data: &Value, turn: Turn) -> Result<Event, String> {
    Ok(Event::Reaction(Reaction {
        user: id(data, "user_id")?,
        channel: id(data, "channel_id")?,
        message: id(data, "message_id")?,
        emoji: text(&data["emoji"], "name")?.to_owned(),
        turn,
    }))
}

/// The id called `name` in `data`.
pub(crate) fn id(data: &Value, name: &str) -> Result<Snowflake, String> {
    maybe_id(data, name).ok_or_else(|| format!("no id in `{name}`"))
}

/// The id called `name` in `data`, if there is one.
pub(crate) fn maybe_id(data: &Value, name: &str) -> Option<Snowflake> {
    data[name].as_str().and_then(|text| text.parse().ok())
}

/// The text called `name` in `data`.
pub(crate) fn text<'a>(data: &'a Value, name: &str) -> Result<&'a str, String> {
    data[name].as_str().ok_or_else(|| format!("no text in `{name}`"))
}

/// The text called `name` in `data`, or nothing.
pub(crate) fn maybe_text(data: &Value, name: &str) -> String {
    data[name].as_str().unwrap_or_default().to_owned()
}

/// The list called `name` in `data`, or an empty one.
pub(crate) fn list<'a>(data: &'a Value, name: &str) -> &'a [Value] {
    data[name].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
