//! The gateway connection: drives [`Machine`] with sockets and time, and forwards updates.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::discord::Token;
use crate::discord::events::Event;
use crate::discord::rest::{Rest, Trouble};
use crate::discord::wire::{Incoming, Socket, Wire};

mod address;
mod beat;
mod fatal;
mod frame;
pub mod machine;
mod patience;

pub use fatal::Fatal;
use machine::{Input, Machine, Output};

/// Number of pending updates at which reading from the socket stops.
const UNHEARD: usize = 1024;
const OPENING: Duration = Duration::from_secs(20);
/// Timeout for sending a frame or closing.
const CLOSING: Duration = Duration::from_secs(2);

/// A session that can be resumed, also by a later process.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Session {
    pub id: String,
    /// Sequence number of the last received event.
    pub seq: u64,
    /// Address for resuming.
    pub resume_url: String,
}

/// Update from the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Event(Event),
    /// All updates so far belong to this session. To be stored once they are handled.
    Keep(Session),
    /// The stored session is invalid.
    Forget,
    /// The connection was lost, for this reason; it is being made again.
    Down(String),
}

/// Why the gateway ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Stopped on request; the session can be resumed.
    Stopped,
    /// It cannot work until the user acts.
    Fatal(Fatal),
    /// The receiver of updates was closed.
    Unheard,
}

/// Parameters of a gateway.
#[derive(Debug)]
pub struct Beginning {
    pub token: Token,
    /// The stored session, if there is one.
    pub session: Option<Session>,
    /// Seed of the random delays.
    pub seed: u64,
}

/// A gateway connection that is re-established as needed.
pub struct Gateway {
    wire: Arc<dyn Wire>,
    rest: Rest,
    machine: Machine,
    began: Instant,
    line: Line,
    unheard: VecDeque<Told>,
}

/// State of the connection.
enum Line {
    Down,
    /// The gateway address is being requested.
    Asking(Waiting<Result<String, Trouble>>),
    Opening(Waiting<Option<Box<dyn Socket>>>),
    Up(Box<dyn Socket>),
}

type Waiting<T> = futures_util::future::BoxFuture<'static, T>;

impl Gateway {
    /// Creates a gateway over `transport` that asks `rest` for its address.
    pub fn new(wire: Arc<dyn Wire>, rest: Rest, beginning: Beginning) -> Self {
        let Beginning { token, session, seed } = beginning;
        Self {
            wire,
            rest,
            machine: Machine::new(token, session, seed),
            began: Instant::now(),
            line: Line::Down,
            unheard: VecDeque::new(),
        }
    }

    /// Keeps the connection up until `stop` and sends updates to `listener`. Returns when it cannot
    /// continue.
    pub async fn run(mut self, listener: Sender<Told>, stop: CancellationToken) -> Ended {
        let mut next = Some(Input::Began);
        loop {
            if let Some(input) = next.take()
                && let Some(fatal) = self.feed(input).await
            {
                self.tell_the_rest(&listener).await;
                return Ended::Fatal(fatal);
            }
            next = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.feed(Input::Stop).await;
                    self.tell_the_rest(&listener).await;
                    return Ended::Stopped;
                }
                heard = tell(&listener, &mut self.unheard) => match heard {
                    Ok(()) => None,
                    Err(Deaf) => {
                        self.feed(Input::Stop).await;
                        return Ended::Unheard;
                    }
                },
                () = until(self.began, self.machine.wakes()) => Some(Input::TimePassed),
                input = self.line.next(), if self.unheard.len() < UNHEARD => Some(input),
            };
        }
    }

    /// Passes `input` to the machine and executes its outputs.
    async fn feed(&mut self, input: Input) -> Option<Fatal> {
        if let Input::Closed(_) | Input::Dropped | Input::Unreachable(_) = input {
            self.line = Line::Down;
        }
        for output in self.machine.on(input, self.began.elapsed()) {
            match output {
                Output::Ask { after } => self.line = self.ask(after),
                Output::Connect { url, after } => self.line = self.open(url, after),
                Output::Say(text) => self.say(text).await,
                Output::Close(code) => self.close(code).await,
                Output::Tell(told) => self.unheard.push_back(told),
                Output::Log(words) => tracing::warn!("{words}"),
                Output::GiveUp(fatal) => return Some(fatal),
            }
        }
        None
    }

    fn ask(&self, after: Duration) -> Line {
        let rest = self.rest.clone();
        Line::Asking(Box::pin(async move {
            tokio::time::sleep(after).await;
            rest.gateway_url().await
        }))
    }

    fn open(&self, url: String, after: Duration) -> Line {
        let wire = Arc::clone(&self.wire);
        Line::Opening(Box::pin(async move {
            tokio::time::sleep(after).await;
            tokio::time::timeout(OPENING, wire.connect(&url)).await.ok().and_then(Result::ok)
        }))
    }

    /// A failure is noticed at the next read.
    async fn say(&mut self, text: String) {
        if let Line::Up(socket) = &mut self.line {
            let _ = tokio::time::timeout(CLOSING, socket.say(text)).await;
        }
    }

    async fn close(&mut self, code: u16) {
        if let Line::Up(mut socket) = std::mem::replace(&mut self.line, Line::Down) {
            let _ = tokio::time::timeout(CLOSING, socket.close(code)).await;
        }
    }

    async fn tell_the_rest(&mut self, listener: &Sender<Told>) {
        while !self.unheard.is_empty() && tell(listener, &mut self.unheard).await.is_ok() {}
    }
}

impl Line {
    /// Returns the next input. Cancel safe.
    async fn next(&mut self) -> Input {
        match self {
            Self::Down => std::future::pending().await,
            Self::Asking(asking) => {
                let answer = asking.await;
                *self = Self::Down;
                Input::Gateway(answer)
            }
            Self::Opening(opening) => match opening.await {
                Some(socket) => {
                    *self = Self::Up(socket);
                    Input::Opened
                }
                None => Input::Unreachable("Discord's gateway cannot be reached".to_owned()),
            },
            Self::Up(socket) => match socket.next().await {
                Incoming::Text(text) => Input::Text(text),
                Incoming::Closed(code) => Input::Closed(code),
                Incoming::Dropped => Input::Dropped,
            },
        }
    }
}

struct Deaf;

/// Forwards the oldest pending update. Without one, waits until the receiver is closed.
async fn tell(listener: &Sender<Told>, unheard: &mut VecDeque<Told>) -> Result<(), Deaf> {
    if unheard.is_empty() {
        listener.closed().await;
        return Err(Deaf);
    }
    let place = listener.reserve().await.map_err(|_| Deaf)?;
    if let Some(told) = unheard.pop_front() {
        place.send(told);
    }
    Ok(())
}

async fn until(began: Instant, time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep_until(began + time).await,
        None => std::future::pending().await,
    }
}
