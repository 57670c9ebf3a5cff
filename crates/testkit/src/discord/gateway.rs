//! Open gateway connections, their sessions, and the events sent to them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::setup::GatewaySetup;
use super::trouble::{Resumable, Upset};

/// Intent: messages in direct channels.
pub(super) const DM_MESSAGES: u64 = 1 << 12;
/// Intent: reactions in direct channels.
pub(super) const DM_REACTIONS: u64 = 1 << 13;
/// Intent: typing in direct channels.
pub(super) const DM_TYPING: u64 = 1 << 14;
/// No intent required: sent to every session.
pub(super) const ALWAYS: u64 = 0;

/// An event on a connection, as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    Text(String),
    /// Discord closed the connection with this code.
    Closed(u16),
    /// The connection broke.
    Dropped,
}

/// A connection to one client.
#[derive(Debug)]
pub(super) struct Line {
    pub out: UnboundedSender<Incoming>,
    /// The session of the client, once it has identified or resumed.
    pub session: Option<String>,
    pub last_beat: Duration,
    /// The times of received frames, for the send limit.
    pub said: VecDeque<Duration>,
    pub life: Life,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// Nothing is sent on it any more.
    Zombie,
}

#[derive(Debug)]
pub(super) struct Session {
    pub intents: u64,
    pub sequence: u64,
    /// The latest events by sequence number, for a resume.
    pub kept: VecDeque<(u64, String)>,
    /// When the connection was lost, if there is none.
    pub alone_since: Option<Duration>,
}

/// An injected fault for the next events.
#[derive(Debug, Default)]
enum Mischief {
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
    pub lines: BTreeMap<u64, Line>,
    pub sessions: BTreeMap<String, Session>,
    /// The times of session starts.
    pub begun: Vec<Duration>,
    opened: u64,
    mischief: Mischief,
    /// Makes the next connection a zombie.
    zombie_next: bool,
}

/// Returns a frame with an opcode and data.
pub(super) fn frame(op: u8, data: &Value) -> String {
    json!({"op": op, "d": data, "s": null, "t": null}).to_string()
}

impl Gateway {
    /// Opens a connection and sends the hello frame.
    pub fn open(&mut self, out: UnboundedSender<Incoming>, setup: &GatewaySetup, now: Duration) -> u64 {
        self.opened += 1;
        let life = if std::mem::take(&mut self.zombie_next) { Life::Zombie } else { Life::Open };
        let line = Line { out, session: None, last_beat: now, said: VecDeque::new(), life };
        let interval = u64::try_from(setup.heartbeat.as_millis()).unwrap_or(u64::MAX);
        let hello = frame(10, &json!({"heartbeat_interval": interval}));
        let _ = line.out.send(Incoming::Text(hello));
        self.lines.insert(self.opened, line);
        self.opened
    }

    /// Sends `text` on a connection.
    pub fn say(&self, line: u64, text: String) {
        if let Some(line) = self.lines.get(&line).filter(|line| line.life == Life::Open) {
            let _ = line.out.send(Incoming::Text(text));
        }
    }

    /// Sends an event to every session that has requested its intent.
    pub fn emit(&mut self, kind: (&str, u64), data: &Value, kept: usize) {
        match std::mem::take(&mut self.mischief) {
            Mischief::None => self.deliver(kind, data, kept),
            Mischief::Duplicate => {
                self.deliver(kind, data, kept);
                self.deliver(kind, data, kept);
            }
            Mischief::Swap => self.mischief = Mischief::Held((kind.0.to_owned(), kind.1), data.clone()),
            Mischief::Held((name, intent), held) => {
                self.deliver(kind, data, kept);
                self.deliver((&name, intent), &held, kept);
            }
        }
    }

    fn deliver(&mut self, (name, intent): (&str, u64), data: &Value, kept: usize) {
        let ids: Vec<_> = self.sessions.keys().cloned().collect();
        for id in ids {
            let wanted = |session: &&mut Session| intent == ALWAYS || session.intents & intent != 0;
            if let Some(session) = self.sessions.get_mut(&id).filter(wanted) {
                let text = session.event(name, data, kept);
                self.say_to_session(&id, text);
            }
        }
    }

    /// Sends `text` on the connection of a session, if it has one.
    pub fn say_to_session(&self, session: &str, text: String) {
        let carries = |line: &&Line| line.session.as_deref() == Some(session) && line.life == Life::Open;
        if let Some(line) = self.lines.values().find(carries) {
            let _ = line.out.send(Incoming::Text(text));
        }
    }

    /// Ends a connection. Its session remains and can be resumed.
    pub fn end(&mut self, line: u64, with: Incoming, now: Duration) {
        let Some(line) = self.lines.remove(&line) else { return };
        let _ = line.out.send(with.clone());
        let Some(id) = line.session else { return };
        // For these codes the documentation requires a new session.
        if matches!(with, Incoming::Closed(4007 | 4009)) {
            self.sessions.remove(&id);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.alone_since = Some(now);
        }
    }

    /// Breaks every connection.
    pub fn drop_all(&mut self, now: Duration) {
        for line in self.lines.keys().copied().collect::<Vec<_>>() {
            self.end(line, Incoming::Dropped, now);
        }
    }

    /// Closes every connection with `code`. Returns one code per closed connection.
    pub fn close_all(&mut self, code: u16, now: Duration) -> Vec<u16> {
        let open: Vec<_> = self.lines.keys().copied().collect();
        open.iter().for_each(|line| self.end(*line, Incoming::Closed(code), now));
        vec![code; open.len()]
    }

    /// Closes connections without a timely heartbeat, and removes sessions that can no longer be
    /// resumed.
    pub fn close_silent(&mut self, setup: &GatewaySetup, now: Duration) -> Vec<u16> {
        let silent: Vec<_> = self
            .lines
            .iter()
            .filter(|(_, line)| line.deadline(setup).is_some_and(|deadline| deadline <= now))
            .map(|(id, _)| *id)
            .collect();
        silent.iter().for_each(|line| self.end(*line, Incoming::Closed(4009), now));
        self.sessions
            .retain(|_, session| session.alone_since.is_none_or(|since| now < since + setup.resumable));
        vec![4009; silent.len()]
    }

    /// Applies an injected fault. Returns the codes of closed connections.
    pub fn upset(&mut self, upset: Upset, now: Duration) -> Vec<u16> {
        match upset {
            Upset::Close(code) => return self.close_all(code, now),
            Upset::Drop => self.drop_all(now),
            Upset::Reconnect => self.say_to_all(&frame(7, &Value::Null)),
            Upset::InvalidSession(resumable) => {
                self.say_to_all(&frame(9, &json!(resumable == Resumable::Yes)));
                if resumable == Resumable::No {
                    self.sessions.clear();
                    self.lines.values_mut().for_each(|line| line.session = None);
                }
            }
            Upset::Zombie => {
                self.zombie_next = self.lines.is_empty();
                self.lines.values_mut().for_each(|line| line.life = Life::Zombie);
            }
            Upset::AsksForBeat => self.say_to_all(&frame(1, &Value::Null)),
            Upset::Duplicate => self.mischief = Mischief::Duplicate,
            Upset::Swap => self.mischief = Mischief::Swap,
            Upset::Raw(text) => self.say_to_all(&text),
        }
        Vec::new()
    }

    fn say_to_all(&self, text: &str) {
        self.lines.keys().for_each(|line| self.say(*line, text.to_owned()));
    }
}

impl Line {
    /// Returns when the connection is closed if no heartbeat arrives.
    pub fn deadline(&self, setup: &GatewaySetup) -> Option<Duration> {
        match self.life {
            Life::Open => Some(self.last_beat + setup.heartbeat + setup.patience),
            Life::Zombie => None,
        }
    }
}

impl Session {
    /// Assigns the next sequence number to an event and stores it for a resume.
    pub fn event(&mut self, name: &str, data: &Value, kept: usize) -> String {
        self.sequence += 1;
        let text = json!({"op": 0, "t": name, "s": self.sequence, "d": data}).to_string();
        self.kept.push_back((self.sequence, text.clone()));
        if self.kept.len() > kept {
            self.kept.pop_front();
        }
        text
    }
}
