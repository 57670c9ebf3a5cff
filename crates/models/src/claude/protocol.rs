//! The program's output protocol, as far as it is used.
//!
//! Keys may have any order. Unknown types, and known types with an unknown shape, are ignored.

use domain::conversation::Usage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One line of output.
#[derive(Debug)]
pub enum Frame {
    /// A turn begins in this session.
    SessionStarted(String),
    /// A compaction runs or has just ended.
    Compacting,
    /// The session was compacted.
    Compacted(CompactMetadata),
    /// A stream event of the main conversation.
    Stream(StreamEvent),
    /// A finished block of the main conversation.
    Message(Message),
    TurnEnded(Box<TurnResult>),
    /// A request with this id, which must be answered.
    Request(String, ProgramRequest),
    /// The response to our request with this id.
    Response(String, Result<Value, String>),
    /// The request with this id is cancelled.
    RequestCancelled(String),
    Other,
}

/// A request of the program.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype")]
pub enum ProgramRequest {
    #[serde(rename = "mcp_message")]
    McpMessage { message: RpcMessage },
    #[serde(rename = "can_use_tool")]
    CanUseTool { tool_name: String, input: Value },
    #[serde(rename = "hook_callback")]
    Hook { callback_id: String, input: HookInput },
    #[serde(other)]
    Unknown,
}

/// A message to our MCP server.
#[derive(Debug, Deserialize)]
pub struct RpcMessage {
    #[serde(default)]
    pub id: Option<Value>,
    #[serde(default)]
    pub method: String,
    #[serde(default)]
    pub params: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookInput {
    pub tool_name: String,
    pub tool_input: Value,
    pub tool_response: Value,
    pub last_assistant_message: Option<String>,
    pub stop_hook_active: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompactMetadata {
    pub trigger: String,
    pub pre_tokens: Option<u64>,
    pub post_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    MessageStart {
        message: Message,
    },
    ContentBlockStart,
    ContentBlockDelta {
        delta: Delta,
    },
    MessageDelta {
        #[serde(default)]
        usage: Tokens,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    TextDelta {
        text: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    pub id: String,
    pub model: String,
    pub content: Vec<Content>,
    pub usage: Tokens,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    input_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_creation: CacheCreation,
    pub output_tokens: u64,
}

/// The tokens written to the cache with a lifetime of one hour.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: u64,
}

impl Tokens {
    /// Returns the input usage; the output is only known at the end of a message.
    pub fn input_usage(self) -> Usage {
        Usage {
            input: self.input_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write: self.cache_creation_input_tokens,
            cache_write_1h: self.cache_creation.ephemeral_1h_input_tokens,
            output: 0,
        }
    }
}

/// The result of a turn. `is_error` is decisive, whatever `subtype` says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TurnResult {
    pub is_error: bool,
    pub subtype: String,
    pub session_id: String,
    pub result: String,
    pub errors: Vec<String>,
    pub api_error_status: Option<u16>,
    pub stop_reason: Option<String>,
    pub num_turns: u64,
}

impl Frame {
    /// Parses one line.
    pub fn parse(line: &[u8]) -> Self {
        let Ok(mut json) = serde_json::from_slice::<Value>(line) else { return Self::Other };
        let kind = json["type"].as_str().unwrap_or_default().to_owned();
        let subagent = !json["parent_tool_use_id"].is_null();
        match kind.as_str() {
            "system" => parse_system(&mut json),
            "stream_event" if !subagent => parse_without_nulls(json["event"].take()).map(Self::Stream),
            "assistant" if !subagent => parse_without_nulls(json["message"].take()).map(Self::Message),
            "result" => parse_without_nulls(json).map(Self::TurnEnded),
            "control_request" => parse_request(&mut json),
            "control_response" => parse_response(&mut json),
            "control_cancel_request" => Some(Self::RequestCancelled(text(&json["request_id"]))),
            _ => None,
        }
        .unwrap_or(Self::Other)
    }
}

fn parse_system(json: &mut Value) -> Option<Frame> {
    match json["subtype"].as_str()? {
        "init" => Some(Frame::SessionStarted(text(&json["session_id"]))),
        "status" if json["status"] == "compacting" => Some(Frame::Compacting),
        "compact_boundary" => {
            Some(Frame::Compacted(parse_without_nulls(json["compact_metadata"].take()).unwrap_or_default()))
        }
        _ => None,
    }
}

/// A known request with an unknown shape must be answered too.
fn parse_request(json: &mut Value) -> Option<Frame> {
    let id = text(&json["request_id"]);
    Some(Frame::Request(
        id,
        serde_json::from_value(json["request"].take()).unwrap_or(ProgramRequest::Unknown),
    ))
}

fn parse_response(json: &mut Value) -> Option<Frame> {
    let mut response = json["response"].take();
    let id = text(&response["request_id"]);
    let answer = if response["subtype"] == "error" {
        Err(text(&response["error"]))
    } else {
        Ok(response.get_mut("response").map(Value::take).unwrap_or_default())
    };
    Some(Frame::Response(id, answer))
}

/// Parses `json`, treating null fields as absent.
fn parse_without_nulls<T: DeserializeOwned>(mut json: Value) -> Option<T> {
    remove_nulls(&mut json);
    serde_json::from_value(json).ok()
}

fn remove_nulls(json: &mut Value) {
    if let Value::Object(fields) = json {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(remove_nulls);
    }
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
