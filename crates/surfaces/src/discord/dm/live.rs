//! Shows the current answer while it is incomplete.
//!
//! The first complete sentence is sent at once, because its beginning is shown in the push
//! notification. The rest is added as it arrives, under the key of the post that follows, so the
//! final text replaces it. An answer that finishes earlier is sent complete. Long work has a silent
//! status line, which is deleted afterwards.

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
use super::unfinished;
use crate::discord::Snowflake;
use crate::discord::message::{Flags, Outgoing};
use crate::discord::rest::Trouble;

/// How long text is collected before it is sent without a complete sentence.
const FIRST: Duration = Duration::from_millis(800);
/// Number of characters that are sent at once, even without a complete sentence.
const ENOUGH: usize = 80;
/// Minimum number of letters of a sentence, so that the number of a list item does not count as
/// one.
const SENTENCE: usize = 3;
/// Interval of edits.
const PACE: Duration = Duration::from_millis(1_200);
/// Interval at which the typing indicator is renewed.
const TYPING: Duration = Duration::from_secs(8);
/// How long tools run before the status line is shown.
const WORKING: Duration = Duration::from_secs(12);
/// How long a progress note of the model waits before the status line is shown; an answer that
/// comes sooner needs none.
const NOTED: Duration = Duration::from_secs(3);
/// Interval of edits of the status line.
const COUNTED: Duration = Duration::from_secs(5);

/// A running turn.
pub(super) struct Live {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) answers: MessageId,
    /// The entry that the text follows. No partial text is shown if it is unknown.
    after: Option<EntryId>,
    /// The text since the last stored entry.
    words: String,
    spoke: Option<Instant>,
    /// The shown contents, by part.
    shown: Vec<String>,
    edited: Option<Instant>,
    typed: Option<Instant>,
    work: Option<Work>,
}

/// Work before the answer: tools that run one after the other, and progress notes of the model.
struct Work {
    /// Caption of the tool; empty if none has run yet.
    what: String,
    note: Option<String>,
    /// When the first tool or note started.
    since: Instant,
    /// When the current tool started.
    named: Instant,
    line: Option<Snowflake>,
    /// When the status line was last sent or edited, or that was tried.
    tried: Option<Instant>,
}

impl Live {
    pub(super) fn new(
        (turn, answers): (TurnId, MessageId),
        (branch, after): (Branch, Option<EntryId>),
    ) -> Self {
        let words = String::new();
        let shown = Vec::new();
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

    /// Forgets the entry that the text follows, until the next entry is stored.
    pub(super) fn lost_track(&mut self) {
        self.after = None;
    }

    /// Appends streamed text.
    pub(super) fn hear(&mut self, text: &str) {
        // More is not shown before the answer is finished, and then as a file.
        let room = GROWING_BYTES.saturating_sub(self.words.len());
        self.words.push_str(&text[..text.floor_char_boundary(room)]);
        if !self.words.trim().is_empty() {
            self.spoke.get_or_insert_with(Instant::now);
        }
    }

    /// Sets the complete text, after events were missed.
    pub(super) fn heard(&mut self, words: &str) {
        if self.words != words {
            self.words.clear();
            self.hear(words);
        }
    }

    /// ST-9: records that a tool runs. The time is counted per tool.
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

    /// Sets the current progress note of the model, which the status line shows.
    pub(super) fn note(&mut self, note: &str) {
        let work = self.work.get_or_insert_with(|| Work::new(Instant::now()));
        work.note = Some(note.to_owned());
    }

    /// Records that the text was stored as `entry`; the next text follows it.
    pub(super) fn written(&mut self, entry: EntryId) {
        self.after = Some(entry);
        self.words.clear();
        self.shown.clear();
        (self.spoke, self.edited) = (None, None);
    }

    /// Returns when `update` has something to do next.
    pub(super) fn next(&self) -> Instant {
        let now = Instant::now();
        let typing = self.typed.map_or(now, |typed| typed + TYPING);
        let words = match (self.spoke, self.edited) {
            (Some(_), Some(edited)) if self.is_behind() => Some(edited + PACE),
            (_, None) => self.first_due(),
            _ => None,
        };
        let work = self.work.as_ref().map(Work::due);
        [Some(typing), words, work].into_iter().flatten().min().unwrap_or(typing)
    }

    /// Returns when the first text is due, if there is any.
    fn first_due(&self) -> Option<Instant> {
        let spoke = self.spoke?;
        let is_enough = sentences(&self.words) > 0 || self.words.chars().nth(ENOUGH - 1).is_some();
        Some(if is_enough { spoke } else { spoke + FIRST })
    }

    fn is_behind(&self) -> bool {
        growing(&self.words) != self.shown
    }

    /// Shows what is due. A failure loses nothing, because the final text follows as a post.
    pub(super) async fn tend(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let now = Instant::now();
        if self.typed.is_none_or(|typed| now >= typed + TYPING) && self.shown.is_empty() {
            self.typed = Some(now);
            // The typing indicator is not important.
            let _ = shared.rest.typing(shared.channel()).await;
        } else if self.typed.is_none_or(|typed| now >= typed + TYPING) {
            self.typed = Some(now);
        }
        let due = self.edited.map_or_else(|| self.first_due(), |edited| Some(edited + PACE));
        if due.is_some_and(|due| now >= due) {
            let parts = match self.edited {
                None => growing(beginning(&self.words)),
                Some(_) => growing(&self.words),
            };
            self.edited = Some(now);
            self.show(shared, parts).await?;
        }
        self.count(shared).await
    }

    /// Shows `parts` of the text so far, under the key of the post that follows.
    async fn show(&mut self, shared: &Shared, parts: Vec<String>) -> Result<(), Trouble> {
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
                    unfinished::begin(shared, &key, part, &outgoing).await?;
                    let posted = post(shared, &shared.rest, &key, part, &outgoing).await;
                    let was_not_sent =
                        matches!(&posted, Err(trouble) if !matches!(trouble, Trouble::Unknown(_)));
                    if was_not_sent {
                        unfinished::end(shared, &key, part);
                    }
                    let id = posted?;
                    keep(shared, &key, part, id).await?;
                }
            }
        }
        self.shown = parts;
        Ok(())
    }

    /// Returns the key of the text in progress, derived from the newest entry.
    fn key(&self) -> Option<PostKey> {
        self.after.map(PostKey::after)
    }

    /// Sends or edits the silent status line.
    async fn count(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let turn = self.turn;
        let now = Instant::now();
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
                keep(shared, &line_key(turn), 0, id).await
            }
            Some(id) => shared.rest.edit_message(shared.channel(), id, &line).await.map(drop),
        }
    }

    /// Ends the work and deletes its status line.
    pub(super) async fn rests(&mut self, shared: &Shared) {
        if let Some(Work { line: Some(id), .. }) = self.work.take() {
            let receipt = Receipt { key: line_key(self.turn), part: 0, message: id.0 };
            if let Err(trouble) = take_away(shared, &receipt).await {
                tracing::debug!(%trouble, "A status line stays until the next start.");
            }
        }
    }

    /// Deletes the messages of a partial answer.
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

    /// Returns when the status line is sent or edited next.
    fn due(&self) -> Instant {
        match (self.tried, &self.note) {
            (Some(tried), _) => tried + COUNTED,
            (None, Some(_)) => self.since + NOTED,
            (None, None) => self.since + WORKING,
        }
    }

    /// Returns the text of the line: the note, then the tool and its time.
    fn text(&self, now: Instant) -> String {
        let seconds = now.duration_since(self.named).as_secs();
        let tool = (!self.what.is_empty()).then(|| format!("{}… {seconds} s", unmarked(&self.what)));
        let note = self.note.as_deref().map(escaped);
        note.into_iter().chain(tool).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the part of `words` that is sent first: the complete sentences, or else the complete
/// words.
fn beginning(words: &str) -> &str {
    let end = match sentences(words) {
        0 => words.rfind(char::is_whitespace).unwrap_or_default(),
        end => end,
    };
    let beginning = &words[..end];
    if beginning.trim().is_empty() { words } else { beginning }
}

/// Returns where the last complete sentence of `words` ends, or 0. A sentence is complete when
/// whitespace follows its end mark, and a line when the next one begins.
fn sentences(words: &str) -> usize {
    let mut letters = 0;
    let mut end = 0;
    for ((at, c), next) in words.char_indices().zip(words.chars().skip(1)) {
        let is_end = match c {
            '.' | '!' | '?' | '…' => next.is_whitespace(),
            '。' | '！' | '？' => true,
            _ => next == '\n',
        };
        letters += usize::from(c.is_alphabetic());
        if is_end && letters >= SENTENCE {
            end = at + c.len_utf8();
        }
    }
    end
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

/// Deletes partial answers left behind by a crash, except those under the keys in `continued`, whose
/// turns continue.
pub(super) async fn sweep_halves(shared: &Shared, goes_on: &[PostKey]) {
    for receipt in shared.ports.outbox.unfinished().await.unwrap_or_default() {
        if !goes_on.contains(&receipt.key) {
            let _ = take_away(shared, &receipt).await;
        }
    }
}

/// Deletes status lines left behind by a crash.
pub(super) async fn sweep(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of(LINE).await.unwrap_or_default() {
        let _ = take_away(shared, &receipt).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_whole_sentences_or_whole_words() {
        let check = |words: &str, expected: &str| assert_eq!(beginning(words), expected, "{words:?}");
        check("Good morning. You have thr", "Good morning.");
        check("Good morning! It rains. Tak", "Good morning! It rains.");
        check("You have three app", "You have three");
        check("1. Buy mi", "1. Buy");
        check("Version 2.5 is", "Version 2.5");
        check("## Today\nthe den", "## Today");
        check("今日は雨です。傘", "今日は雨です。");
        check("Hel", "Hel");
        check("\n\nHel", "\n\nHel");
    }

    #[test]
    fn a_sentence_is_complete_when_the_next_one_begins() {
        for words in ["Good morning.", "Good morning", "Version 2.5", "1. ", "- ", "\n\n", "", "…"] {
            assert_eq!(sentences(words), 0, "{words:?}");
        }
        for (words, end) in
            [("Good morning. ", 13), ("Three things:\n", 13), ("Hello\nyou", 5), ("Really?! Y", 8)]
        {
            assert_eq!(sentences(words), end, "{words:?}");
        }
    }
}
