//! The bidirectional control protocol of the program: requests and responses in both directions.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::process::Process;
use super::wire::Frame;

/// The response to a control request.
pub type Answered = Result<Value, String>;

/// The channel to the program, with the requests that are still unanswered.
#[derive(Debug)]
pub struct Control {
    process: Process,
    requests: u64,
    waiting: HashMap<String, oneshot::Sender<Answered>>,
}

impl Control {
    /// Creates the channel to `process`.
    pub fn new(process: Process) -> Self {
        Self { process, requests: 0, waiting: HashMap::new() }
    }

    /// Returns the process id.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Returns the end of its stderr output.
    pub fn complaint(&self) -> String {
        self.process.complaint()
    }

    /// Sends a request. `responder` receives the response, which `next_frame` reads.
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

    /// Answers the program's request `id`.
    pub async fn answer(&mut self, id: &str, answered: Answered) -> std::io::Result<()> {
        let response = match answered {
            Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        self.write(&json!({"type": "control_response", "response": response})).await
    }

    /// Sends a user message in the program's format.
    pub async fn say(&mut self, message: &Value) -> std::io::Result<()> {
        self.write(message).await
    }

    /// Returns the next frame, or none when the program has ended. A response to us is passed to
    /// its requester.
    pub async fn frame(&mut self) -> Option<Frame> {
        let frame = Frame::read(&self.process.read().await?);
        let Frame::Answered(id, answered) = frame else { return Some(frame) };
        if let Some(waiting) = self.waiting.remove(&id) {
            // The requester may have left.
            let _ = waiting.send(answered);
        }
        Some(Frame::Other)
    }

    /// Ends the program and waits for its exit; each of three attempts may take `each`.
    pub async fn end(&mut self, each: Duration) {
        self.process.end(each).await;
    }

    async fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.process.write(message.to_string().into_bytes()).await
    }
}
