//! Interactions: the events sent to the bot for commands, buttons and modals, and its first
//! response.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::api_error::{ApiError, FormErrors};
use super::chat::{EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, User};
use super::components;
use super::gateway::EVERY_SESSION;
use super::id::{Id, InteractionId, MessageId};
use super::messages::Draft;
use super::rest::{RequestContext, RestResult};
use super::setup::Installation;
use super::state::DiscordState;

/// The time limit for the first response.
pub(super) const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The type of an interaction; the values are Discord's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InteractionKind {
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
    pub kind: InteractionKind,
    pub user: Id,
    pub channel: Id,
    pub created_at: Duration,
    /// The command's name, or the custom id.
    pub target: String,
    /// The message that the component belongs to.
    pub source: Option<MessageId>,
    pub first_response: FirstResponse,
    pub followups: usize,
}

/// The first response to an interaction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FirstResponse {
    Pending,
    /// A message, possibly still loading.
    Message(MessageId),
    /// Acknowledged; the source message may be updated later.
    Acknowledged,
    /// The source message was updated.
    Updated,
    Choices(Vec<Value>),
    Modal(Value),
}

/// Registered commands, and interactions.
#[derive(Debug, Default)]
pub(super) struct AppState {
    pub commands: Vec<Value>,
    /// The times at which new commands were registered.
    pub registered_at: Vec<Duration>,
    pub interactions: BTreeMap<InteractionId, Interaction>,
}

impl Interaction {
    /// Returns the message that `@original` refers to.
    pub fn original_message(&self) -> Option<MessageId> {
        match self.first_response {
            FirstResponse::Message(id) => Some(id),
            FirstResponse::Acknowledged | FirstResponse::Updated => self.source,
            FirstResponse::Pending | FirstResponse::Choices(_) | FirstResponse::Modal(_) => None,
        }
    }
}

impl DiscordState {
    /// Creates an interaction of a user and sends it to the bot.
    pub fn create_interaction(
        &mut self,
        user: Id,
        kind: InteractionKind,
        data: Value,
        source: Option<MessageId>,
    ) -> InteractionId {
        let id = self.next_id();
        let channel = self.chat.channel_of(user).unwrap_or(id);
        let target = ["name", "custom_id"].iter().find_map(|name| data[*name].as_str());
        let interaction = Interaction {
            token: format!("played-{:032x}", u128::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            kind,
            user,
            channel,
            created_at: self.now.boot,
            target: target.unwrap_or_default().to_owned(),
            source,
            first_response: FirstResponse::Pending,
            followups: 0,
        };
        let json = self.interaction_json(id, &interaction, data);
        self.app.interactions.insert(id, interaction);
        self.emit("INTERACTION_CREATE", EVERY_SESSION, json);
        id
    }

    fn interaction_json(&self, id: InteractionId, interaction: &Interaction, data: Value) -> Value {
        let mut json = json!({
            "id": id.to_string(), "application_id": self.chat.application.to_string(),
            "type": interaction.kind as u8, "token": interaction.token, "version": 1,
            "channel_id": interaction.channel.to_string(), "channel": self.chat.channel_json(interaction.channel),
            "user": self.chat.user(interaction.user).map(User::to_json), "data": data, "locale": "en-GB",
            "entitlements": [], "authorizing_integration_owners": self.integration_owners(interaction.user),
            "context": 1, "app_permissions": "562949953863680", "attachment_size_limit": 10_485_760,
        });
        if let Some(message) = interaction.source.and_then(|id| self.chat.messages.get(&id)) {
            json["message"] = self.chat.message_json(message);
        }
        json
    }

    fn integration_owners(&self, user: Id) -> Value {
        match self.setup.installation {
            Installation::User => json!({"1": user.to_string()}),
            Installation::Guild => json!({"0": "0"}),
        }
    }

    /// Handles the bot's first response to an interaction.
    pub fn handle_callback(
        &mut self,
        context: &RequestContext,
        id: &str,
        token: &str,
    ) -> Result<RestResult, ApiError> {
        let id: InteractionId = id.parse().map_err(|_| ApiError::code(10062))?;
        let found = self.app.interactions.get(&id).filter(|interaction| interaction.token == token);
        let interaction = found.cloned().ok_or(ApiError::code(10062))?;
        if interaction.first_response != FirstResponse::Pending {
            return Err(ApiError::code(40060));
        }
        if self.now.boot > interaction.created_at + FIRST_RESPONSE_TIMEOUT {
            return Err(ApiError::code(10062));
        }
        let body = context.request.body.payload();
        let draft =
            Draft { payload: &body["data"], files: context.request.body.files(), flags: RESPONSE_FLAGS };
        let first_response = match (body["type"].as_u64(), interaction.kind) {
            (Some(4), InteractionKind::Command | InteractionKind::Component | InteractionKind::Modal) => {
                self.respond_with_message(id, &interaction, draft)?
            }
            (Some(5), InteractionKind::Command | InteractionKind::Component | InteractionKind::Modal) => {
                self.respond_deferred(id, &interaction, &body["data"])
            }
            (Some(6), InteractionKind::Component | InteractionKind::Modal)
                if interaction.source.is_some() =>
            {
                FirstResponse::Acknowledged
            }
            (Some(7), InteractionKind::Component | InteractionKind::Modal)
                if interaction.source.is_some() =>
            {
                let source = interaction.source.ok_or(ApiError::code(10008))?;
                self.apply_edit(source, draft)?;
                FirstResponse::Updated
            }
            (Some(8), InteractionKind::Completion) => {
                FirstResponse::Choices(check_choices(&body["data"]["choices"])?)
            }
            (Some(9), InteractionKind::Command | InteractionKind::Component) => {
                components::check_modal(&body["data"])?;
                FirstResponse::Modal(body["data"].clone())
            }
            _ => {
                let message = "Interaction callback type is not allowed for this interaction";
                return Err(FormErrors::single("type", "INTERACTION_CALLBACK_TYPE_INVALID", message));
            }
        };
        if let Some(interaction) = self.app.interactions.get_mut(&id) {
            interaction.first_response = first_response;
        }
        match context.route.query("with_response") {
            Some("true" | "1" | "True") => Ok(RestResult::Json(self.callback_json(id, body["type"].clone()))),
            _ => Ok(RestResult::NoContent),
        }
    }

    fn callback_json(&self, id: InteractionId, kind: Value) -> Value {
        let Some(interaction) = self.app.interactions.get(&id) else { return Value::Null };
        let mut callback = json!({"id": id.to_string(), "type": interaction.kind as u8});
        let mut resource = json!({"type": kind});
        if let Some(message) = interaction.original_message().and_then(|id| self.chat.messages.get(&id)) {
            callback["response_message_id"] = json!(message.id.to_string());
            callback["response_message_loading"] = json!(message.flags() & LOADING != 0);
            callback["response_message_ephemeral"] = json!(message.is_ephemeral());
            resource["message"] = self.chat.message_json(message);
        }
        json!({"interaction": callback, "resource": resource})
    }

    fn respond_with_message(
        &mut self,
        id: InteractionId,
        interaction: &Interaction,
        draft: Draft,
    ) -> Result<FirstResponse, ApiError> {
        let mut message = self.compose(interaction.channel, draft)?;
        message.json.extend(self.provenance(id, interaction));
        Ok(FirstResponse::Message(self.post(message)))
    }

    /// Posts a message in the loading state.
    fn respond_deferred(
        &mut self,
        id: InteractionId,
        interaction: &Interaction,
        data: &Value,
    ) -> FirstResponse {
        let flags = data["flags"].as_u64().unwrap_or(0) & EPHEMERAL | LOADING;
        let mut json = self.new_message_json("");
        json.insert("flags".into(), json!(flags));
        json.extend(self.provenance(id, interaction));
        let message = super::chat::Message {
            id: self.next_id(),
            channel: interaction.channel,
            author: self.chat.bot.id,
            json,
            reactions: Vec::new(),
            reply_to: None,
            allowed_mentions: Value::Null,
            edits: 0,
            visibility: super::chat::Visibility::Shown,
        };
        FirstResponse::Message(self.post(message))
    }

    /// Returns the JSON fields that link a message to an interaction.
    pub fn provenance(&self, id: InteractionId, interaction: &Interaction) -> serde_json::Map<String, Value> {
        let kind = if interaction.kind == InteractionKind::Command { 20 } else { 0 };
        let json = json!({
            "type": kind, "webhook_id": self.chat.application.to_string(),
            "application_id": self.chat.application.to_string(),
            "interaction_metadata": {
                "id": id.to_string(), "type": interaction.kind as u8,
                "user": self.chat.user(interaction.user).map(User::to_json), "name": interaction.target,
                "authorizing_integration_owners": self.integration_owners(interaction.user),
            },
        });
        json.as_object().cloned().unwrap_or_default()
    }
}

/// The flags that a response may set.
pub(super) const RESPONSE_FLAGS: u64 = EPHEMERAL | SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS;

fn check_choices(value: &Value) -> Result<Vec<Value>, ApiError> {
    let choices = value.as_array().cloned().unwrap_or_default();
    let mut form = FormErrors::default();
    if choices.len() > 25 {
        form.add("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, choice) in choices.iter().enumerate() {
        form.check_required_text(&format!("data.choices.{at}.name"), &choice["name"], 100);
        if choice["value"].is_string() {
            form.check_required_text(&format!("data.choices.{at}.value"), &choice["value"], 100);
        }
    }
    form.finish()?;
    Ok(choices)
}
