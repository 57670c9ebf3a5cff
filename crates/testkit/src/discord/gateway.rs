//! The lines that are open, the sessions behind them, and the events that go over them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::setup::GatewaySetup;
use super::trouble::{Resumable, Upset};

/// Messages of direct channels.
pub(super) const DM_MESSAGES: u64 = 1 << 12;
/// Reactions in direct channels.
pub(super) const DM_REACTIONS: u64 = 1 << 13;
/// Typing in direct channels.
pub(super) const DM_TYPING: u64 = 1 << 14;
/// What every session gets.
pub(super) const ALWAYS: u64 = 0;

/// What comes over a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A text frame.
    Text(String),
    /// Discord closed the line with this code.
    Closed(u16),
    /// The line broke.
    Dropped,
}

/// A line to one client.
#[derive(Debug)]
pub(super) struct Line {
    pub out: UnboundedSender<Incoming>,
    /// Whose session it carries, once the client has said who it is.
    pub session: Option<String>,
    pub last_beat: Duration,
    /// When the client said something, for the limit on that.
    pub said: VecDeque<Duration>,
    pub life: Life,
}

/// How a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// Nobody says anything on it any more.
    Zombie,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub intents: u64,
    pub sequence: u64,
    pub kept: VecDeque<(u64, String)>,
    /// Since when it has no line.
    pub alone_since: Option<Duration>,
}

/// What a test did to the next events.
#[derive(Debug, Default)]
enum Mischief {
    #[default]
    None,
    Duplicate,
    Swap,
    /// The event that waits for the next one to pass it.
    Held((String, u64), Value),
}

/// All lines and sessions.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    pub lines: BTreeMap<u64, Line>,
    pub sessions: BTreeMap<String, Session>,
    /// When sessions were begun.
    pub begun: Vec<Duration>,
    opened: u64,
    mischief: Mischief,
    /// The next line that opens will be one nobody speaks on.
    zombie_next: bool,
}

/// A frame that carries `op` and data.
pub(super) fn frame(op: u8, data: &Value) -> String {
    json!({"op": op, "d": data, "s": null, "t": null}).to_string()
}

impl Gateway {
    /// Opens a line and says hello.
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

    /// Says `text` on a line.
    pub fn say(&self, line: u64, text: String) {
        if let Some(line) = self.lines.get(&line).filter(|line| line.life == Life::Open) {
            let _ = line.out.send(Incoming::Text(text));
        }
    }

    /// An event for every session that has asked for its kind.
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

    /// Says `text` on the line of a session, if it has one.
    pub fn say_to_session(&self, session: &str, text: String) {
        let carries = |line: &&Line| line.session.as_deref() == Some(session) && line.life == Life::Open;
        if let Some(line) = self.lines.values().find(carries) {
            let _ = line.out.send(Incoming::Text(text));
        }
    }

    /// Ends a line. Its session stays, alone.
    pub fn end(&mut self, line: u64, with: Incoming, now: Duration) {
        let Some(line) = self.lines.remove(&line) else { return };
        let _ = line.out.send(with.clone());
        let Some(id) = line.session else { return };
        // With these codes the documentation asks for a new session.
        if matches!(with, Incoming::Closed(4007 | 4009)) {
            self.sessions.remove(&id);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.alone_since = Some(now);
        }
    }

    /// Every line breaks.
    pub fn drop_all(&mut self, now: Duration) {
        for line in self.lines.keys().copied().collect::<Vec<_>>() {
            self.end(line, Incoming::Dropped, now);
        }
    }

    /// Every line is closed with `code`, which is said once for each.
    pub fn close_all(&mut self, code: u16, now: Duration) -> Vec<u16> {
        let open: Vec<_> = self.lines.keys().copied().collect();
        open.iter().for_each(|line| self.end(*line, Incoming::Closed(code), now));
        vec![code; open.len()]
    }

    /// Closes the lines on which no beat came in time, and forgets the sessions that were alone too long.
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

    /// What a test does to the lines.
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
    /// When it is closed if no beat comes.
    pub fn deadline(&self, setup: &GatewaySetup) -> Option<Duration> {
        match self.life {
            Life::Open => Some(self.last_beat + setup.heartbeat + setup.patience),
            Life::Zombie => None,
        }
    }
}

impl Session {
    /// Numbers an event and keeps it.
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
