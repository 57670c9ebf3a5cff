//! Shows the current answer while it is incomplete.
//!
//! The first complete sentence is sent at once, because its beginning is shown in the push
//! notification. The rest is added as it arrives, under the key of the post that follows, so the
//! final text replaces it. An answer that finishes earlier is sent complete. Long work has a silent
//! status line, which is deleted afterwards.

use std::time::Duration;

use domain::assistant::ToolPhase;
use domain::conversation::{Branch, EntryId};
use domain::outbox::OutboxKey;
use domain::record::MessageId;
use domain::tool::escape_markdown;
use domain::turn::TurnId;
use engine::ports::Receipt;
use tokio::time::Instant;

use super::Shared;
use super::delivery::{delete_message, post_part, save_receipt, status_message};
use super::pending_message;
use super::rendering::{GROWING_BYTES, growing_contents};
use crate::discord::Snowflake;
use crate::discord::message::{Flags, OutgoingMessage};
use crate::discord::rest::DiscordError;

/// How long text is collected before it is sent without a complete sentence.
const FIRST_DELAY: Duration = Duration::from_millis(800);
/// Number of characters that are sent at once, even without a complete sentence.
const FIRST_CHARS: usize = 80;
/// Minimum number of letters of a sentence, so that the number of a list item does not count as
/// one.
const MIN_SENTENCE_LETTERS: usize = 3;
/// Interval of edits.
const EDIT_INTERVAL: Duration = Duration::from_millis(1_200);
/// Interval at which the typing indicator is renewed.
const TYPING_INTERVAL: Duration = Duration::from_secs(8);
/// How long tools run before the status line is shown.
const TOOL_LINE_DELAY: Duration = Duration::from_secs(12);
/// How long a progress note of the model waits before the status line is shown; an answer that
/// comes sooner needs none.
const NOTE_LINE_DELAY: Duration = Duration::from_secs(3);
/// Interval of edits of the status line.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// A running turn.
pub(super) struct LiveAnswer {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) answers: MessageId,
    /// The entry that the text follows. No partial text is shown if it is unknown.
    after: Option<EntryId>,
    /// The text since the last stored entry.
    text: String,
    first_text_at: Option<Instant>,
    /// The shown contents, by part.
    shown: Vec<String>,
    edited_at: Option<Instant>,
    typed_at: Option<Instant>,
    activity: Option<Activity>,
}

/// Work before the answer: tools that run one after the other, and progress notes of the model.
struct Activity {
    /// Caption of the tool; empty if none has run yet.
    tool: String,
    note: Option<String>,
    /// When the first tool or note started.
    started_at: Instant,
    /// When the current tool started.
    tool_started_at: Instant,
    message: Option<Snowflake>,
    /// When the status line was last sent or edited, or that was tried.
    updated_at: Option<Instant>,
}

impl LiveAnswer {
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
            text: words,
            first_text_at: None,
            shown,
            edited_at: None,
            typed_at: None,
            activity: None,
        }
    }

    /// Forgets the entry that the text follows, until the next entry is stored.
    pub(super) fn forget_position(&mut self) {
        self.after = None;
    }

    /// Appends streamed text.
    pub(super) fn push_text(&mut self, text: &str) {
        // More is not shown before the answer is finished, and then as a file.
        let room = GROWING_BYTES.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        if !self.text.trim().is_empty() {
            self.first_text_at.get_or_insert_with(Instant::now);
        }
    }

    /// Sets the complete text, after events were missed.
    pub(super) fn set_text(&mut self, words: &str) {
        if self.text != words {
            self.text.clear();
            self.push_text(words);
        }
    }

    /// ST-9: records that a tool runs. The time is counted per tool.
    pub(super) fn tool_started(&mut self, tool: &str, doing: ToolPhase) {
        if doing != ToolPhase::Running {
            return;
        }
        let now = Instant::now();
        let work = self.activity.get_or_insert_with(|| Activity::new(now));
        if work.tool != tool {
            tool.clone_into(&mut work.tool);
            work.tool_started_at = now;
        }
    }

    /// Sets the current progress note of the model, which the status line shows.
    pub(super) fn set_note(&mut self, note: &str) {
        let work = self.activity.get_or_insert_with(|| Activity::new(Instant::now()));
        work.note = Some(note.to_owned());
    }

    /// Records that the text was stored as `entry`; the next text follows it.
    pub(super) fn on_entry(&mut self, entry: EntryId) {
        self.after = Some(entry);
        self.text.clear();
        self.shown.clear();
        (self.first_text_at, self.edited_at) = (None, None);
    }

    /// Returns when `update` has something to do next.
    pub(super) fn next_due(&self) -> Instant {
        let now = Instant::now();
        let typing = self.typed_at.map_or(now, |typed| typed + TYPING_INTERVAL);
        let words = match (self.first_text_at, self.edited_at) {
            (Some(_), Some(edited)) if self.has_unshown_text() => Some(edited + EDIT_INTERVAL),
            (_, None) => self.first_due(),
            _ => None,
        };
        let work = self.activity.as_ref().map(Activity::due);
        [Some(typing), words, work].into_iter().flatten().min().unwrap_or(typing)
    }

    /// Returns when the first text is due, if there is any.
    fn first_due(&self) -> Option<Instant> {
        let spoke = self.first_text_at?;
        let is_enough = sentences_end(&self.text) > 0 || self.text.chars().nth(FIRST_CHARS - 1).is_some();
        Some(if is_enough { spoke } else { spoke + FIRST_DELAY })
    }

    fn has_unshown_text(&self) -> bool {
        growing_contents(&self.text) != self.shown
    }

    /// Shows what is due. A failure loses nothing, because the final text follows as a post.
    pub(super) async fn update(&mut self, shared: &Shared) -> Result<(), DiscordError> {
        let now = Instant::now();
        if self.typed_at.is_none_or(|typed| now >= typed + TYPING_INTERVAL) && self.shown.is_empty() {
            self.typed_at = Some(now);
            // The typing indicator is not important.
            let _ = shared.rest.typing(shared.channel()).await;
        } else if self.typed_at.is_none_or(|typed| now >= typed + TYPING_INTERVAL) {
            self.typed_at = Some(now);
        }
        let due = self.edited_at.map_or_else(|| self.first_due(), |edited| Some(edited + EDIT_INTERVAL));
        if due.is_some_and(|due| now >= due) {
            let parts = match self.edited_at {
                None => growing_contents(first_part(&self.text)),
                Some(_) => growing_contents(&self.text),
            };
            self.edited_at = Some(now);
            self.show(shared, parts).await?;
        }
        self.update_status_line(shared).await
    }

    /// Shows `parts` of the text so far, under the key of the post that follows.
    async fn show(&mut self, shared: &Shared, parts: Vec<String>) -> Result<(), DiscordError> {
        let Some(key) = self.key().filter(|_| parts != self.shown) else {
            return Ok(());
        };
        let receipts = shared.ports.outbox.receipts(key.clone()).await;
        let receipts = receipts.map_err(|error| DiscordError::Unavailable(error.to_string()))?;
        for (index, content) in parts.iter().enumerate() {
            if self.shown.get(index) == Some(content) {
                continue;
            }
            let part = u32::try_from(index).unwrap_or(u32::MAX);
            let mut outgoing = OutgoingMessage::text(content.clone());
            outgoing.flags = Flags::NO_EMBEDS;
            match receipts.iter().find(|receipt| receipt.part == part) {
                Some(receipt) => {
                    let id = Snowflake(receipt.message);
                    shared.rest.edit_message(shared.channel(), id, &outgoing).await?;
                }
                None => {
                    pending_message::record(shared, &key, part, &outgoing).await?;
                    let posted = post_part(shared, &shared.rest, &key, part, &outgoing).await;
                    let was_not_sent = matches!(&posted, Err(trouble) if !matches!(trouble, DiscordError::OutcomeUnknown(_)));
                    if was_not_sent {
                        pending_message::clear(shared, &key, part);
                    }
                    let id = posted?;
                    save_receipt(shared, &key, part, id).await?;
                }
            }
        }
        self.shown = parts;
        Ok(())
    }

    /// Returns the key of the text in progress, derived from the newest entry.
    fn key(&self) -> Option<OutboxKey> {
        self.after.map(OutboxKey::after)
    }

    /// Sends or edits the silent status line.
    async fn update_status_line(&mut self, shared: &Shared) -> Result<(), DiscordError> {
        let turn = self.turn;
        let now = Instant::now();
        let Some(work) = &mut self.activity else { return Ok(()) };
        let line = status_message(&work.text(now));
        if now < work.due() {
            return Ok(());
        }
        work.updated_at = Some(now);
        match work.message {
            None => {
                let id = shared.rest.create_message(shared.channel(), &line, None).await?.id;
                work.message = Some(id);
                save_receipt(shared, &line_key(turn), 0, id).await
            }
            Some(id) => shared.rest.edit_message(shared.channel(), id, &line).await.map(drop),
        }
    }

    /// Ends the work and deletes its status line.
    pub(super) async fn remove_status_line(&mut self, shared: &Shared) {
        if let Some(Activity { message: Some(id), .. }) = self.activity.take() {
            let receipt = Receipt { key: line_key(self.turn), part: 0, message: id.0 };
            if let Err(trouble) = delete_message(shared, &receipt).await {
                tracing::debug!(%trouble, "A status line stays until the next start.");
            }
        }
    }

    /// Deletes the messages of a partial answer.
    pub(super) async fn remove_partial(&mut self, shared: &Shared) {
        let Some(key) = self.key().filter(|_| !self.shown.is_empty()) else { return };
        for receipt in shared.ports.outbox.receipts(key).await.unwrap_or_default() {
            let _ = delete_message(shared, &receipt).await;
        }
        self.shown.clear();
    }
}

impl Activity {
    fn new(now: Instant) -> Self {
        Self {
            tool: String::new(),
            note: None,
            started_at: now,
            tool_started_at: now,
            message: None,
            updated_at: None,
        }
    }

    /// Returns when the status line is sent or edited next.
    fn due(&self) -> Instant {
        match (self.updated_at, &self.note) {
            (Some(tried), _) => tried + LINE_INTERVAL,
            (None, Some(_)) => self.started_at + NOTE_LINE_DELAY,
            (None, None) => self.started_at + TOOL_LINE_DELAY,
        }
    }

    /// Returns the text of the line: the note, then the tool and its time.
    fn text(&self, now: Instant) -> String {
        let seconds = now.duration_since(self.tool_started_at).as_secs();
        let tool = (!self.tool.is_empty()).then(|| format!("{}… {seconds} s", escape_markdown(&self.tool)));
        let note = self.note.as_deref().map(escape);
        note.into_iter().chain(tool).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the part of `words` that is sent first: the complete sentences, or else the complete
/// words.
fn first_part(words: &str) -> &str {
    let end = match sentences_end(words) {
        0 => words.rfind(char::is_whitespace).unwrap_or_default(),
        end => end,
    };
    let beginning = &words[..end];
    if beginning.trim().is_empty() { words } else { beginning }
}

/// Returns where the last complete sentence of `words` ends, or 0. A sentence is complete when
/// whitespace follows its end mark, and a line when the next one begins.
fn sentences_end(words: &str) -> usize {
    let mut letters = 0;
    let mut end = 0;
    for ((at, c), next) in words.char_indices().zip(words.chars().skip(1)) {
        let is_end = match c {
            '.' | '!' | '?' | '…' => next.is_whitespace(),
            '。' | '！' | '？' => true,
            _ => next == '\n',
        };
        letters += usize::from(c.is_alphabetic());
        if is_end && letters >= MIN_SENTENCE_LETTERS {
            end = at + c.len_utf8();
        }
    }
    end
}

/// Returns `text` with a backslash before each character that could begin Markdown, a mention, an emoji or a link.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\*_~`|<>[]()#@:-".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

const LINE_PREFIX: &str = "line:";

fn line_key(turn: TurnId) -> OutboxKey {
    OutboxKey(format!("{LINE_PREFIX}{}", turn.0))
}

/// Deletes partial answers left behind by a crash, except those under the keys in `continued`, whose
/// turns continue.
pub(super) async fn sweep_partial_answers(shared: &Shared, continued: &[OutboxKey]) {
    for receipt in shared.ports.outbox.unposted_receipts().await.unwrap_or_default() {
        if !continued.contains(&receipt.key) {
            let _ = delete_message(shared, &receipt).await;
        }
    }
}

/// Deletes status lines left behind by a crash.
pub(super) async fn sweep_status_lines(shared: &Shared) {
    for receipt in shared.ports.outbox.receipts_of_kind(LINE_PREFIX).await.unwrap_or_default() {
        let _ = delete_message(shared, &receipt).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_is_whole_sentences_or_whole_words() {
        let check = |words: &str, expected: &str| assert_eq!(first_part(words), expected, "{words:?}");
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
            assert_eq!(sentences_end(words), 0, "{words:?}");
        }
        for (words, end) in
            [("Good morning. ", 13), ("Three things:\n", 13), ("Hello\nyou", 5), ("Really?! Y", 8)]
        {
            assert_eq!(sentences_end(words), end, "{words:?}");
        }
    }
}
