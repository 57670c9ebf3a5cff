//! Requests about the bot's account, the owner and the gateway address.

use serde_json::{Value, json};

use super::Rest;
use super::request::Request;
use super::trouble::{self, Trouble};
use crate::discord::Snowflake;
use crate::discord::events::{id, maybe_id};
use crate::discord::wire::{Body, Method};

/// The application of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    pub id: Snowflake,
    pub owner: Owner,
}

/// Names of the application and its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
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
    pub async fn application(&self) -> Result<Application, Trouble> {
        Ok(self.introduction().await?.0)
    }

    /// Returns the application together with its names.
    pub async fn introduction(&self) -> Result<(Application, Names), Trouble> {
        let data = self.ask(Request::new(Method::Get, "/applications/@me", &[])).await?;
        Ok((Application { id: read_id(&data)?, owner: owner(&data) }, names(&data)))
    }

    /// Returns the bot's account.
    pub async fn me(&self) -> Result<Snowflake, Trouble> {
        read_id(&self.ask(Request::new(Method::Get, "/users/@me", &[])).await?)
    }

    /// Returns the address of the gateway.
    pub async fn gateway_url(&self) -> Result<String, Trouble> {
        let data = self.ask(Request::new(Method::Get, "/gateway/bot", &[])).await?;
        let url = data["url"].as_str().ok_or_else(|| trouble::unreadable(Method::Get, "no `url`"))?;
        Ok(url.to_owned())
    }

    /// Replaces all commands of `application`.
    pub async fn put_commands(&self, application: Snowflake, commands: Value) -> Result<(), Trouble> {
        let request = Request::new(Method::Put, "/applications/{}/commands", &[&application.to_string()]);
        self.ask(request.bringing(Body::Json(commands))).await.map(drop)
    }

    /// Returns the DM with `user`.
    pub async fn open_dm(&self, user: Snowflake) -> Result<Snowflake, Trouble> {
        let request = Request::new(Method::Post, "/users/@me/channels", &[]);
        // Idempotent, so an unknown outcome can be retried.
        let opened = self.ask(request.bringing(Body::Json(json!({ "recipient_id": user })))).await;
        match opened {
            Err(Trouble::Unknown(why)) => Err(Trouble::Away(why)),
            other => read_id(&other?),
        }
    }
}

fn read_id(data: &Value) -> Result<Snowflake, Trouble> {
    id(data, "id").map_err(|why| trouble::unreadable(Method::Get, &why))
}

fn names(data: &Value) -> Names {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let members = data["team"]["members"].as_array().into_iter().flatten();
    let chief = &data["team"]["owner_user_id"];
    let owner = if data["team"].is_object() {
        members.map(|member| &member["user"]).find(|user| user["id"] == *chief)
    } else {
        Some(&data["owner"])
    };
    Names { application: word(&data["name"]), owner: owner.and_then(|user| word(&user["username"])) }
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
