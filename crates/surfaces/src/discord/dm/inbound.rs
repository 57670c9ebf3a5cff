//! Handles messages and reactions of the user in order and once, including messages sent while the
//! daemon was not running.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::approval::{ApprovalAnswer, ApprovalId};
use domain::assistant::{Answer, ButtonPress, Request, UserMessage};
use domain::card::CardAction;
use domain::command::is_command;
use domain::embed::ButtonAction;
use domain::intent::{self, ChangeRequest, Intent, ItemRef};
use domain::record::{ExternalMessageId, ReplyTo, SurfaceName};
use domain::sent_messages::SentId;
use tokio::sync::mpsc;

use super::delivery::send_notice;
use super::sign_in::SESSION_KEY;
use super::{Shared, attachments, google_connection, missed_messages};
use crate::discord::events::{Author, Message, MessageType, QuotedMessage, Reaction, ReactionChange};
use crate::discord::gateway::Session;
use crate::discord::{Snowflake, commands};

/// Key of the newest message that was handled.
pub(super) const LAST_SEEN_KEY: &str = "discord.seen";

const VOICE_REPLY: &str =
    "-# I got a voice message, but I can't listen to voice messages yet. Please type it.";

/// Number of handled messages that are remembered.
const MAX_HANDLED: usize = 1_000;

/// Gateway events in order.
pub(super) enum InboundEvent {
    Message(Message),
    Reaction(Reaction),
    /// A new session began; earlier events may be missing.
    SessionStarted,
    /// All events before this one belong to that session.
    SaveSession(Session),
    /// The stored session is invalid.
    DropSession,
}

/// Handles inbound events one at a time.
pub(super) struct InboundHandler {
    shared: Arc<Shared>,
    /// The newest handled messages, because events and fetched history overlap.
    handled: BTreeSet<Snowflake>,
}

impl InboundHandler {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, handled: BTreeSet::new() }
    }

    pub(super) async fn run(mut self, mut events: mpsc::Receiver<InboundEvent>) {
        while let Some(next) = events.recv().await {
            match next {
                InboundEvent::Message(message) => self.on_message(message).await,
                InboundEvent::Reaction(reaction) => self.on_reaction(reaction).await,
                InboundEvent::SessionStarted => self.fetch_missed().await,
                InboundEvent::SaveSession(session) => self.save_session(&session).await,
                InboundEvent::DropSession => self.save(SESSION_KEY, String::new()).await,
            }
        }
    }

    async fn fetch_missed(&mut self) {
        for message in missed_messages::fetch(&self.shared).await {
            self.on_message(message).await;
        }
    }

    async fn save_session(&self, session: &Session) {
        if let Ok(text) = serde_json::to_string(session) {
            self.save(SESSION_KEY, text).await;
        }
    }

    async fn save(&self, name: &'static str, value: String) {
        if let Err(error) = self.shared.ports.outbox.kv_set(name, value).await {
            tracing::warn!(%error, name, "What Discord needs after a restart could not be kept.");
        }
    }

    /// MC-1, MC-2: accepts only text from the user in the DM.
    fn is_accepted(&self, message: &Message) -> bool {
        let signed = &self.shared.identity;
        let theirs = message.author == Author::Person(signed.owner);
        let words = matches!(message.message_type, MessageType::Plain | MessageType::Reply);
        theirs && words && message.in_dm() && message.channel == self.shared.channel()
    }

    async fn on_message(&mut self, message: Message) {
        if !self.is_accepted(&message) || !self.handled.insert(message.id) {
            return;
        }
        if self.handled.len() > MAX_HANDLED {
            self.handled.pop_first();
        }
        if google_connection::handle_pasted(&self.shared, &message.content).await {
            return self.mark_seen(message.id).await;
        }
        self.shared.wait_for_capacity().await;
        let id = message.id;
        if is_command(message.content.trim()) {
            self.run_command(&message).await
        } else {
            self.say(message).await
        }
        self.mark_seen(id).await;
    }

    /// Stores the newest handled message. Events may arrive out of order, so an older id is
    /// ignored.
    async fn mark_seen(&self, id: Snowflake) {
        let seen = missed_messages::last_seen(&self.shared).await;
        if seen.is_none_or(|seen| seen < id) {
            self.save(LAST_SEEN_KEY, id.to_string()).await;
        }
    }

    /// Treats `done` or `tomorrow 9` in reply to a reminder like its buttons. Returns true if the
    /// card accepted it.
    async fn try_card_reply(&self, message: &Message) -> bool {
        let Some(reply) = &message.reply_to else { return false };
        let habits = commands::habits(&self.shared).await;
        let meant = intent::parse(&message.content, &self.shared.ports.clock.now(), &habits);
        let moved = || CardAction::Move(message.content.trim().to_owned());
        if matches!(meant, Intent::Change(ChangeRequest::Done(ItemRef::Current | ItemRef::LastRung))) {
            self.press_card(reply.message, CardAction::Done).await
        } else if matches!(
            meant,
            Intent::Change(ChangeRequest::Move { item: ItemRef::Current | ItemRef::LastRung, to: Ok(_) })
        ) {
            self.press_card(reply.message, moved()).await
        } else {
            false
        }
    }

    /// Acts on the card posted as `message`. Returns true if there is one and it changed.
    async fn press_card(&self, message: Snowflake, act: CardAction) -> bool {
        let posted = self.shared.ports.outbox.posted_as(message.0).await.ok().flatten();
        let Some((key, _)) = posted else { return false };
        let surface = SurfaceName::Discord;
        let on = SentId(message.0);
        let press = ButtonPress { surface, on, action: ButtonAction::CardByKey(key, act) };
        let done = self.shared.ports.assistant.ask(Request::Press(press)).await == Answer::Done;
        self.shared.outbox_changed.notify_one();
        done
    }

    async fn say(&self, message: Message) {
        if message.is_voice {
            return send_notice(&self.shared, VOICE_REPLY).await;
        }
        if self.try_card_reply(&message).await {
            let _ = self.shared.rest.react(self.shared.channel(), message.id, "✅").await;
            return;
        }
        let attachments::FetchedImages { images, unused } =
            attachments::fetch_images(&self.shared, &message.attachments).await;
        let unused = match unused.as_slice() {
            [] => String::new(),
            unused => format!("-# not used: {}", unused.join(", ")),
        };
        if message.content.trim().is_empty() && images.is_empty() {
            return send_notice(&self.shared, &unused).await;
        }
        let reply_to = match &message.reply_to {
            Some(reply) => Some(self.reply_to(reply.message, reply.quoted.as_ref()).await),
            None => None,
        };
        let surface = SurfaceName::Discord;
        let mark = Some(ExternalMessageId(message.id.0));
        let saying = UserMessage { surface, text: message.content, images, reply_to, mark };
        match self.shared.ports.assistant.ask(Request::Say(saying)).await {
            Answer::MessageQueued(heard) => self.shared.record_message(heard, message.id),
            Answer::Refused(text) | Answer::Text(text) => send_notice(&self.shared, &text).await,
            // A repeated message.
            Answer::Done
            | Answer::TurnStarted(_)
            | Answer::Rulings(_)
            | Answer::Results(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::OverBudget(_)
            | Answer::Shown(_) => {}
        }
        send_notice(&self.shared, &unused).await;
    }

    /// MT-9, MT-12: returns the message replied to, with its text.
    async fn reply_to(&self, message: Snowflake, quoted: Option<&QuotedMessage>) -> ReplyTo {
        let words = quoted.map(|quoted| match quoted.content.trim() {
            "" => quoted.embed.clone(),
            words => words.to_owned(),
        });
        ReplyTo { sent_id: sent_id(&self.shared, message).await, quote: words.unwrap_or_default() }
    }

    async fn run_command(&self, message: &Message) {
        let answer = commands::obey(&self.shared, message.content.trim()).await;
        if let Answer::Text(text) | Answer::Refused(text) = answer {
            send_notice(&self.shared, &text).await;
        }
    }

    /// PM-9: a reaction to an approval answers it.
    async fn on_reaction(&self, reaction: Reaction) {
        if reaction.user != self.shared.identity.owner || reaction.change != ReactionChange::Added {
            return;
        }
        let posted = self.shared.ports.outbox.posted_as(reaction.message.0).await.ok().flatten();
        let approval = posted.and_then(|(key, _)| key.0.strip_prefix("approval:")?.parse().ok());
        let Some(approval) = approval.map(ApprovalId) else { return self.on_card_reaction(&reaction).await };
        let verdict = match reaction.emoji.as_str() {
            "✅" => ApprovalAnswer::Allow,
            "❌" => ApprovalAnswer::Deny,
            "🔓" => ApprovalAnswer::Always,
            _ => return,
        };
        let surface = SurfaceName::Discord;
        let on = SentId(reaction.message.0);
        let press = ButtonPress { surface, on, action: ButtonAction::AnswerStep(approval, verdict) };
        if let Answer::Refused(why) = self.shared.ports.assistant.ask(Request::Press(press)).await {
            send_notice(&self.shared, &why).await;
        }
        self.shared.outbox_changed.notify_one();
    }
}

impl InboundHandler {
    /// Treats a reaction to a reminder like one of its buttons.
    async fn on_card_reaction(&self, reaction: &Reaction) {
        let act = match reaction.emoji.as_str() {
            "✅" => CardAction::Done,
            "⏰" => CardAction::Later,
            "👎" => return self.dislike(reaction.message).await,
            _ => return,
        };
        self.press_card(reaction.message, act).await;
    }

    /// Reports to the source of a message that the user found it not useful. No reply is shown.
    async fn dislike(&self, message: Snowflake) {
        let surface = SurfaceName::Discord;
        let on = sent_id(&self.shared, message).await;
        let press = ButtonPress { surface, on, action: ButtonAction::Dislike };
        let _ = self.shared.ports.assistant.ask(Request::Press(press)).await;
    }
}

/// Returns the id under which the message was recorded; a message that is not ours keeps its own
/// id.
pub(super) async fn sent_id(shared: &Shared, message: Snowflake) -> SentId {
    let posted = shared.ports.outbox.posted_as(message.0).await.ok().flatten();
    posted.and_then(|(_, sent)| sent).unwrap_or(SentId(message.0))
}
