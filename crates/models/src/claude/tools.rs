//! Our tools as the program sees them: a server in the same process, reached over the control channel.
//!
//! A call is not run here. It becomes a call in a reply, and waits until its result comes back through the
//! one door that all tools go through.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use domain::conversation::Json;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::control::Answered;
use super::wire::Rpc;

/// What our server is called; a tool of it is `mcp__ollim__<tool>` to the model.
pub const SERVER: &str = "ollim";

/// What stands before the name of a tool of ours.
pub const PREFIX: &str = "mcp__ollim__";

/// The tools, the calls that wait for a result, and the results that wait for their call.
#[derive(Debug)]
pub struct Tools {
    specs: Arc<[ToolSpec]>,
    open: VecDeque<Open>,
    results: HashMap<String, ToolResult>,
}

#[derive(Debug)]
struct Open {
    request: String,
    rpc: Value,
    call: ToolCall,
    told: bool,
}

/// An answer to a request of the program.
pub type Answer = (String, Answered);

impl Tools {
    /// These tools, none of them called.
    pub fn new(specs: Arc<[ToolSpec]>) -> Self {
        Self { specs, open: VecDeque::new(), results: HashMap::new() }
    }

    /// Takes a message for our server. A call that has no result yet is answered later.
    pub fn asked(&mut self, request: String, rpc: Rpc) -> Option<Answer> {
        let result = match rpc.method.as_str() {
            "initialize" => hello(&rpc.params),
            "tools/list" => self.list(),
            "tools/call" => {
                self.called(request, rpc);
                return self.answers().pop();
            }
            // Notifications want an acknowledgement, and pings an empty answer.
            _ => json!({}),
        };
        Some((request, Ok(reply(rpc.id, result))))
    }

    /// The calls that nobody was told of.
    pub fn take_new(&mut self) -> Vec<ToolCall> {
        let new = self.open.iter_mut().filter(|open| !open.told).map(|open| {
            open.told = true;
            open.call.clone()
        });
        new.collect()
    }

    /// The calls that nobody was told of, by their ids.
    pub fn new_ids(&self) -> Vec<&str> {
        self.open.iter().filter(|open| !open.told).map(|open| open.call.id.as_str()).collect()
    }

    /// Takes results, and gives the answers for the calls that waited for them; nothing, if a call that was
    /// told of has no result among them.
    pub fn ran(&mut self, results: &[ToolResult]) -> Option<Vec<Answer>> {
        let has = |open: &Open| results.iter().any(|result| result.call == open.call.id);
        if !self.open.iter().filter(|open| open.told).all(has) {
            return None;
        }
        self.results.extend(results.iter().map(|result| (result.call.clone(), result.clone())));
        Some(self.answers())
    }

    /// The program does not wait for this one any more.
    pub fn withdrawn(&mut self, request: &str) {
        self.open.retain(|open| open.request != request);
    }

    /// A turn is over, and everything that waited in it.
    pub fn clear(&mut self) {
        self.open.clear();
        self.results.clear();
    }

    fn called(&mut self, request: String, rpc: Rpc) {
        let params = &rpc.params;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let id = params["_meta"]["claudecode/toolUseId"].as_str().unwrap_or(&request).to_owned();
        let arguments = params.get("arguments").filter(|input| input.is_object());
        let input = Json(arguments.map_or_else(|| "{}".to_owned(), Value::to_string));
        let rpc = rpc.id.unwrap_or_default();
        self.open.push_back(Open { request, rpc, call: ToolCall { id, name, input }, told: false });
    }

    fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        for open in std::mem::take(&mut self.open) {
            match self.results.remove(&open.call.id) {
                Some(result) => answers.push((open.request, Ok(reply(Some(open.rpc), outcome(&result))))),
                None => self.open.push_back(open),
            }
        }
        answers
    }

    fn list(&self) -> Value {
        let tool = |spec: &ToolSpec| {
            let schema: Value = serde_json::from_str(spec.schema).unwrap_or(json!({"type": "object"}));
            // The program runs calls of one message at once only if all of them say so. Ours are ordered and
            // allowed by the door, so nothing depends on the word.
            let notes = json!({"readOnlyHint": true});
            json!({"name": spec.name, "description": spec.description, "inputSchema": schema, "annotations": notes})
        };
        json!({"tools": self.specs.iter().map(tool).collect::<Vec<_>>()})
    }
}

fn hello(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")},
    })
}

fn outcome(result: &ToolResult) -> Value {
    let failed = match &result.outcome {
        Outcome::Done | Outcome::Shown(_) => false,
        Outcome::Failed | Outcome::Denied => true,
    };
    json!({"content": [{"type": "text", "text": result.text}], "isError": failed})
}

fn reply(id: Option<Value>, result: Value) -> Value {
    let mut rpc = json!({"jsonrpc": "2.0", "result": result});
    if let Some(id) = id {
        rpc["id"] = id;
    }
    json!({"mcp_response": rpc})
}
