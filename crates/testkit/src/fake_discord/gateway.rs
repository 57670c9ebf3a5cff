//! Open gateway connections, their sessions, and the events sent to them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::faults::{GatewayFault, Resumable};
use super::setup::GatewaySetup;

/// Intent: messages in direct channels.
pub(super) const DM_MESSAGES: u64 = 1 << 12;
/// Intent: reactions in direct channels.
pub(super) const DM_REACTIONS: u64 = 1 << 13;
/// Intent: typing in direct channels.
pub(super) const DM_TYPING: u64 = 1 << 14;
/// No intent required: sent to every session.
pub(super) const EVERY_SESSION: u64 = 0;

/// An event on a connection, as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    Text(String),
    /// Discord closed the connection with this code.
    Closed(u16),
    /// The connection broke.
    Dropped,
}

/// A connection to one client.
#[derive(Debug)]
pub(super) struct Connection {
    pub out: UnboundedSender<SocketEvent>,
    /// The session of the client, once it has identified or resumed.
    pub session: Option<String>,
    pub last_heartbeat: Duration,
    /// The times of received frames, for the send limit.
    pub received_at: VecDeque<Duration>,
    pub state: ConnectionState,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Open,
    /// Nothing is sent on it any more.
    Zombie,
}

#[derive(Debug)]
pub(super) struct Session {
    pub intents: u64,
    pub sequence: u64,
    /// The latest events by sequence number, for a resume.
    pub replay_buffer: VecDeque<(u64, String)>,
    /// When the connection was lost, if there is none.
    pub disconnected_since: Option<Duration>,
}

/// An injected fault for the next events.
#[derive(Debug, Default)]
enum EventFault {
    #[default]
    None,
    Duplicate,
    Swap,
    /// The event that is delivered after the next one.
    Held((String, u64), Value),
}

/// All connections and sessions.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    pub connections: BTreeMap<u64, Connection>,
    pub sessions: BTreeMap<String, Session>,
    /// The times of session starts.
    pub session_starts: Vec<Duration>,
    last_connection: u64,
    event_fault: EventFault,
    /// Makes the next connection a zombie.
    zombie_next: bool,
}

/// Returns a frame with an opcode and data.
pub(super) fn frame(op: u8, data: &Value) -> String {
    json!({"op": op, "d": data, "s": null, "t": null}).to_string()
}

impl Gateway {
    /// Opens a connection and sends the hello frame.
    pub fn open_connection(
        &mut self,
        out: UnboundedSender<SocketEvent>,
        setup: &GatewaySetup,
        now: Duration,
    ) -> u64 {
        self.last_connection += 1;
        let state = if std::mem::take(&mut self.zombie_next) {
            ConnectionState::Zombie
        } else {
            ConnectionState::Open
        };
        let connection =
            Connection { out, session: None, last_heartbeat: now, received_at: VecDeque::new(), state };
        let interval = u64::try_from(setup.heartbeat.as_millis()).unwrap_or(u64::MAX);
        let hello = frame(10, &json!({"heartbeat_interval": interval}));
        let _ = connection.out.send(SocketEvent::Text(hello));
        self.connections.insert(self.last_connection, connection);
        self.last_connection
    }

    /// Sends `text` on a connection.
    pub fn send(&self, connection: u64, text: String) {
        if let Some(connection) =
            self.connections.get(&connection).filter(|connection| connection.state == ConnectionState::Open)
        {
            let _ = connection.out.send(SocketEvent::Text(text));
        }
    }

    /// Sends an event to every session that has requested its intent.
    pub fn emit(&mut self, kind: (&str, u64), data: &Value, replay_limit: usize) {
        match std::mem::take(&mut self.event_fault) {
            EventFault::None => self.deliver(kind, data, replay_limit),
            EventFault::Duplicate => {
                self.deliver(kind, data, replay_limit);
                self.deliver(kind, data, replay_limit);
            }
            EventFault::Swap => {
                self.event_fault = EventFault::Held((kind.0.to_owned(), kind.1), data.clone())
            }
            EventFault::Held((name, intent), held) => {
                self.deliver(kind, data, replay_limit);
                self.deliver((&name, intent), &held, replay_limit);
            }
        }
    }

    fn deliver(&mut self, (name, intent): (&str, u64), data: &Value, replay_limit: usize) {
        let ids: Vec<_> = self.sessions.keys().cloned().collect();
        for id in ids {
            let subscribed =
                |session: &&mut Session| intent == EVERY_SESSION || session.intents & intent != 0;
            if let Some(session) = self.sessions.get_mut(&id).filter(subscribed) {
                let text = session.record_event(name, data, replay_limit);
                self.send_to_session(&id, text);
            }
        }
    }

    /// Sends `text` on the connection of a session, if it has one.
    pub fn send_to_session(&self, session: &str, text: String) {
        let is_attached = |connection: &&Connection| {
            connection.session.as_deref() == Some(session) && connection.state == ConnectionState::Open
        };
        if let Some(connection) = self.connections.values().find(is_attached) {
            let _ = connection.out.send(SocketEvent::Text(text));
        }
    }

    /// Ends a connection. Its session remains and can be resumed.
    pub fn end_connection(&mut self, connection: u64, event: SocketEvent, now: Duration) {
        let Some(connection) = self.connections.remove(&connection) else { return };
        let _ = connection.out.send(event.clone());
        let Some(id) = connection.session else { return };
        // For these codes the documentation requires a new session.
        if matches!(event, SocketEvent::Closed(4007 | 4009)) {
            self.sessions.remove(&id);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.disconnected_since = Some(now);
        }
    }

    /// Breaks every connection.
    pub fn drop_all(&mut self, now: Duration) {
        for connection in self.connections.keys().copied().collect::<Vec<_>>() {
            self.end_connection(connection, SocketEvent::Dropped, now);
        }
    }

    /// Closes every connection with `code`. Returns one code per closed connection.
    pub fn close_all(&mut self, code: u16, now: Duration) -> Vec<u16> {
        let open: Vec<_> = self.connections.keys().copied().collect();
        open.iter().for_each(|line| self.end_connection(*line, SocketEvent::Closed(code), now));
        vec![code; open.len()]
    }

    /// Closes connections without a timely heartbeat, and removes sessions that can no longer be
    /// resumed.
    pub fn close_timed_out(&mut self, setup: &GatewaySetup, now: Duration) -> Vec<u16> {
        let timed_out: Vec<_> = self
            .connections
            .iter()
            .filter(|(_, line)| line.heartbeat_deadline(setup).is_some_and(|deadline| deadline <= now))
            .map(|(id, _)| *id)
            .collect();
        timed_out.iter().for_each(|line| self.end_connection(*line, SocketEvent::Closed(4009), now));
        self.sessions.retain(|_, session| {
            session.disconnected_since.is_none_or(|since| now < since + setup.resume_window)
        });
        vec![4009; timed_out.len()]
    }

    /// Applies an injected fault. Returns the codes of closed connections.
    pub fn apply_fault(&mut self, fault: GatewayFault, now: Duration) -> Vec<u16> {
        match fault {
            GatewayFault::Close(code) => return self.close_all(code, now),
            GatewayFault::Drop => self.drop_all(now),
            GatewayFault::Reconnect => self.send_to_all(&frame(7, &Value::Null)),
            GatewayFault::InvalidSession(resumable) => {
                self.send_to_all(&frame(9, &json!(resumable == Resumable::Yes)));
                if resumable == Resumable::No {
                    self.sessions.clear();
                    self.connections.values_mut().for_each(|connection| connection.session = None);
                }
            }
            GatewayFault::Zombie => {
                self.zombie_next = self.connections.is_empty();
                self.connections
                    .values_mut()
                    .for_each(|connection| connection.state = ConnectionState::Zombie);
            }
            GatewayFault::RequestHeartbeat => self.send_to_all(&frame(1, &Value::Null)),
            GatewayFault::Duplicate => self.event_fault = EventFault::Duplicate,
            GatewayFault::Swap => self.event_fault = EventFault::Swap,
            GatewayFault::Raw(text) => self.send_to_all(&text),
        }
        Vec::new()
    }

    fn send_to_all(&self, text: &str) {
        self.connections.keys().for_each(|connection| self.send(*connection, text.to_owned()));
    }
}

impl Connection {
    /// Returns when the connection is closed if no heartbeat arrives.
    pub fn heartbeat_deadline(&self, setup: &GatewaySetup) -> Option<Duration> {
        match self.state {
            ConnectionState::Open => Some(self.last_heartbeat + setup.heartbeat + setup.heartbeat_grace),
            ConnectionState::Zombie => None,
        }
    }
}

impl Session {
    /// Assigns the next sequence number to an event and stores it for a resume.
    pub fn record_event(&mut self, name: &str, data: &Value, replay_limit: usize) -> String {
        self.sequence += 1;
        let text = json!({"op": 0, "t": name, "s": self.sequence, "d": data}).to_string();
        self.replay_buffer.push_back((self.sequence, text.clone()));
        if self.replay_buffer.len() > replay_limit {
            self.replay_buffer.pop_front();
        }
        text
    }
}
