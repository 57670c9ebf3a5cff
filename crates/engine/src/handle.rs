//! The handle to the assistant: one bounded queue of events and requests.

use domain::assistant::{Answer, Event, Request};
use domain::maintenance::MaintenanceRequest;
use domain::sign_in::SignIn;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// The number of inputs that the queue holds before senders wait.
const QUEUE_CAPACITY: usize = 256;

/// An input of the event loop.
#[derive(Debug)]
pub enum Input {
    /// An event; the sender does not wait for a reply.
    Event(Event),
    /// A request; the sender waits for the reply.
    Request(Request, oneshot::Sender<Answer>),
}

/// A cloneable handle that sends events and requests to the event loop.
#[derive(Clone, Debug)]
pub struct AssistantHandle {
    inputs: mpsc::Sender<Input>,
    update_requests: Option<mpsc::Sender<UpdateRequest>>,
    sign_in_requests: Option<mpsc::Sender<SignInRequest>>,
}

/// A request to update or restart the program, with its reply channel.
#[derive(Debug)]
pub struct UpdateRequest {
    pub action: MaintenanceRequest,
    pub reply: oneshot::Sender<Answer>,
}

/// A request to sign the model program in, with its reply channel.
#[derive(Debug)]
pub struct SignInRequest {
    pub action: SignIn,
    pub reply: oneshot::Sender<Answer>,
}

impl AssistantHandle {
    /// Returns a handle and the receiver of its inputs.
    pub fn new() -> (Self, mpsc::Receiver<Input>) {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        (Self { inputs: sender, update_requests: None, sign_in_requests: None }, receiver)
    }

    /// Adds a queue for update requests and returns its receiver.
    #[must_use]
    pub fn with_update_requests(self) -> (Self, mpsc::Receiver<UpdateRequest>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { update_requests: Some(sender), ..self }, receiver)
    }

    /// Adds a queue for sign-in requests and returns its receiver.
    #[must_use]
    pub fn with_sign_in_requests(self) -> (Self, mpsc::Receiver<SignInRequest>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { sign_in_requests: Some(sender), ..self }, receiver)
    }

    /// Requests an update or restart of the program and waits for the outcome.
    pub async fn request_update(&self, action: MaintenanceRequest) -> Answer {
        match &self.update_requests {
            Some(requests) => submit(requests, |reply| UpdateRequest { action, reply }).await,
            None => Answer::Refused(NOT_RUNNING.to_owned()),
        }
    }

    /// Requests a sign-in of the model program and waits for the outcome.
    pub async fn request_sign_in(&self, action: SignIn) -> Answer {
        match &self.sign_in_requests {
            Some(requests) => submit(requests, |reply| SignInRequest { action, reply }).await,
            None => Answer::Refused("only the claude program is signed in: OLLIM_MODEL=claude".to_owned()),
        }
    }

    /// Sends an event. Waits while the queue is full.
    pub async fn send_event(&self, event: Event) {
        // Sending fails only while the program shuts down.
        let _ = self.inputs.send(Input::Event(event)).await;
    }

    /// Sends a request and waits for the answer.
    pub async fn ask(&self, request: Request) -> Answer {
        let (reply, answer) = oneshot::channel();
        if self.inputs.send(Input::Request(request, reply)).await.is_err() {
            return shutting_down();
        }
        answer.await.unwrap_or_else(|_| shutting_down())
    }
}

const NOT_RUNNING: &str = "only an assistant that runs can do that. start it: ollim-bot";

/// Sends a request to a receiver that handles one at a time, and waits for the outcome.
async fn submit<T>(sender: &mpsc::Sender<T>, request: impl FnOnce(oneshot::Sender<Answer>) -> T) -> Answer {
    let (reply, answer) = oneshot::channel();
    match sender.try_send(request(reply)) {
        Ok(()) => answer.await.unwrap_or_else(|_| shutting_down()),
        Err(TrySendError::Full(_)) => Answer::Refused("i am at it already.".to_owned()),
        Err(TrySendError::Closed(_)) => Answer::Refused(NOT_RUNNING.to_owned()),
    }
}

fn shutting_down() -> Answer {
    Answer::Refused("i am shutting down.".to_owned())
}
