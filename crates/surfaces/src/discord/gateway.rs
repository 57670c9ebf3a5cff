//! The gateway connection: drives [`Machine`] with sockets and time, and forwards updates.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::discord::Token;
use crate::discord::events::Event;
use crate::discord::rest::{DiscordError, Rest};
use crate::discord::transport::{DiscordTransport, GatewaySocket, Incoming};

mod address;
mod backoff;
mod fatal;
mod frame;
mod heartbeat;
pub mod machine;

pub use fatal::Fatal;
use machine::{Input, Machine, Output};

/// Number of pending updates at which reading from the socket stops.
const MAX_PENDING: usize = 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for sending a frame or closing.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

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
pub enum GatewayUpdate {
    Event(Event),
    /// All updates so far belong to this session. To be stored once they are handled.
    SaveSession(Session),
    /// The stored session is invalid.
    DropSession,
    /// The connection was lost, for this reason; it is being made again.
    Disconnected(String),
}

/// Why the gateway ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayExit {
    /// Stopped on request; the session can be resumed.
    Stopped,
    /// It cannot work until the user acts.
    Fatal(Fatal),
    /// The receiver of updates was closed.
    ReceiverClosed,
}

/// Parameters of a gateway.
#[derive(Debug)]
pub struct GatewayConfig {
    pub token: Token,
    /// The stored session, if there is one.
    pub session: Option<Session>,
    /// Seed of the random delays.
    pub seed: u64,
}

/// A gateway connection that is re-established as needed.
pub struct Gateway {
    transport: Arc<dyn DiscordTransport>,
    rest: Rest,
    machine: Machine,
    started_at: Instant,
    connection: GatewayConnection,
    pending: VecDeque<GatewayUpdate>,
}

/// State of the connection.
enum GatewayConnection {
    Down,
    /// The gateway address is being requested.
    Locating(PendingFuture<Result<String, DiscordError>>),
    Opening(PendingFuture<Option<Box<dyn GatewaySocket>>>),
    Up(Box<dyn GatewaySocket>),
}

type PendingFuture<T> = futures_util::future::BoxFuture<'static, T>;

impl Gateway {
    /// Creates a gateway over `transport` that asks `rest` for its address.
    pub fn new(transport: Arc<dyn DiscordTransport>, rest: Rest, config: GatewayConfig) -> Self {
        let GatewayConfig { token, session, seed } = config;
        Self {
            transport,
            rest,
            machine: Machine::new(token, session, seed),
            started_at: Instant::now(),
            connection: GatewayConnection::Down,
            pending: VecDeque::new(),
        }
    }

    /// Keeps the connection up until `stop` and sends updates to `listener`. Returns when it cannot
    /// continue.
    pub async fn run(mut self, listener: Sender<GatewayUpdate>, stop: CancellationToken) -> GatewayExit {
        let mut next = Some(Input::Start);
        loop {
            if let Some(input) = next.take()
                && let Some(fatal) = self.feed(input).await
            {
                self.forward_all(&listener).await;
                return GatewayExit::Fatal(fatal);
            }
            next = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.feed(Input::Stop).await;
                    self.forward_all(&listener).await;
                    return GatewayExit::Stopped;
                }
                heard = forward_next(&listener, &mut self.pending) => match heard {
                    Ok(()) => None,
                    Err(ReceiverClosed) => {
                        self.feed(Input::Stop).await;
                        return GatewayExit::ReceiverClosed;
                    }
                },
                () = wait_until(self.started_at, self.machine.next_wake()) => Some(Input::TimePassed),
                input = self.connection.next(), if self.pending.len() < MAX_PENDING => Some(input),
            };
        }
    }

    /// Passes `input` to the machine and executes its outputs.
    async fn feed(&mut self, input: Input) -> Option<Fatal> {
        if let Input::Closed(_) | Input::Lost | Input::Unreachable(_) = input {
            self.connection = GatewayConnection::Down;
        }
        for output in self.machine.on(input, self.started_at.elapsed()) {
            match output {
                Output::Locate { after } => self.connection = self.locate(after),
                Output::Connect { url, after } => self.connection = self.connect(url, after),
                Output::Send(text) => self.send(text).await,
                Output::Close(code) => self.close(code).await,
                Output::Update(told) => self.pending.push_back(told),
                Output::Log(words) => tracing::warn!("{words}"),
                Output::GiveUp(fatal) => return Some(fatal),
            }
        }
        None
    }

    fn locate(&self, after: Duration) -> GatewayConnection {
        let rest = self.rest.clone();
        GatewayConnection::Locating(Box::pin(async move {
            tokio::time::sleep(after).await;
            rest.gateway_url().await
        }))
    }

    fn connect(&self, url: String, after: Duration) -> GatewayConnection {
        let wire = Arc::clone(&self.transport);
        GatewayConnection::Opening(Box::pin(async move {
            tokio::time::sleep(after).await;
            tokio::time::timeout(CONNECT_TIMEOUT, wire.connect(&url)).await.ok().and_then(Result::ok)
        }))
    }

    /// A failure is noticed at the next read.
    async fn send(&mut self, text: String) {
        if let GatewayConnection::Up(socket) = &mut self.connection {
            let _ = tokio::time::timeout(SEND_TIMEOUT, socket.send(text)).await;
        }
    }

    async fn close(&mut self, code: u16) {
        if let GatewayConnection::Up(mut socket) =
            std::mem::replace(&mut self.connection, GatewayConnection::Down)
        {
            let _ = tokio::time::timeout(SEND_TIMEOUT, socket.close(code)).await;
        }
    }

    async fn forward_all(&mut self, listener: &Sender<GatewayUpdate>) {
        while !self.pending.is_empty() && forward_next(listener, &mut self.pending).await.is_ok() {}
    }
}

impl GatewayConnection {
    /// Returns the next input. Cancel safe.
    async fn next(&mut self) -> Input {
        match self {
            Self::Down => std::future::pending().await,
            Self::Locating(asking) => {
                let answer = asking.await;
                *self = Self::Down;
                Input::Located(answer)
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
                Incoming::Lost => Input::Lost,
            },
        }
    }
}

struct ReceiverClosed;

/// Forwards the oldest pending update. Without one, waits until the receiver is closed.
async fn forward_next(
    listener: &Sender<GatewayUpdate>,
    pending: &mut VecDeque<GatewayUpdate>,
) -> Result<(), ReceiverClosed> {
    if pending.is_empty() {
        listener.closed().await;
        return Err(ReceiverClosed);
    }
    let permit = listener.reserve().await.map_err(|_| ReceiverClosed)?;
    if let Some(update) = pending.pop_front() {
        permit.send(update);
    }
    Ok(())
}

async fn wait_until(began: Instant, time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep_until(began + time).await,
        None => std::future::pending().await,
    }
}
