//! Handles messages and reactions of the user in order and once, including messages sent while the
//! daemon was not running.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::approval::{ApprovalId, Verdict};
use domain::assistant::{Answer, Press, Request, Saying};
use domain::brain::{self, Change, Meant, Which};
use domain::card::Act;
use domain::command::is_command;
use domain::embed::Action;
use domain::record::{Mark, ReplyTo, SurfaceName};
use domain::sent::SentId;
use tokio::sync::mpsc;

use super::sending::say_aside;
use super::sign_in::SESSION;
use super::{Shared, catching_up, connecting, pictures};
use crate::discord::events::{Author, Message, Quoted, Reaction, Sort, Turn};
use crate::discord::gateway::Session;
use crate::discord::{Snowflake, commands};

/// Key of the newest message that was handled.
pub(super) const SEEN: &str = "discord.seen";

const VOICE: &str = "-# I got a voice message, but I can't listen to voice messages yet. Please type it.";

/// Number of handled messages that are remembered.
const DEALT: usize = 1_000;

/// Gateway events in order.
pub(super) enum News {
    Message(Message),
    Reaction(Reaction),
    /// A new session began; earlier events may be missing.
    Began,
    /// All events before this one belong to that session.
    Keep(Session),
    /// The stored session is invalid.
    Forget,
}

/// Handles inbound events one at a time.
pub(super) struct Hearing {
    shared: Arc<Shared>,
    /// The newest handled messages, because events and fetched history overlap.
    dealt: BTreeSet<Snowflake>,
}

impl Hearing {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, dealt: BTreeSet::new() }
    }

    pub(super) async fn run(mut self, mut news: mpsc::Receiver<News>) {
        while let Some(next) = news.recv().await {
            match next {
                News::Message(message) => self.hear(message).await,
                News::Reaction(reaction) => self.notice(reaction).await,
                News::Began => self.catch_up().await,
                News::Keep(session) => self.keep(&session).await,
                News::Forget => self.remember(SESSION, String::new()).await,
            }
        }
    }

    async fn catch_up(&mut self) {
        for message in catching_up::missed(&self.shared).await {
            self.hear(message).await;
        }
    }

    async fn keep(&self, session: &Session) {
        if let Ok(text) = serde_json::to_string(session) {
            self.remember(SESSION, text).await;
        }
    }

    async fn remember(&self, name: &'static str, value: String) {
        if let Err(error) = self.shared.ports.outbox.keep(name, value).await {
            tracing::warn!(%error, name, "What Discord needs after a restart could not be kept.");
        }
    }

    /// MC-1, MC-2: accepts only text from the user in the DM.
    fn is_for_us(&self, message: &Message) -> bool {
        let signed = &self.shared.signed;
        let theirs = message.author == Author::Person(signed.owner);
        let words = matches!(message.sort, Sort::Plain | Sort::Reply);
        theirs && words && message.in_dm() && message.channel == self.shared.channel()
    }

    async fn hear(&mut self, message: Message) {
        if !self.is_for_us(&message) || !self.dealt.insert(message.id) {
            return;
        }
        if self.dealt.len() > DEALT {
            self.dealt.pop_first();
        }
        if connecting::is_taken(&self.shared, &message.content).await {
            return self.saw(message.id).await;
        }
        self.shared.has_room().await;
        let id = message.id;
        if is_command(message.content.trim()) {
            self.obey(&message).await
        } else {
            self.say(message).await
        }
        self.saw(id).await;
    }

    /// Stores the newest handled message. Events may arrive out of order, so an older id is
    /// ignored.
    async fn saw(&self, id: Snowflake) {
        let seen = catching_up::seen(&self.shared).await;
        if seen.is_none_or(|seen| seen < id) {
            self.remember(SEEN, id.to_string()).await;
        }
    }

    /// Treats `done` or `tomorrow 9` in reply to a reminder like its buttons. Returns true if the
    /// card accepted it.
    async fn is_for_a_card(&self, message: &Message) -> bool {
        let Some(reply) = &message.reply_to else { return false };
        let habits = commands::habits(&self.shared).await;
        let meant = brain::read(&message.content, &self.shared.ports.clock.now(), &habits);
        let moved = || Act::Move(message.content.trim().to_owned());
        if matches!(meant, Meant::Change(Change::Done(Which::This | Which::Rang))) {
            self.press_card(reply.message, Act::Done).await
        } else if matches!(meant, Meant::Change(Change::Move { what: Which::This | Which::Rang, to: Ok(_) }))
        {
            self.press_card(reply.message, moved()).await
        } else {
            false
        }
    }

    /// Acts on the card posted as `message`. Returns true if there is one and it changed.
    async fn press_card(&self, message: Snowflake, act: Act) -> bool {
        let posted = self.shared.ports.outbox.posted_as(message.0).await.ok().flatten();
        let Some((key, _)) = posted else { return false };
        let surface = SurfaceName::Discord;
        let on = SentId(message.0);
        let press = Press { surface, on, action: Action::Posted(key, act) };
        let done = self.shared.ports.desk.ask(Request::Press(press)).await == Answer::Noted;
        self.shared.poke.notify_one();
        done
    }

    async fn say(&self, message: Message) {
        if message.is_voice {
            return say_aside(&self.shared, VOICE).await;
        }
        if self.is_for_a_card(&message).await {
            let _ = self.shared.rest.react(self.shared.channel(), message.id, "✅").await;
            return;
        }
        let pictures::Looked { images, unused } = pictures::look(&self.shared, &message.attachments).await;
        let unused = match unused.as_slice() {
            [] => String::new(),
            unused => format!("-# not used: {}", unused.join(", ")),
        };
        if message.content.trim().is_empty() && images.is_empty() {
            return say_aside(&self.shared, &unused).await;
        }
        let reply_to = match &message.reply_to {
            Some(reply) => Some(self.reply_to(reply.message, reply.quoted.as_ref()).await),
            None => None,
        };
        let surface = SurfaceName::Discord;
        let mark = Some(Mark(message.id.0));
        let saying = Saying { surface, text: message.content, images, reply_to, mark };
        match self.shared.ports.desk.ask(Request::Say(saying)).await {
            Answer::Heard(heard) => self.shared.heard(heard, message.id),
            Answer::Refused(text) | Answer::Told(text) => say_aside(&self.shared, &text).await,
            // A repeated message.
            Answer::Noted
            | Answer::Begun(_)
            | Answer::Decided(_)
            | Answer::Results(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Overspent(_)
            | Answer::Shown(_) => {}
        }
        say_aside(&self.shared, &unused).await;
    }

    /// MT-9, MT-12: returns the message replied to, with its text.
    async fn reply_to(&self, message: Snowflake, quoted: Option<&Quoted>) -> ReplyTo {
        let words = quoted.map(|quoted| match quoted.content.trim() {
            "" => quoted.embed.clone(),
            words => words.to_owned(),
        });
        ReplyTo { to: sent_id(&self.shared, message).await, words: words.unwrap_or_default() }
    }

    async fn obey(&self, message: &Message) {
        let answer = commands::obey(&self.shared, message.content.trim()).await;
        if let Answer::Told(text) | Answer::Refused(text) = answer {
            say_aside(&self.shared, &text).await;
        }
    }

    /// PM-9: a reaction to an approval answers it.
    async fn notice(&self, reaction: Reaction) {
        if reaction.user != self.shared.signed.owner || reaction.turn != Turn::Added {
            return;
        }
        let posted = self.shared.ports.outbox.posted_as(reaction.message.0).await.ok().flatten();
        let approval = posted.and_then(|(key, _)| key.0.strip_prefix("approval:")?.parse().ok());
        let Some(approval) = approval.map(ApprovalId) else { return self.notice_on_a_card(&reaction).await };
        let verdict = match reaction.emoji.as_str() {
            "✅" => Verdict::Allow,
            "❌" => Verdict::Deny,
            "🔓" => Verdict::Always,
            _ => return,
        };
        let surface = SurfaceName::Discord;
        let on = SentId(reaction.message.0);
        let press = Press { surface, on, action: Action::AnswerStep(approval, verdict) };
        if let Answer::Refused(why) = self.shared.ports.desk.ask(Request::Press(press)).await {
            say_aside(&self.shared, &why).await;
        }
        self.shared.poke.notify_one();
    }
}

impl Hearing {
    /// Treats a reaction to a reminder like one of its buttons.
    async fn notice_on_a_card(&self, reaction: &Reaction) {
        let act = match reaction.emoji.as_str() {
            "✅" => Act::Done,
            "⏰" => Act::Later,
            "👎" => return self.not_useful(reaction.message).await,
            _ => return,
        };
        self.press_card(reaction.message, act).await;
    }

    /// Reports to the source of a message that the user found it not useful. No reply is shown.
    async fn not_useful(&self, message: Snowflake) {
        let surface = SurfaceName::Discord;
        let on = sent_id(&self.shared, message).await;
        let press = Press { surface, on, action: Action::Dislike };
        let _ = self.shared.ports.desk.ask(Request::Press(press)).await;
    }
}

/// Returns the id under which the message was recorded; a message that is not ours keeps its own
/// id.
pub(super) async fn sent_id(shared: &Shared, message: Snowflake) -> SentId {
    let posted = shared.ports.outbox.posted_as(message.0).await.ok().flatten();
    posted.and_then(|(_, sent)| sent).unwrap_or(SentId(message.0))
}
