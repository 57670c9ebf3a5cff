//! What a person sees.

use serde_json::Value;

use super::Discord;
use super::components::all;
use super::followups::TOKEN;
use super::id::{InteractionId, MessageId};
use super::interactions::{Answered, FIRST_ANSWER};
use super::person::{Choice, Person};
use super::talk::{EPHEMERAL, LOADING, Message, SUPPRESS_NOTIFICATIONS, Standing};
use super::world::World;

/// A message on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its id.
    pub id: MessageId,
    /// Who wrote it.
    pub author: String,
    /// What it says.
    pub content: String,
    /// Its embeds, as they are on the wire.
    pub embeds: Vec<Value>,
    /// Its components, as they are on the wire.
    pub components: Vec<Value>,
    /// Its files, as they are on the wire.
    pub attachments: Vec<Value>,
    /// Its flags.
    pub flags: u64,
    /// The emoji on it, and who put them there.
    pub reactions: Vec<(String, Vec<String>)>,
    /// How often it was changed.
    pub edits: u32,
    /// What it answers.
    pub reply_to: Option<MessageId>,
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// What stands on it.
    pub label: String,
    /// What it sends; links send nothing.
    pub custom_id: Option<String>,
    /// Whether it is grey.
    pub disabled: bool,
}

/// A menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// What it sends, with the values.
    pub custom_id: String,
    /// What it says while nothing is chosen.
    pub placeholder: String,
    /// What can be chosen: label and value.
    pub options: Vec<(String, String)>,
}

/// What a person sees after an interaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Nothing yet.
    Nothing,
    /// "This interaction failed".
    Failed,
    /// A message, in the channel or for them alone (see [`Seen::is_ephemeral`]).
    Message(Box<Seen>),
    /// "… is thinking".
    Thinking,
    /// Nothing, and that is well: the button was heard.
    Heard,
    /// The message with the button has changed.
    Updated(Box<Seen>),
    /// What could be typed next.
    Choices(Vec<Choice>),
    /// A modal, as it is on the wire.
    Modal(Value),
    /// The answer was a message, and it is gone.
    Gone,
}

impl Seen {
    /// Whether the phone buzzed for it.
    pub fn buzzes(&self) -> bool {
        self.flags & (SUPPRESS_NOTIFICATIONS | EPHEMERAL) == 0
    }

    /// Whether only this person sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Whether it is still awaited.
    pub fn is_awaited(&self) -> bool {
        self.flags & LOADING != 0
    }

    /// Its buttons.
    pub fn buttons(&self) -> Vec<Button> {
        let buttons = all(&self.components).into_iter().filter(|component| component["type"] == 2);
        buttons.map(button).collect()
    }

    /// Its menus.
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
    /// A message as it is on the screen.
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

    /// The messages that a person sees, oldest first.
    pub fn on_screen(&self, channel: super::Id) -> impl Iterator<Item = &Message> {
        let shown =
            move |message: &&Message| message.channel == channel && message.standing == Standing::Shown;
        self.talk.messages.values().filter(shown)
    }
}

impl Discord {
    /// What the owner sees in the direct messages with the bot, oldest first.
    pub fn visible(&self) -> Vec<Seen> {
        self.visible_to(&self.owner())
    }

    /// What a person sees in the direct messages with the bot, oldest first.
    pub fn visible_to(&self, person: &Person) -> Vec<Seen> {
        self.look(|world| world.on_screen(person.channel()).map(|message| world.seen(message)).collect())
    }

    /// A message as it is on the wire, also when it is gone.
    pub fn message(&self, id: MessageId) -> Option<Value> {
        self.look(|world| world.talk.messages.get(&id).map(|message| world.talk.message_wire(message)))
    }

    /// The `allowed_mentions` that a message was sent with; null if there were none.
    pub fn allowed_mentions(&self, id: MessageId) -> Value {
        self.look(|world| world.talk.messages.get(&id).map(|message| message.allowed_mentions.clone()))
            .unwrap_or_default()
    }

    /// Whether the owner sees the bot typing.
    pub fn is_typing(&self) -> bool {
        let channel = self.owner().channel();
        self.look(|world| world.is_typing(channel))
    }

    /// What the person sees after an interaction.
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
