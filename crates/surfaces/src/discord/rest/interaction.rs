//! Responses to interactions: the first one, and further ones for fifteen minutes.

use super::Rest;
use super::channel::parse_message;
use super::error::DiscordError;
use super::request::Request;
use crate::discord::Snowflake;
use crate::discord::events::{InteractionToken, Message};
use crate::discord::message::{Callback, OutgoingMessage};
use crate::discord::transport::Method;

const ORIGINAL: &str = "/webhooks/{}/{}/messages/@original";

impl Rest {
    /// Sends the first response, which must arrive within three seconds.
    pub async fn answer(
        &self,
        interaction: Snowflake,
        token: &InteractionToken,
        callback: &Callback,
    ) -> Result<(), DiscordError> {
        let parts = [&interaction.to_string(), token.0.as_str()];
        let request =
            Request::new(Method::Post, "/interactions/{}/{}/callback", &parts).for_interaction(&token.0);
        self.request_json(request.with_body(callback.to_body())).await.map(drop)
    }

    /// Edits the first response.
    pub async fn edit_original(
        &self,
        application: Snowflake,
        token: &InteractionToken,
        outgoing: &OutgoingMessage,
    ) -> Result<Message, DiscordError> {
        let request = original(Method::Patch, application, token).with_body(outgoing.edit_body());
        parse_message(Method::Patch, &self.request_json(request).await?)
    }

    /// Deletes the first response.
    pub async fn delete_original(
        &self,
        application: Snowflake,
        token: &InteractionToken,
    ) -> Result<(), DiscordError> {
        self.request_json(original(Method::Delete, application, token)).await.map(drop)
    }

    /// Sends a further message.
    pub async fn follow_up(
        &self,
        application: Snowflake,
        token: &InteractionToken,
        outgoing: &OutgoingMessage,
    ) -> Result<Message, DiscordError> {
        let parts = [&application.to_string(), token.0.as_str()];
        let request = Request::new(Method::Post, "/webhooks/{}/{}", &parts).for_interaction(&token.0);
        parse_message(Method::Post, &self.request_json(request.with_body(outgoing.create_body(None))).await?)
    }
}

fn original(method: Method, application: Snowflake, token: &InteractionToken) -> Request {
    Request::new(method, ORIGINAL, &[&application.to_string(), token.0.as_str()]).for_interaction(&token.0)
}
