//! A gateway with failures of every kind, while the user sends messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use surfaces::discord::Snowflake;
use surfaces::discord::events::Event;
use surfaces::discord::gateway::{GatewayExit, GatewayUpdate, Session};
use surfaces::discord::transport::{
    DiscordTransport, FetchError, GatewaySocket, HttpRequest, HttpResponse, Incoming, TransportError,
};
use testkit::fake_discord::{DiscordFault, GatewayFault, Resumable, Setup};
use tokio::time::{Duration, Instant};

use crate::bridge::FakeTransport;
use crate::fixture::{Fixture, Process, pass, seconds, snowflake};

/// A client that counts messages, saves the session, and fetches missed messages after a new
/// session.
struct Listener {
    counts: BTreeMap<Snowflake, usize>,
    last: Snowflake,
    session: Option<Session>,
}

impl Listener {
    /// Handles updates until there are no more for now.
    async fn listen(&mut self, rig: &Fixture, process: &mut Process) {
        while let Ok(told) = process.updates.try_recv() {
            self.handle(rig, told).await;
        }
    }

    async fn handle(&mut self, rig: &Fixture, told: GatewayUpdate) {
        match told {
            GatewayUpdate::Event(Event::Ready { .. }) => self.fetch_missed(rig).await,
            GatewayUpdate::Event(Event::Message(message)) => self.count(message.id),
            GatewayUpdate::Event(_) | GatewayUpdate::Disconnected(_) => {}
            GatewayUpdate::SaveSession(session) => self.session = Some(session),
            GatewayUpdate::DropSession => self.session = None,
        }
    }

    async fn fetch_missed(&mut self, rig: &Fixture) {
        while let Ok(missed) = rig.rest.messages_after(rig.channel(), self.last, 100).await {
            if missed.is_empty() {
                return;
            }
            missed.iter().for_each(|message| self.count(message.id));
        }
    }

    fn count(&mut self, id: Snowflake) {
        *self.counts.entry(id).or_default() += 1;
        self.last = self.last.max(id);
    }
}

/// Returns one of the gateway's failures.
fn failure(number: u64) -> GatewayFault {
    match number % 13 {
        0 => GatewayFault::Reconnect,
        1 => GatewayFault::InvalidSession(Resumable::Yes),
        2 => GatewayFault::InvalidSession(Resumable::No),
        3 => GatewayFault::Drop,
        4 => GatewayFault::Zombie,
        5 => GatewayFault::RequestHeartbeat,
        6 => GatewayFault::Raw("{\"op\":".into()),
        7 => GatewayFault::Close(4009),
        8 => GatewayFault::Close(1001),
        other => {
            GatewayFault::Close([4000, 4001, 4002, 4003, 4005, 4007, 4008][(other + number) as usize % 7])
        }
    }
}

/// Returns a deterministic pseudo-random number.
fn pseudo_random(number: u64) -> u64 {
    let mixed = (number ^ 0x2545_f491).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// D1: a thousand disconnects, also during resumes and across restarts, lose no message.
#[tokio::test(start_paused = true)]
async fn a_thousand_disconnects_lose_nothing_and_start_no_needless_session() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 1);
    let mut listener = Listener { counts: BTreeMap::new(), last: Snowflake(0), session: None };
    let mut said = Vec::new();
    for number in 0..1800 {
        said.push(snowflake(rig.discord.owner().send_text(&number.to_string())));
        pass(Duration::from_millis(pseudo_random(number) % 3000)).await;
        rig.discord.inject_fault(DiscordFault::Gateway(failure(pseudo_random(number) >> 7)));
        // Mostly the next failure comes while it reconnects; every tenth time the connection
        // becomes stable.
        let rest = if number % 10 == 0 {
            seconds(150)
        } else {
            Duration::from_millis(pseudo_random(number + 7) % 4000)
        };
        pass(rest).await;
        listener.listen(&rig, &mut process).await;
        if number % 25 == 0 {
            process = restart(&rig, process, &mut listener, number).await;
        }
    }
    pass(seconds(300)).await;
    listener.listen(&rig, &mut process).await;

    let heard: Vec<_> = listener.counts.keys().copied().collect();
    assert_eq!(heard, said, "each message is heard");
    let ledger = rig.discord.log();
    let begun = ledger.identifies.len();
    let taken = rig.transport.invalidations();
    assert!(begun <= taken + 1, "{begun} sessions begun, {taken} taken from us");
    assert!(ledger.connects.len() > 1000, "only {} connections", ledger.connects.len());
    assert!(ledger.resumes.len() > 500, "only {} resumed", ledger.resumes.len());
    let close = ledger.identifies.windows(2).filter(|pair| pair[1] - pair[0] < seconds(5)).count();
    assert_eq!(close, 0, "sessions begun within five seconds");
    let twice = listener.counts.values().filter(|count| **count > 1).count();
    assert_eq!(twice, 0, "messages told twice");
}

/// Ends the process, gracefully or by a crash, and starts the next one with the saved session.
async fn restart(rig: &Fixture, process: Process, listener: &mut Listener, number: u64) -> Process {
    if number.is_multiple_of(50) {
        drop(process);
    } else {
        let (ended, last) = process.stop().await;
        assert_eq!(ended, GatewayExit::Stopped);
        for told in last {
            listener.handle(rig, told).await;
        }
    }
    // As long as a service manager waits.
    pass(seconds(5)).await;
    rig.process(listener.session.clone(), number)
}

/// D1: a server that accepts and closes is contacted at growing intervals, before and after
/// authentication.
#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_closes_is_contacted_ever_less_often() {
    for (throws, expected) in [(ClosesWhen::BeforeHello, 8..25), (ClosesWhen::AfterReady, 60..160)] {
        let rig = Fixture::new(Setup::default());
        let wire = Arc::new(ClosingTransport { bridge: rig.transport.clone(), when: throws });
        let _process = rig.process_over(wire, None, 3);
        pass(seconds(600)).await;
        let connects = rig.discord.log().connects.len();
        assert!(expected.contains(&connects), "{connects} connections in ten minutes");
    }
}

/// When the server closes the connection.
#[derive(Clone, Copy)]
enum ClosesWhen {
    /// Before the first frame.
    BeforeHello,
    /// Right after authentication.
    AfterReady,
}

/// Transport to a Discord that closes each connection.
struct ClosingTransport {
    bridge: FakeTransport,
    when: ClosesWhen,
}

impl DiscordTransport for ClosingTransport {
    fn send(&self, call: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.bridge.send(call)
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn GatewaySocket>, TransportError>> {
        Box::pin(async move {
            let inner = self.bridge.connect(url).await?;
            Ok(Box::new(ClosingSocket { inner, when: self.when, next: None }) as Box<dyn GatewaySocket>)
        })
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        self.bridge.fetch(url, limit)
    }
}

struct ClosingSocket {
    inner: Box<dyn GatewaySocket>,
    when: ClosesWhen,
    next: Option<Incoming>,
}

impl GatewaySocket for ClosingSocket {
    fn send(&mut self, text: String) -> BoxFuture<'_, Result<(), TransportError>> {
        self.inner.send(text)
    }

    fn next(&mut self) -> BoxFuture<'_, Incoming> {
        Box::pin(async {
            if let Some(next) = self.next.take() {
                return next;
            }
            if let ClosesWhen::BeforeHello = self.when {
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
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 4);
    process.event().await;
    rig.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Zombie));
    assert_eq!(process.event().await, Event::Resumed);
    pass(seconds(3600)).await;
    let ledger = rig.discord.log();
    assert_eq!((ledger.connects.len(), ledger.identifies.len(), ledger.resumes.len()), (2, 1, 1));
    assert!(ledger.closes.is_empty());
}

/// D1: an expired session is replaced by a new one, once.
#[tokio::test(start_paused = true)]
async fn an_expired_session_is_replaced_once() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 5);
    let session = process.session().await;
    assert_eq!(process.stop().await.0, GatewayExit::Stopped);
    pass(seconds(3600)).await;
    let mut process = rig.process(Some(session), 6);
    assert!(matches!(process.event().await, Event::Ready { .. }));
    let ledger = rig.discord.log();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (2, 1));
}

/// D8: six hours without Discord cost a few hundred attempts, and then the connection is restored.
#[tokio::test(start_paused = true)]
async fn the_connection_is_restored_after_six_hours() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 7);
    process.event().await;
    rig.discord.inject_fault(DiscordFault::Down { after: seconds(1), lasts: seconds(6 * 3600) });
    let ready = loop {
        if let Event::Ready { .. } = process.event().await {
            break Instant::now();
        }
    };
    assert!(ready.elapsed() < seconds(120));
    let requests = rig.discord.log().requests.len();
    assert!((100..1000).contains(&requests), "{requests} requests");
}
