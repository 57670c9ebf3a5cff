//! Telling: what is shown, turned into the words a terminal writes, each of them once.
//!
//! Words come as deltas and then again whole, when they are on disk. What was already written is not
//! written again; what a lost delta left out is.

use std::collections::VecDeque;

use serde_json::Value;

use crate::client::Shown;

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an answer.
    Answered,
    /// Without one, or with half of one, and why.
    Not(String),
}

/// Whose answers are told.
enum Whose {
    /// The answer to this message.
    One(u64),
    /// All of them, with words that others said. Our own come back in the order in which they were sent.
    All(VecDeque<String>),
}

/// What was told so far.
pub struct Telling {
    whose: Whose,
    turn: Option<u64>,
    /// The words written since the last thing that is on disk.
    written: String,
    ended: Option<Ended>,
}

impl Telling {
    /// Tells the answer to `message` alone.
    pub fn of(message: u64) -> Self {
        Self { whose: Whose::One(message), turn: None, written: String::new(), ended: None }
    }

    /// Tells everything.
    pub fn of_all() -> Self {
        Self { whose: Whose::All(VecDeque::new()), turn: None, written: String::new(), ended: None }
    }

    /// These words of our own will come back; they are on the screen already.
    pub fn expect(&mut self, words: &str) {
        if let Whose::All(sent) = &mut self.whose {
            sent.push_back(words.to_owned());
        }
    }

    /// How the answer ended, told once.
    pub fn ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    /// The words to write for `shown`.
    pub fn hear(&mut self, shown: &Shown) -> String {
        let data = &shown.data;
        match shown.name.as_str() {
            "began" => self.began(data),
            "delta" if self.is_ours(data) => self.delta(data["text"].as_str().unwrap_or_default()),
            "said" => self.said(&data["entry"]),
            "ended" if self.is_ours(data) => self.end(data),
            "notice" => format!("  {}\n", data["text"].as_str().unwrap_or_default()),
            _ => String::new(),
        }
    }

    fn began(&mut self, data: &Value) -> String {
        let ours = match self.whose {
            Whose::One(message) => data["answers"].as_u64() == Some(message),
            Whose::All(_) => true,
        };
        if ours {
            self.turn = data["turn"].as_u64();
            self.written.clear();
        }
        String::new()
    }

    fn is_ours(&self, data: &Value) -> bool {
        self.turn.is_some() && data["turn"].as_u64() == self.turn
    }

    fn delta(&mut self, text: &str) -> String {
        self.written.push_str(text);
        clean(text)
    }

    fn said(&mut self, entry: &Value) -> String {
        let text = entry["text"].as_str().unwrap_or_default();
        match (entry["by"].as_str(), &mut self.whose) {
            (Some("human"), Whose::All(sent)) => match sent.front().is_some_and(|front| front == text) {
                true => {
                    sent.pop_front();
                    String::new()
                }
                false => format!("\n  (you, elsewhere) {}\n", clean(text)),
            },
            (Some("assistant"), _) if self.turn.is_some() => self.whole(text),
            _ => String::new(),
        }
    }

    /// The rest of words that are now on disk.
    fn whole(&mut self, text: &str) -> String {
        let written = std::mem::take(&mut self.written);
        match text.strip_prefix(written.as_str()) {
            Some(rest) if !text.is_empty() => clean(rest) + "\n",
            Some(_) => String::new(),
            None => format!("\n{}\n", clean(text)),
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
            (_, Whose::All(_)) => (Ended::Not(why.clone()), format!("  ({why})\n")),
        };
        self.ended = Some(ended);
        format!("{open_line}{words}")
    }
}

/// Words without what would command the terminal instead of being read.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
