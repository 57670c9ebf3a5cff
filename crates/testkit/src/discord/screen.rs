//! The user's view of messages and interactions.

use serde_json::Value;

use super::Discord;
use super::components::all;
use super::followups::TOKEN;
use super::id::{InteractionId, MessageId};
use super::interactions::{Answered, FIRST_ANSWER};
use super::person::{Choice, Person};
use super::talk::{EPHEMERAL, LOADING, Message, SUPPRESS_NOTIFICATIONS, Standing};
use super::world::World;

/// A message as the user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub id: MessageId,
    /// The author's name.
    pub author: String,
    pub content: String,
    /// Its embeds in Discord's JSON format.
    pub embeds: Vec<Value>,
    /// Its components in Discord's JSON format.
    pub components: Vec<Value>,
    /// Its attachments in Discord's JSON format.
    pub attachments: Vec<Value>,
    pub flags: u64,
    /// The reactions: each emoji with the names of its users.
    pub reactions: Vec<(String, Vec<String>)>,
    /// The number of edits.
    pub edits: u32,
    /// The message that it replies to.
    pub reply_to: Option<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// The custom id; `None` for link buttons.
    pub custom_id: Option<String>,
    pub disabled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    pub custom_id: String,
    /// The text shown while nothing is chosen.
    pub placeholder: String,
    /// The options: label and value.
    pub options: Vec<(String, String)>,
}

/// The user's view of an interaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Nothing,
    /// The text "This interaction failed".
    Failed,
    /// A message, visible in the channel or only to the user (see [`MessageView::is_ephemeral`]).
    Message(Box<Seen>),
    /// The text "… is thinking".
    Thinking,
    /// The interaction was acknowledged without visible change.
    Heard,
    /// The message with the component was updated.
    Updated(Box<Seen>),
    /// Autocomplete choices.
    Choices(Vec<Choice>),
    /// A modal in Discord's JSON format.
    Modal(Value),
    /// The response was a message that has been deleted.
    Gone,
}

impl Seen {
    /// Returns true if the message causes a notification.
    pub fn buzzes(&self) -> bool {
        self.flags & (SUPPRESS_NOTIFICATIONS | EPHEMERAL) == 0
    }

    /// Returns true if only this user sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Returns true while the deferred response is loading.
    pub fn is_awaited(&self) -> bool {
        self.flags & LOADING != 0
    }

    pub fn buttons(&self) -> Vec<Button> {
        let buttons = all(&self.components).into_iter().filter(|component| component["type"] == 2);
        buttons.map(button).collect()
    }

    pub fn menus(&self) -> Vec<Menu> {
        all(&self.components).into_iter().filter(|component| component["type"] == 3).map(menu).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn button(wire: &Value) -> Button {
    let label = wire["label"].as_str().or(wire["emoji"]["name"].as_str()).unwrap_or_default();
    Button {
        label: label.to_owned(),
        custom_id: wire["custom_id"].as_str().map(str::to_owned),
        disabled: wire["disabled"] == true,
    }
}

fn menu(wire: &Value) -> Menu {
    let options = wire["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    Menu {
        custom_id: text(&wire["custom_id"]),
        placeholder: text(&wire["placeholder"]),
        options: options.iter().map(|option| (text(&option["label"]), text(&option["value"]))).collect(),
    }
}

impl World {
    /// Returns a message as the user sees it.
    pub fn seen(&self, message: &Message) -> Seen {
        let name = |id| self.talk.user(id).map(|user| user.name.clone()).unwrap_or_default();
        let named = |reaction: &super::talk::Reaction| {
            (reaction.emoji.clone(), reaction.by.iter().map(|by| name(*by)).collect())
        };
        Seen {
            id: message.id,
            author: name(message.author),
            content: message.content().to_owned(),
            embeds: message.list("embeds").to_vec(),
            components: message.list("components").to_vec(),
            attachments: message.list("attachments").to_vec(),
            flags: message.flags(),
            reactions: message.reactions.iter().map(named).collect(),
            edits: message.edits,
            reply_to: message.reply_to,
        }
    }

    /// Returns the visible messages of a channel, oldest first.
    pub fn on_screen(&self, channel: super::Id) -> impl Iterator<Item = &Message> {
        let shown =
            move |message: &&Message| message.channel == channel && message.standing == Standing::Shown;
        self.talk.messages.values().filter(shown)
    }
}

impl Discord {
    /// Returns the messages that the owner sees, oldest first.
    pub fn visible(&self) -> Vec<Seen> {
        self.visible_to(&self.owner())
    }

    /// Returns the messages that a user sees, oldest first.
    pub fn visible_to(&self, person: &Person) -> Vec<Seen> {
        self.look(|world| world.on_screen(person.channel()).map(|message| world.seen(message)).collect())
    }

    /// Returns a message in Discord's JSON format, including deleted messages.
    pub fn message(&self, id: MessageId) -> Option<Value> {
        self.look(|world| world.talk.messages.get(&id).map(|message| world.talk.message_wire(message)))
    }

    /// Returns the `allowed_mentions` of a message; null if there were none.
    pub fn allowed_mentions(&self, id: MessageId) -> Value {
        self.look(|world| world.talk.messages.get(&id).map(|message| message.allowed_mentions.clone()))
            .unwrap_or_default()
    }

    /// Returns true while the owner sees the bot typing.
    pub fn is_typing(&self) -> bool {
        let channel = self.owner().channel();
        self.look(|world| world.is_typing(channel))
    }

    /// Returns what the user sees after an interaction.
    pub fn answer_to(&self, interaction: InteractionId) -> Shown {
        self.look(|world| world.shown_after(interaction))
    }
}

impl World {
    fn shown_after(&self, id: InteractionId) -> Shown {
        let Some(interaction) = self.desk.interactions.get(&id) else { return Shown::Failed };
        let standing = |id: Option<MessageId>| {
            let message = id.and_then(|id| self.talk.messages.get(&id));
            message.filter(|message| message.standing == Standing::Shown)
        };
        match &interaction.answered {
            Answered::NotYet if self.now.boot > interaction.born + FIRST_ANSWER => Shown::Failed,
            Answered::NotYet => Shown::Nothing,
            Answered::Message(id) => match standing(Some(*id)) {
                Some(message) if message.flags() & LOADING == 0 => {
                    Shown::Message(Box::new(self.seen(message)))
                }
                Some(_) if self.now.boot > interaction.born + TOKEN => Shown::Failed,
                Some(_) => Shown::Thinking,
                None => Shown::Gone,
            },
            Answered::Heard => Shown::Heard,
            Answered::Updated => match standing(interaction.source) {
                Some(message) => Shown::Updated(Box::new(self.seen(message))),
                None => Shown::Gone,
            },
            Answered::Choices(choices) => Shown::Choices(choices.iter().map(choice).collect()),
            Answered::Modal(modal) => Shown::Modal(modal.clone()),
        }
    }
}

fn choice(wire: &Value) -> Choice {
    Choice { name: text(&wire["name"]), value: wire["value"].clone() }
}
