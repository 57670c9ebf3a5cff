//! Live: how the answer that goes on is getting along, while it is not finished.
//!
//! The first complete sentence is sent at once, because its beginning is what a push notification shows. The rest is added
//! as it comes, under the key of the post that follows, so that the finished words take its place. An answer that is
//! finished before that is sent whole. Work that takes long has a silent line of its own, which goes when it is over.

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

/// How long words come before they are sent without a complete sentence.
const FIRST: Duration = Duration::from_millis(800);
/// So many characters are sent at once, also without a complete sentence.
const ENOUGH: usize = 80;
/// The fewest letters of a sentence, so that the number of a list item is none.
const SENTENCE: usize = 3;
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

    /// Nobody knows what the words follow, until the next thing is written down.
    pub(super) fn lost_track(&mut self) {
        self.after = None;
    }

    /// A few words more.
    pub(super) fn hear(&mut self, text: &str) {
        // More is not shown before the answer is finished, and then as a file.
        let room = GROWING_BYTES.saturating_sub(self.words.len());
        self.words.push_str(&text[..text.floor_char_boundary(room)]);
        if !self.words.trim().is_empty() {
            self.spoke.get_or_insert_with(Instant::now);
        }
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
            (_, None) => self.first_due(),
            _ => None,
        };
        let work = self.work.as_ref().map(Work::due);
        [Some(typing), words, work].into_iter().flatten().min().unwrap_or(typing)
    }

    /// When the first words are sent, if there are any.
    fn first_due(&self) -> Option<Instant> {
        let spoke = self.spoke?;
        let is_enough = sentences(&self.words) > 0 || self.words.chars().nth(ENOUGH - 1).is_some();
        Some(if is_enough { spoke } else { spoke + FIRST })
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

    /// Shows `parts` of the words so far, under the key of the post that follows.
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

    /// The key of what is being said: it follows the newest entry there.
    fn key(&self) -> Option<PostKey> {
        self.after.map(PostKey::after)
    }

    /// A silent line says what takes so long.
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

/// The beginning of `words` that is sent first: the complete sentences, or else the complete words.
fn beginning(words: &str) -> &str {
    let end = match sentences(words) {
        0 => words.rfind(char::is_whitespace).unwrap_or_default(),
        end => end,
    };
    let beginning = &words[..end];
    if beginning.trim().is_empty() { words } else { beginning }
}

/// Where the last complete sentence of `words` ends, or 0. A sentence is complete when a space follows its mark, and a line
/// when the next one begins.
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
