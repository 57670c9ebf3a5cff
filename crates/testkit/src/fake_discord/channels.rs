//! The bot's actions in a channel: messages, reactions, typing.

use std::time::Duration;

use super::api_error::ApiError;
use super::chat::{Reaction, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, User};
use super::id::{Id, MessageId};
use super::messages::Draft;
use super::rest::{RequestContext, RestResult};
use super::state::DiscordState;

/// The duration of a typing indicator.
const TYPING_DURATION: Duration = Duration::from_secs(10);
/// The maximum number of distinct emoji on one message.
const MAX_REACTIONS: usize = 20;

impl DiscordState {
    /// Handles a request about a channel.
    pub fn handle_channel(
        &mut self,
        context: &RequestContext,
        method: &str,
        channel: &str,
        rest: &[&str],
    ) -> Result<RestResult, ApiError> {
        let channel = channel.parse().ok().filter(|channel| self.chat.user_of_channel(*channel).is_some());
        let channel: Id = channel.ok_or(ApiError::code(10003))?;
        match (method, rest) {
            ("GET", []) => Ok(RestResult::Json(self.chat.channel_json(channel))),
            ("GET", ["messages"]) => self.list_messages(channel, context.route).map(RestResult::Json),
            ("POST", ["messages"]) => self.create_message(channel, context),
            ("GET", ["messages", id]) => self.message_response(self.find_message(channel, id)?),
            ("PATCH", ["messages", id]) => self.edit_message(channel, id, context),
            ("DELETE", ["messages", id]) => {
                let id = self.find_message(channel, id)?;
                if self.chat.messages.get(&id).is_some_and(|message| message.author != self.chat.bot.id) {
                    return Err(ApiError::code(50003));
                }
                self.delete(id);
                Ok(RestResult::NoContent)
            }
            (_, ["messages", id, "reactions", emoji, whose]) => {
                self.handle_reaction(method, channel, id, emoji, whose)
            }
            ("GET", ["messages", id, "reactions", emoji]) => {
                self.list_reactions(self.find_message(channel, id)?, emoji)
            }
            ("POST", ["typing"]) => {
                self.chat.typing.insert(channel, self.now.boot + TYPING_DURATION);
                self.emit_typing(channel, self.chat.bot.id);
                Ok(RestResult::NoContent)
            }
            _ => Err(ApiError::status(404)),
        }
    }

    fn find_message(&self, channel: Id, id: &str) -> Result<MessageId, ApiError> {
        let found = id.parse().ok().and_then(|id| self.chat.message(channel, id));
        found.filter(|message| !message.is_ephemeral()).map(|message| message.id).ok_or(ApiError::code(10008))
    }

    /// Returns a message as the response.
    pub fn message_response(&self, id: MessageId) -> Result<RestResult, ApiError> {
        let message = self.chat.messages.get(&id).ok_or(ApiError::code(10008))?;
        Ok(RestResult::Json(self.chat.message_json(message)))
    }

    fn create_message(&mut self, channel: Id, context: &RequestContext) -> Result<RestResult, ApiError> {
        let payload = context.request.body.payload();
        let nonce = payload["nonce"].as_str().map(str::to_owned);
        let nonce = nonce.or_else(|| payload["nonce"].as_i64().map(|nonce| nonce.to_string()));
        if let Some(known_nonce) = nonce.as_ref().filter(|_| payload["enforce_nonce"] == true)
            && let Some((id, at)) = self.chat.nonces.get(known_nonce)
            && self.now.boot < *at + self.setup.nonce_lifetime
        {
            return self.message_response(*id);
        }
        let flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS;
        let message = self.compose(channel, Draft { payload, files: context.request.body.files(), flags })?;
        let id = self.post(message);
        self.chat.typing.remove(&channel);
        if let Some(nonce) = nonce {
            self.chat.nonces.insert(nonce, (id, self.now.boot));
        }
        self.message_response(id)
    }

    fn edit_message(
        &mut self,
        channel: Id,
        id: &str,
        context: &RequestContext,
    ) -> Result<RestResult, ApiError> {
        let id = self.find_message(channel, id)?;
        if self.chat.messages.get(&id).is_some_and(|message| message.author != self.chat.bot.id) {
            return Err(ApiError::code(50005));
        }
        let payload = context.request.body.payload();
        let files = context.request.body.files();
        self.apply_edit(id, Draft { payload, files, flags: SUPPRESS_EMBEDS })?;
        self.message_response(id)
    }

    fn handle_reaction(
        &mut self,
        method: &str,
        channel: Id,
        id: &str,
        emoji: &str,
        user: &str,
    ) -> Result<RestResult, ApiError> {
        let id = self.find_message(channel, id)?;
        let bot = self.chat.bot.id;
        if user != "@me" && user != bot.to_string() {
            return Err(ApiError::code(50003));
        }
        if !is_emoji(emoji) {
            return Err(ApiError::code(10014));
        }
        match method {
            "PUT" => self.add_reaction(id, bot, emoji)?,
            "DELETE" => self.remove_reaction(id, bot, emoji),
            _ => return Err(ApiError::status(405)),
        }
        Ok(RestResult::NoContent)
    }

    fn list_reactions(&self, id: MessageId, emoji: &str) -> Result<RestResult, ApiError> {
        let reactions =
            self.chat.messages.get(&id).map(|message| message.reactions.as_slice()).unwrap_or_default();
        let by =
            reactions.iter().filter(|reaction| reaction.emoji == emoji).flat_map(|reaction| &reaction.by);
        Ok(RestResult::Json(by.filter_map(|id| self.chat.user(*id)).map(User::to_json).collect()))
    }

    /// Adds a user's reaction to a message.
    pub fn add_reaction(&mut self, id: MessageId, user: Id, emoji: &str) -> Result<(), ApiError> {
        let message = self.chat.messages.get_mut(&id).ok_or(ApiError::code(10008))?;
        let full = message.reactions.len() >= MAX_REACTIONS;
        match message.reactions.iter_mut().find(|reaction| reaction.emoji == emoji) {
            Some(reaction) if reaction.by.contains(&user) => return Ok(()),
            Some(reaction) => reaction.by.push(user),
            None if full => return Err(ApiError::code(30010)),
            None => message.reactions.push(Reaction { emoji: emoji.into(), by: vec![user] }),
        }
        self.emit_reaction("MESSAGE_REACTION_ADD", id, user, emoji);
        Ok(())
    }

    /// Removes a user's reaction from a message.
    pub fn remove_reaction(&mut self, id: MessageId, user: Id, emoji: &str) {
        let Some(message) = self.chat.messages.get_mut(&id) else { return };
        let Some(reaction) = message.reactions.iter_mut().find(|reaction| reaction.emoji == emoji) else {
            return;
        };
        if !reaction.by.contains(&user) {
            return;
        }
        reaction.by.retain(|by| *by != user);
        message.reactions.retain(|reaction| !reaction.by.is_empty());
        self.emit_reaction("MESSAGE_REACTION_REMOVE", id, user, emoji);
    }

    /// Returns true while the bot is shown as typing in a channel.
    pub fn is_typing(&self, channel: Id) -> bool {
        self.chat.typing.get(&channel).is_some_and(|until| self.now.boot < *until)
    }
}

/// Returns true if `text` is one emoji. Custom emoji of guilds are not supported.
fn is_emoji(text: &str) -> bool {
    let is_pictograph = |letter: char| {
        matches!(letter, '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
            || matches!(letter, '\u{1f000}'..='\u{1faff}')
    };
    let is_modifier = |letter: char| matches!(letter, '\u{200d}' | '\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
    let is_keycap =
        |letter: char| text.ends_with('\u{20e3}') && (letter.is_ascii_digit() || "#*".contains(letter));
    let is_allowed = |letter: char| {
        is_pictograph(letter) || is_modifier(letter) || is_keycap(letter) || "©®".contains(letter)
    };
    !text.is_empty() && text.chars().count() <= 10 && text.chars().all(is_allowed)
}
