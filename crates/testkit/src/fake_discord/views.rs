//! The user's view of messages and interactions.

use serde_json::Value;

use super::FakeDiscord;
use super::chat::{EPHEMERAL, LOADING, Message, SUPPRESS_NOTIFICATIONS, Visibility};
use super::components::all_components;
use super::fake_user::{Choice, FakeUser};
use super::followups::TOKEN_LIFETIME;
use super::id::{InteractionId, MessageId};
use super::interactions::{FIRST_RESPONSE_TIMEOUT, FirstResponse};
use super::state::DiscordState;

/// A message as the user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageView {
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
pub enum InteractionView {
    Pending,
    /// The text "This interaction failed".
    Failed,
    /// A message, visible in the channel or only to the user (see [`MessageView::is_ephemeral`]).
    Message(Box<MessageView>),
    /// The text "… is thinking".
    Thinking,
    /// The interaction was acknowledged without visible change.
    Acknowledged,
    /// The message with the component was updated.
    Updated(Box<MessageView>),
    /// Autocomplete choices.
    Choices(Vec<Choice>),
    /// A modal in Discord's JSON format.
    Modal(Value),
    /// The response was a message that has been deleted.
    Deleted,
}

impl MessageView {
    /// Returns true if the message causes a notification.
    pub fn notifies(&self) -> bool {
        self.flags & (SUPPRESS_NOTIFICATIONS | EPHEMERAL) == 0
    }

    /// Returns true if only this user sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Returns true while the deferred response is loading.
    pub fn is_loading(&self) -> bool {
        self.flags & LOADING != 0
    }

    pub fn buttons(&self) -> Vec<Button> {
        let buttons = all_components(&self.components).into_iter().filter(|component| component["type"] == 2);
        buttons.map(parse_button).collect()
    }

    pub fn menus(&self) -> Vec<Menu> {
        all_components(&self.components)
            .into_iter()
            .filter(|component| component["type"] == 3)
            .map(parse_menu)
            .collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parse_button(json: &Value) -> Button {
    let label = json["label"].as_str().or(json["emoji"]["name"].as_str()).unwrap_or_default();
    Button {
        label: label.to_owned(),
        custom_id: json["custom_id"].as_str().map(str::to_owned),
        disabled: json["disabled"] == true,
    }
}

fn parse_menu(json: &Value) -> Menu {
    let options = json["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    Menu {
        custom_id: text(&json["custom_id"]),
        placeholder: text(&json["placeholder"]),
        options: options.iter().map(|option| (text(&option["label"]), text(&option["value"]))).collect(),
    }
}

impl DiscordState {
    /// Returns a message as the user sees it.
    pub fn message_view(&self, message: &Message) -> MessageView {
        let name = |id| self.chat.user(id).map(|user| user.name.clone()).unwrap_or_default();
        let view_reaction = |reaction: &super::chat::Reaction| {
            (reaction.emoji.clone(), reaction.by.iter().map(|by| name(*by)).collect())
        };
        MessageView {
            id: message.id,
            author: name(message.author),
            content: message.content().to_owned(),
            embeds: message.list("embeds").to_vec(),
            components: message.list("components").to_vec(),
            attachments: message.list("attachments").to_vec(),
            flags: message.flags(),
            reactions: message.reactions.iter().map(view_reaction).collect(),
            edits: message.edits,
            reply_to: message.reply_to,
        }
    }

    /// Returns the visible messages of a channel, oldest first.
    pub fn visible_messages(&self, channel: super::Id) -> impl Iterator<Item = &Message> {
        let shown =
            move |message: &&Message| message.channel == channel && message.visibility == Visibility::Shown;
        self.chat.messages.values().filter(shown)
    }
}

impl FakeDiscord {
    /// Returns the messages that the owner sees, oldest first.
    pub fn visible(&self) -> Vec<MessageView> {
        self.visible_to(&self.owner())
    }

    /// Returns the messages that a user sees, oldest first.
    pub fn visible_to(&self, user: &FakeUser) -> Vec<MessageView> {
        self.with_state(|state| {
            state.visible_messages(user.channel()).map(|message| state.message_view(message)).collect()
        })
    }

    /// Returns a message in Discord's JSON format, including deleted messages.
    pub fn message_json(&self, id: MessageId) -> Option<Value> {
        self.with_state(|state| state.chat.messages.get(&id).map(|message| state.chat.message_json(message)))
    }

    /// Returns the `allowed_mentions` of a message; null if there were none.
    pub fn allowed_mentions(&self, id: MessageId) -> Value {
        self.with_state(|state| state.chat.messages.get(&id).map(|message| message.allowed_mentions.clone()))
            .unwrap_or_default()
    }

    /// Returns true while the owner sees the bot typing.
    pub fn is_typing(&self) -> bool {
        let channel = self.owner().channel();
        self.with_state(|state| state.is_typing(channel))
    }

    /// Returns what the user sees after an interaction.
    pub fn interaction_view(&self, interaction: InteractionId) -> InteractionView {
        self.with_state(|state| state.interaction_view(interaction))
    }
}

impl DiscordState {
    fn interaction_view(&self, id: InteractionId) -> InteractionView {
        let Some(interaction) = self.app.interactions.get(&id) else { return InteractionView::Failed };
        let visible = |id: Option<MessageId>| {
            let message = id.and_then(|id| self.chat.messages.get(&id));
            message.filter(|message| message.visibility == Visibility::Shown)
        };
        match &interaction.first_response {
            FirstResponse::Pending if self.now.boot > interaction.created_at + FIRST_RESPONSE_TIMEOUT => {
                InteractionView::Failed
            }
            FirstResponse::Pending => InteractionView::Pending,
            FirstResponse::Message(id) => match visible(Some(*id)) {
                Some(message) if message.flags() & LOADING == 0 => {
                    InteractionView::Message(Box::new(self.message_view(message)))
                }
                Some(_) if self.now.boot > interaction.created_at + TOKEN_LIFETIME => InteractionView::Failed,
                Some(_) => InteractionView::Thinking,
                None => InteractionView::Deleted,
            },
            FirstResponse::Acknowledged => InteractionView::Acknowledged,
            FirstResponse::Updated => match visible(interaction.source) {
                Some(message) => InteractionView::Updated(Box::new(self.message_view(message))),
                None => InteractionView::Deleted,
            },
            FirstResponse::Choices(choices) => {
                InteractionView::Choices(choices.iter().map(parse_choice).collect())
            }
            FirstResponse::Modal(modal) => InteractionView::Modal(modal.clone()),
        }
    }
}

fn parse_choice(json: &Value) -> Choice {
    Choice { name: text(&json["name"]), value: json["value"].clone() }
}
