//! A gateway with failures of every kind, while the user sends messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use surfaces::discord::Snowflake;
use surfaces::discord::events::Event;
use surfaces::discord::gateway::{Ended, Session, Told};
use surfaces::discord::wire::{Answer, Broken, Call, Incoming, Socket, Unfetched, Wire};
use testkit::discord::{Resumable, Setup, Trouble, Upset};
use tokio::time::{Duration, Instant};

use crate::bridge::Bridge;
use crate::rig::{Process, Rig, ours, pass, seconds};

/// A client that counts messages, saves the session, and fetches missed messages after a new
/// session.
struct Listener {
    heard: BTreeMap<Snowflake, usize>,
    last: Snowflake,
    kept: Option<Session>,
}

impl Listener {
    /// Handles updates until there are no more for now.
    async fn listen(&mut self, rig: &Rig, process: &mut Process) {
        while let Ok(told) = process.told.try_recv() {
            self.deal_with(rig, told).await;
        }
    }

    async fn deal_with(&mut self, rig: &Rig, told: Told) {
        match told {
            Told::Event(Event::Ready { .. }) => self.catch_up(rig).await,
            Told::Event(Event::Message(message)) => self.hear(message.id),
            Told::Event(_) | Told::Down(_) => {}
            Told::Keep(session) => self.kept = Some(session),
            Told::Forget => self.kept = None,
        }
    }

    async fn catch_up(&mut self, rig: &Rig) {
        while let Ok(missed) = rig.rest.messages_after(rig.channel(), self.last, 100).await {
            if missed.is_empty() {
                return;
            }
            missed.iter().for_each(|message| self.hear(message.id));
        }
    }

    fn hear(&mut self, id: Snowflake) {
        *self.heard.entry(id).or_default() += 1;
        self.last = self.last.max(id);
    }
}

/// Returns one of the gateway's failures.
fn upset(number: u64) -> Upset {
    match number % 13 {
        0 => Upset::Reconnect,
        1 => Upset::InvalidSession(Resumable::Yes),
        2 => Upset::InvalidSession(Resumable::No),
        3 => Upset::Drop,
        4 => Upset::Zombie,
        5 => Upset::AsksForBeat,
        6 => Upset::Raw("{\"op\":".into()),
        7 => Upset::Close(4009),
        8 => Upset::Close(1001),
        other => Upset::Close([4000, 4001, 4002, 4003, 4005, 4007, 4008][(other + number) as usize % 7]),
    }
}

/// Returns a deterministic pseudo-random number.
fn dice(number: u64) -> u64 {
    let mixed = (number ^ 0x2545_f491).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// D1: a thousand disconnects, also during resumes and across restarts, lose no message.
#[tokio::test(start_paused = true)]
async fn a_thousand_drops_lose_nothing_and_begin_no_session_without_need() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 1);
    let mut listener = Listener { heard: BTreeMap::new(), last: Snowflake(0), kept: None };
    let mut said = Vec::new();
    for number in 0..1800 {
        said.push(ours(rig.discord.owner().types(&number.to_string())));
        pass(Duration::from_millis(dice(number) % 3000)).await;
        rig.discord.trouble(Trouble::Gateway(upset(dice(number) >> 7)));
        // Mostly the next failure comes while it reconnects; every tenth time the connection
        // becomes stable.
        let rest =
            if number % 10 == 0 { seconds(150) } else { Duration::from_millis(dice(number + 7) % 4000) };
        pass(rest).await;
        listener.listen(&rig, &mut process).await;
        if number % 25 == 0 {
            process = restarted(&rig, process, &mut listener, number).await;
        }
    }
    pass(seconds(300)).await;
    listener.listen(&rig, &mut process).await;

    let heard: Vec<_> = listener.heard.keys().copied().collect();
    assert_eq!(heard, said, "each message is heard");
    let ledger = rig.discord.ledger();
    let begun = ledger.identifies.len();
    let taken = rig.bridge.invalidations();
    assert!(begun <= taken + 1, "{begun} sessions begun, {taken} taken from us");
    assert!(ledger.connects.len() > 1000, "only {} connections", ledger.connects.len());
    assert!(ledger.resumes.len() > 500, "only {} resumed", ledger.resumes.len());
    let close = ledger.identifies.windows(2).filter(|pair| pair[1] - pair[0] < seconds(5)).count();
    assert_eq!(close, 0, "sessions begun within five seconds");
    let twice = listener.heard.values().filter(|count| **count > 1).count();
    assert_eq!(twice, 0, "messages told twice");
}

/// Ends the process, gracefully or by a crash, and starts the next one with the saved session.
async fn restarted(rig: &Rig, process: Process, listener: &mut Listener, number: u64) -> Process {
    if number.is_multiple_of(50) {
        drop(process);
    } else {
        let (ended, last) = process.stop().await;
        assert_eq!(ended, Ended::Stopped);
        for told in last {
            listener.deal_with(rig, told).await;
        }
    }
    // As long as a service manager waits.
    pass(seconds(5)).await;
    rig.process(listener.kept.clone(), number)
}

/// D1: a server that accepts and closes is contacted at growing intervals, before and after
/// authentication.
#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_closes_is_visited_ever_less() {
    for (throws, expected) in [(Throws::Before, 8..25), (Throws::After, 60..160)] {
        let rig = Rig::new(Setup::default());
        let wire = Arc::new(Slammed { bridge: rig.bridge.clone(), throws });
        let _process = rig.process_over(wire, None, 3);
        pass(seconds(600)).await;
        let connects = rig.discord.ledger().connects.len();
        assert!(expected.contains(&connects), "{connects} connections in ten minutes");
    }
}

/// When the server closes the connection.
#[derive(Clone, Copy)]
enum Throws {
    /// Before the first frame.
    Before,
    /// Right after authentication.
    After,
}

/// Transport to a Discord that closes each connection.
struct Slammed {
    bridge: Bridge,
    throws: Throws,
}

impl Wire for Slammed {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Broken>> {
        self.bridge.call(call)
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn Socket>, Broken>> {
        Box::pin(async move {
            let inner = self.bridge.connect(url).await?;
            Ok(Box::new(SlammedSocket { inner, throws: self.throws, next: None }) as Box<dyn Socket>)
        })
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, Unfetched>> {
        self.bridge.fetch(url, limit)
    }
}

struct SlammedSocket {
    inner: Box<dyn Socket>,
    throws: Throws,
    next: Option<Incoming>,
}

impl Socket for SlammedSocket {
    fn say(&mut self, text: String) -> BoxFuture<'_, Result<(), Broken>> {
        self.inner.say(text)
    }

    fn next(&mut self) -> BoxFuture<'_, Incoming> {
        Box::pin(async {
            if let Some(next) = self.next.take() {
                return next;
            }
            if let Throws::Before = self.throws {
                return Incoming::Closed(Some(4000));
            }
            let incoming = self.inner.next().await;
            if let Incoming::Text(text) = &incoming
                && (text.contains("READY") || text.contains("RESUMED"))
            {
                self.next = Some(Incoming::Closed(Some(4000)));
            }
            incoming
        })
    }

    fn close(&mut self, code: u16) -> BoxFuture<'_, ()> {
        self.inner.close(code)
    }
}

/// D1: a dead connection is replaced, and the next one is not affected.
#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_replaced_once() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 4);
    process.event().await;
    rig.discord.trouble(Trouble::Gateway(Upset::Zombie));
    assert_eq!(process.event().await, Event::Resumed);
    pass(seconds(3600)).await;
    let ledger = rig.discord.ledger();
    assert_eq!((ledger.connects.len(), ledger.identifies.len(), ledger.resumes.len()), (2, 1, 1));
    assert!(ledger.closes.is_empty());
}

/// D1: an expired session is replaced by a new one, once.
#[tokio::test(start_paused = true)]
async fn a_session_that_ran_out_is_begun_anew_once() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 5);
    let session = process.session().await;
    assert_eq!(process.stop().await.0, Ended::Stopped);
    pass(seconds(3600)).await;
    let mut process = rig.process(Some(session), 6);
    assert!(matches!(process.event().await, Event::Ready { .. }));
    let ledger = rig.discord.ledger();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (2, 1));
}

/// D8: six hours without Discord cost a few hundred attempts, and then the connection is restored.
#[tokio::test(start_paused = true)]
async fn six_hours_without_discord_pass() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 7);
    process.event().await;
    rig.discord.trouble(Trouble::Down { after: seconds(1), lasts: seconds(6 * 3600) });
    let ready = loop {
        if let Event::Ready { .. } = process.event().await {
            break Instant::now();
        }
    };
    assert!(ready.elapsed() < seconds(120));
    let requests = rig.discord.ledger().requests.len();
    assert!((100..1000).contains(&requests), "{requests} requests");
}
