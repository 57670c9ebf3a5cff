//! The desk: how anybody reaches the assistant, by one bounded queue of letters.

use domain::assistant::{Answer, Event, Request};
use domain::renewal::Renew;
use domain::signing_in::SignIn;
use tokio::sync::mpsc::error::TrySendError;
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
    sign_ins: Option<mpsc::Sender<SigningIn>>,
}

/// Something that is wanted of the program itself, and where the answer goes.
#[derive(Debug)]
pub struct Errand {
    /// What.
    pub wanted: Renew,
    /// Who waits to hear what becomes of it.
    pub reply: oneshot::Sender<Answer>,
}

/// Somebody who wants the program signed in that answers, and where they hear of it.
#[derive(Debug)]
pub struct SigningIn {
    /// What is wanted.
    pub wanted: SignIn,
    /// Who waits.
    pub reply: oneshot::Sender<Answer>,
}

impl Desk {
    /// A desk, and the pile that its letters land on.
    pub fn new() -> (Self, mpsc::Receiver<Letter>) {
        let (sender, pile) = mpsc::channel(LETTERS);
        (Self { letters: sender, errands: None, sign_ins: None }, pile)
    }

    /// The same desk, with somebody who runs errands.
    #[must_use]
    pub fn with_errands(self) -> (Self, mpsc::Receiver<Errand>) {
        let (sender, errands) = mpsc::channel(1);
        (Self { errands: Some(sender), ..self }, errands)
    }

    /// The same desk, with somebody who signs the program in that answers.
    #[must_use]
    pub fn with_sign_ins(self) -> (Self, mpsc::Receiver<SigningIn>) {
        let (sender, sign_ins) = mpsc::channel(1);
        (Self { sign_ins: Some(sender), ..self }, sign_ins)
    }

    /// Wants something of the program itself, and waits until it is known what becomes of it.
    pub async fn renew(&self, wanted: Renew) -> Answer {
        match &self.errands {
            Some(errands) => handed(errands, |reply| Errand { wanted, reply }).await,
            None => Answer::Refused(NOT_RUNNING.to_owned()),
        }
    }

    /// Wants the program signed in that answers.
    pub async fn sign_in(&self, wanted: SignIn) -> Answer {
        match &self.sign_ins {
            Some(sign_ins) => handed(sign_ins, |reply| SigningIn { wanted, reply }).await,
            None => Answer::Refused("only the claude program is signed in: OLLIM_MODEL=claude".to_owned()),
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

const NOT_RUNNING: &str = "only an assistant that runs can do that. start it: ollim-bot";

/// Hands something to who does such things one at a time, and waits until it is known what becomes of it.
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
