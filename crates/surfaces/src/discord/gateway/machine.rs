//! State machine of a gateway connection, without sockets or clock.
//!
//! A session outlives its connections: it is resumed whenever there is one, including one stored by
//! an earlier process. A new one begins only after Discord invalidated it. The heartbeat and
//! deadlines of a connection are part of its phase, so stale ones cannot end the next connection.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::backoff::Backoff;
use super::frame::{self, Frame, SessionRecovery};
use super::heartbeat::{Due, Heartbeat};
use super::{Fatal, GatewayUpdate, Session, address};
use crate::discord::Token;
use crate::discord::events::{self, Event};
use crate::discord::rest::DiscordError;

/// Close code that keeps the session resumable.
pub const RESUMABLE_CLOSE: u16 = 4000;

/// Timeout for the first frame.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum silence while authenticating.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum time between two new sessions.
const IDENTIFY_GAP: Duration = Duration::from_secs(5);
/// Minimum time after many sessions in a day, because Discord allows a thousand.
const IDENTIFY_GAP_AFTER_MANY: Duration = Duration::from_secs(300);
/// Number of new sessions in a day that count as many.
const MANY_IDENTIFIES: usize = 500;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Number of failures in a row after which the gateway address is requested again.
const RELOCATE_AFTER: u32 = 3;
/// Number of failures in a row after which the session is dropped, because it has expired.
const DROP_SESSION_AFTER: u32 = 20;

#[derive(Clone, Debug)]
pub enum Input {
    Start,
    /// Result of requesting the gateway address.
    Located(Result<String, DiscordError>),
    Opened,
    Unreachable(String),
    Text(String),
    /// The connection was closed, with a code if there was one.
    Closed(Option<u16>),
    Lost,
    /// The time returned by `next_wake` has passed.
    TimePassed,
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Request the gateway address.
    Locate {
        /// Delay before it.
        after: Duration,
    },
    Connect {
        url: String,
        /// Delay before it.
        after: Duration,
    },
    Send(String),
    Close(u16),
    /// Forward an update to the listener.
    Update(GatewayUpdate),
    Log(String),
    /// Nothing more can be done.
    GiveUp(Fatal),
}

#[derive(Debug)]
pub struct Machine {
    token: Token,
    gateway: String,
    session: Option<Session>,
    phase: Phase,
    backoff: Backoff,
    identified: VecDeque<Duration>,
}

/// Phase of the connection, with the state that belongs to it.
#[derive(Debug)]
enum Phase {
    /// Not connected, or connecting.
    Disconnected,
    /// Open; waiting for the first frame.
    AwaitingHello {
        until: Duration,
    },
    /// Waiting for Discord to accept the session.
    Authenticating {
        heartbeat: Heartbeat,
        until: Duration,
        identify: IdentifyState,
    },
    Ready {
        heartbeat: Heartbeat,
        since: Duration,
    },
}

/// Progress of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdentifyState {
    /// A new session may be requested at this time.
    At(Duration),
    /// The request was sent.
    Sent,
}

impl Machine {
    /// Creates a machine that resumes `session`, if there is one. `seed` is for random delays.
    pub fn new(token: Token, session: Option<Session>, seed: u64) -> Self {
        Self {
            token,
            gateway: String::new(),
            session,
            phase: Phase::Disconnected,
            backoff: Backoff::new(seed),
            identified: VecDeque::new(),
        }
    }

    /// Handles `input` and returns the actions that follow.
    pub fn on(&mut self, input: Input, now: Duration) -> Vec<Output> {
        match input {
            Input::Start => vec![Output::Locate { after: Duration::ZERO }],
            Input::Located(answer) => self.on_located(answer, now),
            Input::Opened => {
                self.phase = Phase::AwaitingHello { until: now + HELLO_TIMEOUT };
                Vec::new()
            }
            Input::Unreachable(why) => self.on_disconnected(&why, now),
            Input::Text(text) => self.on_text(&text, now),
            Input::Closed(code) => self.on_closed(code, now),
            Input::Lost => self.on_disconnected("the connection to Discord broke", now),
            Input::TimePassed => self.on_time_passed(now),
            Input::Stop => self.close(),
        }
    }

    /// Returns when `TimePassed` is due next.
    pub fn next_wake(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Disconnected => None,
            Phase::AwaitingHello { until } => Some(*until),
            Phase::Authenticating { heartbeat: beats, until, identify: IdentifyState::At(time) } => {
                Some(beats.next.min(*until).min(*time))
            }
            Phase::Authenticating { heartbeat: beats, until, identify: IdentifyState::Sent } => {
                Some(beats.next.min(*until))
            }
            Phase::Ready { heartbeat: beats, .. } => Some(beats.next),
        }
    }

    fn on_located(&mut self, answer: Result<String, DiscordError>, now: Duration) -> Vec<Output> {
        match answer {
            Ok(url) => {
                self.gateway = url;
                vec![self.connect(Duration::ZERO)]
            }
            Err(DiscordError::InvalidToken) => vec![Output::GiveUp(Fatal::Token)],
            Err(trouble) => self.on_disconnected(&trouble.to_string(), now),
        }
    }

    fn on_closed(&mut self, code: Option<u16>, now: Duration) -> Vec<Output> {
        if let Some(fatal) = code.and_then(Fatal::from_close_code) {
            self.phase = Phase::Disconnected;
            return vec![Output::GiveUp(fatal)];
        }
        // Invalid sequence number: resuming would fail again.
        let mut outputs = if code == Some(4007) { self.drop_session() } else { Vec::new() };
        let code = code.map_or_else(|| "no code".to_owned(), |code| code.to_string());
        outputs.extend(self.on_disconnected(&format!("Discord closed the connection ({code})"), now));
        outputs
    }

    fn on_time_passed(&mut self, now: Duration) -> Vec<Output> {
        let seq = self.session.as_ref().map(|session| session.seq);
        let (heartbeat, until, identify) = match &mut self.phase {
            Phase::Disconnected => return Vec::new(),
            Phase::AwaitingHello { until } if now >= *until => {
                return self.reconnect("Discord says nothing", now);
            }
            Phase::AwaitingHello { .. } => return Vec::new(),
            Phase::Authenticating { heartbeat, until, identify } => {
                (heartbeat, Some(*until), Some(*identify))
            }
            Phase::Ready { heartbeat, .. } => (heartbeat, None, None),
        };
        let due = heartbeat.due(now);
        if due == Some(Due::Dead) {
            return self.reconnect("Discord no longer answers our heartbeat", now);
        }
        if until.is_some_and(|until| now >= until) {
            return self.reconnect("Discord does not let us in", now);
        }
        let mut outputs: Vec<_> = due.map(|_| Output::Send(frame::heartbeat(seq))).into_iter().collect();
        if let Some(IdentifyState::At(time)) = identify
            && now >= time
        {
            outputs.extend(self.identify(now));
        }
        outputs
    }

    fn on_text(&mut self, text: &str, now: Duration) -> Vec<Output> {
        match frame::parse(text) {
            Ok(Frame::Dispatch { name, seq, data }) => self.on_dispatch(&name, seq, &data, now),
            Ok(Frame::HeartbeatRequest) => {
                vec![Output::Send(frame::heartbeat(self.session.as_ref().map(|session| session.seq)))]
            }
            Ok(Frame::Reconnect) => self.reconnect("Discord asks us to connect again", now),
            Ok(Frame::InvalidSession(again)) => self.on_invalid_session(again, now),
            Ok(Frame::Hello(millis)) => self.on_hello(millis, now),
            Ok(Frame::HeartbeatAck) => {
                if let Phase::Authenticating { heartbeat: beats, .. }
                | Phase::Ready { heartbeat: beats, .. } = &mut self.phase
                {
                    beats.acknowledge();
                }
                Vec::new()
            }
            Ok(Frame::Unknown) => Vec::new(),
            Err(why) => {
                vec![Output::Log(format!("what Discord's gateway says has {why}; it is passed over"))]
            }
        }
    }

    fn on_hello(&mut self, millis: u64, now: Duration) -> Vec<Output> {
        let Phase::AwaitingHello { .. } = self.phase else { return Vec::new() };
        let heartbeat = Heartbeat::new(millis, self.backoff.random(), now);
        let until = now + READY_TIMEOUT;
        if let Some(session) = &self.session {
            let text = frame::resume(&self.token, session);
            self.phase = Phase::Authenticating { heartbeat, until, identify: IdentifyState::Sent };
            return vec![Output::Send(text)];
        }
        let time = self.may_identify_at(now);
        self.phase = Phase::Authenticating {
            heartbeat,
            until: time.max(now) + READY_TIMEOUT,
            identify: IdentifyState::At(time),
        };
        if time <= now { self.identify(now) } else { Vec::new() }
    }

    fn identify(&mut self, now: Duration) -> Vec<Output> {
        if let Phase::Authenticating { identify: entry, .. } = &mut self.phase {
            *entry = IdentifyState::Sent;
        }
        if self.identified.len() >= MANY_IDENTIFIES {
            self.identified.pop_front();
        }
        self.identified.push_back(now);
        vec![Output::Send(frame::identify(&self.token))]
    }

    fn may_identify_at(&self, now: Duration) -> Duration {
        let Some(last) = self.identified.back() else { return now };
        let many = self.identified.len() >= MANY_IDENTIFIES
            && self.identified.front().is_some_and(|first| *first + DAY > now);
        *last + if many { IDENTIFY_GAP_AFTER_MANY } else { IDENTIFY_GAP }
    }

    fn on_dispatch(&mut self, name: &str, seq: Option<u64>, data: &Value, now: Duration) -> Vec<Output> {
        if name == "READY" {
            match session(data, seq, &self.gateway) {
                Some(session) => self.session = Some(session),
                None => return self.reconnect("Discord begins a session without an id", now),
            }
        }
        let mut outputs = Vec::new();
        match events::parse(name, data) {
            Ok(event) => {
                self.update_phase(event.as_ref(), now);
                outputs.extend(event.map(|event| Output::Update(GatewayUpdate::Event(event))));
            }
            Err(why) => outputs.push(Output::Log(why)),
        }
        if let (Some(session), Some(seq)) = (&mut self.session, seq) {
            session.seq = session.seq.max(seq);
            outputs.push(Output::Update(GatewayUpdate::SaveSession(session.clone())));
        }
        outputs
    }

    /// `Ready` and `Resumed` complete authentication; any other event before them extends its
    /// deadline.
    fn update_phase(&mut self, event: Option<&Event>, now: Duration) {
        let Phase::Authenticating { .. } = self.phase else { return };
        let Phase::Authenticating { heartbeat, until, identify } =
            std::mem::replace(&mut self.phase, Phase::Disconnected)
        else {
            return;
        };
        self.phase = if let Some(Event::Ready { .. } | Event::Resumed) = event {
            self.backoff.reset_failures();
            Phase::Ready { heartbeat, since: now }
        } else {
            Phase::Authenticating { heartbeat, until: until.max(now + READY_TIMEOUT), identify }
        };
    }

    fn on_invalid_session(&mut self, recovery: SessionRecovery, now: Duration) -> Vec<Output> {
        let mut outputs = self.close();
        if recovery == SessionRecovery::Restart {
            outputs.extend(self.drop_session());
        }
        let wait = self.backoff.after_invalid().max(self.next_delay(now));
        self.phase = Phase::Disconnected;
        outputs.push(Output::Update(GatewayUpdate::Disconnected("Discord ended the session".to_owned())));
        outputs.push(self.retry(wait));
        outputs
    }

    /// Closes the connection and makes another.
    fn reconnect(&mut self, why: &str, now: Duration) -> Vec<Output> {
        let mut outputs = self.close();
        outputs.extend(self.on_disconnected(why, now));
        outputs
    }

    fn close(&self) -> Vec<Output> {
        match self.phase {
            Phase::Disconnected => Vec::new(),
            Phase::AwaitingHello { .. } | Phase::Authenticating { .. } | Phase::Ready { .. } => {
                vec![Output::Close(RESUMABLE_CLOSE)]
            }
        }
    }

    /// Handles a lost connection and schedules the next one.
    fn on_disconnected(&mut self, why: &str, now: Duration) -> Vec<Output> {
        let wait = self.next_delay(now);
        self.phase = Phase::Disconnected;
        let mut outputs = vec![Output::Update(GatewayUpdate::Disconnected(why.to_owned()))];
        if self.backoff.failures() >= DROP_SESSION_AFTER {
            outputs.extend(self.drop_session());
        }
        outputs.push(self.retry(wait));
        outputs
    }

    fn next_delay(&mut self, now: Duration) -> Duration {
        match self.phase {
            Phase::Ready { since, .. } => self.backoff.after_connection(now.saturating_sub(since)),
            Phase::Disconnected | Phase::AwaitingHello { .. } | Phase::Authenticating { .. } => {
                self.backoff.after_failure()
            }
        }
    }

    fn retry(&self, after: Duration) -> Output {
        let lost_the_way = self.backoff.failures() >= RELOCATE_AFTER || self.gateway.is_empty();
        if lost_the_way { Output::Locate { after } } else { self.connect(after) }
    }

    fn connect(&self, after: Duration) -> Output {
        let url = match &self.session {
            // The resume address does not respond; the gateway knows the session too.
            Some(session) if self.backoff.failures() < RELOCATE_AFTER => {
                address::resume_address(&self.gateway, &session.resume_url)
            }
            Some(_) | None => self.gateway.clone(),
        };
        Output::Connect { url: address::with_protocol(&url), after }
    }

    fn drop_session(&mut self) -> Vec<Output> {
        self.session.take().map(|_| Output::Update(GatewayUpdate::DropSession)).into_iter().collect()
    }
}

fn session(data: &Value, seq: Option<u64>, gateway: &str) -> Option<Session> {
    let id = data["session_id"].as_str().filter(|id| !id.is_empty())?.to_owned();
    let resume_url = data["resume_gateway_url"].as_str().unwrap_or(gateway).to_owned();
    Some(Session { id, seq: seq.unwrap_or_default(), resume_url })
}

#[cfg(test)]
mod tests;
