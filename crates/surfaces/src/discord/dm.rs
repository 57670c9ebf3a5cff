//! The direct message channel with the user.
//!
//! Several loops share one sign-in. Gateway events are handled in order. Interactions are answered
//! concurrently, because Discord allows three seconds. `OutboxSender` delivers posts in order and
//! shows the progress of the current answer; reminders have a sender of their own.

mod carrier;
mod catching_up;
pub(super) mod connecting;
mod dressing;
mod eyes;
mod hearing;
pub mod line;
mod live;
mod outgoing;
mod pictures;
pub(super) mod pressing;
mod sending;
mod sign_in;
mod unfinished;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::assistant::Shown;
use domain::record::MessageId;
use engine::desk::Desk;
use engine::ports::{Archive, Clock, Journal, Outbox, Queue, Surface};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::carrier::Carrier;
use self::hearing::{Hearing, News};
use self::line::Line;
use self::outgoing::Sender;
use self::unfinished::Unfinished;
use super::commands;
use super::events::{Event, Interaction};
use super::gateway::{Beginning, Ended, Gateway, Told};
use super::rest::Rest;
use super::wire::Wire;
use super::{Snowflake, Token};
use crate::connecting::Connecting;
use crate::stage::Stage;

/// Capacity of the channels for gateway events.
const NEWS: usize = 1_024;
/// Maximum number of interactions answered at a time.
const ANSWERED_AT_ONCE: usize = 32;

/// Number of unanswered messages at which reading stops. Discord keeps the messages that are not
/// read.
const UNANSWERED: usize = 50;
/// How long to wait for an answer before it is considered lost.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Dependencies of the direct message surface.
#[derive(Clone)]
pub struct Ports {
    pub desk: Desk,
    pub journal: Arc<dyn Journal>,
    pub archive: Arc<dyn Archive>,
    pub outbox: Arc<dyn Outbox>,
    pub stage: Arc<Stage>,
    pub clock: Arc<dyn Clock>,
    /// The Google account, which can be connected from here.
    pub google: Arc<dyn Connecting>,
    /// Publishes the state of the connection.
    pub line: line::Told,
}

/// The ids known after signing in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    pub application: Snowflake,
    /// The bot's account.
    pub me: Snowflake,
    /// The user, by the pinned id.
    pub owner: Snowflake,
    /// The DM with the user.
    pub channel: Snowflake,
}

/// State shared by all loops.
pub(in crate::discord) struct Shared {
    pub(in crate::discord) rest: Rest,
    pub(in crate::discord) ports: Ports,
    pub(in crate::discord) signed: Signed,
    /// The DM with the user. Reopening it may return another channel than signing in did.
    channel: AtomicU64,
    /// Messages from Discord that are not answered yet.
    asked: Mutex<Asked>,
    /// The message of a growing answer whose receipt is not stored yet.
    unfinished: Mutex<Option<Unfinished>>,
    /// The failure last reported to the user, until a message is sent again.
    reported: Mutex<Option<Reported>>,
    /// Notified when a message was answered.
    room: Notify,
    /// Notified when the outbox may have changed.
    pub(in crate::discord) poke: Notify,
}

/// Kind of failure that was reported to the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reported {
    /// Discord cannot be reached.
    Away,
    Refused,
}

/// Messages from Discord that wait for an answer.
#[derive(Default)]
struct Asked {
    open: BTreeSet<MessageId>,
    /// Messages that `OutboxSender` does not know of yet.
    new: Vec<(MessageId, Snowflake)>,
}

impl Shared {
    /// Returns the DM with the user.
    pub(in crate::discord) fn channel(&self) -> Snowflake {
        Snowflake(self.channel.load(Ordering::Relaxed))
    }

    /// Opens the DM with the user again. On failure the known channel is used on.
    async fn reopen_dm(&self) {
        match self.rest.open_dm(self.signed.owner).await {
            Ok(channel) => self.channel.store(channel.0, Ordering::Relaxed),
            Err(trouble) => tracing::warn!(%trouble, "The DM could not be opened anew."),
        }
    }

    /// Records that a button's message expects an answer here.
    fn asked(&self, message: MessageId) {
        self.lock().open.insert(message);
    }

    /// Records a message of the user, which has the Discord id `id`.
    fn heard(&self, message: MessageId, id: Snowflake) {
        let mut asked = self.lock();
        asked.open.insert(message);
        asked.new.push((message, id));
        drop(asked);
        self.poke.notify_one();
    }

    fn newly_heard(&self) -> Vec<(MessageId, Snowflake)> {
        std::mem::take(&mut self.lock().new)
    }

    fn was_asked(&self, message: MessageId) -> bool {
        self.lock().open.contains(&message)
    }

    fn answered(&self, message: MessageId) {
        self.lock().open.remove(&message);
        self.room.notify_one();
    }

    /// Waits until few enough messages are unanswered. After a timeout, the unanswered ones are
    /// forgotten.
    async fn has_room(&self) {
        while self.lock().open.len() >= UNANSWERED {
            if tokio::time::timeout(LONGEST_WAIT, self.room.notified()).await.is_err() {
                self.lock().open.clear();
            }
        }
    }

    /// Removes and returns the messages up to `newest` that will not be answered any more.
    fn over(&self, newest: Option<MessageId>, running: &BTreeSet<MessageId>) -> Vec<MessageId> {
        let mut asked = self.lock();
        let over = |id: &MessageId| newest.is_some_and(|newest| *id <= newest) && !running.contains(id);
        let ids: Vec<MessageId> = asked.open.iter().copied().filter(over).collect();
        asked.open.retain(|id| !over(id));
        ids
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the user on the other surfaces, once until a message is sent again.
    fn report(&self, trouble: Reported, text: &str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = match trouble {
            Reported::Away => reported.is_some(),
            Reported::Refused => *reported == Some(Reported::Refused),
        };
        if !is_known {
            *reported = Some(trouble);
            drop(reported);
            self.tell_elsewhere(text);
        }
    }

    /// Forgets the reported failure after a message was sent.
    fn trouble_is_over(&self) {
        *self.reported.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Shows a notice on the other surfaces.
    fn tell_elsewhere(&self, text: &str) {
        self.ports.stage.show(&Shown::Notice(text.to_owned()));
    }
}

/// Runs the direct message surface until `stop`. A failure is shown on the other surfaces and does
/// not affect them.
pub async fn live(wire: Arc<dyn Wire>, token: Token, ports: Ports, seed: u64, stop: CancellationToken) {
    let stage = Arc::clone(&ports.stage);
    let line = ports.line.clone();
    let dm = run(wire, token, ports, seed, stop.clone());
    if let Err(why) = dm.await {
        tracing::error!(%why, "Discord is left alone until the next start.");
        stage.show(&Shown::Notice(format!("discord: {why} everything else goes on.")));
        line.send_replace(Line::Left(why));
        // This task must not end before the daemon stops.
        stop.cancelled().await;
    }
}

async fn run(
    wire: Arc<dyn Wire>,
    token: Token,
    ports: Ports,
    seed: u64,
    stop: CancellationToken,
) -> Result<(), String> {
    let rest = Rest::new(Arc::clone(&wire));
    catching_up::begin(&ports).await;
    let Some(signed) = stop.run_until_cancelled(sign_in::sign_in(&rest, &ports)).await.transpose()? else {
        return Ok(());
    };
    let channel = AtomicU64::new(signed.channel.0);
    let asked = Mutex::default();
    let room = Notify::new();
    let poke = Notify::new();
    let reported = Mutex::default();
    let unfinished = Mutex::default();
    let shared = Arc::new(Shared {
        rest: rest.clone(),
        ports,
        signed,
        channel,
        asked,
        unfinished,
        reported,
        room,
        poke,
    });
    let session = sign_in::session(&shared).await;
    let gateway = Gateway::new(wire, rest, Beginning { token, session, seed });
    let (news, heard) = mpsc::channel(NEWS);
    let (told, telling) = mpsc::channel(NEWS);
    let inside = CancellationToken::new();
    let mut loops = JoinSet::new();
    let mut errands = JoinSet::new();
    loops.spawn(inside.clone().run_until_cancelled_owned(Hearing::new(Arc::clone(&shared)).run(heard)));
    loops.spawn(inside.clone().run_until_cancelled_owned(Carrier::new(Arc::clone(&shared)).run()));
    let reminders = Sender::new(Arc::clone(&shared), Queue::Reminders);
    loops.spawn(inside.clone().run_until_cancelled_owned(reminders.run()));
    loops.spawn(inside.clone().run_until_cancelled_owned(sort(Arc::clone(&shared), telling, news)));
    loops.spawn(inside.clone().run_until_cancelled_owned(connecting::watch(Arc::clone(&shared))));
    errands.spawn(inside.clone().run_until_cancelled_owned(commands::register(Arc::clone(&shared))));
    let ended = tokio::select! {
        ended = gateway.run(told, stop.clone()) => Some(ended),
        _ = loops.join_next() => None,
    };
    inside.cancel();
    while loops.join_next().await.is_some() || errands.join_next().await.is_some() {}
    match ended {
        Some(Ended::Stopped) => Ok(()),
        Some(Ended::Fatal(fatal)) => Err(fatal.to_string()),
        Some(Ended::Unheard) | None => Err("a part of me that lives there broke; start again.".to_owned()),
    }
}

/// Answers interactions concurrently and passes other events on in order.
async fn sort(shared: Arc<Shared>, mut telling: mpsc::Receiver<Told>, news: mpsc::Sender<News>) {
    let mut answering = JoinSet::new();
    while let Some(told) = telling.recv().await {
        follow(&shared.ports.line, &told);
        let next = match told {
            Told::Event(Event::Interaction(interaction)) => {
                if answering.len() >= ANSWERED_AT_ONCE {
                    answering.join_next().await;
                }
                answering.spawn(answer(Arc::clone(&shared), interaction));
                continue;
            }
            Told::Event(Event::Message(message)) => News::Message(message),
            Told::Event(Event::Reaction(reaction)) => News::Reaction(reaction),
            Told::Event(Event::Ready { .. }) => News::Began,
            Told::Keep(session) => News::Keep(session),
            Told::Forget => News::Forget,
            Told::Down(why) => {
                tracing::info!(%why, "The connection to Discord is made again.");
                continue;
            }
            Told::Event(Event::Resumed | Event::MessageEdited(_) | Event::MessageGone { .. }) => continue,
        };
        while answering.try_join_next().is_some() {}
        if news.send(next).await.is_err() {
            return;
        }
    }
}

/// Publishes the state of the connection after a gateway update.
fn follow(line: &line::Told, told: &Told) {
    match told {
        Told::Event(Event::Ready { .. } | Event::Resumed) => {
            line.send_replace(Line::Connected);
        }
        Told::Down(why) => {
            line.send_replace(Line::Away(why.to_string()));
        }
        Told::Event(
            Event::Interaction(_)
            | Event::Message(_)
            | Event::Reaction(_)
            | Event::MessageEdited(_)
            | Event::MessageGone { .. },
        )
        | Told::Keep(_)
        | Told::Forget => {}
    }
}

async fn answer(shared: Arc<Shared>, interaction: Interaction) {
    pressing::answer(&shared, &interaction).await;
    shared.poke.notify_one();
}
