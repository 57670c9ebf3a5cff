//! Requests with an interaction's token after the first response.

use std::time::Duration;

use serde_json::json;

use super::api_error::ApiError;
use super::chat::{LOADING, Visibility};
use super::id::{InteractionId, MessageId};
use super::interactions::{FirstResponse, RESPONSE_FLAGS};
use super::messages::Draft;
use super::rest::{RequestContext, RestResult};
use super::setup::Installation;
use super::state::DiscordState;

/// The lifetime of a token.
pub(super) const TOKEN_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// The maximum number of follow-up messages if the application is installed for a single user.
const MAX_FOLLOWUPS: usize = 5;

impl DiscordState {
    /// Handles a request that uses an interaction's token.
    pub fn handle_followup(
        &mut self,
        context: &RequestContext,
        application: &str,
        token: &str,
        rest: &[&str],
    ) -> Result<RestResult, ApiError> {
        if application != self.chat.application.to_string() {
            return Err(ApiError::code(10015));
        }
        let by_token = self.app.interactions.iter().find(|(_, interaction)| interaction.token == token);
        let id = by_token.map(|(id, _)| *id).ok_or(ApiError::code(50027))?;
        let interaction = self.app.interactions.get(&id).cloned().ok_or(ApiError::code(50027))?;
        if self.now.boot > interaction.created_at + TOKEN_LIFETIME {
            return Err(ApiError::code(50027));
        }
        if interaction.first_response == FirstResponse::Pending {
            return Err(ApiError::code(10015));
        }
        match (context.request.method.as_str(), rest) {
            ("POST", []) => self.create_followup(id, context),
            (method, ["messages", which]) => {
                let message = self.find_message_by_token(id, which)?;
                match method {
                    "GET" => self.message_response(message),
                    "PATCH" => self.edit_followup(message, context),
                    "DELETE" => {
                        self.delete(message);
                        Ok(RestResult::NoContent)
                    }
                    _ => Err(ApiError::status(405)),
                }
            }
            _ => Err(ApiError::status(404)),
        }
    }

    /// Returns the id of a message that the token gives access to.
    fn find_message_by_token(&self, id: InteractionId, reference: &str) -> Result<MessageId, ApiError> {
        let original = self.app.interactions.get(&id).and_then(|interaction| interaction.original_message());
        let found = match reference {
            "@original" => original,
            reference => reference.parse().ok(),
        };
        let message = found.and_then(|found| self.chat.messages.get(&found));
        let message =
            message.filter(|message| message.visibility == Visibility::Shown).ok_or(ApiError::code(10008))?;
        let origin = &message.json.get("interaction_metadata").cloned().unwrap_or_default()["id"];
        let ours = Some(message.id) == original || *origin == id.to_string();
        if ours { Ok(message.id) } else { Err(ApiError::code(10008)) }
    }

    fn edit_followup(&mut self, id: MessageId, context: &RequestContext) -> Result<RestResult, ApiError> {
        let draft =
            Draft { payload: context.request.body.payload(), files: context.request.body.files(), flags: 0 };
        let before = self.chat.messages.get(&id).map_or(0, super::chat::Message::flags);
        let loading = before & LOADING != 0;
        self.set_flags(id, before & !LOADING);
        if let Err(refusal) = self.apply_edit(id, draft) {
            self.set_flags(id, before);
            return Err(refusal);
        }
        // Filling in a deferred response does not count as an edit.
        if let Some(message) = self.chat.messages.get_mut(&id).filter(|_| loading) {
            message.edits = 0;
        }
        self.message_response(id)
    }

    fn set_flags(&mut self, id: MessageId, flags: u64) {
        if let Some(message) = self.chat.messages.get_mut(&id) {
            message.json.insert("flags".into(), json!(flags));
        }
    }

    fn create_followup(
        &mut self,
        id: InteractionId,
        context: &RequestContext,
    ) -> Result<RestResult, ApiError> {
        let Some(interaction) = self.app.interactions.get(&id).cloned() else {
            return Err(ApiError::code(10015));
        };
        let loading = interaction.original_message().and_then(|id| self.chat.messages.get(&id));
        let loading = loading
            .filter(|message| message.flags() & LOADING != 0 && message.visibility == Visibility::Shown);
        if let Some(loading) = loading.map(|message| message.id) {
            return self.edit_followup(loading, context);
        }
        if self.setup.installation == Installation::User && interaction.followups >= MAX_FOLLOWUPS {
            return Err(ApiError::code(40094));
        }
        let draft = Draft {
            payload: context.request.body.payload(),
            files: context.request.body.files(),
            flags: RESPONSE_FLAGS,
        };
        let mut message = self.compose(interaction.channel, draft)?;
        message.json.extend(self.provenance(id, &interaction));
        message.json.insert("type".into(), json!(0));
        let posted = self.post(message);
        if let Some(interaction) = self.app.interactions.get_mut(&id) {
            interaction.followups += 1;
        }
        self.message_response(posted)
    }
}
