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
    pub kind: InteractionKind,
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
pub enum InteractionKind {
    Command {
        name: String,
        options: Vec<OptionValue>,
        /// The message of a context-menu command.
        target: Option<Box<Message>>,
    },
    /// Autocompletion of a command.
    Autocomplete {
        name: String,
        /// The options so far.
        options: Vec<OptionValue>,
        /// The option that is being typed.
        focused: OptionValue,
    },
    /// A pressed button or a choice from a menu.
    Component {
        custom_id: String,
        /// The chosen values.
        values: Vec<String>,
        /// The message of the component.
        message: Option<Box<Message>>,
    },
    Form {
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
pub struct OptionValue {
    pub name: String,
    pub value: String,
}

pub fn parse(data: &Value) -> Result<Interaction, String> {
    Ok(Interaction {
        id: id(data, "id")?,
        token: InteractionToken(text(data, "token")?.to_owned()),
        application: id(data, "application_id")?,
        user: id(&data["user"], "id")
            .or_else(|_| id(&data["member"]["user"], "id"))
            .map_err(|_| "nobody in `user`".to_owned())?,
        channel: maybe_id(data, "channel_id").or_else(|| maybe_id(&data["channel"], "id")),
        kind: interaction_kind(data)?,
    })
}

fn interaction_kind(data: &Value) -> Result<InteractionKind, String> {
    let payload = &data["data"];
    match data["type"].as_u64() {
        Some(2) => command(payload),
        Some(3) => Ok(InteractionKind::Component {
            custom_id: text(payload, "custom_id")?.to_owned(),
            values: strings(payload, "values"),
            message: parent_message(data),
        }),
        Some(4) => autocomplete(payload),
        Some(5) => Ok(InteractionKind::Form {
            custom_id: text(payload, "custom_id")?.to_owned(),
            fields: fields(list(payload, "components")),
            message: parent_message(data),
        }),
        Some(_) | None => Ok(InteractionKind::Unknown),
    }
}

fn command(data: &Value) -> Result<InteractionKind, String> {
    let target = data["target_id"].as_str().map(|id| message::parse(&data["resolved"]["messages"][id]));
    // A command on a user has a target too, which is not a message.
    let target = target.and_then(Result::ok).map(Box::new);
    Ok(InteractionKind::Command { name: text(data, "name")?.to_owned(), options: options(data), target })
}

fn autocomplete(data: &Value) -> Result<InteractionKind, String> {
    let focused = list(data, "options").iter().find(|option| option["focused"].as_bool() == Some(true));
    let focused = focused.map(option_value).ok_or("nothing that is typed in `options`")?;
    Ok(InteractionKind::Autocomplete {
        name: text(data, "name")?.to_owned(),
        options: options(data),
        focused,
    })
}

fn options(data: &Value) -> Vec<OptionValue> {
    list(data, "options").iter().map(option_value).collect()
}

fn option_value(option: &Value) -> OptionValue {
    let value = match &option["value"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    OptionValue { name: maybe_text(option, "name"), value }
}

fn parent_message(data: &Value) -> Option<Box<Message>> {
    message::parse(&data["message"]).ok().map(Box::new)
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
            None => strings(&component, "values"),
        };
        Some((name, values))
    };
    components.iter().flat_map(inside).filter_map(field).collect()
}

fn strings(data: &Value, name: &str) -> Vec<String> {
    list(data, name).iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
