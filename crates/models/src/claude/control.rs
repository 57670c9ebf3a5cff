//! The two-way conversation with the program: our requests and their answers, its requests and ours.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::process::Process;
use super::wire::Frame;

/// What came of one of our requests.
pub type Answered = Result<Value, String>;

/// The program, and what we still wait for.
#[derive(Debug)]
pub struct Control {
    process: Process,
    requests: u64,
    waiting: HashMap<String, oneshot::Sender<Answered>>,
}

impl Control {
    /// The way to `process`.
    pub fn new(process: Process) -> Self {
        Self { process, requests: 0, waiting: HashMap::new() }
    }

    /// The number of the process.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// The end of what it complained about.
    pub fn complaint(&self) -> String {
        self.process.complaint()
    }

    /// Asks for something. The answer is found while reading on; `waiting` gets it.
    pub async fn request(
        &mut self,
        request: &Value,
        waiting: oneshot::Sender<Answered>,
    ) -> std::io::Result<()> {
        self.requests += 1;
        let id = format!("ollim-{}", self.requests);
        self.waiting.insert(id.clone(), waiting);
        self.write(&json!({"type": "control_request", "request_id": id, "request": request})).await
    }

    /// Answers what it asked under `id`.
    pub async fn answer(&mut self, id: &str, answered: Answered) -> std::io::Result<()> {
        let response = match answered {
            Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        self.write(&json!({"type": "control_response", "response": response})).await
    }

    /// Says something to the model: a user message as it goes over the wire.
    pub async fn say(&mut self, message: &Value) -> std::io::Result<()> {
        self.write(message).await
    }

    /// The next thing it says; nothing, when it is gone. An answer to us is handed to the one who waits for it.
    pub async fn frame(&mut self) -> Option<Frame> {
        let frame = Frame::read(&self.process.read().await?);
        let Frame::Answered(id, answered) = frame else { return Some(frame) };
        if let Some(waiting) = self.waiting.remove(&id) {
            // Whoever asked may have left.
            let _ = waiting.send(answered);
        }
        Some(Frame::Other)
    }

    /// Ends the program and waits until it is gone; each of three hints gets `each` to work.
    pub async fn end(&mut self, each: Duration) {
        self.process.end(each).await;
    }

    async fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.process.write(message.to_string().into_bytes()).await
    }
}
