//! Interactions: a command, a button, a menu, a form or an autocompletion.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::message::{self, Message};
use super::{id, list, maybe_id, maybe_text, text};
use crate::discord::Snowflake;

#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    pub id: Snowflake,
    /// Authorizes answers for fifteen minutes.
    pub token: InteractionToken,
    pub application: Snowflake,
    pub user: Snowflake,
    pub channel: Option<Snowflake>,
    pub asked: Asked,
}

/// Authorizes answers to an interaction. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct InteractionToken(pub String);

impl fmt::Debug for InteractionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InteractionToken(..)")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Command {
        name: String,
        given: Vec<Given>,
        /// The message of a context-menu command.
        target: Option<Box<Message>>,
    },
    /// Autocompletion of a command.
    Typing {
        name: String,
        /// The options so far.
        given: Vec<Given>,
        /// The option that is being typed.
        focused: Given,
    },
    /// A pressed button or a choice from a menu.
    Pressed {
        custom_id: String,
        /// The chosen values.
        values: Vec<String>,
        /// The message of the component.
        message: Option<Box<Message>>,
    },
    Filled {
        custom_id: String,
        /// The values by field; a menu gives the chosen ones.
        fields: BTreeMap<String, Vec<String>>,
        /// The message from which the form was opened.
        message: Option<Box<Message>>,
    },
    /// Of a type newer than this version.
    Unknown,
}

/// An option of a command; the value is converted to text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub name: String,
    pub value: String,
}

pub fn read(data: &Value) -> Result<Interaction, String> {
    Ok(Interaction {
        id: id(data, "id")?,
        token: InteractionToken(text(data, "token")?.to_owned()),
        application: id(data, "application_id")?,
        user: id(&data["user"], "id")
            .or_else(|_| id(&data["member"]["user"], "id"))
            .map_err(|_| "nobody in `user`".to_owned())?,
        channel: maybe_id(data, "channel_id").or_else(|| maybe_id(&data["channel"], "id")),
        asked: asked(data)?,
    })
}

fn asked(data: &Value) -> Result<Asked, String> {
    let what = &data["data"];
    match data["type"].as_u64() {
        Some(2) => command(what),
        Some(3) => Ok(Asked::Pressed {
            custom_id: text(what, "custom_id")?.to_owned(),
            values: words(what, "values"),
            message: below(data),
        }),
        Some(4) => typing(what),
        Some(5) => Ok(Asked::Filled {
            custom_id: text(what, "custom_id")?.to_owned(),
            fields: fields(list(what, "components")),
            message: below(data),
        }),
        Some(_) | None => Ok(Asked::Unknown),
    }
}

fn command(what: &Value) -> Result<Asked, String> {
    let target = what["target_id"].as_str().map(|id| message::read(&what["resolved"]["messages"][id]));
    // A command on a user has a target too, which is not a message.
    let target = target.and_then(Result::ok).map(Box::new);
    Ok(Asked::Command { name: text(what, "name")?.to_owned(), given: given(what), target })
}

fn typing(what: &Value) -> Result<Asked, String> {
    let focused = list(what, "options").iter().find(|option| option["focused"].as_bool() == Some(true));
    let focused = focused.map(one_given).ok_or("nothing that is typed in `options`")?;
    Ok(Asked::Typing { name: text(what, "name")?.to_owned(), given: given(what), focused })
}

fn given(what: &Value) -> Vec<Given> {
    list(what, "options").iter().map(one_given).collect()
}

fn one_given(option: &Value) -> Given {
    let value = match &option["value"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    Given { name: maybe_text(option, "name"), value }
}

fn below(data: &Value) -> Option<Box<Message>> {
    message::read(&data["message"]).ok().map(Box::new)
}

/// Reads the fields from labels (the current format) or rows (the old one).
fn fields(components: &[Value]) -> BTreeMap<String, Vec<String>> {
    let inside = |outer: &'_ Value| -> Vec<Value> {
        let mut inner = list(outer, "components").to_vec();
        inner.push(outer["component"].clone());
        inner
    };
    let field = |component: Value| {
        let name = component["custom_id"].as_str()?.to_owned();
        let values = match component["value"].as_str() {
            Some(text) => vec![text.to_owned()],
            None => words(&component, "values"),
        };
        Some((name, values))
    };
    components.iter().flat_map(inside).filter_map(field).collect()
}

fn words(data: &Value, name: &str) -> Vec<String> {
    list(data, name).iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
