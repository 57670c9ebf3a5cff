//! Live: how the answer that goes on is getting along, while it is not finished.
//!
//! A short answer is sent whole. A long one appears as it comes, under the key of the post that follows, so that
//! the finished words take its place. Work that takes long has a silent line of its own, which goes when it is over.

use std::time::Duration;

use domain::assistant::Doing;
use domain::conversation::{Branch, EntryId};
use domain::post::PostKey;
use domain::record::MessageId;
use domain::tool::unmarked;
use domain::turn::TurnId;
use engine::ports::Receipt;
use tokio::time::Instant;

use super::Shared;
use super::dressing::{GROWING_BYTES, growing};
use super::sending::{keep, post, status, take_away};
use crate::discord::Snowflake;
use crate::discord::message::{Flags, Outgoing};
use crate::discord::rest::Trouble;

/// How long words come before they are shown unfinished.
const WHOLE: Duration = Duration::from_secs(4);
/// How often what is shown is changed.
const PACE: Duration = Duration::from_millis(1_200);
/// How often typing is shown again.
const TYPING: Duration = Duration::from_secs(8);
/// How long a tool works before a line says so.
const WORKING: Duration = Duration::from_secs(12);
/// How long a progress note of the model waits before the line shows it: an answer that comes sooner needs none.
const NOTED: Duration = Duration::from_secs(3);
/// How often that line is changed.
const COUNTED: Duration = Duration::from_secs(5);

/// A turn that goes on.
pub(super) struct Live {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) answers: MessageId,
    /// The entry that is answered: nothing is shown unfinished if it is not known.
    after: Option<EntryId>,
    /// The words since the last thing that was written down.
    words: String,
    spoke: Option<Instant>,
    /// What is shown of them, by part.
    shown: Vec<String>,
    edited: Option<Instant>,
    typed: Option<Instant>,
    work: Option<Work>,
}

/// Work before the answer: tools that run one after the other, and the progress notes of the model.
struct Work {
    /// The caption of the tool; empty if none has run yet.
    what: String,
    /// The current progress note.
    note: Option<String>,
    /// When the first of them began.
    since: Instant,
    /// When this one began.
    named: Instant,
    line: Option<Snowflake>,
    /// When the line was last sent or changed, or that was tried.
    tried: Option<Instant>,
}

impl Live {
    /// A turn that answers, on a branch, after an entry of it.
    pub(super) fn new(
        (turn, answers): (TurnId, MessageId),
        (branch, after): (Branch, Option<EntryId>),
    ) -> Self {
        let (words, shown) = (String::new(), Vec::new());
        Self {
            turn,
            branch,
            answers,
            after,
            words,
            spoke: None,
            shown,
            edited: None,
            typed: None,
            work: None,
        }
    }

    /// Nobody knows what the words follow, until the next thing is written down.
    pub(super) fn lost_track(&mut self) {
        self.after = None;
    }

    /// A few words more.
    pub(super) fn hear(&mut self, text: &str) {
        // More is not shown before the answer is finished, and then as a file.
        let room = GROWING_BYTES.saturating_sub(self.words.len());
        self.words.push_str(&text[..text.floor_char_boundary(room)]);
        self.spoke.get_or_insert_with(Instant::now);
    }

    /// All words so far, for who missed some.
    pub(super) fn heard(&mut self, words: &str) {
        if self.words != words {
            self.words.clear();
            self.hear(words);
        }
    }

    /// ST-9: a tool works. The same one goes on being counted, another is counted from its own beginning.
    pub(super) fn works(&mut self, tool: &str, doing: Doing) {
        if doing != Doing::Runs {
            return;
        }
        let now = Instant::now();
        let work = self.work.get_or_insert_with(|| Work::new(now));
        if work.what != tool {
            tool.clone_into(&mut work.what);
            work.named = now;
        }
    }

    /// Takes the current progress note of the model, which the status line shows.
    pub(super) fn note(&mut self, note: &str) {
        let work = self.work.get_or_insert_with(|| Work::new(Instant::now()));
        work.note = Some(note.to_owned());
    }

    /// What was said is written down: what comes next is said after it.
    pub(super) fn written(&mut self, entry: EntryId) {
        self.after = Some(entry);
        self.words.clear();
        self.shown.clear();
        (self.spoke, self.edited) = (None, None);
    }

    /// When something is to be done about it next.
    pub(super) fn next(&self) -> Instant {
        let now = Instant::now();
        let typing = self.typed.map_or(now, |typed| typed + TYPING);
        let words = match (self.spoke, self.edited) {
            (Some(_), Some(edited)) if self.is_behind() => Some(edited + PACE),
            (Some(spoke), None) => Some(spoke + WHOLE),
            _ => None,
        };
        let work = self.work.as_ref().map(Work::due);
        [Some(typing), words, work].into_iter().flatten().min().unwrap_or(typing)
    }

    fn is_behind(&self) -> bool {
        growing(&self.words) != self.shown
    }

    /// Does what is due. Trouble is no loss: the finished words follow.
    pub(super) async fn tend(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let now = Instant::now();
        if self.typed.is_none_or(|typed| now >= typed + TYPING) && self.shown.is_empty() {
            self.typed = Some(now);
            // Nobody misses it.
            let _ = shared.rest.typing(shared.channel()).await;
        } else if self.typed.is_none_or(|typed| now >= typed + TYPING) {
            self.typed = Some(now);
        }
        let begun = self.spoke.is_some_and(|spoke| now >= spoke + WHOLE);
        if begun && self.edited.is_none_or(|edited| now >= edited + PACE) {
            self.edited = Some(now);
            self.show(shared).await?;
        }
        self.count(shared).await
    }

    /// Shows the words so far, under the key of the post that follows.
    async fn show(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let parts = growing(&self.words);
        let Some(key) = self.key().filter(|_| parts != self.shown) else {
            return Ok(());
        };
        let receipts = shared.ports.outbox.receipts(key.clone()).await;
        let receipts = receipts.map_err(|error| Trouble::Away(error.to_string()))?;
        for (index, content) in parts.iter().enumerate() {
            if self.shown.get(index) == Some(content) {
                continue;
            }
            let part = u32::try_from(index).unwrap_or(u32::MAX);
            let mut outgoing = Outgoing::words(content.clone());
            outgoing.flags = Flags::NO_EMBEDS;
            match receipts.iter().find(|receipt| receipt.part == part) {
                Some(receipt) => {
                    let id = Snowflake(receipt.message);
                    shared.rest.edit_message(shared.channel(), id, &outgoing).await?;
                }
                None => {
                    let id = post(shared, &key, part, &outgoing).await?;
                    keep(shared, &key, (part, id)).await?;
                }
            }
        }
        self.shown = parts;
        Ok(())
    }

    /// The key of what is being said: it follows the newest entry there.
    fn key(&self) -> Option<PostKey> {
        self.after.map(PostKey::after)
    }

    /// A silent line says what takes so long.
    async fn count(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let (turn, now) = (self.turn, Instant::now());
        let Some(work) = &mut self.work else { return Ok(()) };
        let line = status(&work.text(now));
        if now < work.due() {
            return Ok(());
        }
        work.tried = Some(now);
        match work.line {
            None => {
                let id = shared.rest.create_message(shared.channel(), &line, None).await?.id;
                work.line = Some(id);
                keep(shared, &line_key(turn), (0, id)).await
            }
            Some(id) => shared.rest.edit_message(shared.channel(), id, &line).await.map(drop),
        }
    }

    /// The work is over, and so is the line about it.
    pub(super) async fn rests(&mut self, shared: &Shared) {
        if let Some(Work { line: Some(id), .. }) = self.work.take() {
            let receipt = Receipt { key: line_key(self.turn), part: 0, message: id.0 };
            if let Err(trouble) = take_away(shared, &receipt).await {
                tracing::debug!(%trouble, "A status line stays until the next start.");
            }
        }
    }

    /// What is shown unfinished stands for nothing: it is taken away.
    pub(super) async fn unsay(&mut self, shared: &Shared) {
        let Some(key) = self.key().filter(|_| !self.shown.is_empty()) else { return };
        for receipt in shared.ports.outbox.receipts(key).await.unwrap_or_default() {
            let _ = take_away(shared, &receipt).await;
        }
        self.shown.clear();
    }
}

impl Work {
    fn new(now: Instant) -> Self {
        Self { what: String::new(), note: None, since: now, named: now, line: None, tried: None }
    }

    /// When the line is sent or changed next.
    fn due(&self) -> Instant {
        match (self.tried, &self.note) {
            (Some(tried), _) => tried + COUNTED,
            (None, Some(_)) => self.since + NOTED,
            (None, None) => self.since + WORKING,
        }
    }

    /// The text of the line: the note, then the tool and its time.
    fn text(&self, now: Instant) -> String {
        let seconds = now.duration_since(self.named).as_secs();
        let tool = (!self.what.is_empty()).then(|| format!("{}… {seconds} s", unmarked(&self.what)));
        let note = self.note.as_deref().map(escaped);
        note.into_iter().chain(tool).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns `text` with a backslash before each character that could begin Markdown, a mention, an emoji or a link.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\*_~`|<>[]()#@:-".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

const LINE: &str = "line:";

fn line_key(turn: TurnId) -> PostKey {
    PostKey(format!("{LINE}{}", turn.0))
}

/// Half an answer that a crash left behind is taken away, unless `goes_on` says that its turn goes on.
pub(super) async fn sweep_halves(shared: &Shared, goes_on: &[PostKey]) {
    for receipt in shared.ports.outbox.unfinished().await.unwrap_or_default() {
        if !goes_on.contains(&receipt.key) {
            let _ = take_away(shared, &receipt).await;
        }
    }
}

/// Lines that a crash left behind are taken away.
pub(super) async fn sweep(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of(LINE).await.unwrap_or_default() {
        let _ = take_away(shared, &receipt).await;
    }
}
