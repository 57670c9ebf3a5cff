//! Messages that a client sends on its gateway connection, and the server's reactions.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::gateway::{ConnectionState, Session, SocketEvent, frame};
use super::state::DiscordState;

/// The maximum size of a frame from a client.
const MAX_FRAME_BYTES: usize = 4096;
/// The send limit of a client: frames per period.
const SEND_LIMIT: (usize, Duration) = (120, Duration::from_secs(60));
/// The minimum time between two identifies.
const IDENTIFY_INTERVAL: Duration = Duration::from_secs(5);
/// The intents that must be enabled for the application: members, presences, message content.
const PRIVILEGED_INTENTS: u64 = 1 << 1 | 1 << 8 | 1 << 15;
/// All intents that exist.
const ALL_INTENTS: u64 = ((1 << 17) - 1) | (1 << 20) | (1 << 21) | (1 << 24) | (1 << 25);
const DAY: Duration = Duration::from_secs(86_400);

impl DiscordState {
    /// Handles `text` from the client of a connection.
    pub fn receive_frame(&mut self, connection: u64, text: &str) {
        let now = self.now.boot;
        let Some(open) = self.gateway.connections.get_mut(&connection) else { return };
        if open.state == ConnectionState::Zombie {
            return;
        }
        open.received_at.retain(|at| *at + SEND_LIMIT.1 > now);
        open.received_at.push_back(now);
        if open.received_at.len() > SEND_LIMIT.0 {
            return self.close_connection(connection, 4008);
        }
        let frame = serde_json::from_str::<Value>(text).ok().filter(|_| text.len() <= MAX_FRAME_BYTES);
        let Some(frame) = frame.filter(Value::is_object) else {
            return self.close_connection(connection, 4002);
        };
        let identified = open.session.is_some();
        match (frame["op"].as_u64(), identified) {
            (Some(1), _) => self.heartbeat(connection),
            (Some(2), false) => self.identify(connection, &frame["d"]),
            (Some(6), false) => self.resume(connection, &frame["d"]),
            (Some(2 | 6), true) => self.close_connection(connection, 4005),
            (Some(3 | 4 | 8 | 31), true) => {}
            (Some(3 | 4 | 8 | 31), false) => self.close_connection(connection, 4003),
            (Some(_), _) => self.close_connection(connection, 4001),
            (None, _) => self.close_connection(connection, 4002),
        }
    }

    /// Handles a close by the client: code 1000 or 1001 also ends the session.
    pub fn client_closed(&mut self, connection: u64, code: Option<u16>) {
        let session =
            self.gateway.connections.get(&connection).and_then(|connection| connection.session.clone());
        self.gateway.end_connection(connection, SocketEvent::Dropped, self.now.boot);
        if let (Some(session), Some(1000 | 1001)) = (session, code) {
            self.gateway.sessions.remove(&session);
        }
    }

    /// Closes a connection from the server's side.
    pub fn close_connection(&mut self, connection: u64, code: u16) {
        self.gateway.end_connection(connection, SocketEvent::Closed(code), self.now.boot);
        self.log.closes.push(code);
    }

    fn heartbeat(&mut self, connection: u64) {
        if let Some(open) = self.gateway.connections.get_mut(&connection) {
            open.last_heartbeat = self.now.boot;
        }
        self.gateway.send(connection, json!({"op": 11, "d": null, "s": null, "t": null}).to_string());
    }

    fn identify(&mut self, connection: u64, data: &Value) {
        let now = self.now.boot;
        self.log.identifies.push(now);
        let token = data["token"].as_str().unwrap_or_default().trim_start_matches("Bot ");
        if token != self.setup.token || self.faults.revoked {
            return self.close_connection(connection, 4004);
        }
        let Some(intents) = data["intents"].as_u64().filter(|bits| bits & !ALL_INTENTS == 0) else {
            return self.close_connection(connection, 4013);
        };
        if intents & PRIVILEGED_INTENTS & !self.setup.privileged_intents != 0 {
            return self.close_connection(connection, 4014);
        }
        if data["shard"].as_array().is_some_and(|shard| *shard != [json!(0), json!(1)]) {
            return self.close_connection(connection, 4010);
        }
        self.gateway.session_starts.retain(|at| *at + DAY > now);
        if self.gateway.session_starts.len() >= self.setup.gateway.daily_identifies {
            // Like the real server: the token is reset.
            self.faults.revoked = true;
            return self.close_connection(connection, 4004);
        }
        if self.gateway.session_starts.last().is_some_and(|last| now < *last + IDENTIFY_INTERVAL) {
            return self.gateway.send(connection, frame(9, &json!(false)));
        }
        self.gateway.session_starts.push(now);
        self.start_session(connection, intents);
    }

    fn start_session(&mut self, connection: u64, intents: u64) {
        let id = format!("{:032x}", self.next_id().0);
        let mut session =
            Session { intents, sequence: 0, replay_buffer: VecDeque::new(), disconnected_since: None };
        let ready = session.record_event("READY", &self.ready_data(&id), self.setup.gateway.replay_limit);
        self.gateway.sessions.insert(id.clone(), session);
        if let Some(open) = self.gateway.connections.get_mut(&connection) {
            open.session = Some(id);
        }
        self.gateway.send(connection, ready);
    }

    fn ready_data(&self, session: &str) -> Value {
        let mut user = self.chat.bot.to_json();
        user["mfa_enabled"] = json!(false);
        user["verified"] = json!(true);
        user["email"] = Value::Null;
        user["flags"] = json!(0);
        json!({
            "v": 10, "user": user, "guilds": [], "session_id": session, "session_type": "normal",
            "resume_gateway_url": format!("ws://{}/gw", self.address), "shard": [0, 1],
            "application": {"id": self.chat.application.to_string(), "flags": 0},
            "private_channels": [], "relationships": [], "user_settings": {}, "presences": [], "_trace": [],
        })
    }

    fn resume(&mut self, connection: u64, data: &Value) {
        self.log.resumes.push(self.now.boot);
        let token = data["token"].as_str().unwrap_or_default().trim_start_matches("Bot ");
        if token != self.setup.token || self.faults.revoked {
            return self.close_connection(connection, 4004);
        }
        let id = data["session_id"].as_str().unwrap_or_default().to_owned();
        let Some(session) = self.gateway.sessions.get(&id) else {
            return self.gateway.send(connection, frame(9, &json!(false)));
        };
        let Some(seen) = data["seq"].as_u64().filter(|seen| *seen <= session.sequence) else {
            return self.close_connection(connection, 4007);
        };
        let missed: Vec<_> =
            session.replay_buffer.iter().filter(|(at, _)| *at > seen).map(|(_, text)| text.clone()).collect();
        if seen + missed.len() as u64 != session.sequence {
            self.gateway.sessions.remove(&id);
            return self.gateway.send(connection, frame(9, &json!(false)));
        }
        self.resume_session(connection, &id, missed);
    }

    fn resume_session(&mut self, connection: u64, id: &str, missed: Vec<String>) {
        let is_attached =
            |(_, connection): &(&u64, &super::gateway::Connection)| connection.session.as_deref() == Some(id);
        if let Some(old) = self.gateway.connections.iter().find(is_attached).map(|(old, _)| *old) {
            self.gateway.end_connection(old, SocketEvent::Dropped, self.now.boot);
        }
        let kept = self.setup.gateway.replay_limit;
        let Some(session) = self.gateway.sessions.get_mut(id) else { return };
        session.disconnected_since = None;
        let resumed = session.record_event("RESUMED", &json!({"_trace": []}), kept);
        if let Some(open) = self.gateway.connections.get_mut(&connection) {
            open.session = Some(id.to_owned());
        }
        missed.into_iter().chain([resumed]).for_each(|text| self.gateway.send(connection, text));
    }
}
