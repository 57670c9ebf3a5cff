//! The tool that shows an embed.

use domain::assistant::{Request, TurnRequest};
use domain::context_tool::ContextTool;
use domain::embed::{Button, ButtonAction, ButtonStyle, Colour, Embed, Field, FieldLayout, Footer};
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::TurnId;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::ping::CriticalFlag;
use crate::{ParsedRequest, Tool, ToolHandler, parse_input};

pub const EMBED: Tool = Tool {
    spec: ToolSpec {
        name: "discord_embed",
        description: Cow::Borrowed(
            "Shows structured data (a list, a plan, a status) as an embed, with buttons that act on it. \
            In a background run it counts as a ping.",
        ),
        schema: concat!(
            r#"{"type":"object","required":["title"],"properties":{"title":{"type":"string"},"#,
            r#""description":{"type":"string"},"#,
            r#""color":{"type":"string","description":"one of blue, green, red, yellow, purple; meaning information, success, urgency, caution, other"},"#,
            r#""fields":{"type":"array","items":{"type":"object","required":["name","value"],"#,
            r#""properties":{"name":{"type":"string"},"value":{"type":"string"},"inline":{"type":"boolean"}}}},"#,
            r#""buttons":{"type":"array","maxItems":5,"items":{"type":"object","required":["label","action"],"#,
            r#""properties":{"label":{"type":"string","description":"use the word Close for a button that deletes the message"},"#,
            r#""style":{"type":"string","description":"one of success, danger, primary, secondary"},"#,
            r#""action":{"type":"string","description":"task_done:<task_id>, task_del:<task_id>, event_del:<event_id>, agent:<prompt> or dismiss"}}}},"#,
            r#""critical":{"type":"boolean"}}}"#,
        ),
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(embed),
};

#[derive(Deserialize)]
struct EmbedInput {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    color: String,
    #[serde(default)]
    fields: Vec<FieldInput>,
    #[serde(default)]
    buttons: Vec<ButtonInput>,
    #[serde(default)]
    critical: CriticalFlag,
}

#[derive(Deserialize)]
struct FieldInput {
    name: String,
    value: String,
    inline: Option<bool>,
}

#[derive(Deserialize)]
struct ButtonInput {
    label: String,
    #[serde(default)]
    style: String,
    action: String,
}

fn embed(turn: TurnId, input: Value) -> ParsedRequest {
    let EmbedInput { title, description, color, fields, buttons, critical } = parse_input(input)?;
    let embed = Embed {
        title,
        description,
        colour: Colour::from_name(&color),
        fields: fields.into_iter().map(field).collect(),
        buttons: buttons.into_iter().map(button).collect(),
        footer: Footer::None,
    };
    Ok(Request::Turn(turn, TurnRequest::UseContextTool(ContextTool::Show(embed, critical.into()))))
}

fn field(FieldInput { name, value, inline }: FieldInput) -> Field {
    let layout = match inline {
        Some(false) => FieldLayout::FullLine,
        Some(true) | None => FieldLayout::Inline,
    };
    Field { name, value, layout }
}

fn button(ButtonInput { label, style, action }: ButtonInput) -> Button {
    Button { label, style: ButtonStyle::from_name(&style), action: ButtonAction::parse(&action) }
}
