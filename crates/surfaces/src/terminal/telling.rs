//! Converts events to terminal output, without repeating text.
//!
//! Text arrives as deltas and again as a complete entry once it is stored. Only the part that was
//! not written yet is added, including what a lost delta left out.

mod beside;

use std::collections::VecDeque;

use serde_json::Value;

use super::rings::UNDO;
use super::{approval, embed};

use crate::client::Shown;

/// Outcome of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Answered,
    /// No answer or an incomplete one, with the reason.
    Not(String),
    /// The end was missed because this terminal lagged behind. The answer is in the conversation.
    Unseen,
}

impl Ended {
    /// Returns the reason if there is no complete answer.
    pub fn why(self) -> Option<String> {
        match self {
            Self::Answered | Self::Unseen => None,
            Self::Not(why) => Some(why),
        }
    }
}

/// The user's branch, unless a fork is open.
const MAIN: &str = "main";

/// Which answers are shown.
enum Whose {
    One(u64),
    /// All answers, and messages from other surfaces. Our own messages come back in the order in
    /// which they were sent.
    All(VecDeque<String>),
}

/// Output state of one terminal.
pub struct Telling {
    whose: Whose,
    turn: Option<u64>,
    /// Turn of the work that was requested here.
    work: Option<u64>,
    /// The user's branch, or the branch of the answer.
    here: String,
    /// The text written since the last stored entry.
    written: String,
    ended: Option<Ended>,
    margin: Margin,
    manner: Manner,
    unasked: Unasked,
}

/// How much is shown besides the text of answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Lines,
    /// Without what the status line shows.
    Keys,
    /// Like `Interactive`; the current line can be undone.
    Confirming,
}

/// Unprompted text is buffered and shown at once, because a ringing reminder has a line of its own.
#[derive(PartialEq, Eq)]
enum Unasked {
    /// The turn was requested by the user.
    No,
    /// The next turn is unprompted.
    Next,
    /// The current turn is unprompted; contains its text so far.
    Held(String),
}

/// Indentation of the next character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Margin {
    /// No indentation: the output goes to a program.
    None,
    Before,
    Behind,
}

impl Telling {
    /// Shows only the answer to `message`.
    pub fn of(message: u64) -> Self {
        Self::new(Whose::One(message), Margin::None)
    }

    pub fn of_all() -> Self {
        Self::new(Whose::All(VecDeque::new()), Margin::Before)
    }

    fn new(whose: Whose, margin: Margin) -> Self {
        let here = MAIN.to_owned();
        let written = String::new();
        let manner = Manner::Lines;
        let unasked = Unasked::No;
        Self { whose, turn: None, work: None, here, written, ended: None, margin, manner, unasked }
    }

    /// Adapts the output to a terminal with a status line and shortcuts.
    #[must_use]
    pub fn with_keys(self) -> Self {
        Self { manner: Manner::Keys, ..self }
    }

    /// Expects our own message back as an event; it is on the screen already.
    pub fn expect(&mut self, words: &str) {
        if let Whose::All(sent) = &mut self.whose {
            sent.push_back(words.to_owned());
        }
    }

    /// Drops the newest expected message, because it was not accepted. If it arrives anyway, it is
    /// shown.
    pub fn unexpect(&mut self) {
        if let Whose::All(sent) = &mut self.whose {
            sent.pop_back();
        }
    }

    /// Awaits the end of this turn like that of an answer.
    pub fn expect_work(&mut self, turn: u64) {
        self.work = Some(turn);
    }

    /// Returns true while an answer is streamed.
    pub fn is_speaking(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns true if the current turn is unprompted.
    pub fn is_unasked(&self) -> bool {
        matches!(self.unasked, Unasked::Held(_))
    }

    /// Returns true if `shown` is about the followed turn or compaction.
    pub fn follows(&self, shown: &Shown) -> bool {
        match shown.name.as_str() {
            "began" => self.is_ours(&shown.data),
            "delta" | "progress" | "working" | "asked" => self.is_ours(&shown.data),
            "ended" | "held" => self.turn.is_none(),
            "compacting" | "compacted" => self.is_near(&shown.data),
            "reload" => true,
            _ => false,
        }
    }

    /// Returns the outcome of the answer, once.
    pub fn ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    /// Returns the output for an event.
    pub fn hear(&mut self, shown: &Shown) -> String {
        let words = self.words(shown);
        match &mut self.unasked {
            Unasked::Held(held) if shown.name == "ended" => {
                let words = std::mem::take(held) + &words;
                self.unasked = Unasked::No;
                self.set_in(&words)
            }
            Unasked::Held(held) if matches!(shown.name.as_str(), "delta" | "said") => {
                held.push_str(&words);
                String::new()
            }
            Unasked::Held(_) | Unasked::Next | Unasked::No => self.set_in(&words),
        }
    }

    /// Indents `words` for a terminal.
    fn set_in(&mut self, words: &str) -> String {
        if self.margin == Margin::None {
            return words.to_owned();
        }
        let mut set = String::with_capacity(words.len() + 2);
        for c in words.chars() {
            if self.margin == Margin::Before && c != '\n' {
                set.push_str("  ");
            }
            if c == '\n' && self.manner == Manner::Confirming {
                self.manner = Manner::Keys;
                set.push_str(&format!("   {UNDO}"));
            }
            set.push(c);
            self.margin = if c == '\n' { Margin::Before } else { Margin::Behind };
        }
        set
    }

    fn words(&mut self, shown: &Shown) -> String {
        let data = &shown.data;
        match shown.name.as_str() {
            "hello" => self.join(data),
            "reload" => self.lost_track(data),
            "began" => self.began(data),
            "delta" if self.is_ours(data) => self.delta(data["text"].as_str().unwrap_or_default()),
            "said" if self.is_here(data) => self.said(&data["entry"]),
            "sent" => self.sent(&data["entry"]),
            "ended" if self.is_ours(data) => self.end(data),
            "waiting" if self.is_ours(data) => self.wait(data),
            "held" if self.is_here(data) => self.held(data),
            "forked" => self.forked(data),
            "unforked" => self.unforked(data),
            "compacting" if self.is_near(data) => self.compacting(data),
            "compacted" if self.is_near(data) => self.compacted(data),
            "working" if self.is_ours(data) => self.work(data),
            "asked" | "answered" => self.approval(&shown.name, data),
            "card" => self.rang(data),
            // A ringing reminder is shown as a card.
            "notice" if self.is_rung(data) => String::new(),
            "notice" => format!("{}\n", data["text"].as_str().unwrap_or_default()),
            _ => String::new(),
        }
    }

    /// Handles the first event: shows the text so far of a running answer.
    fn join(&mut self, data: &Value) -> String {
        self.here = data["fork"]["branch"].as_str().unwrap_or(MAIN).to_owned();
        let mut running = data["running"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let speaking = match self.whose {
            Whose::One(_) => None,
            Whose::All(_) => running.find(|running| self.is_here(running)),
        };
        let place = if data["fork"].is_object() { self.forked(&data["fork"]) } else { String::new() };
        let open = match self.whose {
            Whose::One(_) => String::new(),
            Whose::All(_) => {
                data["approvals"].as_array().into_iter().flatten().map(approval::asked).collect()
            }
        };
        let Some(running) = speaking else { return place + &open };
        self.turn = running["turn"].as_u64();
        self.written = running["text"].as_str().unwrap_or_default().to_owned();
        format!("{place}{open}{}", self.written)
    }

    /// Handles missed events. If the answer is still running, its entry follows; otherwise its end
    /// was missed.
    fn lost_track(&mut self, data: &Value) -> String {
        let running = data["running"].as_array().map(Vec::as_slice).unwrap_or_default();
        let goes_on = match self.whose {
            Whose::One(message) => running.iter().any(|run| run["answers"].as_u64() == Some(message)),
            Whose::All(_) => running.iter().any(|run| run["turn"].as_u64() == self.turn),
        };
        if !goes_on {
            self.turn = None;
            self.ended = Some(Ended::Unseen);
        }
        String::new()
    }

    fn began(&mut self, data: &Value) -> String {
        let ours = match self.whose {
            Whose::One(message) => data["answers"].as_u64() == Some(message),
            Whose::All(_) => self.is_here(data),
        };
        if ours {
            self.here = branch(data).to_owned();
            self.turn = data["turn"].as_u64();
            self.written.clear();
            self.unasked = match self.unasked {
                Unasked::Next => Unasked::Held(String::new()),
                Unasked::No | Unasked::Held(_) => Unasked::No,
            };
        }
        String::new()
    }

    fn is_ours(&self, data: &Value) -> bool {
        self.turn.is_some() && data["turn"].as_u64() == self.turn
    }

    /// Returns true if `data` is about the user's branch; background runs are on others.
    fn is_here(&self, data: &Value) -> bool {
        branch(data) == self.here
    }

    /// Returns true if `data` is about the user's branch or main.
    fn is_near(&self, data: &Value) -> bool {
        self.is_here(data) || branch(data) == MAIN
    }

    fn delta(&mut self, text: &str) -> String {
        if self.manner == Manner::Keys && self.written.is_empty() && text.starts_with('✓') {
            self.manner = Manner::Confirming;
        }
        self.written.push_str(text);
        text.to_owned()
    }

    fn said(&mut self, entry: &Value) -> String {
        let text = entry["text"].as_str().unwrap_or_default();
        match (entry["by"].as_str(), &mut self.whose) {
            // A message from us to the model, without text for the user.
            (Some("human"), Whose::All(sent)) if text.is_empty() && entry["images"].as_u64() < Some(1) => {
                if sent.is_empty() && self.here == MAIN {
                    self.unasked = Unasked::Next;
                }
                String::new()
            }
            (Some("human"), _) if text.is_empty() => String::new(),
            (Some("human"), Whose::All(sent)) => {
                if sent.front().is_some_and(|front| front == text) {
                    sent.pop_front();
                    String::new()
                } else {
                    format!("\n(you, elsewhere) {text}\n")
                }
            }
            (Some("assistant"), _) if self.turn.is_some() => self.whole(text),
            (Some("tools"), _) if self.turn.is_some() => embeds(entry),
            _ => String::new(),
        }
    }

    /// Returns the rest of a stored text.
    fn whole(&mut self, text: &str) -> String {
        let written = std::mem::take(&mut self.written);
        match text.strip_prefix(written.as_str()) {
            Some(rest) if !text.is_empty() => format!("{rest}\n"),
            Some(_) => String::new(),
            None => format!("\n{text}\n"),
        }
    }

    fn end(&mut self, data: &Value) -> String {
        self.turn = None;
        let open_line = if self.written.is_empty() { "" } else { "\n" };
        self.written.clear();
        let why = data["why"].as_str().unwrap_or("stopped.").to_owned();
        let (ended, words) = match (data["how"].as_str(), &self.whose) {
            (Some("finished"), _) => (Ended::Answered, String::new()),
            (_, Whose::One(_)) => (Ended::Not(why), String::new()),
            (_, Whose::All(_)) => (Ended::Not(why.clone()), format!("({why})\n")),
        };
        self.ended = Some(ended);
        format!("{open_line}{words}")
    }
}

fn branch(data: &Value) -> &str {
    data["branch"].as_str().unwrap_or(MAIN)
}

/// Returns the text and embeds that a background run sent with `entry`.
pub fn sent_words(entry: &Value) -> String {
    let results = entry["results"].as_array().into_iter().flatten();
    let words = results.filter_map(|result| result["words"].as_str()).map(|words| format!("{words}\n"));
    words.collect::<String>() + &embeds(entry)
}

fn embeds(entry: &Value) -> String {
    let results = entry["results"].as_array().into_iter().flatten();
    let shown = results.map(|result| &result["embed"]).filter(|embed| embed.is_object());
    shown.map(embed::drawn).collect()
}

#[cfg(test)]
mod tests;
