//! Outbox posts: which updates are also sent to the user's messages, and in which form.
//!
//! The updates of each decision are examined in one place, which adds the posts to the same write.
//! So no other code has to consider messages, and nothing is sent that is not on disk.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::digest::{digest_post, shown_digest};
use super::updates::CATCHING_UP;
use super::{
    ApprovalUpdate, Assistant, CompactionUpdate, Effect, KeyNotice, Request, SideUpdate, TurnWork, Update,
};
use crate::approval::{Approval, answered_post, step_question};
use crate::card::{Card, CardState, follow_up_text, group_body};
use crate::conversation::{Branch, Completeness, Entry, EntryContent, Text, tool_calls};
use crate::cost::CostSource;
use crate::fork::{end_card, start_card};
use crate::outbox::{MessageBody, OutboxChange, OutboxKey, OutboxMessage, Sound};
use crate::record::{MessageChange, MessageId, Record, SurfaceName};
use crate::sent_messages::SentId;
use crate::tool::{Outcome, ShownContent};
use crate::turn::{TurnEnding, TurnId};

/// How long the user is assumed to stay on a surface after using it.
const PRESENCE_TIME: SignedDuration = SignedDuration::from_mins(10);

/// The presence of the user, and the audiences of active turns.
#[derive(Clone, Debug, Default)]
pub(super) struct OutboxState {
    reach: Reachability,
    /// Active turns on the user's branches, with the audience of each.
    audiences: BTreeMap<TurnId, TurnAudience>,
    /// The surface last used, and when.
    last_seen: Option<(SurfaceName, Timestamp)>,
    /// Number of notes posted since the start; makes their keys unique.
    note_count: usize,
}

/// Whether messages can be sent at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reachability {
    /// The user sees only surfaces that are open.
    #[default]
    SurfacesOnly,
    /// The user also gets messages.
    MessagesToo,
}

/// The audience of an active turn.
#[derive(Clone, Debug)]
struct TurnAudience {
    branch: Branch,
    /// The surfaces that its answer is sent to besides the open ones.
    audience: Audience,
}

/// The destination of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// To the open surface on which it was asked.
    OpenSurface,
    /// To the messages, because it was asked there.
    MessageReply,
    /// To the messages, because it was scheduled.
    Unprompted,
    /// Into the post of a shown reminder, if in time; otherwise its text is dropped as a mere
    /// rewording. Anything but text goes to the messages.
    RewordsReminder,
    /// Like `RewordsReminder`, but text that comes too late goes to the messages, because it adds
    /// something: the reminder has skills or a chain, or the model used tools.
    AnswersReminder,
}

impl OutboxState {
    /// Remembers the surface on which the user made `request`.
    pub(super) fn saw_user(&mut self, request: &Request, now: &Zoned) {
        let surface = match request {
            Request::Say(saying) => saying.surface,
            Request::Press(press) => press.surface,
            Request::Approve(reply) => reply.surface,
            Request::Control(_)
            | Request::History(_)
            | Request::Fork(_)
            | Request::Turn(..)
            | Request::Inbox(_)
            | Request::Query(_)
            | Request::Configure(_)
            | Request::Schedule(_)
            | Request::StateFiles(_)
            | Request::Announce(_) => return,
        };
        self.last_seen = Some((surface, now.timestamp()));
    }

    /// Returns true if the user is probably only at the messages: no other surface was used
    /// recently.
    fn is_user_away(&self, now: &Zoned) -> bool {
        let stays = |at: Timestamp| now.timestamp().duration_since(at) < PRESENCE_TIME;
        !self.last_seen.is_some_and(|(surface, at)| surface != SurfaceName::Discord && stays(at))
    }

    /// Returns true if the user can be reached by messages only.
    pub(super) fn is_by_messages_only(&self, now: &Zoned) -> bool {
        self.reach == Reachability::MessagesToo && self.is_user_away(now)
    }

    /// Handles an answer on `branch` that could not replace the reminder's text. `says_more` states
    /// whether it adds something.
    pub(super) fn on_not_replaced(&mut self, branch: &Branch, says_more: bool) {
        for audience in self.audiences.values_mut() {
            let is_sent = match audience.audience {
                Audience::RewordsReminder => says_more,
                Audience::AnswersReminder => true,
                Audience::OpenSurface | Audience::MessageReply | Audience::Unprompted => false,
            };
            if audience.branch == *branch && is_sent {
                audience.audience = Audience::Unprompted;
            }
        }
    }

    /// Handles tool use of the turn on `branch`.
    fn on_tool_use(&mut self, branch: &Branch) {
        for audience in self.audiences.values_mut() {
            if audience.branch == *branch && audience.audience == Audience::RewordsReminder {
                audience.audience = Audience::AnswersReminder;
            }
        }
    }

    fn audience(&self, branch: &Branch) -> Option<&TurnAudience> {
        self.audiences.values().find(|turn| turn.branch == *branch)
    }
}

impl Assistant {
    /// Enables messages to the user.
    #[must_use]
    pub fn with_messages(mut self) -> Self {
        self.outbox.reach = Reachability::MessagesToo;
        self
    }

    /// Handles activity of the user on `surface`.
    pub(super) fn on_user_seen(&mut self, surface: SurfaceName, now: &Zoned) -> Vec<Effect> {
        self.outbox.last_seen = Some((surface, now.timestamp()));
        Vec::new()
    }

    /// Adds the posts of one decision to its write.
    pub(super) fn add_posts(&mut self, effects: Vec<Effect>, now: &Zoned) -> Vec<Effect> {
        if self.outbox.reach == Reachability::SurfacesOnly {
            return effects;
        }
        let cards = reminder_posts(&effects, now);
        let sent_digest = shown_digest(&effects);
        let mut posts: Vec<OutboxChange> = Vec::new();
        for effect in &effects {
            if let Effect::Show(shown) = effect {
                self.outbox.note_count += 1;
                let digest = sent_digest.as_ref().and_then(|sent_digest| digest_post(sent_digest, shown));
                posts.extend(digest.map_or_else(|| self.posts_for(shown, &cards, now), |post| vec![post]));
            }
        }
        let mut posts: Vec<Record> =
            posts.into_iter().map(|post| Record::Message(MessageChange::Outbox(post))).collect();
        if posts.is_empty() {
            return effects;
        }
        let mut effects = effects;
        match effects.first_mut() {
            Some(Effect::Write(records)) => records.append(&mut posts),
            _ => effects.insert(0, Effect::Write(posts)),
        }
        effects
    }

    fn posts_for(&mut self, shown: &Update, cards: &[ReminderPost], now: &Zoned) -> Vec<OutboxChange> {
        let at = now.timestamp();
        let key = OutboxKey::notice(at, self.outbox.note_count);
        let note = |ring, sheet| {
            vec![OutboxChange::Posted(OutboxMessage { key, at, sound: ring, sent_id: None, body: sheet })]
        };
        match shown {
            Update::TurnStarted { turn, branch, answers } => {
                self.on_turn_started(*turn, *answers, branch, now);
                Vec::new()
            }
            Update::EntryAppended { branch, entry } => {
                if matches!(entry.content, EntryContent::Tools(_)) {
                    self.outbox.on_tool_use(branch);
                }
                self.entry_posts(branch, entry, cards)
            }
            Update::TurnEnded { turn, branch, ending, .. } => {
                let waits = match self.outbox.audiences.remove(turn) {
                    Some(asker) => asker.audience != Audience::OpenSurface,
                    // The turn was abandoned at a start.
                    None => self.is_user_branch(branch) && self.outbox.is_user_away(now),
                };
                match ending {
                    // The user has been notified of the daily limit.
                    TurnEnding::Failed(why) if waits && !ending.is_at_limit() => {
                        note(Sound::Loud, MessageBody::from_text(&why.to_string()))
                    }
                    TurnEnding::Failed(_) | TurnEnding::Finished | TurnEnding::Interrupted => Vec::new(),
                }
            }
            Update::TurnBlocked { turn, notice: known, why, .. } => {
                let asker = self.outbox.audiences.remove(turn);
                let waits = asker.is_some_and(|asker| asker.audience != Audience::OpenSurface);
                match (known, waits) {
                    (KeyNotice::NotShown, true) => {
                        note(Sound::Loud, MessageBody::from_text(&why.to_string()))
                    }
                    (KeyNotice::NotShown | KeyNotice::Shown, _) => Vec::new(),
                }
            }
            Update::Compaction(CompactionUpdate::Ended { branch, outcome, .. })
                if self.is_user_branch(branch) && self.outbox.is_user_away(now) =>
            {
                let text = outcome.as_ref().unwrap_or_else(|why| why);
                note(Sound::Silent, MessageBody::from_footer(text))
            }
            Update::Approval(ApprovalUpdate::Open(approval)) => self.approval_posts(approval, now),
            Update::Approval(ApprovalUpdate::Closed(approval, closed)) => {
                vec![answered_post(approval, closed, &self.state.approvals.of_step(approval.step))]
            }
            Update::Side(aside) => self.side_posts(aside, now),
            Update::Notice(text) => match find_notice_post(cards, text) {
                Some(rung) => {
                    let key = rung.key.clone();
                    let sheet = rung.sheet.clone();
                    vec![OutboxChange::Posted(OutboxMessage {
                        key,
                        at,
                        sound: Sound::Loud,
                        sent_id: None,
                        body: sheet,
                    })]
                }
                None if text.starts_with(CATCHING_UP) || !self.outbox.is_user_away(now) => Vec::new(),
                None => note(Sound::Silent, MessageBody::from_text(text)),
            },
            Update::Delta { .. }
            | Update::ProgressNote { .. }
            | Update::ToolProgress { .. }
            | Update::ModelWait { .. }
            | Update::MainMoved(_) => Vec::new(),
            Update::Compaction(_) => Vec::new(),
        }
    }

    /// Determines the audience of a turn that starts.
    fn on_turn_started(&mut self, turn: TurnId, answers: MessageId, branch: &Branch, now: &Zoned) {
        if !self.is_user_branch(branch) {
            return;
        }
        let surface = self.active_turns.get(branch).and_then(|running| match &running.work {
            TurnWork::Answer(message, _) => Some(message.surface),
            TurnWork::Compact(_) => None,
        });
        let asked = self.state.plans.asked_with(answers);
        let to = match (surface, asked) {
            (Some(SurfaceName::Discord), _) => Audience::MessageReply,
            (Some(SurfaceName::Internal), Some(asked)) if !asked.shown_verbatim => Audience::Unprompted,
            (Some(SurfaceName::Internal), Some(asked)) if self.has_task(asked) => Audience::AnswersReminder,
            (Some(SurfaceName::Internal), Some(_)) => Audience::RewordsReminder,
            (Some(SurfaceName::Internal), None) if self.outbox.is_user_away(now) => Audience::Unprompted,
            (Some(SurfaceName::Internal | SurfaceName::Page | SurfaceName::Terminal) | None, _) => {
                Audience::OpenSurface
            }
        };
        self.outbox
            .audiences
            .entry(turn)
            .or_insert_with(|| TurnAudience { branch: branch.clone(), audience: to });
    }

    /// Sets the audience of a turn that is answered without a model.
    pub(super) fn set_offline_audience(&mut self, turn: TurnId, branch: &Branch, surface: SurfaceName) {
        let to = match surface {
            SurfaceName::Discord => Audience::MessageReply,
            SurfaceName::Internal | SurfaceName::Page | SurfaceName::Terminal => Audience::OpenSurface,
        };
        self.outbox.audiences.insert(turn, TurnAudience { branch: branch.clone(), audience: to });
    }

    /// Returns true for main and the open fork, but not for background runs.
    fn is_user_branch(&self, branch: &Branch) -> bool {
        *branch == Branch::Main || self.state.fork.as_ref().is_some_and(|fork| fork.branch == *branch)
    }

    /// Returns the posts of a new entry on one of the user's branches.
    fn entry_posts(&self, branch: &Branch, entry: &Entry, cards: &[ReminderPost]) -> Vec<OutboxChange> {
        // Text outside of any turn is a reminder's own.
        let own = if *branch == Branch::Main { Audience::Unprompted } else { Audience::OpenSurface };
        let audience = self.outbox.audience(branch).map_or(own, |asker| asker.audience);
        match &entry.content {
            _ if audience == Audience::OpenSurface => Vec::new(),
            EntryContent::Assistant(..) if audience == Audience::RewordsReminder => Vec::new(),
            // Only the last text of a turn replaces the reminder's text.
            EntryContent::Assistant(blocks, _)
                if audience == Audience::AnswersReminder && tool_calls(blocks).next().is_none() =>
            {
                Vec::new()
            }
            EntryContent::Assistant(_, reach) => answer_posts(entry, *reach, cards),
            EntryContent::Tools(_) => tool_posts(entry, ""),
            EntryContent::User(_) | EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => Vec::new(),
        }
    }

    /// Returns the posts of an update beside the conversation.
    fn side_posts(&self, update: &SideUpdate, now: &Zoned) -> Vec<OutboxChange> {
        let at = now.timestamp();
        if matches!(update, SideUpdate::ForkStarted { .. } | SideUpdate::ForkEnded { .. })
            && !self.outbox.is_user_away(now)
        {
            return Vec::new();
        }
        let (key, sheet) = match update {
            SideUpdate::ForkStarted { branch, topic } => {
                (OutboxKey::fork_started(branch), MessageBody::from_embed(start_card(topic.as_deref())))
            }
            SideUpdate::ForkEnded { branch, why, note } => {
                (OutboxKey::fork_ended(branch), MessageBody::from_embed(end_card(*why, note)))
            }
            SideUpdate::RunShowed { source, entry } => return tool_posts(entry, &run_footer(source)),
            // Their change is written to the post itself.
            SideUpdate::MessagePutAway(_) | SideUpdate::CardChanged(_) => return Vec::new(),
        };
        vec![OutboxChange::Posted(OutboxMessage { key, at, sound: Sound::Loud, sent_id: None, body: sheet })]
    }

    /// Returns the post of an approval, unless it was asked for on an open surface.
    fn approval_posts(&self, approval: &Approval, now: &Zoned) -> Vec<OutboxChange> {
        let asker = self.outbox.audience(&approval.branch);
        if asker.is_some_and(|asker| asker.audience == Audience::OpenSurface) {
            return Vec::new();
        }
        // The calls of one step share a card, which the first of them posts.
        let together = self.state.approvals.of_step(approval.step);
        if together.first().is_some_and(|first| first.id != approval.id) {
            return Vec::new();
        }
        let key = OutboxKey::approval(approval.step);
        let at = now.timestamp();
        vec![OutboxChange::Posted(OutboxMessage {
            key,
            at,
            sound: Sound::Loud,
            sent_id: None,
            body: step_question(&together),
        })]
    }
}

/// The post of a reminder in this decision.
struct ReminderPost {
    key: OutboxKey,
    /// The reminder's text, to recognize its notice.
    text: String,
    sheet: MessageBody,
}

/// Returns the posts of reminders that fire or are followed up in this decision.
fn reminder_posts(effects: &[Effect], now: &Zoned) -> Vec<ReminderPost> {
    let Some(Effect::Write(records)) = effects.first() else { return Vec::new() };
    let open = records.iter().filter_map(|record| {
        let Record::Message(MessageChange::Card(card, key)) = record else { return None };
        (card.state == CardState::Open).then_some((card, key))
    });
    let open: Vec<(&Card, &OutboxKey)> = open.collect();
    let post_of = |(card, key): &(&Card, &OutboxKey)| match &card.follow_up_post {
        Some(followed) => ReminderPost {
            key: followed.clone(),
            text: follow_up_text(card),
            sheet: MessageBody { reply_to: Some((*key).clone()), ..card.follow_up_body(now) },
        },
        None => {
            let with: Vec<&Card> =
                open.iter().filter(|(_, other)| other == key).map(|(card, _)| *card).collect();
            let sheet = if with.len() > 1 { group_body(&with, None) } else { card.body(now) };
            ReminderPost { key: (*key).clone(), text: card.text.clone(), sheet }
        }
    };
    open.iter().map(post_of).collect()
}

/// Returns the reminder whose notice is `text`, if it has a post of its own.
fn find_notice_post<'a>(cards: &'a [ReminderPost], text: &str) -> Option<&'a ReminderPost> {
    cards.iter().find(|post| post.text == text && post.key.is_card())
}

/// Returns the post of an answer, with the reminder's card if it belongs to one.
fn answer_posts(entry: &Entry, reach: Completeness, cards: &[ReminderPost]) -> Vec<OutboxChange> {
    let text = entry.content.text();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let key = OutboxKey::of_entry(entry);
    let sheet = cards.iter().find(|rung| rung.key == key).map(|rung| rung.sheet.clone());
    let sheet = sheet.unwrap_or_else(|| MessageBody::from_text(&text));
    let foot = match reach {
        Completeness::Complete => String::new(),
        Completeness::Interrupted => "stopped".to_owned(),
    };
    let at = entry.at;
    let of = Some(SentId::from(entry.id));
    vec![OutboxChange::Posted(OutboxMessage {
        key,
        at,
        sound: Sound::Loud,
        sent_id: of,
        body: MessageBody { footer: foot, ..sheet },
    })]
}

/// Returns the posts of everything that tools in `entry` show.
fn tool_posts(entry: &Entry, foot: &str) -> Vec<OutboxChange> {
    let EntryContent::Tools(results) = &entry.content else { return Vec::new() };
    let post = |(place, showing): (usize, &ShownContent)| {
        let sheet = match showing {
            ShownContent::Text(words) => MessageBody::from_text(words),
            ShownContent::Embed(embed) => MessageBody::from_embed(embed.clone()),
        };
        let key = OutboxKey::shown(entry.id, place);
        let of = Some(SentId::from(entry.id));
        let sheet = MessageBody { footer: foot.to_owned(), ..sheet };
        OutboxChange::Posted(OutboxMessage {
            key,
            at: entry.at,
            sound: Sound::Loud,
            sent_id: of,
            body: sheet,
        })
    };
    let shown = results.iter().filter_map(|result| match &result.outcome {
        Outcome::Shown(showing) => Some(showing),
        Outcome::Done | Outcome::Failed | Outcome::Denied => None,
    });
    shown.enumerate().map(post).collect()
}

/// Returns the footer that names the run's job.
fn run_footer(source: &CostSource) -> String {
    format!("from {source} · reply to talk about it")
}
