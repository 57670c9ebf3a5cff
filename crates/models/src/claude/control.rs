//! The bidirectional control protocol of the program: requests and responses in both directions.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::process::Process;
use super::protocol::Frame;

/// The response to a control request.
pub type ControlResponse = Result<Value, String>;

/// The channel to the program, with the requests that are still unanswered.
#[derive(Debug)]
pub struct ControlChannel {
    process: Process,
    request_count: u64,
    pending: HashMap<String, oneshot::Sender<ControlResponse>>,
}

impl ControlChannel {
    /// Creates the channel to `process`.
    pub fn new(process: Process) -> Self {
        Self { process, request_count: 0, pending: HashMap::new() }
    }

    /// Returns the process id.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Returns the end of its stderr output.
    pub fn stderr_text(&self) -> String {
        self.process.stderr_text()
    }

    /// Sends a request. `responder` receives the response, which `next_frame` reads.
    pub async fn request(
        &mut self,
        request: &Value,
        responder: oneshot::Sender<ControlResponse>,
    ) -> std::io::Result<()> {
        self.request_count += 1;
        let id = format!("ollim-{}", self.request_count);
        self.pending.insert(id.clone(), responder);
        self.write(&json!({"type": "control_request", "request_id": id, "request": request})).await
    }

    /// Answers the program's request `id`.
    pub async fn answer(&mut self, id: &str, response: ControlResponse) -> std::io::Result<()> {
        let response = match response {
            Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        self.write(&json!({"type": "control_response", "response": response})).await
    }

    /// Sends a user message in the program's format.
    pub async fn send_message(&mut self, message: &Value) -> std::io::Result<()> {
        self.write(message).await
    }

    /// Returns the next frame, or none when the program has ended. A response to us is passed to
    /// its requester.
    pub async fn next_frame(&mut self) -> Option<Frame> {
        let frame = Frame::parse(&self.process.read_line().await?);
        let Frame::Response(id, answered) = frame else { return Some(frame) };
        if let Some(waiting) = self.pending.remove(&id) {
            // The requester may have left.
            let _ = waiting.send(answered);
        }
        Some(Frame::Other)
    }

    /// Ends the program and waits for its exit; each of three attempts may take `each`.
    pub async fn stop(&mut self, each: Duration) {
        self.process.stop(each).await;
    }

    async fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.process.write_line(message.to_string().into_bytes()).await
    }
}
