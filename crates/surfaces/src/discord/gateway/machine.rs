//! State machine of a gateway connection, without sockets or clock.
//!
//! A session outlives its connections: it is resumed whenever there is one, including one stored by
//! an earlier process. A new one begins only after Discord invalidated it. The heartbeat and
//! deadlines of a connection are part of its phase, so stale ones cannot end the next connection.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::beat::{Beats, Due};
use super::frame::{self, Again, Frame};
use super::patience::Patience;
use super::{Fatal, Session, Told, address};
use crate::discord::Token;
use crate::discord::events::{self, Event};
use crate::discord::rest::Trouble;

/// Close code that keeps the session resumable.
pub const RESUMABLE: u16 = 4000;

/// Timeout for the first frame.
const GREETING: Duration = Duration::from_secs(20);
/// Maximum silence while authenticating.
const ENTERING: Duration = Duration::from_secs(60);
/// Minimum time between two new sessions.
const IDENTIFY_GAP: Duration = Duration::from_secs(5);
/// Minimum time after many sessions in a day, because Discord allows a thousand.
const IDENTIFY_GAP_AFTER_MANY: Duration = Duration::from_secs(300);
/// Number of new sessions in a day that count as many.
const MANY: usize = 500;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Number of failures in a row after which the gateway address is requested again.
const ASK_AGAIN: u32 = 3;
/// Number of failures in a row after which the session is dropped, because it has expired.
const SESSION_TRIES: u32 = 20;

#[derive(Clone, Debug)]
pub enum Input {
    Began,
    /// Result of requesting the gateway address.
    Gateway(Result<String, Trouble>),
    Opened,
    Unreachable(String),
    Text(String),
    /// The connection was closed, with a code if there was one.
    Closed(Option<u16>),
    Dropped,
    /// The time returned by `next_wake` has passed.
    TimePassed,
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Request the gateway address.
    Ask {
        /// Delay before it.
        after: Duration,
    },
    Connect {
        url: String,
        /// Delay before it.
        after: Duration,
    },
    Say(String),
    Close(u16),
    /// Forward an update to the listener.
    Tell(Told),
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
    patience: Patience,
    identified: VecDeque<Duration>,
}

/// Phase of the connection, with the state that belongs to it.
#[derive(Debug)]
enum Phase {
    /// Not connected, or connecting.
    Away,
    /// Open; waiting for the first frame.
    Greeting {
        until: Duration,
    },
    /// Waiting for Discord to accept the session.
    Entering {
        beats: Beats,
        until: Duration,
        entry: Entry,
    },
    Live {
        beats: Beats,
        since: Duration,
    },
}

/// Progress of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// A new session may be requested at this time.
    At(Duration),
    /// The request was sent.
    Asked,
}

impl Machine {
    /// Creates a machine that resumes `session`, if there is one. `seed` is for random delays.
    pub fn new(token: Token, session: Option<Session>, seed: u64) -> Self {
        Self {
            token,
            gateway: String::new(),
            session,
            phase: Phase::Away,
            patience: Patience::new(seed),
            identified: VecDeque::new(),
        }
    }

    /// Handles `input` and returns the actions that follow.
    pub fn on(&mut self, input: Input, now: Duration) -> Vec<Output> {
        match input {
            Input::Began => vec![Output::Ask { after: Duration::ZERO }],
            Input::Gateway(answer) => self.located(answer, now),
            Input::Opened => {
                self.phase = Phase::Greeting { until: now + GREETING };
                Vec::new()
            }
            Input::Unreachable(why) => self.lost(&why, now),
            Input::Text(text) => self.heard(&text, now),
            Input::Closed(code) => self.closed(code, now),
            Input::Dropped => self.lost("the connection to Discord broke", now),
            Input::TimePassed => self.time_passed(now),
            Input::Stop => self.close(),
        }
    }

    /// Returns when `TimePassed` is due next.
    pub fn wakes(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Away => None,
            Phase::Greeting { until } => Some(*until),
            Phase::Entering { beats, until, entry: Entry::At(time) } => {
                Some(beats.next.min(*until).min(*time))
            }
            Phase::Entering { beats, until, entry: Entry::Asked } => Some(beats.next.min(*until)),
            Phase::Live { beats, .. } => Some(beats.next),
        }
    }

    fn located(&mut self, answer: Result<String, Trouble>, now: Duration) -> Vec<Output> {
        match answer {
            Ok(url) => {
                self.gateway = url;
                vec![self.connect(Duration::ZERO)]
            }
            Err(Trouble::Token) => vec![Output::GiveUp(Fatal::Token)],
            Err(trouble) => self.lost(&trouble.to_string(), now),
        }
    }

    fn closed(&mut self, code: Option<u16>, now: Duration) -> Vec<Output> {
        if let Some(fatal) = code.and_then(Fatal::of) {
            self.phase = Phase::Away;
            return vec![Output::GiveUp(fatal)];
        }
        // Invalid sequence number: resuming would fail again.
        let mut outputs = if code == Some(4007) { self.forget() } else { Vec::new() };
        let code = code.map_or_else(|| "no code".to_owned(), |code| code.to_string());
        outputs.extend(self.lost(&format!("Discord closed the connection ({code})"), now));
        outputs
    }

    fn time_passed(&mut self, now: Duration) -> Vec<Output> {
        let seq = self.session.as_ref().map(|session| session.seq);
        let (beats, until, entry) = match &mut self.phase {
            Phase::Away => return Vec::new(),
            Phase::Greeting { until } if now >= *until => return self.hang_up("Discord says nothing", now),
            Phase::Greeting { .. } => return Vec::new(),
            Phase::Entering { beats, until, entry } => (beats, Some(*until), Some(*entry)),
            Phase::Live { beats, .. } => (beats, None, None),
        };
        let due = beats.due(now);
        if due == Some(Due::Dead) {
            return self.hang_up("Discord no longer answers our heartbeat", now);
        }
        if until.is_some_and(|until| now >= until) {
            return self.hang_up("Discord does not let us in", now);
        }
        let mut outputs: Vec<_> = due.map(|_| Output::Say(frame::beat(seq))).into_iter().collect();
        if let Some(Entry::At(time)) = entry
            && now >= time
        {
            outputs.extend(self.identify(now));
        }
        outputs
    }

    fn heard(&mut self, text: &str, now: Duration) -> Vec<Output> {
        match frame::read(text) {
            Ok(Frame::Dispatch { name, seq, data }) => self.dispatched(&name, seq, &data, now),
            Ok(Frame::BeatNow) => {
                vec![Output::Say(frame::beat(self.session.as_ref().map(|session| session.seq)))]
            }
            Ok(Frame::Reconnect) => self.hang_up("Discord asks us to connect again", now),
            Ok(Frame::Invalid(again)) => self.invalid(again, now),
            Ok(Frame::Hello(millis)) => self.greeted(millis, now),
            Ok(Frame::Heard) => {
                if let Phase::Entering { beats, .. } | Phase::Live { beats, .. } = &mut self.phase {
                    beats.heard();
                }
                Vec::new()
            }
            Ok(Frame::Unknown) => Vec::new(),
            Err(why) => {
                vec![Output::Log(format!("what Discord's gateway says has {why}; it is passed over"))]
            }
        }
    }

    fn greeted(&mut self, millis: u64, now: Duration) -> Vec<Output> {
        let Phase::Greeting { .. } = self.phase else { return Vec::new() };
        let beats = Beats::new(millis, self.patience.roll(), now);
        let until = now + ENTERING;
        if let Some(session) = &self.session {
            let text = frame::resume(&self.token, session);
            self.phase = Phase::Entering { beats, until, entry: Entry::Asked };
            return vec![Output::Say(text)];
        }
        let time = self.may_identify_at(now);
        self.phase = Phase::Entering { beats, until: time.max(now) + ENTERING, entry: Entry::At(time) };
        if time <= now { self.identify(now) } else { Vec::new() }
    }

    fn identify(&mut self, now: Duration) -> Vec<Output> {
        if let Phase::Entering { entry, .. } = &mut self.phase {
            *entry = Entry::Asked;
        }
        if self.identified.len() >= MANY {
            self.identified.pop_front();
        }
        self.identified.push_back(now);
        vec![Output::Say(frame::identify(&self.token))]
    }

    fn may_identify_at(&self, now: Duration) -> Duration {
        let Some(last) = self.identified.back() else { return now };
        let many =
            self.identified.len() >= MANY && self.identified.front().is_some_and(|first| *first + DAY > now);
        *last + if many { IDENTIFY_GAP_AFTER_MANY } else { IDENTIFY_GAP }
    }

    fn dispatched(&mut self, name: &str, seq: Option<u64>, data: &Value, now: Duration) -> Vec<Output> {
        if name == "READY" {
            match session(data, seq, &self.gateway) {
                Some(session) => self.session = Some(session),
                None => return self.hang_up("Discord begins a session without an id", now),
            }
        }
        let mut outputs = Vec::new();
        match events::read(name, data) {
            Ok(event) => {
                self.let_in(event.as_ref(), now);
                outputs.extend(event.map(|event| Output::Tell(Told::Event(event))));
            }
            Err(why) => outputs.push(Output::Log(why)),
        }
        if let (Some(session), Some(seq)) = (&mut self.session, seq) {
            session.seq = session.seq.max(seq);
            outputs.push(Output::Tell(Told::Keep(session.clone())));
        }
        outputs
    }

    /// `Ready` and `Resumed` complete authentication; any other event before them extends its
    /// deadline.
    fn let_in(&mut self, event: Option<&Event>, now: Duration) {
        let Phase::Entering { .. } = self.phase else { return };
        let Phase::Entering { beats, until, entry } = std::mem::replace(&mut self.phase, Phase::Away) else {
            return;
        };
        self.phase = if let Some(Event::Ready { .. } | Event::Resumed) = event {
            self.patience.worked();
            Phase::Live { beats, since: now }
        } else {
            Phase::Entering { beats, until: until.max(now + ENTERING), entry }
        };
    }

    fn invalid(&mut self, again: Again, now: Duration) -> Vec<Output> {
        let mut outputs = self.close();
        if again == Again::Anew {
            outputs.extend(self.forget());
        }
        let wait = self.patience.after_invalid().max(self.wait(now));
        self.phase = Phase::Away;
        outputs.push(Output::Tell(Told::Down("Discord ended the session".to_owned())));
        outputs.push(self.again(wait));
        outputs
    }

    /// Closes the connection and makes another.
    fn hang_up(&mut self, why: &str, now: Duration) -> Vec<Output> {
        let mut outputs = self.close();
        outputs.extend(self.lost(why, now));
        outputs
    }

    fn close(&self) -> Vec<Output> {
        match self.phase {
            Phase::Away => Vec::new(),
            Phase::Greeting { .. } | Phase::Entering { .. } | Phase::Live { .. } => {
                vec![Output::Close(RESUMABLE)]
            }
        }
    }

    /// Handles a lost connection and schedules the next one.
    fn lost(&mut self, why: &str, now: Duration) -> Vec<Output> {
        let wait = self.wait(now);
        self.phase = Phase::Away;
        let mut outputs = vec![Output::Tell(Told::Down(why.to_owned()))];
        if self.patience.failures() >= SESSION_TRIES {
            outputs.extend(self.forget());
        }
        outputs.push(self.again(wait));
        outputs
    }

    fn wait(&mut self, now: Duration) -> Duration {
        match self.phase {
            Phase::Live { since, .. } => self.patience.after_life(now.saturating_sub(since)),
            Phase::Away | Phase::Greeting { .. } | Phase::Entering { .. } => self.patience.after_failure(),
        }
    }

    fn again(&self, after: Duration) -> Output {
        let lost_the_way = self.patience.failures() >= ASK_AGAIN || self.gateway.is_empty();
        if lost_the_way { Output::Ask { after } } else { self.connect(after) }
    }

    fn connect(&self, after: Duration) -> Output {
        let url = match &self.session {
            // The resume address does not respond; the gateway knows the session too.
            Some(session) if self.patience.failures() < ASK_AGAIN => {
                address::for_resuming(&self.gateway, &session.resume_url)
            }
            Some(_) | None => self.gateway.clone(),
        };
        Output::Connect { url: address::spoken(&url), after }
    }

    fn forget(&mut self) -> Vec<Output> {
        self.session.take().map(|_| Output::Tell(Told::Forget)).into_iter().collect()
    }
}

fn session(data: &Value, seq: Option<u64>, gateway: &str) -> Option<Session> {
    let id = data["session_id"].as_str().filter(|id| !id.is_empty())?.to_owned();
    let resume_url = data["resume_gateway_url"].as_str().unwrap_or(gateway).to_owned();
    Some(Session { id, seq: seq.unwrap_or_default(), resume_url })
}

#[cfg(test)]
mod tests;
