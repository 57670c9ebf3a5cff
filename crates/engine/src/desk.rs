//! The desk: how anybody reaches the assistant, by one bounded queue of letters.

use domain::assistant::{Answer, Event, Request};
use tokio::sync::{mpsc, oneshot};

/// How many letters may lie on the desk before senders wait.
const LETTERS: usize = 256;

/// Everything that can reach the assistant.
#[derive(Debug)]
pub enum Letter {
    /// Something happened; nobody waits for an answer.
    Happened(Event),
    /// Somebody asks, and waits.
    Asked(Request, oneshot::Sender<Answer>),
}

/// A way to put letters on the desk.
#[derive(Clone, Debug)]
pub struct Desk(mpsc::Sender<Letter>);

impl Desk {
    /// A desk, and the pile that its letters land on.
    pub fn new() -> (Self, mpsc::Receiver<Letter>) {
        let (sender, pile) = mpsc::channel(LETTERS);
        (Self(sender), pile)
    }

    /// Tells that something happened.
    pub async fn tell(&self, event: Event) {
        // Nobody reads any more only when the program ends.
        let _ = self.0.send(Letter::Happened(event)).await;
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&self, request: Request) -> Answer {
        let (reply, answer) = oneshot::channel();
        if self.0.send(Letter::Asked(request, reply)).await.is_err() {
            return closed();
        }
        answer.await.unwrap_or_else(|_| closed())
    }
}

fn closed() -> Answer {
    Answer::Refused("i am shutting down.".to_owned())
}
