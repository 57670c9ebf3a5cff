//! Requests about messages and reactions in a channel.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::Rest;
use super::error::{self, DiscordError};
use super::request::Request;
use crate::discord::Snowflake;
use crate::discord::events::{Message, message};
use crate::discord::message::OutgoingMessage;
use crate::discord::transport::Method;

/// Maximum wait for showing the typing indicator.
const TYPING_TIMEOUT: Duration = Duration::from_secs(5);

const MESSAGES: &str = "/channels/{}/messages";
const MESSAGE: &str = "/channels/{}/messages/{}";
const REACTION: &str = "/channels/{}/messages/{}/reactions/{}/@me";

impl Rest {
    /// Sends a message. With a `nonce` of at most 25 characters, a repeat within minutes returns
    /// the first message.
    pub async fn create_message(
        &self,
        channel: Snowflake,
        outgoing: &OutgoingMessage,
        nonce: Option<&str>,
    ) -> Result<Message, DiscordError> {
        let request = Request::new(Method::Post, MESSAGES, &[&channel.to_string()]);
        parse_message(Method::Post, &self.request_json(request.with_body(outgoing.create_body(nonce))).await?)
    }

    /// Replaces the content of a message of ours.
    pub async fn edit_message(
        &self,
        channel: Snowflake,
        id: Snowflake,
        outgoing: &OutgoingMessage,
    ) -> Result<Message, DiscordError> {
        let request = Request::new(Method::Patch, MESSAGE, &[&channel.to_string(), &id.to_string()]);
        parse_message(Method::Patch, &self.request_json(request.with_body(outgoing.edit_body())).await?)
    }

    /// Deletes a message of ours.
    pub async fn delete_message(&self, channel: Snowflake, id: Snowflake) -> Result<(), DiscordError> {
        let request = Request::new(Method::Delete, MESSAGE, &[&channel.to_string(), &id.to_string()]);
        self.request_json(request).await.map(drop)
    }

    /// Returns one message.
    pub async fn message(&self, channel: Snowflake, id: Snowflake) -> Result<Message, DiscordError> {
        let request = Request::new(Method::Get, MESSAGE, &[&channel.to_string(), &id.to_string()]);
        parse_message(Method::Get, &self.request_json(request).await?)
    }

    /// Returns up to `limit` (at most 100) messages after `after`, oldest first. Unreadable
    /// messages are logged and skipped.
    pub async fn messages_after(
        &self,
        channel: Snowflake,
        after: Snowflake,
        limit: u8,
    ) -> Result<Vec<Message>, DiscordError> {
        let query = format!("after={after}&limit={}", limit.clamp(1, 100));
        let request = Request::new(Method::Get, MESSAGES, &[&channel.to_string()]).with_query(&query);
        let data = self.request_json(request).await?;
        let list = data.as_array().ok_or_else(|| error::invalid_body(Method::Get, "no list"))?;
        let mut messages: Vec<_> = list.iter().filter_map(parse_or_log).collect();
        messages.sort_by_key(|message| message.id);
        Ok(messages)
    }

    /// Shows the typing indicator for ten seconds. Gives up if the request is delayed.
    pub async fn typing(&self, channel: Snowflake) -> Result<(), DiscordError> {
        let request = Request::new(Method::Post, "/channels/{}/typing", &[&channel.to_string()]);
        let typing = tokio::time::timeout(TYPING_TIMEOUT, self.request_json(request.low_priority())).await;
        typing.unwrap_or_else(|_| Err(DiscordError::Unavailable("typing was held back".to_owned()))).map(drop)
    }

    /// Adds a reaction to a message.
    pub async fn react(&self, channel: Snowflake, id: Snowflake, emoji: &str) -> Result<(), DiscordError> {
        self.request_json(reaction(Method::Put, channel, id, emoji)).await.map(drop)
    }

    /// Removes our reaction from a message.
    pub async fn unreact(&self, channel: Snowflake, id: Snowflake, emoji: &str) -> Result<(), DiscordError> {
        self.request_json(reaction(Method::Delete, channel, id, emoji)).await.map(drop)
    }
}

fn reaction(method: Method, channel: Snowflake, id: Snowflake, emoji: &str) -> Request {
    Request::new(method, REACTION, &[&channel.to_string(), &id.to_string(), &percent_encode(emoji)])
        .low_priority()
}

fn percent_encode(emoji: &str) -> String {
    emoji.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || b"_-:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
        path
    })
}

/// Parses the message in a response.
pub fn parse_message(method: Method, data: &Value) -> Result<Message, DiscordError> {
    message::parse(data).map_err(|why| error::invalid_body(method, &why))
}

fn parse_or_log(data: &Value) -> Option<Message> {
    message::parse(data)
        .inspect_err(|why| tracing::warn!("a message from Discord has {why}; it is passed over"))
        .ok()
}
