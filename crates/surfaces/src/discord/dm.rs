//! The direct messages: where the human is, as far as Discord is concerned.
//!
//! A few loops share one sign-in. The gateway's news are heard in order; buttons and commands are answered beside
//! them, because Discord gives three seconds; and one carrier takes the posts from the outbox, in order, while it
//! shows how the answer that goes on is getting along. Reminders are sent beside it.

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

/// How much of the gateway's news may wait.
const NEWS: usize = 1_024;
/// How many buttons and commands are answered at a time.
const ANSWERED_AT_ONCE: usize = 32;

/// How much may wait to be answered before we stop listening: what we do not take, Discord keeps.
const UNANSWERED: usize = 50;
/// How long to wait for an answer before it is taken for lost.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the direct messages need from the rest.
#[derive(Clone)]
pub struct Ports {
    /// How the assistant is reached.
    pub desk: Desk,
    /// What was said.
    pub journal: Arc<dyn Journal>,
    /// What happened.
    pub archive: Arc<dyn Archive>,
    /// What is to be sent.
    pub outbox: Arc<dyn Outbox>,
    /// What is shown.
    pub stage: Arc<Stage>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The account at Google, which can be connected here.
    pub google: Arc<dyn Connecting>,
    /// Where it is told how the line is.
    pub line: line::Told,
}

/// Who we are and who the human is, once that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Our application.
    pub application: Snowflake,
    /// Our account.
    pub me: Snowflake,
    /// The human, by the number that was pinned.
    pub owner: Snowflake,
    /// Where we are alone with them.
    pub channel: Snowflake,
}

/// What all loops share.
pub(in crate::discord) struct Shared {
    pub(in crate::discord) rest: Rest,
    pub(in crate::discord) ports: Ports,
    pub(in crate::discord) signed: Signed,
    /// The DM with the user. Opening it anew may give another one than signing in.
    channel: AtomicU64,
    /// The messages that came from here and are not answered yet.
    asked: Mutex<Asked>,
    /// The message of a growing answer whose receipt is not kept yet.
    unfinished: Mutex<Option<Unfinished>>,
    /// What the user was told about messages that could not be sent, until one is sent again.
    reported: Mutex<Option<Reported>>,
    /// Something was answered.
    room: Notify,
    /// Something may be in the outbox.
    pub(in crate::discord) poke: Notify,
}

/// Trouble with sending, as far as the user was told of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reported {
    /// Discord cannot be reached.
    Away,
    /// Discord refused a message.
    Refused,
}

/// What came from here.
#[derive(Default)]
struct Asked {
    /// The messages that are not answered yet.
    open: BTreeSet<MessageId>,
    /// Those that the carrier does not know of yet.
    new: Vec<(MessageId, Snowflake)>,
}

impl Shared {
    /// Returns the DM with the user.
    pub(in crate::discord) fn channel(&self) -> Snowflake {
        Snowflake(self.channel.load(Ordering::Relaxed))
    }

    /// Opens the DM with the user anew. If that fails, the one that is known stays.
    async fn reopen_dm(&self) {
        match self.rest.open_dm(self.signed.owner).await {
            Ok(channel) => self.channel.store(channel.0, Ordering::Relaxed),
            Err(trouble) => tracing::warn!(%trouble, "The DM could not be opened anew."),
        }
    }

    /// A button asks for an answer here.
    fn asked(&self, message: MessageId) {
        self.lock().open.insert(message);
    }

    /// The human said something, which Discord knows by `id`.
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

    /// Waits until not too much waits to be answered, but not for ever: what is dropped is never answered.
    async fn has_room(&self) {
        while self.lock().open.len() >= UNANSWERED {
            if tokio::time::timeout(LONGEST_WAIT, self.room.notified()).await.is_err() {
                self.lock().open.clear();
            }
        }
    }

    /// The messages up to `newest` that nobody answers any more.
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

    /// Tells the user elsewhere about trouble with sending, once until a message is sent again.
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

    /// A message was sent, so trouble is worth a report again.
    fn trouble_is_over(&self) {
        *self.reported.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Something that went wrong here is told where the human can still read it.
    fn tell_elsewhere(&self, text: &str) {
        self.ports.stage.show(&Shown::Notice(text.to_owned()));
    }
}

/// Lives in the direct messages until `stop`. Whatever goes wrong is told elsewhere, and everything else goes on.
pub async fn live(wire: Arc<dyn Wire>, token: Token, ports: Ports, seed: u64, stop: CancellationToken) {
    let stage = Arc::clone(&ports.stage);
    let line = ports.line.clone();
    let dm = run(wire, token, ports, seed, stop.clone());
    if let Err(why) = dm.await {
        tracing::error!(%why, "Discord is left alone until the next start.");
        stage.show(&Shown::Notice(format!("discord: {why} everything else goes on.")));
        line.send_replace(Line::Left(why));
        // Nothing of ours ends before the rest does.
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

/// Buttons and commands are answered at once; everything else is heard in order.
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

/// How the line is after what the gateway `told`.
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
