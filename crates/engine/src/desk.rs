//! The handle to the assistant: one bounded queue of events and requests.

use domain::assistant::{Answer, Event, Request};
use domain::renewal::Renew;
use domain::signing_in::SignIn;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// The number of inputs that the queue holds before senders wait.
const LETTERS: usize = 256;

/// An input of the event loop.
#[derive(Debug)]
pub enum Letter {
    /// An event; the sender does not wait for a reply.
    Happened(Event),
    /// A request; the sender waits for the reply.
    Asked(Request, oneshot::Sender<Answer>),
}

/// A cloneable handle that sends events and requests to the event loop.
#[derive(Clone, Debug)]
pub struct Desk {
    letters: mpsc::Sender<Letter>,
    errands: Option<mpsc::Sender<Errand>>,
    sign_ins: Option<mpsc::Sender<SigningIn>>,
}

/// A request to update or restart the program, with its reply channel.
#[derive(Debug)]
pub struct Errand {
    pub wanted: Renew,
    pub reply: oneshot::Sender<Answer>,
}

/// A request to sign the model program in, with its reply channel.
#[derive(Debug)]
pub struct SigningIn {
    pub wanted: SignIn,
    pub reply: oneshot::Sender<Answer>,
}

impl Desk {
    /// Returns a handle and the receiver of its inputs.
    pub fn new() -> (Self, mpsc::Receiver<Letter>) {
        let (sender, pile) = mpsc::channel(LETTERS);
        (Self { letters: sender, errands: None, sign_ins: None }, pile)
    }

    /// Adds a queue for update requests and returns its receiver.
    #[must_use]
    pub fn with_errands(self) -> (Self, mpsc::Receiver<Errand>) {
        let (sender, errands) = mpsc::channel(1);
        (Self { errands: Some(sender), ..self }, errands)
    }

    /// Adds a queue for sign-in requests and returns its receiver.
    #[must_use]
    pub fn with_sign_ins(self) -> (Self, mpsc::Receiver<SigningIn>) {
        let (sender, sign_ins) = mpsc::channel(1);
        (Self { sign_ins: Some(sender), ..self }, sign_ins)
    }

    /// Requests an update or restart of the program and waits for the outcome.
    pub async fn renew(&self, wanted: Renew) -> Answer {
        match &self.errands {
            Some(errands) => handed(errands, |reply| Errand { wanted, reply }).await,
            None => Answer::Refused(NOT_RUNNING.to_owned()),
        }
    }

    /// Requests a sign-in of the model program and waits for the outcome.
    pub async fn sign_in(&self, wanted: SignIn) -> Answer {
        match &self.sign_ins {
            Some(sign_ins) => handed(sign_ins, |reply| SigningIn { wanted, reply }).await,
            None => Answer::Refused("only the claude program is signed in: OLLIM_MODEL=claude".to_owned()),
        }
    }

    /// Sends an event. Waits while the queue is full.
    pub async fn tell(&self, event: Event) {
        // Sending fails only while the program shuts down.
        let _ = self.letters.send(Letter::Happened(event)).await;
    }

    /// Sends a request and waits for the answer.
    pub async fn ask(&self, request: Request) -> Answer {
        let (reply, answer) = oneshot::channel();
        if self.letters.send(Letter::Asked(request, reply)).await.is_err() {
            return closed();
        }
        answer.await.unwrap_or_else(|_| closed())
    }
}

const NOT_RUNNING: &str = "only an assistant that runs can do that. start it: ollim-bot";

/// Sends a request to a receiver that handles one at a time, and waits for the outcome.
async fn handed<T>(to: &mpsc::Sender<T>, what: impl FnOnce(oneshot::Sender<Answer>) -> T) -> Answer {
    let (reply, answer) = oneshot::channel();
    match to.try_send(what(reply)) {
        Ok(()) => answer.await.unwrap_or_else(|_| closed()),
        Err(TrySendError::Full(_)) => Answer::Refused("i am at it already.".to_owned()),
        Err(TrySendError::Closed(_)) => Answer::Refused(NOT_RUNNING.to_owned()),
    }
}

fn closed() -> Answer {
    Answer::Refused("i am shutting down.".to_owned())
}
