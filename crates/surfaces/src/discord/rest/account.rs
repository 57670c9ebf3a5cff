//! Requests about the bot's account, the owner and the gateway address.

use serde_json::{Value, json};

use super::Rest;
use super::error::{self, DiscordError};
use super::request::Request;
use crate::discord::Snowflake;
use crate::discord::events::{id, maybe_id};
use crate::discord::transport::{Body, Method};

/// The application of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    pub id: Snowflake,
    pub owner: Owner,
}

/// Names of the application and its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountNames {
    pub application: Option<String>,
    pub owner: Option<String>,
}

/// Owner of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Person(Snowflake),
    /// A team, by the id of the user who owns it.
    Team(Snowflake),
    /// Not given by Discord.
    Unknown,
}

impl Owner {
    /// Returns the id of the user.
    pub fn id(self) -> Option<Snowflake> {
        match self {
            Self::Person(id) | Self::Team(id) => Some(id),
            Self::Unknown => None,
        }
    }
}

impl Rest {
    /// Returns the application of the token.
    pub async fn application(&self) -> Result<Application, DiscordError> {
        Ok(self.application_with_names().await?.0)
    }

    /// Returns the application together with its names.
    pub async fn application_with_names(&self) -> Result<(Application, AccountNames), DiscordError> {
        let data = self.request_json(Request::new(Method::Get, "/applications/@me", &[])).await?;
        Ok((Application { id: read_id(&data)?, owner: owner(&data) }, names(&data)))
    }

    /// Returns the bot's account.
    pub async fn current_user(&self) -> Result<Snowflake, DiscordError> {
        read_id(&self.request_json(Request::new(Method::Get, "/users/@me", &[])).await?)
    }

    /// Returns the address of the gateway.
    pub async fn gateway_url(&self) -> Result<String, DiscordError> {
        let data = self.request_json(Request::new(Method::Get, "/gateway/bot", &[])).await?;
        let url = data["url"].as_str().ok_or_else(|| error::invalid_body(Method::Get, "no `url`"))?;
        Ok(url.to_owned())
    }

    /// Replaces all commands of `application`.
    pub async fn put_commands(&self, application: Snowflake, commands: Value) -> Result<(), DiscordError> {
        let request = Request::new(Method::Put, "/applications/{}/commands", &[&application.to_string()]);
        self.request_json(request.with_body(Body::Json(commands))).await.map(drop)
    }

    /// Returns the DM with `user`.
    pub async fn open_dm(&self, user: Snowflake) -> Result<Snowflake, DiscordError> {
        let request = Request::new(Method::Post, "/users/@me/channels", &[]);
        // Idempotent, so an unknown outcome can be retried.
        let opened = self.request_json(request.with_body(Body::Json(json!({ "recipient_id": user })))).await;
        match opened {
            Err(DiscordError::OutcomeUnknown(why)) => Err(DiscordError::Unavailable(why)),
            other => read_id(&other?),
        }
    }
}

fn read_id(data: &Value) -> Result<Snowflake, DiscordError> {
    id(data, "id").map_err(|why| error::invalid_body(Method::Get, &why))
}

fn names(data: &Value) -> AccountNames {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let members = data["team"]["members"].as_array().into_iter().flatten();
    let owner_id = &data["team"]["owner_user_id"];
    let owner = if data["team"].is_object() {
        members.map(|member| &member["user"]).find(|user| user["id"] == *owner_id)
    } else {
        Some(&data["owner"])
    };
    AccountNames { application: word(&data["name"]), owner: owner.and_then(|user| word(&user["username"])) }
}

fn owner(data: &Value) -> Owner {
    // The owner field of a team's application is a placeholder.
    let found = if data["team"].is_object() {
        maybe_id(&data["team"], "owner_user_id").map(Owner::Team)
    } else {
        maybe_id(&data["owner"], "id").map(Owner::Person)
    };
    found.unwrap_or(Owner::Unknown)
}
