//! The direct message channel with the user.
//!
//! Several loops share one sign-in. Gateway events are handled in order. Interactions are answered
//! concurrently, because Discord allows three seconds. `OutboxSender` delivers posts in order and
//! shows the progress of the current answer; reminders have a sender of their own.

mod attachments;
pub mod connection_status;
mod delivery;
pub(super) mod google_connection;
mod inbound;
pub(super) mod interactions;
mod live_answer;
mod missed_messages;
mod outbox_sender;
mod pending_message;
mod queue_sender;
mod rendering;
mod seen_marks;
mod sign_in;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::assistant::Update;
use domain::record::MessageId;
use engine::handle::AssistantHandle;
use engine::ports::{Archive, Clock, Journal, Outbox, Queue, Surface};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::connection_status::ConnectionStatus;
use self::inbound::{InboundEvent, InboundHandler};
use self::outbox_sender::OutboxSender;
use self::pending_message::PendingMessage;
use self::queue_sender::QueueSender;
use super::commands;
use super::events::{Event, Interaction};
use super::gateway::{Gateway, GatewayConfig, GatewayExit, GatewayUpdate};
use super::rest::Rest;
use super::transport::DiscordTransport;
use super::{Snowflake, Token};
use crate::account_connector::AccountConnector;
use crate::event_hub::EventHub;

/// Capacity of the channels for gateway events.
const EVENT_BUFFER: usize = 1_024;
/// Maximum number of interactions answered at a time.
const MAX_CONCURRENT_INTERACTIONS: usize = 32;

/// Number of unanswered messages at which reading stops. Discord keeps the messages that are not
/// read.
const MAX_UNANSWERED: usize = 50;
/// How long to wait for an answer before it is considered lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Dependencies of the direct message surface.
#[derive(Clone)]
pub struct DiscordPorts {
    pub assistant: AssistantHandle,
    pub journal: Arc<dyn Journal>,
    pub archive: Arc<dyn Archive>,
    pub outbox: Arc<dyn Outbox>,
    pub event_hub: Arc<EventHub>,
    pub clock: Arc<dyn Clock>,
    /// The Google account, which can be connected from here.
    pub google: Arc<dyn AccountConnector>,
    /// Publishes the state of the connection.
    pub status: connection_status::StatusSender,
}

/// The ids known after signing in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub application: Snowflake,
    /// The bot's account.
    pub bot: Snowflake,
    /// The user, by the pinned id.
    pub owner: Snowflake,
    /// The DM with the user.
    pub channel: Snowflake,
}

/// State shared by all loops.
pub(in crate::discord) struct Shared {
    pub(in crate::discord) rest: Rest,
    pub(in crate::discord) ports: DiscordPorts,
    pub(in crate::discord) identity: Identity,
    /// The DM with the user. Reopening it may return another channel than signing in did.
    channel: AtomicU64,
    /// Messages from Discord that are not answered yet.
    unanswered: Mutex<Unanswered>,
    /// The message of a growing answer whose receipt is not stored yet.
    pending_message: Mutex<Option<PendingMessage>>,
    /// The failure last reported to the user, until a message is sent again.
    reported_failure: Mutex<Option<SendFailure>>,
    /// Notified when a message was answered.
    answered: Notify,
    /// Notified when the outbox may have changed.
    pub(in crate::discord) outbox_changed: Notify,
}

/// Kind of failure that was reported to the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SendFailure {
    /// Discord cannot be reached.
    Unreachable,
    Refused,
}

/// Messages from Discord that wait for an answer.
#[derive(Default)]
struct Unanswered {
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
        match self.rest.open_dm(self.identity.owner).await {
            Ok(channel) => self.channel.store(channel.0, Ordering::Relaxed),
            Err(trouble) => tracing::warn!(%trouble, "The DM could not be opened anew."),
        }
    }

    /// Records that a button's message expects an answer here.
    fn unanswered(&self, message: MessageId) {
        self.lock().open.insert(message);
    }

    /// Records a message of the user, which has the Discord id `id`.
    fn record_message(&self, message: MessageId, id: Snowflake) {
        let mut asked = self.lock();
        asked.open.insert(message);
        asked.new.push((message, id));
        drop(asked);
        self.outbox_changed.notify_one();
    }

    fn take_new(&self) -> Vec<(MessageId, Snowflake)> {
        std::mem::take(&mut self.lock().new)
    }

    fn is_unanswered(&self, message: MessageId) -> bool {
        self.lock().open.contains(&message)
    }

    fn mark_answered(&self, message: MessageId) {
        self.lock().open.remove(&message);
        self.answered.notify_one();
    }

    /// Waits until few enough messages are unanswered. After a timeout, the unanswered ones are
    /// forgotten.
    async fn wait_for_capacity(&self) {
        while self.lock().open.len() >= MAX_UNANSWERED {
            if tokio::time::timeout(ANSWER_TIMEOUT, self.answered.notified()).await.is_err() {
                self.lock().open.clear();
            }
        }
    }

    /// Removes and returns the messages up to `newest` that will not be answered any more.
    fn take_finished(&self, newest: Option<MessageId>, running: &BTreeSet<MessageId>) -> Vec<MessageId> {
        let mut asked = self.lock();
        let over = |id: &MessageId| newest.is_some_and(|newest| *id <= newest) && !running.contains(id);
        let ids: Vec<MessageId> = asked.open.iter().copied().filter(over).collect();
        asked.open.retain(|id| !over(id));
        ids
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Unanswered> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the user on the other surfaces, once until a message is sent again.
    fn report_failure(&self, trouble: SendFailure, text: &str) {
        let mut reported = self.reported_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = match trouble {
            SendFailure::Unreachable => reported.is_some(),
            SendFailure::Refused => *reported == Some(SendFailure::Refused),
        };
        if !is_known {
            *reported = Some(trouble);
            drop(reported);
            self.notify_other_surfaces(text);
        }
    }

    /// Forgets the reported failure after a message was sent.
    fn clear_failure(&self) {
        *self.reported_failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Shows a notice on the other surfaces.
    fn notify_other_surfaces(&self, text: &str) {
        self.ports.event_hub.show(&Update::Notice(text.to_owned()));
    }
}

/// Runs the direct message surface until `stop`. A failure is shown on the other surfaces and does
/// not affect them.
pub async fn serve(
    wire: Arc<dyn DiscordTransport>,
    token: Token,
    ports: DiscordPorts,
    seed: u64,
    stop: CancellationToken,
) {
    let stage = Arc::clone(&ports.event_hub);
    let status = ports.status.clone();
    let dm = run_session(wire, token, ports, seed, stop.clone());
    if let Err(why) = dm.await {
        tracing::error!(%why, "Discord is left alone until the next start.");
        stage.show(&Update::Notice(format!("discord: {why} everything else goes on.")));
        status.send_replace(ConnectionStatus::Failed(why));
        // This task must not end before the daemon stops.
        stop.cancelled().await;
    }
}

async fn run_session(
    wire: Arc<dyn DiscordTransport>,
    token: Token,
    ports: DiscordPorts,
    seed: u64,
    stop: CancellationToken,
) -> Result<(), String> {
    let rest = Rest::new(Arc::clone(&wire));
    missed_messages::init_last_seen(&ports).await;
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
        identity: signed,
        channel,
        unanswered: asked,
        pending_message: unfinished,
        reported_failure: reported,
        answered: room,
        outbox_changed: poke,
    });
    let session = sign_in::saved_session(&shared).await;
    let gateway = Gateway::new(wire, rest, GatewayConfig { token, session, seed });
    let (events_tx, events_rx) = mpsc::channel(EVENT_BUFFER);
    let (updates_tx, updates_rx) = mpsc::channel(EVENT_BUFFER);
    let stop_loops = CancellationToken::new();
    let mut loops = JoinSet::new();
    let mut one_shot_tasks = JoinSet::new();
    loops.spawn(
        stop_loops.clone().run_until_cancelled_owned(InboundHandler::new(Arc::clone(&shared)).run(events_rx)),
    );
    loops.spawn(stop_loops.clone().run_until_cancelled_owned(OutboxSender::new(Arc::clone(&shared)).run()));
    let reminders = QueueSender::new(Arc::clone(&shared), Queue::Reminders);
    loops.spawn(stop_loops.clone().run_until_cancelled_owned(reminders.run()));
    loops.spawn(stop_loops.clone().run_until_cancelled_owned(dispatch(
        Arc::clone(&shared),
        updates_rx,
        events_tx,
    )));
    loops.spawn(
        stop_loops.clone().run_until_cancelled_owned(google_connection::watch_access(Arc::clone(&shared))),
    );
    one_shot_tasks
        .spawn(stop_loops.clone().run_until_cancelled_owned(commands::register(Arc::clone(&shared))));
    let ended = tokio::select! {
        ended = gateway.run(updates_tx, stop.clone()) => Some(ended),
        _ = loops.join_next() => None,
    };
    stop_loops.cancel();
    while loops.join_next().await.is_some() || one_shot_tasks.join_next().await.is_some() {}
    match ended {
        Some(GatewayExit::Stopped) => Ok(()),
        Some(GatewayExit::Fatal(fatal)) => Err(fatal.to_string()),
        Some(GatewayExit::ReceiverClosed) | None => {
            Err("a part of me that lives there broke; start again.".to_owned())
        }
    }
}

/// Answers interactions concurrently and passes other events on in order.
async fn dispatch(
    shared: Arc<Shared>,
    mut updates: mpsc::Receiver<GatewayUpdate>,
    events: mpsc::Sender<InboundEvent>,
) {
    let mut answering = JoinSet::new();
    while let Some(update) = updates.recv().await {
        publish_status(&shared.ports.status, &update);
        let next = match update {
            GatewayUpdate::Event(Event::Interaction(interaction)) => {
                if answering.len() >= MAX_CONCURRENT_INTERACTIONS {
                    answering.join_next().await;
                }
                answering.spawn(answer(Arc::clone(&shared), interaction));
                continue;
            }
            GatewayUpdate::Event(Event::Message(message)) => InboundEvent::Message(message),
            GatewayUpdate::Event(Event::Reaction(reaction)) => InboundEvent::Reaction(reaction),
            GatewayUpdate::Event(Event::Ready { .. }) => InboundEvent::SessionStarted,
            GatewayUpdate::SaveSession(session) => InboundEvent::SaveSession(session),
            GatewayUpdate::DropSession => InboundEvent::DropSession,
            GatewayUpdate::Disconnected(why) => {
                tracing::info!(%why, "The connection to Discord is made again.");
                continue;
            }
            GatewayUpdate::Event(Event::Resumed | Event::MessageEdited(_) | Event::MessageDeleted { .. }) => {
                continue;
            }
        };
        while answering.try_join_next().is_some() {}
        if events.send(next).await.is_err() {
            return;
        }
    }
}

/// Publishes the state of the connection after a gateway update.
fn publish_status(status: &connection_status::StatusSender, update: &GatewayUpdate) {
    match update {
        GatewayUpdate::Event(Event::Ready { .. } | Event::Resumed) => {
            status.send_replace(ConnectionStatus::Connected);
        }
        GatewayUpdate::Disconnected(why) => {
            status.send_replace(ConnectionStatus::Reconnecting(why.to_string()));
        }
        GatewayUpdate::Event(
            Event::Interaction(_)
            | Event::Message(_)
            | Event::Reaction(_)
            | Event::MessageEdited(_)
            | Event::MessageDeleted { .. },
        )
        | GatewayUpdate::SaveSession(_)
        | GatewayUpdate::DropSession => {}
    }
}

async fn answer(shared: Arc<Shared>, interaction: Interaction) {
    interactions::answer(&shared, &interaction).await;
    shared.outbox_changed.notify_one();
}
