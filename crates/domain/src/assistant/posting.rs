//! Outbox posts: which updates are also sent to the user's messages, and in which form.
//!
//! The updates of each decision are examined in one place, which adds the posts to the same write.
//! So no other code has to consider messages, and nothing is sent that is not on disk.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::digesting::{digest, told};
use super::reporting::CATCHING_UP;
use super::{Aside, Asking, Assistant, Compaction, Effect, Errand, Known, Request, Shown};
use crate::approval::{Approval, answered, question_of};
use crate::card::{Card, State, put_otherwise, together_sheet};
use crate::conversation::{Branch, Entry, Reach, Said, Text, calls};
use crate::cost::Source;
use crate::fork::{begun_card, ended_card};
use crate::post::{Post, PostChange, PostKey, Ring, Sheet};
use crate::record::{MessageChange, MessageId, Record, SurfaceName};
use crate::sent::SentId;
use crate::tool::{Outcome, Showing};
use crate::turn::{Ending, TurnId};

/// How long the user is assumed to stay on a surface after using it.
const STAYS: SignedDuration = SignedDuration::from_mins(10);

/// Where the user is, and which answers go to messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Posting {
    reach: Reached,
    /// Active turns on the user's branches, with the audience of each.
    turns: BTreeMap<TurnId, Asker>,
    /// The surface last used, and when.
    last: Option<(SurfaceName, Timestamp)>,
    /// Number of notes posted since the start; makes their keys unique.
    notes: usize,
}

/// Whether messages can be sent at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reached {
    /// The user sees only surfaces that are open.
    #[default]
    Here,
    /// The user also gets messages.
    Anywhere,
}

/// The audience of an active turn.
#[derive(Clone, Debug)]
struct Asker {
    branch: Branch,
    /// Where its answer goes besides the open surfaces.
    to: Goes,
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    /// To the open surface on which it was asked.
    Nowhere,
    /// To the messages, because it was asked there.
    Back,
    /// To the messages, because it was scheduled.
    Out,
    /// Into the post of a shown reminder, if in time; otherwise its text is dropped as a mere
    /// rewording. Anything but text goes to the messages.
    Rephrases,
    /// Like `RewordsReminder`, but text that comes too late goes to the messages, because it adds
    /// something: the reminder has skills or a chain, or the model used tools.
    Answers,
}

impl Posting {
    /// Remembers the surface on which the user made `request`.
    pub(super) fn note(&mut self, request: &Request, now: &Zoned) {
        let surface = match request {
            Request::Say(saying) => saying.surface,
            Request::Press(press) => press.surface,
            Request::Approve(reply) => reply.by,
            Request::Rein(_)
            | Request::Reshape(_)
            | Request::Step(_)
            | Request::Turn(..)
            | Request::Inbox(_)
            | Request::Tell(_)
            | Request::Choose(_)
            | Request::Plan(_)
            | Request::StateFiles(_)
            | Request::Announce(_) => return,
        };
        self.last = Some((surface, now.timestamp()));
    }

    /// Returns true if the user is probably only at the messages: no other surface was used
    /// recently.
    fn is_away(&self, now: &Zoned) -> bool {
        let stays = |at: Timestamp| now.timestamp().duration_since(at) < STAYS;
        !self.last.is_some_and(|(surface, at)| surface != SurfaceName::Discord && stays(at))
    }

    /// Returns true if the user can be reached by messages only.
    pub(super) fn is_by_messages(&self, now: &Zoned) -> bool {
        self.reach == Reached::Anywhere && self.is_away(now)
    }

    /// Handles an answer on `branch` that could not replace the reminder's text. `says_more` states
    /// whether it adds something.
    pub(super) fn has_no_place(&mut self, branch: &Branch, says_more: bool) {
        for asker in self.turns.values_mut() {
            let goes_out = match asker.to {
                Goes::Rephrases => says_more,
                Goes::Answers => true,
                Goes::Nowhere | Goes::Back | Goes::Out => false,
            };
            if asker.branch == *branch && goes_out {
                asker.to = Goes::Out;
            }
        }
    }

    /// Handles tool use of the turn on `branch`.
    fn used_tools(&mut self, branch: &Branch) {
        for asker in self.turns.values_mut() {
            if asker.branch == *branch && asker.to == Goes::Rephrases {
                asker.to = Goes::Answers;
            }
        }
    }

    fn asker(&self, branch: &Branch) -> Option<&Asker> {
        self.turns.values().find(|asker| asker.branch == *branch)
    }
}

impl Assistant {
    /// Enables messages to the user.
    #[must_use]
    pub fn reaching(mut self) -> Self {
        self.posting.reach = Reached::Anywhere;
        self
    }

    /// Handles activity of the user on `surface`.
    pub(super) fn seen_on(&mut self, surface: SurfaceName, now: &Zoned) -> Vec<Effect> {
        self.posting.last = Some((surface, now.timestamp()));
        Vec::new()
    }

    /// Adds the posts of one decision to its write.
    pub(super) fn with_posts(&mut self, effects: Vec<Effect>, now: &Zoned) -> Vec<Effect> {
        if self.posting.reach == Reached::Here {
            return effects;
        }
        let cards = rung(&effects, now);
        let telling = told(&effects);
        let mut posts: Vec<PostChange> = Vec::new();
        for effect in &effects {
            if let Effect::Show(shown) = effect {
                self.posting.notes += 1;
                let digest = telling.as_ref().and_then(|telling| digest(telling, shown));
                posts.extend(digest.map_or_else(|| self.posts_of(shown, &cards, now), |post| vec![post]));
            }
        }
        let mut posts: Vec<Record> =
            posts.into_iter().map(|post| Record::Message(MessageChange::Post(post))).collect();
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

    fn posts_of(&mut self, shown: &Shown, cards: &[Rung], now: &Zoned) -> Vec<PostChange> {
        let at = now.timestamp();
        let key = PostKey::note(at, self.posting.notes);
        let note = |ring, sheet| vec![PostChange::Posted(Post { key, at, ring, of: None, sheet })];
        match shown {
            Shown::Began { turn, branch, answers } => {
                self.began(*turn, *answers, branch, now);
                Vec::new()
            }
            Shown::Said { branch, entry } => {
                if matches!(entry.said, Said::Tools(_)) {
                    self.posting.used_tools(branch);
                }
                self.said(branch, entry, cards)
            }
            Shown::Ended { turn, branch, ending, .. } => {
                let waits = match self.posting.turns.remove(turn) {
                    Some(asker) => asker.to != Goes::Nowhere,
                    // The turn was abandoned at a start.
                    None => self.is_here(branch) && self.posting.is_away(now),
                };
                match ending {
                    // The user has been notified of the daily limit.
                    Ending::Failed(why) if waits && !ending.is_at_limit() => {
                        note(Ring::Loud, Sheet::of(&why.to_string()))
                    }
                    Ending::Failed(_) | Ending::Finished | Ending::Interrupted => Vec::new(),
                }
            }
            Shown::Held { turn, known, why, .. } => {
                let asker = self.posting.turns.remove(turn);
                let waits = asker.is_some_and(|asker| asker.to != Goes::Nowhere);
                match (known, waits) {
                    (Known::Unknown, true) => note(Ring::Loud, Sheet::of(&why.to_string())),
                    (Known::Unknown | Known::Told, _) => Vec::new(),
                }
            }
            Shown::Compaction(Compaction::Ended { branch, outcome, .. })
                if self.is_here(branch) && self.posting.is_away(now) =>
            {
                let text = outcome.as_ref().unwrap_or_else(|why| why);
                note(Ring::Quiet, Sheet::small(text))
            }
            Shown::Approval(Asking::Open(approval)) => self.asks(approval, now),
            Shown::Approval(Asking::Closed(approval, closed)) => {
                vec![answered(approval, closed, &self.memory.approvals.of_step(approval.step))]
            }
            Shown::Aside(aside) => self.aside(aside, now),
            Shown::Notice(text) => match rings(cards, text) {
                Some(rung) => {
                    let key = rung.key.clone();
                    let sheet = rung.sheet.clone();
                    vec![PostChange::Posted(Post { key, at, ring: Ring::Loud, of: None, sheet })]
                }
                None if text.starts_with(CATCHING_UP) || !self.posting.is_away(now) => Vec::new(),
                None => note(Ring::Quiet, Sheet::of(text)),
            },
            Shown::Delta { .. }
            | Shown::Progress { .. }
            | Shown::Working { .. }
            | Shown::Waiting { .. }
            | Shown::Moved(_) => Vec::new(),
            Shown::Compaction(_) => Vec::new(),
        }
    }

    /// Determines the audience of a turn that starts.
    fn began(&mut self, turn: TurnId, answers: MessageId, branch: &Branch, now: &Zoned) {
        if !self.is_here(branch) {
            return;
        }
        let surface = self.running.get(branch).and_then(|running| match &running.errand {
            Errand::Answer(message, _) => Some(message.surface),
            Errand::Compact(_) => None,
        });
        let asked = self.memory.plans.asked(answers);
        let to = match (surface, asked) {
            (Some(SurfaceName::Discord), _) => Goes::Back,
            (Some(SurfaceName::House), Some(asked)) if !asked.shown => Goes::Out,
            (Some(SurfaceName::House), Some(asked)) if self.says_more(asked) => Goes::Answers,
            (Some(SurfaceName::House), Some(_)) => Goes::Rephrases,
            (Some(SurfaceName::House), None) if self.posting.is_away(now) => Goes::Out,
            (Some(SurfaceName::House | SurfaceName::Page | SurfaceName::Terminal) | None, _) => Goes::Nowhere,
        };
        self.posting.turns.entry(turn).or_insert_with(|| Asker { branch: branch.clone(), to });
    }

    /// Sets the audience of a turn that is answered without a model.
    pub(super) fn stands_in_on(&mut self, turn: TurnId, branch: &Branch, surface: SurfaceName) {
        let to = match surface {
            SurfaceName::Discord => Goes::Back,
            SurfaceName::House | SurfaceName::Page | SurfaceName::Terminal => Goes::Nowhere,
        };
        self.posting.turns.insert(turn, Asker { branch: branch.clone(), to });
    }

    /// Returns true for main and the open fork, but not for background runs.
    fn is_here(&self, branch: &Branch) -> bool {
        *branch == Branch::Main || self.memory.fork.as_ref().is_some_and(|fork| fork.branch == *branch)
    }

    /// Returns the posts of a new entry on one of the user's branches.
    fn said(&self, branch: &Branch, entry: &Entry, cards: &[Rung]) -> Vec<PostChange> {
        // Text outside of any turn is a reminder's own.
        let own = if *branch == Branch::Main { Goes::Out } else { Goes::Nowhere };
        let goes = self.posting.asker(branch).map_or(own, |asker| asker.to);
        match &entry.said {
            _ if goes == Goes::Nowhere => Vec::new(),
            Said::Assistant(..) if goes == Goes::Rephrases => Vec::new(),
            // Only the last text of a turn replaces the reminder's text.
            Said::Assistant(blocks, _) if goes == Goes::Answers && calls(blocks).next().is_none() => {
                Vec::new()
            }
            Said::Assistant(_, reach) => words(entry, *reach, cards),
            Said::Tools(_) => shown_in(entry, ""),
            Said::Human(_) | Said::Summary(_) | Said::Recalled(_) => Vec::new(),
        }
    }

    /// Returns the posts of an update beside the conversation.
    fn aside(&self, aside: &Aside, now: &Zoned) -> Vec<PostChange> {
        let at = now.timestamp();
        if matches!(aside, Aside::Began { .. } | Aside::Ended { .. }) && !self.posting.is_away(now) {
            return Vec::new();
        }
        let (key, sheet) = match aside {
            Aside::Began { branch, topic } => {
                (PostKey::begun(branch), Sheet::showing(begun_card(topic.as_deref())))
            }
            Aside::Ended { branch, why, note } => {
                (PostKey::ended(branch), Sheet::showing(ended_card(*why, note)))
            }
            Aside::Sent { source, entry } => return shown_in(entry, &foot(source)),
            // Their change is written to the post itself.
            Aside::PutAway(_) | Aside::Card(_) => return Vec::new(),
        };
        vec![PostChange::Posted(Post { key, at, ring: Ring::Loud, of: None, sheet })]
    }

    /// Returns the post of an approval, unless it was asked for on an open surface.
    fn asks(&self, approval: &Approval, now: &Zoned) -> Vec<PostChange> {
        let asker = self.posting.asker(&approval.branch);
        if asker.is_some_and(|asker| asker.to == Goes::Nowhere) {
            return Vec::new();
        }
        // The calls of one step share a card, which the first of them posts.
        let together = self.memory.approvals.of_step(approval.step);
        if together.first().is_some_and(|first| first.id != approval.id) {
            return Vec::new();
        }
        let key = PostKey::approval(approval.step);
        let at = now.timestamp();
        vec![PostChange::Posted(Post { key, at, ring: Ring::Loud, of: None, sheet: question_of(&together) })]
    }
}

/// The post of a reminder in this decision.
struct Rung {
    key: PostKey,
    /// The reminder's text, to recognize its notice.
    text: String,
    sheet: Sheet,
}

/// Returns the posts of reminders that fire or are followed up in this decision.
fn rung(effects: &[Effect], now: &Zoned) -> Vec<Rung> {
    let Some(Effect::Write(records)) = effects.first() else { return Vec::new() };
    let open = records.iter().filter_map(|record| {
        let Record::Message(MessageChange::Card(card, key)) = record else { return None };
        (card.state == State::Open).then_some((card, key))
    });
    let open: Vec<(&Card, &PostKey)> = open.collect();
    let rang = |(card, key): &(&Card, &PostKey)| match &card.followed {
        Some(followed) => Rung {
            key: followed.clone(),
            text: put_otherwise(card),
            sheet: Sheet { to: Some((*key).clone()), ..card.otherwise_sheet(now) },
        },
        None => {
            let with: Vec<&Card> =
                open.iter().filter(|(_, other)| other == key).map(|(card, _)| *card).collect();
            let sheet = if with.len() > 1 { together_sheet(&with, None) } else { card.sheet(now) };
            Rung { key: (*key).clone(), text: card.said.clone(), sheet }
        }
    };
    open.iter().map(rang).collect()
}

/// Returns the reminder whose notice is `text`, if it has a post of its own.
fn rings<'a>(cards: &'a [Rung], text: &str) -> Option<&'a Rung> {
    cards.iter().find(|rung| rung.text == text && rung.key.is_card())
}

/// Returns the post of an answer, with the reminder's card if it belongs to one.
fn words(entry: &Entry, reach: Reach, cards: &[Rung]) -> Vec<PostChange> {
    let text = entry.said.text();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let key = PostKey::words(entry);
    let sheet = cards.iter().find(|rung| rung.key == key).map(|rung| rung.sheet.clone());
    let sheet = sheet.unwrap_or_else(|| Sheet::of(&text));
    let foot = match reach {
        Reach::Whole => String::new(),
        Reach::Cut => "stopped".to_owned(),
    };
    let at = entry.at;
    let of = Some(SentId::from(entry.id));
    vec![PostChange::Posted(Post { key, at, ring: Ring::Loud, of, sheet: Sheet { foot, ..sheet } })]
}

/// Returns the posts of everything that tools in `entry` show.
fn shown_in(entry: &Entry, foot: &str) -> Vec<PostChange> {
    let Said::Tools(results) = &entry.said else { return Vec::new() };
    let post = |(place, showing): (usize, &Showing)| {
        let sheet = match showing {
            Showing::Words(words) => Sheet::of(words),
            Showing::Embed(embed) => Sheet::showing(embed.clone()),
        };
        let key = PostKey::shown(entry.id, place);
        let of = Some(SentId::from(entry.id));
        let sheet = Sheet { foot: foot.to_owned(), ..sheet };
        PostChange::Posted(Post { key, at: entry.at, ring: Ring::Loud, of, sheet })
    };
    let shown = results.iter().filter_map(|result| match &result.outcome {
        Outcome::Shown(showing) => Some(showing),
        Outcome::Done | Outcome::Failed | Outcome::Denied => None,
    });
    shown.enumerate().map(post).collect()
}

/// Returns the footer that names the run's job.
fn foot(source: &Source) -> String {
    format!("from {source} · reply to talk about it")
}
