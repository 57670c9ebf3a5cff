//! Interactions: the events sent to the bot for commands, buttons and modals, and its first
//! response.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::components;
use super::gateway::ALWAYS;
use super::id::{Id, InteractionId, MessageId};
use super::messages::Draft;
use super::refusal::{Form, Refusal};
use super::rest::{Asked, Done};
use super::setup::Installed;
use super::talk::{EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, User};
use super::world::World;

/// The time limit for the first response.
pub(super) const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// The type of an interaction; the values are Discord's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Command = 2,
    /// A button was clicked or menu values were chosen.
    Component = 3,
    /// Autocomplete choices for an option are requested.
    Completion = 4,
    Modal = 5,
}

/// An interaction of a user with the bot.
#[derive(Clone, Debug)]
pub(super) struct Interaction {
    pub token: String,
    pub did: Did,
    pub person: Id,
    pub channel: Id,
    pub born: Duration,
    /// The command's name, or the custom id.
    pub about: String,
    /// The message that the component belongs to.
    pub source: Option<MessageId>,
    pub answered: Answered,
    pub followups: usize,
}

/// The first response to an interaction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answered {
    NotYet,
    /// A message, possibly still loading.
    Message(MessageId),
    /// Acknowledged; the source message may be updated later.
    Heard,
    /// The source message was updated.
    Updated,
    Choices(Vec<Value>),
    Modal(Value),
}

/// Registered commands, and interactions.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub commands: Vec<Value>,
    /// The times at which new commands were registered.
    pub created: Vec<Duration>,
    pub interactions: BTreeMap<InteractionId, Interaction>,
}

impl Interaction {
    /// Returns the message that `@original` refers to.
    pub fn original(&self) -> Option<MessageId> {
        match self.answered {
            Answered::Message(id) => Some(id),
            Answered::Heard | Answered::Updated => self.source,
            Answered::NotYet | Answered::Choices(_) | Answered::Modal(_) => None,
        }
    }
}

impl World {
    /// Creates an interaction of a user and sends it to the bot.
    pub fn interact(
        &mut self,
        person: Id,
        did: Did,
        data: Value,
        source: Option<MessageId>,
    ) -> InteractionId {
        let id = self.next_id();
        let channel = self.talk.channel_of(person).unwrap_or(id);
        let about = ["name", "custom_id"].iter().find_map(|name| data[*name].as_str());
        let interaction = Interaction {
            token: format!("played-{:032x}", u128::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            did,
            person,
            channel,
            born: self.now.boot,
            about: about.unwrap_or_default().to_owned(),
            source,
            answered: Answered::NotYet,
            followups: 0,
        };
        let wire = self.interaction_wire(id, &interaction, data);
        self.desk.interactions.insert(id, interaction);
        self.emit("INTERACTION_CREATE", ALWAYS, wire);
        id
    }

    fn interaction_wire(&self, id: InteractionId, interaction: &Interaction, data: Value) -> Value {
        let mut wire = json!({
            "id": id.to_string(), "application_id": self.talk.application.to_string(),
            "type": interaction.did as u8, "token": interaction.token, "version": 1,
            "channel_id": interaction.channel.to_string(), "channel": self.talk.channel_wire(interaction.channel),
            "user": self.talk.user(interaction.person).map(User::wire), "data": data, "locale": "en-GB",
            "entitlements": [], "authorizing_integration_owners": self.installed_for(interaction.person),
            "context": 1, "app_permissions": "562949953863680", "attachment_size_limit": 10_485_760,
        });
        if let Some(message) = interaction.source.and_then(|id| self.talk.messages.get(&id)) {
            wire["message"] = self.talk.message_wire(message);
        }
        wire
    }

    fn installed_for(&self, person: Id) -> Value {
        match self.setup.installed {
            Installed::User => json!({"1": person.to_string()}),
            Installed::Guild => json!({"0": "0"}),
        }
    }

    /// Handles the bot's first response to an interaction.
    pub fn callback(&mut self, asked: &Asked, id: &str, token: &str) -> Result<Done, Refusal> {
        let id: InteractionId = id.parse().map_err(|_| Refusal::code(10062))?;
        let found = self.desk.interactions.get(&id).filter(|interaction| interaction.token == token);
        let interaction = found.cloned().ok_or(Refusal::code(10062))?;
        if interaction.answered != Answered::NotYet {
            return Err(Refusal::code(40060));
        }
        if self.now.boot > interaction.born + FIRST_ANSWER {
            return Err(Refusal::code(10062));
        }
        let body = asked.call.body.payload();
        let draft = Draft { payload: &body["data"], files: asked.call.body.files(), flags: ALLOWED };
        let answered = match (body["type"].as_u64(), interaction.did) {
            (Some(4), Did::Command | Did::Component | Did::Modal) => {
                self.answer_message(id, &interaction, draft)?
            }
            (Some(5), Did::Command | Did::Component | Did::Modal) => {
                self.answer_later(id, &interaction, &body["data"])
            }
            (Some(6), Did::Component | Did::Modal) if interaction.source.is_some() => Answered::Heard,
            (Some(7), Did::Component | Did::Modal) if interaction.source.is_some() => {
                let source = interaction.source.ok_or(Refusal::code(10008))?;
                self.revise(source, draft)?;
                Answered::Updated
            }
            (Some(8), Did::Completion) => Answered::Choices(choices(&body["data"]["choices"])?),
            (Some(9), Did::Command | Did::Component) => {
                components::check_modal(&body["data"])?;
                Answered::Modal(body["data"].clone())
            }
            _ => {
                let message = "Interaction callback type is not allowed for this interaction";
                return Err(Form::refusal("type", "INTERACTION_CALLBACK_TYPE_INVALID", message));
            }
        };
        if let Some(interaction) = self.desk.interactions.get_mut(&id) {
            interaction.answered = answered;
        }
        match asked.route.query("with_response") {
            Some("true" | "1" | "True") => Ok(Done::Told(self.callback_wire(id, body["type"].clone()))),
            _ => Ok(Done::Silent),
        }
    }

    fn callback_wire(&self, id: InteractionId, kind: Value) -> Value {
        let Some(interaction) = self.desk.interactions.get(&id) else { return Value::Null };
        let mut told = json!({"id": id.to_string(), "type": interaction.did as u8});
        let mut resource = json!({"type": kind});
        if let Some(message) = interaction.original().and_then(|id| self.talk.messages.get(&id)) {
            told["response_message_id"] = json!(message.id.to_string());
            told["response_message_loading"] = json!(message.flags() & LOADING != 0);
            told["response_message_ephemeral"] = json!(message.is_ephemeral());
            resource["message"] = self.talk.message_wire(message);
        }
        json!({"interaction": told, "resource": resource})
    }

    fn answer_message(
        &mut self,
        id: InteractionId,
        interaction: &Interaction,
        draft: Draft,
    ) -> Result<Answered, Refusal> {
        let mut message = self.compose(interaction.channel, draft)?;
        message.wire.extend(self.provenance(id, interaction));
        Ok(Answered::Message(self.post(message)))
    }

    /// Posts a message in the loading state.
    fn answer_later(&mut self, id: InteractionId, interaction: &Interaction, data: &Value) -> Answered {
        let flags = data["flags"].as_u64().unwrap_or(0) & EPHEMERAL | LOADING;
        let mut wire = self.plain("");
        wire.insert("flags".into(), json!(flags));
        wire.extend(self.provenance(id, interaction));
        let message = super::talk::Message {
            id: self.next_id(),
            channel: interaction.channel,
            author: self.talk.bot.id,
            wire,
            reactions: Vec::new(),
            reply_to: None,
            allowed_mentions: Value::Null,
            edits: 0,
            standing: super::talk::Standing::Shown,
        };
        Answered::Message(self.post(message))
    }

    /// Returns the JSON fields that link a message to an interaction.
    pub fn provenance(&self, id: InteractionId, interaction: &Interaction) -> serde_json::Map<String, Value> {
        let kind = if interaction.did == Did::Command { 20 } else { 0 };
        let wire = json!({
            "type": kind, "webhook_id": self.talk.application.to_string(),
            "application_id": self.talk.application.to_string(),
            "interaction_metadata": {
                "id": id.to_string(), "type": interaction.did as u8,
                "user": self.talk.user(interaction.person).map(User::wire), "name": interaction.about,
                "authorizing_integration_owners": self.installed_for(interaction.person),
            },
        });
        wire.as_object().cloned().unwrap_or_default()
    }
}

/// The flags that a response may set.
pub(super) const ALLOWED: u64 = EPHEMERAL | SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS;

fn choices(value: &Value) -> Result<Vec<Value>, Refusal> {
    let choices = value.as_array().cloned().unwrap_or_default();
    let mut form = Form::default();
    if choices.len() > 25 {
        form.wrong("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, choice) in choices.iter().enumerate() {
        form.needed(&format!("data.choices.{at}.name"), &choice["name"], 100);
        if choice["value"].is_string() {
            form.needed(&format!("data.choices.{at}.value"), &choice["value"], 100);
        }
    }
    form.done()?;
    Ok(choices)
}
