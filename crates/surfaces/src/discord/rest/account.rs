//! Who we are, whose we are, and where the gateway is.

use serde_json::{Value, json};

use super::Rest;
use super::request::Request;
use super::trouble::{self, Trouble};
use crate::discord::Snowflake;
use crate::discord::events::{id, maybe_id};
use crate::discord::wire::{Body, Method};

/// The application that the token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its id.
    pub id: Snowflake,
    /// Whose it is.
    pub owner: Owner,
}

/// What an application and the person who owns it are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The application.
    pub application: Option<String>,
    /// The person.
    pub owner: Option<String>,
}

/// Whose an application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A person.
    Person(Snowflake),
    /// A team, which a person owns.
    Team(Snowflake),
    /// Discord does not say.
    Unknown,
}

impl Owner {
    /// The person.
    pub fn id(self) -> Option<Snowflake> {
        match self {
            Self::Person(id) | Self::Team(id) => Some(id),
            Self::Unknown => None,
        }
    }
}

impl Rest {
    /// The application that the token belongs to.
    pub async fn application(&self) -> Result<Application, Trouble> {
        Ok(self.introduction().await?.0)
    }

    /// The same, and what it and its owner are called.
    pub async fn introduction(&self) -> Result<(Application, Names), Trouble> {
        let data = self.ask(Request::new(Method::Get, "/applications/@me", &[])).await?;
        Ok((Application { id: read_id(&data)?, owner: owner(&data) }, names(&data)))
    }

    /// The user that the bot is.
    pub async fn me(&self) -> Result<Snowflake, Trouble> {
        read_id(&self.ask(Request::new(Method::Get, "/users/@me", &[])).await?)
    }

    /// Where the gateway is.
    pub async fn gateway_url(&self) -> Result<String, Trouble> {
        let data = self.ask(Request::new(Method::Get, "/gateway/bot", &[])).await?;
        let url = data["url"].as_str().ok_or_else(|| trouble::unreadable(Method::Get, "no `url`"))?;
        Ok(url.to_owned())
    }

    /// Makes `commands` all the commands that `application` has.
    pub async fn put_commands(&self, application: Snowflake, commands: Value) -> Result<(), Trouble> {
        let request = Request::new(Method::Put, "/applications/{}/commands", &[&application.to_string()]);
        self.ask(request.bringing(Body::Json(commands))).await.map(drop)
    }

    /// The channel in which `user` and we are alone.
    pub async fn open_dm(&self, user: Snowflake) -> Result<Snowflake, Trouble> {
        let request = Request::new(Method::Post, "/users/@me/channels", &[]);
        // Asking twice opens it once.
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
    // The owner of a team's application is a stand-in for the team, and nobody.
    let found = if data["team"].is_object() {
        maybe_id(&data["team"], "owner_user_id").map(Owner::Team)
    } else {
        maybe_id(&data["owner"], "id").map(Owner::Person)
    };
    found.unwrap_or(Owner::Unknown)
}
