//! The bot's actions in a channel: messages, reactions, typing.

use std::time::Duration;

use super::id::{Id, MessageId};
use super::messages::Draft;
use super::refusal::Refusal;
use super::rest::{Asked, Done};
use super::talk::{Reaction, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, User};
use super::world::World;

/// The duration of a typing indicator.
const TYPING: Duration = Duration::from_secs(10);
/// The maximum number of distinct emoji on one message.
const REACTIONS: usize = 20;

impl World {
    /// Handles a request about a channel.
    pub fn in_channel(
        &mut self,
        asked: &Asked,
        method: &str,
        channel: &str,
        rest: &[&str],
    ) -> Result<Done, Refusal> {
        let channel = channel.parse().ok().filter(|channel| self.talk.human(*channel).is_some());
        let channel: Id = channel.ok_or(Refusal::code(10003))?;
        match (method, rest) {
            ("GET", []) => Ok(Done::Told(self.talk.channel_wire(channel))),
            ("GET", ["messages"]) => self.listed(channel, asked.route).map(Done::Told),
            ("POST", ["messages"]) => self.send(channel, asked),
            ("GET", ["messages", id]) => self.told(self.existing(channel, id)?),
            ("PATCH", ["messages", id]) => self.edit(channel, id, asked),
            ("DELETE", ["messages", id]) => {
                let id = self.existing(channel, id)?;
                if self.talk.messages.get(&id).is_some_and(|message| message.author != self.talk.bot.id) {
                    return Err(Refusal::code(50003));
                }
                self.delete(id);
                Ok(Done::Silent)
            }
            (_, ["messages", id, "reactions", emoji, whose]) => {
                self.reaction(method, channel, id, emoji, whose)
            }
            ("GET", ["messages", id, "reactions", emoji]) => self.reacted(self.existing(channel, id)?, emoji),
            ("POST", ["typing"]) => {
                self.talk.typing.insert(channel, self.now.boot + TYPING);
                self.tell_typing(channel, self.talk.bot.id);
                Ok(Done::Silent)
            }
            _ => Err(Refusal::status(404)),
        }
    }

    fn existing(&self, channel: Id, id: &str) -> Result<MessageId, Refusal> {
        let found = id.parse().ok().and_then(|id| self.talk.message(channel, id));
        found.filter(|message| !message.is_ephemeral()).map(|message| message.id).ok_or(Refusal::code(10008))
    }

    /// Returns a message as the response.
    pub fn told(&self, id: MessageId) -> Result<Done, Refusal> {
        let message = self.talk.messages.get(&id).ok_or(Refusal::code(10008))?;
        Ok(Done::Told(self.talk.message_wire(message)))
    }

    fn send(&mut self, channel: Id, asked: &Asked) -> Result<Done, Refusal> {
        let payload = asked.call.body.payload();
        let nonce = payload["nonce"].as_str().map(str::to_owned);
        let nonce = nonce.or_else(|| payload["nonce"].as_i64().map(|nonce| nonce.to_string()));
        if let Some(known) = nonce.as_ref().filter(|_| payload["enforce_nonce"] == true)
            && let Some((id, at)) = self.talk.nonces.get(known)
            && self.now.boot < *at + self.setup.nonces
        {
            return self.told(*id);
        }
        let flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS;
        let message = self.compose(channel, Draft { payload, files: asked.call.body.files(), flags })?;
        let id = self.post(message);
        self.talk.typing.remove(&channel);
        if let Some(nonce) = nonce {
            self.talk.nonces.insert(nonce, (id, self.now.boot));
        }
        self.told(id)
    }

    fn edit(&mut self, channel: Id, id: &str, asked: &Asked) -> Result<Done, Refusal> {
        let id = self.existing(channel, id)?;
        if self.talk.messages.get(&id).is_some_and(|message| message.author != self.talk.bot.id) {
            return Err(Refusal::code(50005));
        }
        let payload = asked.call.body.payload();
        let files = asked.call.body.files();
        self.revise(id, Draft { payload, files, flags: SUPPRESS_EMBEDS })?;
        self.told(id)
    }

    fn reaction(
        &mut self,
        method: &str,
        channel: Id,
        id: &str,
        emoji: &str,
        whose: &str,
    ) -> Result<Done, Refusal> {
        let id = self.existing(channel, id)?;
        let bot = self.talk.bot.id;
        if whose != "@me" && whose != bot.to_string() {
            return Err(Refusal::code(50003));
        }
        if !is_emoji(emoji) {
            return Err(Refusal::code(10014));
        }
        match method {
            "PUT" => self.react(id, bot, emoji)?,
            "DELETE" => self.unreact(id, bot, emoji),
            _ => return Err(Refusal::status(405)),
        }
        Ok(Done::Silent)
    }

    fn reacted(&self, id: MessageId, emoji: &str) -> Result<Done, Refusal> {
        let reactions =
            self.talk.messages.get(&id).map(|message| message.reactions.as_slice()).unwrap_or_default();
        let by =
            reactions.iter().filter(|reaction| reaction.emoji == emoji).flat_map(|reaction| &reaction.by);
        Ok(Done::Told(by.filter_map(|id| self.talk.user(*id)).map(User::wire).collect()))
    }

    /// Adds a user's reaction to a message.
    pub fn react(&mut self, id: MessageId, user: Id, emoji: &str) -> Result<(), Refusal> {
        let message = self.talk.messages.get_mut(&id).ok_or(Refusal::code(10008))?;
        let full = message.reactions.len() >= REACTIONS;
        match message.reactions.iter_mut().find(|reaction| reaction.emoji == emoji) {
            Some(reaction) if reaction.by.contains(&user) => return Ok(()),
            Some(reaction) => reaction.by.push(user),
            None if full => return Err(Refusal::code(30010)),
            None => message.reactions.push(Reaction { emoji: emoji.into(), by: vec![user] }),
        }
        self.tell_reaction("MESSAGE_REACTION_ADD", id, user, emoji);
        Ok(())
    }

    /// Removes a user's reaction from a message.
    pub fn unreact(&mut self, id: MessageId, user: Id, emoji: &str) {
        let Some(message) = self.talk.messages.get_mut(&id) else { return };
        let Some(reaction) = message.reactions.iter_mut().find(|reaction| reaction.emoji == emoji) else {
            return;
        };
        if !reaction.by.contains(&user) {
            return;
        }
        reaction.by.retain(|by| *by != user);
        message.reactions.retain(|reaction| !reaction.by.is_empty());
        self.tell_reaction("MESSAGE_REACTION_REMOVE", id, user, emoji);
    }

    /// Returns true while the bot is shown as typing in a channel.
    pub fn is_typing(&self, channel: Id) -> bool {
        self.talk.typing.get(&channel).is_some_and(|until| self.now.boot < *until)
    }
}

/// Returns true if `text` is one emoji. Custom emoji of guilds are not supported.
fn is_emoji(text: &str) -> bool {
    let pictured = |letter: char| {
        matches!(letter, '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
            || matches!(letter, '\u{1f000}'..='\u{1faff}')
    };
    let joins = |letter: char| matches!(letter, '\u{200d}' | '\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
    let keycap =
        |letter: char| text.ends_with('\u{20e3}') && (letter.is_ascii_digit() || "#*".contains(letter));
    let fits = |letter: char| pictured(letter) || joins(letter) || keycap(letter) || "©®".contains(letter);
    !text.is_empty() && text.chars().count() <= 10 && text.chars().all(fits)
}
