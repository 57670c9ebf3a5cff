//! Responses to interactions: the first one, and further ones for fifteen minutes.

use super::Rest;
use super::channel::read;
use super::request::Request;
use super::trouble::Trouble;
use crate::discord::Snowflake;
use crate::discord::events::{InteractionToken, Message};
use crate::discord::message::{Callback, Outgoing};
use crate::discord::wire::Method;

const ORIGINAL: &str = "/webhooks/{}/{}/messages/@original";

impl Rest {
    /// Sends the first response, which must arrive within three seconds.
    pub async fn answer(
        &self,
        interaction: Snowflake,
        token: &InteractionToken,
        callback: &Callback,
    ) -> Result<(), Trouble> {
        let parts = [&interaction.to_string(), token.0.as_str()];
        let request = Request::new(Method::Post, "/interactions/{}/{}/callback", &parts).apart(&token.0);
        self.ask(request.bringing(callback.body())).await.map(drop)
    }

    /// Edits the first response.
    pub async fn edit_original(
        &self,
        application: Snowflake,
        token: &InteractionToken,
        outgoing: &Outgoing,
    ) -> Result<Message, Trouble> {
        let request = original(Method::Patch, application, token).bringing(outgoing.edit());
        read(Method::Patch, &self.ask(request).await?)
    }

    /// Deletes the first response.
    pub async fn delete_original(
        &self,
        application: Snowflake,
        token: &InteractionToken,
    ) -> Result<(), Trouble> {
        self.ask(original(Method::Delete, application, token)).await.map(drop)
    }

    /// Sends a further message.
    pub async fn follow_up(
        &self,
        application: Snowflake,
        token: &InteractionToken,
        outgoing: &Outgoing,
    ) -> Result<Message, Trouble> {
        let parts = [&application.to_string(), token.0.as_str()];
        let request = Request::new(Method::Post, "/webhooks/{}/{}", &parts).apart(&token.0);
        read(Method::Post, &self.ask(request.bringing(outgoing.creation(None))).await?)
    }
}

fn original(method: Method, application: Snowflake, token: &InteractionToken) -> Request {
    Request::new(method, ORIGINAL, &[&application.to_string(), token.0.as_str()]).apart(&token.0)
}
