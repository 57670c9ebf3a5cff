//! Serves our tools to the program as an in-process MCP server over the control channel.
//!
//! Calls are not run here. A call becomes part of a reply and stays open until the engine, which
//! authorizes and runs all tools, provides its result.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use domain::conversation::Json;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::control::ControlResponse;
use super::protocol::RpcMessage;

/// The name of our server; the model calls its tools `mcp__ollim__<tool>`.
pub const SERVER_NAME: &str = "ollim";

/// The prefix of our tools' names.
pub const TOOL_PREFIX: &str = "mcp__ollim__";

/// The tools, the open calls, and results whose calls have not arrived yet.
#[derive(Debug)]
pub struct ToolServer {
    specs: Arc<[ToolSpec]>,
    open_calls: VecDeque<OpenCall>,
    results: HashMap<String, ToolResult>,
}

#[derive(Debug)]
struct OpenCall {
    request: String,
    rpc: Value,
    call: ToolCall,
    returned: bool,
}

/// An answer to a request of the program.
pub type ControlAnswer = (String, ControlResponse);

impl ToolServer {
    /// Creates a server for these tools.
    pub fn new(specs: Arc<[ToolSpec]>) -> Self {
        Self { specs, open_calls: VecDeque::new(), results: HashMap::new() }
    }

    /// Handles a message for our server. A call without a result is answered later.
    pub fn handle_request(&mut self, request: String, rpc: RpcMessage) -> Option<ControlAnswer> {
        let result = match rpc.method.as_str() {
            "initialize" => initialize_result(&rpc.params),
            "tools/list" => self.list(),
            "tools/call" => {
                self.add_call(request, rpc);
                return self.take_answers().pop();
            }
            // Notifications are acknowledged, and pings get an empty answer.
            _ => json!({}),
        };
        Some((request, Ok(mcp_response(rpc.id, result))))
    }

    /// Returns the calls that were not returned before, and marks them as returned.
    pub fn take_new_calls(&mut self) -> Vec<ToolCall> {
        let new = self.open_calls.iter_mut().filter(|open| !open.returned).map(|open| {
            open.returned = true;
            open.call.clone()
        });
        new.collect()
    }

    /// Returns the ids of the calls that were not returned yet.
    pub fn new_call_ids(&self) -> Vec<&str> {
        self.open_calls.iter().filter(|open| !open.returned).map(|open| open.call.id.as_str()).collect()
    }

    /// Adds results, and returns the answers for their open calls, or none if a returned call has
    /// no result among them.
    pub fn add_results(&mut self, results: &[ToolResult]) -> Option<Vec<ControlAnswer>> {
        let has = |open: &OpenCall| results.iter().any(|result| result.call == open.call.id);
        if !self.open_calls.iter().filter(|open| open.returned).all(has) {
            return None;
        }
        self.results.extend(results.iter().map(|result| (result.call.clone(), result.clone())));
        Some(self.take_answers())
    }

    /// Removes a call that the program no longer waits for.
    pub fn cancel(&mut self, request: &str) {
        self.open_calls.retain(|open| open.request != request);
    }

    /// Removes all calls and results at the end of a turn.
    pub fn clear(&mut self) {
        self.open_calls.clear();
        self.results.clear();
    }

    fn add_call(&mut self, request: String, rpc: RpcMessage) {
        let params = &rpc.params;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let id = params["_meta"]["claudecode/toolUseId"].as_str().unwrap_or(&request).to_owned();
        let arguments = params.get("arguments").filter(|input| input.is_object());
        let input = Json(arguments.map_or_else(|| "{}".to_owned(), Value::to_string));
        let rpc = rpc.id.unwrap_or_default();
        self.open_calls.push_back(OpenCall {
            request,
            rpc,
            call: ToolCall { id, name, input },
            returned: false,
        });
    }

    fn take_answers(&mut self) -> Vec<ControlAnswer> {
        let mut answers = Vec::new();
        for open in std::mem::take(&mut self.open_calls) {
            match self.results.remove(&open.call.id) {
                Some(result) => {
                    answers.push((open.request, Ok(mcp_response(Some(open.rpc), result_content(&result)))))
                }
                None => self.open_calls.push_back(open),
            }
        }
        answers
    }

    fn list(&self) -> Value {
        let tool = |spec: &ToolSpec| {
            let schema: Value = serde_json::from_str(spec.schema).unwrap_or(json!({"type": "object"}));
            // The program runs the calls of a message concurrently only if all are marked
            // read-only. The engine orders and authorizes our calls, so the hint has no other
            // effect.
            let notes = json!({"readOnlyHint": true});
            json!({"name": spec.name, "description": spec.description, "inputSchema": schema, "annotations": notes})
        };
        json!({"tools": self.specs.iter().map(tool).collect::<Vec<_>>()})
    }
}

fn initialize_result(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": SERVER_NAME, "version": env!("CARGO_PKG_VERSION")},
    })
}

fn result_content(result: &ToolResult) -> Value {
    let failed = match &result.outcome {
        Outcome::Done | Outcome::Shown(_) => false,
        Outcome::Failed | Outcome::Denied => true,
    };
    json!({"content": [{"type": "text", "text": result.text}], "isError": failed})
}

fn mcp_response(id: Option<Value>, result: Value) -> Value {
    let mut rpc = json!({"jsonrpc": "2.0", "result": result});
    if let Some(id) = id {
        rpc["id"] = id;
    }
    json!({"mcp_response": rpc})
}
