//! Converts events to terminal output, without repeating text.
//!
//! Text arrives as deltas and again as a complete entry once it is stored. Only the part that was
//! not written yet is added, including what a lost delta left out.

mod events;

use std::collections::VecDeque;

use serde_json::Value;

use super::notices::UNDO_HINT;
use super::{approval, embed};

use crate::client::StreamEvent;

/// Outcome of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    Answered,
    /// No answer or an incomplete one, with the reason.
    Failed(String),
    /// The end was missed because this terminal lagged behind. The answer is in the conversation.
    Missed,
}

impl AnswerOutcome {
    /// Returns the reason if there is no complete answer.
    pub fn failure(self) -> Option<String> {
        match self {
            Self::Answered | Self::Missed => None,
            Self::Failed(why) => Some(why),
        }
    }
}

/// The user's branch, unless a fork is open.
const MAIN: &str = "main";

/// Which answers are shown.
enum Scope {
    Message(u64),
    /// All answers, and messages from other surfaces. Our own messages come back in the order in
    /// which they were sent.
    All(VecDeque<String>),
}

/// Output state of one terminal.
pub struct Transcript {
    scope: Scope,
    turn: Option<u64>,
    /// Turn of the work that was requested here.
    requested_work: Option<u64>,
    /// The user's branch, or the branch of the answer.
    current_branch: String,
    /// The text written since the last stored entry.
    streamed: String,
    outcome: Option<AnswerOutcome>,
    indentation: Indentation,
    mode: DisplayMode,
    unprompted: Unprompted,
}

/// How much is shown besides the text of answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DisplayMode {
    Lines,
    /// Omits the content of the status line.
    Interactive,
    /// Like `Interactive`; the current line can be undone.
    Confirming,
}

/// Unprompted text is buffered and shown at once, because a ringing reminder has a line of its own.
#[derive(PartialEq, Eq)]
enum Unprompted {
    /// The turn was requested by the user.
    No,
    /// The next turn is unprompted.
    Next,
    /// The current turn is unprompted; contains its text so far.
    Buffered(String),
}

/// Indentation of the next character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indentation {
    /// No indentation: the output goes to a program.
    None,
    LineStart,
    InLine,
}

impl Transcript {
    /// Shows only the answer to `message`.
    pub fn for_message(message: u64) -> Self {
        Self::new(Scope::Message(message), Indentation::None)
    }

    pub fn for_all() -> Self {
        Self::new(Scope::All(VecDeque::new()), Indentation::LineStart)
    }

    fn new(whose: Scope, margin: Indentation) -> Self {
        let here = MAIN.to_owned();
        let written = String::new();
        let manner = DisplayMode::Lines;
        let unasked = Unprompted::No;
        Self {
            scope: whose,
            turn: None,
            requested_work: None,
            current_branch: here,
            streamed: written,
            outcome: None,
            indentation: margin,
            mode: manner,
            unprompted: unasked,
        }
    }

    /// Adapts the output to a terminal with a status line and shortcuts.
    #[must_use]
    pub fn interactive(self) -> Self {
        Self { mode: DisplayMode::Interactive, ..self }
    }

    /// Expects our own message back as an event; it is on the screen already.
    pub fn expect_echo(&mut self, words: &str) {
        if let Scope::All(sent) = &mut self.scope {
            sent.push_back(words.to_owned());
        }
    }

    /// Drops the newest expected message, because it was not accepted. If it arrives anyway, it is
    /// shown.
    pub fn drop_echo(&mut self) {
        if let Scope::All(sent) = &mut self.scope {
            sent.pop_back();
        }
    }

    /// Awaits the end of this turn like that of an answer.
    pub fn expect_work(&mut self, turn: u64) {
        self.requested_work = Some(turn);
    }

    /// Returns true while an answer is streamed.
    pub fn is_streaming(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns true if the current turn is unprompted.
    pub fn is_unprompted(&self) -> bool {
        matches!(self.unprompted, Unprompted::Buffered(_))
    }

    /// Returns true if `shown` is about the followed turn or compaction.
    pub fn follows(&self, shown: &StreamEvent) -> bool {
        match shown.name.as_str() {
            "began" => self.is_followed(&shown.data),
            "delta" | "progress" | "working" | "asked" => self.is_followed(&shown.data),
            "ended" | "held" => self.turn.is_none(),
            "compacting" | "compacted" => self.is_current_or_main(&shown.data),
            "reload" => true,
            _ => false,
        }
    }

    /// Returns the outcome of the answer, once.
    pub fn outcome(&mut self) -> Option<AnswerOutcome> {
        self.outcome.take()
    }

    /// Returns the output for an event.
    pub fn on_event(&mut self, shown: &StreamEvent) -> String {
        let words = self.render(shown);
        match &mut self.unprompted {
            Unprompted::Buffered(held) if shown.name == "ended" => {
                let words = std::mem::take(held) + &words;
                self.unprompted = Unprompted::No;
                self.indent(&words)
            }
            Unprompted::Buffered(held) if matches!(shown.name.as_str(), "delta" | "said") => {
                held.push_str(&words);
                String::new()
            }
            Unprompted::Buffered(_) | Unprompted::Next | Unprompted::No => self.indent(&words),
        }
    }

    /// Indents `words` for a terminal.
    fn indent(&mut self, words: &str) -> String {
        if self.indentation == Indentation::None {
            return words.to_owned();
        }
        let mut set = String::with_capacity(words.len() + 2);
        for c in words.chars() {
            if self.indentation == Indentation::LineStart && c != '\n' {
                set.push_str("  ");
            }
            if c == '\n' && self.mode == DisplayMode::Confirming {
                self.mode = DisplayMode::Interactive;
                set.push_str(&format!("   {UNDO_HINT}"));
            }
            set.push(c);
            self.indentation = if c == '\n' { Indentation::LineStart } else { Indentation::InLine };
        }
        set
    }

    fn render(&mut self, shown: &StreamEvent) -> String {
        let data = &shown.data;
        match shown.name.as_str() {
            "hello" => self.on_hello(data),
            "reload" => self.on_reload(data),
            "began" => self.on_started(data),
            "delta" if self.is_followed(data) => self.on_delta(data["text"].as_str().unwrap_or_default()),
            "said" if self.is_current_branch(data) => self.on_entry(&data["entry"]),
            "sent" => self.on_sent(&data["entry"]),
            "ended" if self.is_followed(data) => self.on_ended(data),
            "waiting" if self.is_followed(data) => self.on_retry(data),
            "held" if self.is_current_branch(data) => self.on_blocked(data),
            "forked" => self.on_fork_started(data),
            "unforked" => self.on_fork_ended(data),
            "compacting" if self.is_current_or_main(data) => self.on_compaction_started(data),
            "compacted" if self.is_current_or_main(data) => self.on_compaction_ended(data),
            "working" if self.is_followed(data) => self.on_tool(data),
            "asked" | "answered" => self.on_approval(&shown.name, data),
            "card" => self.on_card(data),
            // A ringing reminder is shown as a card.
            "notice" if self.is_reminder_notice(data) => String::new(),
            "notice" => format!("{}\n", data["text"].as_str().unwrap_or_default()),
            _ => String::new(),
        }
    }

    /// Handles the first event: shows the text so far of a running answer.
    fn on_hello(&mut self, data: &Value) -> String {
        self.current_branch = data["fork"]["branch"].as_str().unwrap_or(MAIN).to_owned();
        let mut running = data["running"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let speaking = match self.scope {
            Scope::Message(_) => None,
            Scope::All(_) => running.find(|running| self.is_current_branch(running)),
        };
        let place =
            if data["fork"].is_object() { self.on_fork_started(&data["fork"]) } else { String::new() };
        let open = match self.scope {
            Scope::Message(_) => String::new(),
            Scope::All(_) => {
                data["approvals"].as_array().into_iter().flatten().map(approval::render_open).collect()
            }
        };
        let Some(running) = speaking else { return place + &open };
        self.turn = running["turn"].as_u64();
        self.streamed = running["text"].as_str().unwrap_or_default().to_owned();
        format!("{place}{open}{}", self.streamed)
    }

    /// Handles missed events. If the answer is still running, its entry follows; otherwise its end
    /// was missed.
    fn on_reload(&mut self, data: &Value) -> String {
        let running = data["running"].as_array().map(Vec::as_slice).unwrap_or_default();
        let goes_on = match self.scope {
            Scope::Message(message) => running.iter().any(|run| run["answers"].as_u64() == Some(message)),
            Scope::All(_) => running.iter().any(|run| run["turn"].as_u64() == self.turn),
        };
        if !goes_on {
            self.turn = None;
            self.outcome = Some(AnswerOutcome::Missed);
        }
        String::new()
    }

    fn on_started(&mut self, data: &Value) -> String {
        let ours = match self.scope {
            Scope::Message(message) => data["answers"].as_u64() == Some(message),
            Scope::All(_) => self.is_current_branch(data),
        };
        if ours {
            self.current_branch = branch(data).to_owned();
            self.turn = data["turn"].as_u64();
            self.streamed.clear();
            self.unprompted = match self.unprompted {
                Unprompted::Next => Unprompted::Buffered(String::new()),
                Unprompted::No | Unprompted::Buffered(_) => Unprompted::No,
            };
        }
        String::new()
    }

    fn is_followed(&self, data: &Value) -> bool {
        self.turn.is_some() && data["turn"].as_u64() == self.turn
    }

    /// Returns true if `data` is about the user's branch; background runs are on others.
    fn is_current_branch(&self, data: &Value) -> bool {
        branch(data) == self.current_branch
    }

    /// Returns true if `data` is about the user's branch or main.
    fn is_current_or_main(&self, data: &Value) -> bool {
        self.is_current_branch(data) || branch(data) == MAIN
    }

    fn on_delta(&mut self, text: &str) -> String {
        if self.mode == DisplayMode::Interactive && self.streamed.is_empty() && text.starts_with('✓') {
            self.mode = DisplayMode::Confirming;
        }
        self.streamed.push_str(text);
        text.to_owned()
    }

    fn on_entry(&mut self, entry: &Value) -> String {
        let text = entry["text"].as_str().unwrap_or_default();
        match (entry["by"].as_str(), &mut self.scope) {
            // A message from us to the model, without text for the user.
            (Some("human"), Scope::All(sent)) if text.is_empty() && entry["images"].as_u64() < Some(1) => {
                if sent.is_empty() && self.current_branch == MAIN {
                    self.unprompted = Unprompted::Next;
                }
                String::new()
            }
            (Some("human"), _) if text.is_empty() => String::new(),
            (Some("human"), Scope::All(sent)) => {
                if sent.front().is_some_and(|front| front == text) {
                    sent.pop_front();
                    String::new()
                } else {
                    format!("\n(you, elsewhere) {text}\n")
                }
            }
            (Some("assistant"), _) if self.turn.is_some() => self.rest_of_entry(text),
            (Some("tools"), _) if self.turn.is_some() => render_embeds(entry),
            _ => String::new(),
        }
    }

    /// Returns the rest of a stored text.
    fn rest_of_entry(&mut self, text: &str) -> String {
        let written = std::mem::take(&mut self.streamed);
        match text.strip_prefix(written.as_str()) {
            Some(rest) if !text.is_empty() => format!("{rest}\n"),
            Some(_) => String::new(),
            None => format!("\n{text}\n"),
        }
    }

    fn on_ended(&mut self, data: &Value) -> String {
        self.turn = None;
        let open_line = if self.streamed.is_empty() { "" } else { "\n" };
        self.streamed.clear();
        let why = data["why"].as_str().unwrap_or("stopped.").to_owned();
        let (ended, words) = match (data["how"].as_str(), &self.scope) {
            (Some("finished"), _) => (AnswerOutcome::Answered, String::new()),
            (_, Scope::Message(_)) => (AnswerOutcome::Failed(why), String::new()),
            (_, Scope::All(_)) => (AnswerOutcome::Failed(why.clone()), format!("({why})\n")),
        };
        self.outcome = Some(ended);
        format!("{open_line}{words}")
    }
}

fn branch(data: &Value) -> &str {
    data["branch"].as_str().unwrap_or(MAIN)
}

/// Returns the text and embeds that a background run sent with `entry`.
pub fn sent_text(entry: &Value) -> String {
    let results = entry["results"].as_array().into_iter().flatten();
    let words = results.filter_map(|result| result["words"].as_str()).map(|words| format!("{words}\n"));
    words.collect::<String>() + &render_embeds(entry)
}

fn render_embeds(entry: &Value) -> String {
    let results = entry["results"].as_array().into_iter().flatten();
    let shown = results.map(|result| &result["embed"]).filter(|embed| embed.is_object());
    shown.map(embed::render).collect()
}

#[cfg(test)]
mod tests;
