//! JSON format of the column `body`: the content of an entry.

use domain::conversation::{Block, Completeness, EntryContent, EntryId, Image, Json, Opaque, UserInput};
use domain::label::{Label, Realm};
use domain::tool::{Outcome, ShownContent, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use super::embed_body::EmbedBody;

#[derive(Serialize, Deserialize)]
struct UserBody {
    preface: String,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageBody>,
}

#[derive(Serialize, Deserialize)]
struct ImageBody {
    media_type: String,
    data: String,
}

#[derive(Serialize, Deserialize)]
struct AssistantBody {
    blocks: Vec<BlockBody>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// Embedded JSON is stored as a string, so that it is preserved byte for byte.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BlockBody {
    Text(String),
    Call {
        id: String,
        name: String,
        input: String,
    },
    /// Written by the Messages API.
    Opaque(String),
    /// Written by a provider with another API.
    Foreign {
        origin: String,
        json: String,
    },
}

#[derive(Serialize, Deserialize)]
struct ToolsBody {
    results: Vec<ResultBody>,
}

#[derive(Serialize, Deserialize)]
struct ResultBody {
    call: String,
    text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    embed: Option<EmbedBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// Why a call failed, where that is known.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FailureBody {
    Denied,
}

#[derive(Serialize, Deserialize)]
struct SummaryBody {
    text: String,
}

#[derive(Serialize, Deserialize)]
struct RecalledBody {
    summary: u64,
}

/// Returns the kind and body of `said`.
pub fn write(said: &EntryContent) -> serde_json::Result<(&'static str, String)> {
    match said {
        EntryContent::User(heard) => Ok(("human", serde_json::to_string(&user_body(heard))?)),
        EntryContent::Assistant(blocks, reach) => {
            let blocks = blocks.iter().map(block_body).collect();
            let body = AssistantBody { blocks, cut: *reach == Completeness::Interrupted };
            Ok(("assistant", serde_json::to_string(&body)?))
        }
        EntryContent::Tools(results) => {
            let results = results.iter().map(result_body).collect();
            Ok(("tools", serde_json::to_string(&ToolsBody { results })?))
        }
        EntryContent::Summary(text) => {
            Ok(("summary", serde_json::to_string(&SummaryBody { text: text.clone() })?))
        }
        EntryContent::SummaryRecalled(summary) => {
            Ok(("recalled", serde_json::to_string(&RecalledBody { summary: summary.0 })?))
        }
    }
}

/// Parses an entry's content from its kind and body.
pub fn read(kind: &str, body: &str) -> Result<EntryContent, InvalidBody> {
    let bad = |error: serde_json::Error| InvalidBody(error.to_string());
    match kind {
        "human" => serde_json::from_str(body).map(user).map_err(bad),
        "assistant" => serde_json::from_str(body).map(assistant).map_err(bad),
        "tools" => serde_json::from_str(body).map(tools).map_err(bad),
        "summary" => {
            serde_json::from_str(body).map(|body: SummaryBody| EntryContent::Summary(body.text)).map_err(bad)
        }
        "recalled" => {
            let recalled = |body: RecalledBody| EntryContent::SummaryRecalled(EntryId(body.summary));
            serde_json::from_str(body).map(recalled).map_err(bad)
        }
        other => Err(InvalidBody(format!("nobody says things of the kind `{other}`"))),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBody(String);

/// Images as JSON.
pub fn write_images(images: &[Image]) -> serde_json::Result<String> {
    serde_json::to_string(&images.iter().map(image_body).collect::<Vec<_>>())
}

/// Images from JSON.
pub fn read_images(json: &str) -> Result<Vec<Image>, InvalidBody> {
    let images: Vec<ImageBody> =
        serde_json::from_str(json).map_err(|error| InvalidBody(error.to_string()))?;
    Ok(images.into_iter().map(image).collect())
}

fn image_body(image: &Image) -> ImageBody {
    ImageBody { media_type: image.media_type.clone(), data: image.data.clone() }
}

fn image(body: ImageBody) -> Image {
    Image { media_type: body.media_type, data: body.data }
}

fn user_body(heard: &UserInput) -> UserBody {
    UserBody {
        preface: heard.preface.clone(),
        text: heard.text.clone(),
        images: heard.images.iter().map(image_body).collect(),
    }
}

fn block_body(block: &Block) -> BlockBody {
    match block {
        Block::Text(text) => BlockBody::Text(text.clone()),
        Block::Call(ToolCall { id, name, input }) => {
            BlockBody::Call { id: id.clone(), name: name.clone(), input: input.0.clone() }
        }
        Block::Opaque(Opaque { origin, json }) if origin == Opaque::ANTHROPIC => {
            BlockBody::Opaque(json.0.clone())
        }
        Block::Opaque(Opaque { origin, json }) => {
            BlockBody::Foreign { origin: origin.clone(), json: json.0.clone() }
        }
    }
}

fn result_body(result: &ToolResult) -> ResultBody {
    let (failed, failure, embed, words) = match &result.outcome {
        Outcome::Done => (false, None, None, None),
        Outcome::Shown(ShownContent::Embed(embed)) => (false, None, Some(EmbedBody::from(embed)), None),
        Outcome::Shown(ShownContent::Text(words)) => (false, None, None, Some(words.clone())),
        Outcome::Failed => (true, None, None, None),
        Outcome::Denied => (true, Some(FailureBody::Denied), None, None),
    };
    let label = (result.label != Label::PLAIN).then(|| result.label.to_string());
    ResultBody { call: result.call.clone(), text: result.text.clone(), failed, failure, embed, words, label }
}

fn user(body: UserBody) -> EntryContent {
    let images = body.images.into_iter().map(image).collect();
    EntryContent::User(UserInput { preface: body.preface, text: body.text, images })
}

fn assistant(body: AssistantBody) -> EntryContent {
    let block = |block| match block {
        BlockBody::Text(text) => Block::Text(text),
        BlockBody::Call { id, name, input } => Block::Call(ToolCall { id, name, input: Json(input) }),
        BlockBody::Opaque(json) => Block::Opaque(Opaque::anthropic(json)),
        BlockBody::Foreign { origin, json } => Block::Opaque(Opaque { origin, json: Json(json) }),
    };
    let reach = if body.cut { Completeness::Interrupted } else { Completeness::Complete };
    EntryContent::Assistant(body.blocks.into_iter().map(block).collect(), reach)
}

fn tools(body: ToolsBody) -> EntryContent {
    let result = |body: ResultBody| {
        let outcome = match (body.failed, body.failure, body.embed, body.words) {
            (true, Some(FailureBody::Denied), ..) => Outcome::Denied,
            (true, None, ..) => Outcome::Failed,
            (false, _, Some(embed), _) => Outcome::Shown(ShownContent::Embed(embed.into())),
            (false, _, None, Some(words)) => Outcome::Shown(ShownContent::Text(words)),
            (false, _, None, None) => Outcome::Done,
        };
        // An unreadable label is treated as the strictest one.
        let label =
            body.label.map_or(Label::PLAIN, |text| text.parse().unwrap_or(Label::both(Realm::Report)));
        ToolResult { call: body.call, text: body.text, outcome, label }
    };
    EntryContent::Tools(body.results.into_iter().map(result).collect())
}
