//! The desk: how anybody reaches the assistant, by one bounded queue of letters.

use domain::assistant::{Answer, Event, Request};
use domain::renewal::Renew;
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
pub struct Desk {
    letters: mpsc::Sender<Letter>,
    errands: Option<mpsc::Sender<Errand>>,
}

/// Something that is wanted of the program itself, and where the answer goes.
#[derive(Debug)]
pub struct Errand {
    /// What.
    pub wanted: Renew,
    /// Who waits to hear what becomes of it.
    pub reply: oneshot::Sender<Answer>,
}

impl Desk {
    /// A desk, and the pile that its letters land on.
    pub fn new() -> (Self, mpsc::Receiver<Letter>) {
        let (sender, pile) = mpsc::channel(LETTERS);
        (Self { letters: sender, errands: None }, pile)
    }

    /// The same desk, with somebody who runs errands.
    #[must_use]
    pub fn with_errands(self) -> (Self, mpsc::Receiver<Errand>) {
        let (sender, errands) = mpsc::channel(1);
        (Self { errands: Some(sender), ..self }, errands)
    }

    /// Wants something of the program itself, and waits until it is known what becomes of it.
    pub async fn renew(&self, wanted: Renew) -> Answer {
        let Some(errands) = &self.errands else {
            return Answer::Refused(
                "only an assistant that runs can do that. start it: ollim-bot".to_owned(),
            );
        };
        let (reply, answer) = oneshot::channel();
        match errands.try_send(Errand { wanted, reply }) {
            Ok(()) => answer.await.unwrap_or_else(|_| closed()),
            Err(_) => Answer::Refused("i am at it already.".to_owned()),
        }
    }

    /// Tells that something happened.
    pub async fn tell(&self, event: Event) {
        // Nobody reads any more only when the program ends.
        let _ = self.letters.send(Letter::Happened(event)).await;
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&self, request: Request) -> Answer {
        let (reply, answer) = oneshot::channel();
        if self.letters.send(Letter::Asked(request, reply)).await.is_err() {
            return closed();
        }
        answer.await.unwrap_or_else(|_| closed())
    }
}

fn closed() -> Answer {
    Answer::Refused("i am shutting down.".to_owned())
}
