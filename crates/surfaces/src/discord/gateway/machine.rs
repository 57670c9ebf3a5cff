//! What a gateway connection needs next, decided without a socket or a clock.
//!
//! A session outlives its connections: it is taken up again whenever there is one, also one that an earlier process
//! kept, and begun anew only when Discord has taken it from us. What belongs to one connection (its heartbeat, its
//! deadlines) lives and dies with its phase, so nothing stale can bring down the next one.

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

/// The close code of ours that leaves the session to be taken up again.
pub const RESUMABLE: u16 = 4000;

/// How long Discord may take for its first words.
const GREETING: Duration = Duration::from_secs(20);
/// How long Discord may be silent while it lets us in.
const ENTERING: Duration = Duration::from_secs(60);
/// How long lies between two new sessions.
const IDENTIFY_GAP: Duration = Duration::from_secs(5);
/// How long lies between them once there were many in a day: Discord allows a thousand.
const IDENTIFY_GAP_AFTER_MANY: Duration = Duration::from_secs(300);
/// How many new sessions in a day are many.
const MANY: usize = 500;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// After how many failures in a row we ask again where the gateway is.
const ASK_AGAIN: u32 = 3;
/// After how many failures in a row a session is given up: it has long run out.
const SESSION_TRIES: u32 = 20;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// We begin.
    Began,
    /// Where the gateway is.
    Gateway(Result<String, Trouble>),
    /// The connection is open.
    Opened,
    /// The connection could not be opened.
    Unreachable(String),
    /// Discord says something.
    Text(String),
    /// Discord closed the connection, with a code if it gave one.
    Closed(Option<u16>),
    /// The connection broke.
    Dropped,
    /// It is as late as `wakes` said, or later.
    TimePassed,
    /// We are to stop.
    Stop,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Ask where the gateway is.
    Ask {
        /// How long to wait before.
        after: Duration,
    },
    /// Open a connection.
    Connect {
        /// Where to.
        url: String,
        /// How long to wait before.
        after: Duration,
    },
    /// Say something.
    Say(String),
    /// Close the connection.
    Close(u16),
    /// Tell whoever listens.
    Tell(Told),
    /// Write it into the log.
    Log(String),
    /// Nothing more can be done.
    GiveUp(Fatal),
}

/// A gateway connection that is kept up.
#[derive(Debug)]
pub struct Machine {
    token: Token,
    gateway: String,
    session: Option<Session>,
    phase: Phase,
    patience: Patience,
    identified: VecDeque<Duration>,
}

/// Where the connection stands, and what belongs to it alone.
#[derive(Debug)]
enum Phase {
    /// There is none, or it is being opened.
    Away,
    /// It is open, and Discord has said nothing yet.
    Greeting { until: Duration },
    /// Discord has not let us in yet.
    Entering { beats: Beats, until: Duration, entry: Entry },
    /// We are in.
    Live { beats: Beats, since: Duration },
}

/// How far we are with getting in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// A new session may be asked for at this time.
    At(Duration),
    /// We have asked.
    Asked,
}

impl Machine {
    /// A machine that goes on with `session`, if there is one, and rolls its dice from `seed`.
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

    /// Decides what follows from `input`.
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

    /// When the next `TimePassed` is wanted.
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
        // The number we would resume from is wrong, and would be wrong again.
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

    /// We are in with `Ready` or `Resumed`; anything else before them shows that it goes on.
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

    /// The connection is no more: the next one is made after a while.
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
            // Where it should be taken up nobody answers: the gateway knows it too.
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
