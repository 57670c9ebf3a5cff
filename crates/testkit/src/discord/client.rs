//! Messages that a client sends on its gateway connection, and the server's reactions.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::gateway::{Incoming, Life, Session, frame};
use super::world::World;

/// The maximum size of a frame from a client.
const FRAME_BYTES: usize = 4096;
/// The send limit of a client: frames per period.
const SAYS: (usize, Duration) = (120, Duration::from_secs(60));
/// The minimum time between two identifies.
const BETWEEN_IDENTIFIES: Duration = Duration::from_secs(5);
/// The intents that must be enabled for the application: members, presences, message content.
const PRIVILEGED: u64 = 1 << 1 | 1 << 8 | 1 << 15;
/// All intents that exist.
const ALL_INTENTS: u64 = ((1 << 17) - 1) | (1 << 20) | (1 << 21) | (1 << 24) | (1 << 25);
const DAY: Duration = Duration::from_secs(86_400);

impl World {
    /// Handles `text` from the client of a connection.
    pub fn said(&mut self, line: u64, text: &str) {
        let now = self.now.boot;
        let Some(open) = self.gateway.lines.get_mut(&line) else { return };
        if open.life == Life::Zombie {
            return;
        }
        open.said.retain(|at| *at + SAYS.1 > now);
        open.said.push_back(now);
        if open.said.len() > SAYS.0 {
            return self.close(line, 4008);
        }
        let frame = serde_json::from_str::<Value>(text).ok().filter(|_| text.len() <= FRAME_BYTES);
        let Some(frame) = frame.filter(Value::is_object) else { return self.close(line, 4002) };
        let known = open.session.is_some();
        match (frame["op"].as_u64(), known) {
            (Some(1), _) => self.beat(line),
            (Some(2), false) => self.identify(line, &frame["d"]),
            (Some(6), false) => self.resume(line, &frame["d"]),
            (Some(2 | 6), true) => self.close(line, 4005),
            (Some(3 | 4 | 8 | 31), true) => {}
            (Some(3 | 4 | 8 | 31), false) => self.close(line, 4003),
            (Some(_), _) => self.close(line, 4001),
            (None, _) => self.close(line, 4002),
        }
    }

    /// Handles a close by the client: code 1000 or 1001 also ends the session.
    pub fn hung_up(&mut self, line: u64, code: Option<u16>) {
        let session = self.gateway.lines.get(&line).and_then(|line| line.session.clone());
        self.gateway.end(line, Incoming::Dropped, self.now.boot);
        if let (Some(session), Some(1000 | 1001)) = (session, code) {
            self.gateway.sessions.remove(&session);
        }
    }

    /// Closes a connection from the server's side.
    pub fn close(&mut self, line: u64, code: u16) {
        self.gateway.end(line, Incoming::Closed(code), self.now.boot);
        self.ledger.closes.push(code);
    }

    fn beat(&mut self, line: u64) {
        if let Some(open) = self.gateway.lines.get_mut(&line) {
            open.last_beat = self.now.boot;
        }
        self.gateway.say(line, json!({"op": 11, "d": null, "s": null, "t": null}).to_string());
    }

    fn identify(&mut self, line: u64, asked: &Value) {
        let now = self.now.boot;
        self.ledger.identifies.push(now);
        let token = asked["token"].as_str().unwrap_or_default().trim_start_matches("Bot ");
        if token != self.setup.token || self.troubles.revoked {
            return self.close(line, 4004);
        }
        let Some(intents) = asked["intents"].as_u64().filter(|bits| bits & !ALL_INTENTS == 0) else {
            return self.close(line, 4013);
        };
        if intents & PRIVILEGED & !self.setup.privileged != 0 {
            return self.close(line, 4014);
        }
        if asked["shard"].as_array().is_some_and(|shard| *shard != [json!(0), json!(1)]) {
            return self.close(line, 4010);
        }
        self.gateway.begun.retain(|at| *at + DAY > now);
        if self.gateway.begun.len() >= self.setup.gateway.identifies {
            // Like the real server: the token is reset.
            self.troubles.revoked = true;
            return self.close(line, 4004);
        }
        if self.gateway.begun.last().is_some_and(|last| now < *last + BETWEEN_IDENTIFIES) {
            return self.gateway.say(line, frame(9, &json!(false)));
        }
        self.gateway.begun.push(now);
        self.begin(line, intents);
    }

    fn begin(&mut self, line: u64, intents: u64) {
        let id = format!("{:032x}", self.next_id().0);
        let mut session = Session { intents, sequence: 0, kept: VecDeque::new(), alone_since: None };
        let ready = session.event("READY", &self.ready(&id), self.setup.gateway.kept_events);
        self.gateway.sessions.insert(id.clone(), session);
        if let Some(open) = self.gateway.lines.get_mut(&line) {
            open.session = Some(id);
        }
        self.gateway.say(line, ready);
    }

    fn ready(&self, session: &str) -> Value {
        let mut user = self.talk.bot.wire();
        user["mfa_enabled"] = json!(false);
        user["verified"] = json!(true);
        user["email"] = Value::Null;
        user["flags"] = json!(0);
        json!({
            "v": 10, "user": user, "guilds": [], "session_id": session, "session_type": "normal",
            "resume_gateway_url": format!("ws://{}/gw", self.place), "shard": [0, 1],
            "application": {"id": self.talk.application.to_string(), "flags": 0},
            "private_channels": [], "relationships": [], "user_settings": {}, "presences": [], "_trace": [],
        })
    }

    fn resume(&mut self, line: u64, asked: &Value) {
        self.ledger.resumes.push(self.now.boot);
        let token = asked["token"].as_str().unwrap_or_default().trim_start_matches("Bot ");
        if token != self.setup.token || self.troubles.revoked {
            return self.close(line, 4004);
        }
        let id = asked["session_id"].as_str().unwrap_or_default().to_owned();
        let Some(session) = self.gateway.sessions.get(&id) else {
            return self.gateway.say(line, frame(9, &json!(false)));
        };
        let Some(seen) = asked["seq"].as_u64().filter(|seen| *seen <= session.sequence) else {
            return self.close(line, 4007);
        };
        let missed: Vec<_> =
            session.kept.iter().filter(|(at, _)| *at > seen).map(|(_, text)| text.clone()).collect();
        if seen + missed.len() as u64 != session.sequence {
            self.gateway.sessions.remove(&id);
            return self.gateway.say(line, frame(9, &json!(false)));
        }
        self.take_up(line, &id, missed);
    }

    fn take_up(&mut self, line: u64, id: &str, missed: Vec<String>) {
        let carries = |(_, line): &(&u64, &super::gateway::Line)| line.session.as_deref() == Some(id);
        if let Some(old) = self.gateway.lines.iter().find(carries).map(|(old, _)| *old) {
            self.gateway.end(old, Incoming::Dropped, self.now.boot);
        }
        let kept = self.setup.gateway.kept_events;
        let Some(session) = self.gateway.sessions.get_mut(id) else { return };
        session.alone_since = None;
        let resumed = session.event("RESUMED", &json!({"_trace": []}), kept);
        if let Some(open) = self.gateway.lines.get_mut(&line) {
            open.session = Some(id.to_owned());
        }
        missed.into_iter().chain([resumed]).for_each(|text| self.gateway.say(line, text));
    }
}
