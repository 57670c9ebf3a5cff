//! State of a chat, without I/O: keys and events are inputs, commands and text are outputs. Shared
//! by the line mode and the full screen.

use std::time::Duration;

use jiff::Zoned;
use serde_json::Value;
use tokio::time::Instant;

use super::editor::{Edited, Editor};
use super::history::History;
use super::keys::Key;
use super::offers::{Deed, Offers};
use super::progress::{Progress, Took};
use super::prompt::Prompt;
use super::rings;
use super::telling::Telling;
use crate::client::Shown;

/// How long a single letter waits for another one before its shortcut is used.
pub const LONE: Duration = Duration::from_millis(700);

/// Time of an input.
#[derive(Clone, Debug)]
pub struct Moment {
    /// For durations.
    pub now: Instant,
    /// Wall clock for displayed times.
    pub clock: Zoned,
}

/// A command for the chat's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Make this line permanent, with this prompt.
    Entered(String, String),
    /// Submit this as a message or command.
    Say(String),
    /// Press this button with this text.
    Press(String, String),
    /// Undo the last change of the schedule.
    Undo,
    /// Show this text.
    Tell(&'static str),
    Complete,
    /// Store the history.
    Keep,
    Leave,
}

/// Output for an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub words: String,
    /// Bell, with a text for terminals that can show it.
    pub rings: Option<String>,
}

/// Purpose of the input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Free,
    /// A single letter waits until this time for another one.
    Lone(char, Instant),
    /// Asks to which time an item is moved.
    When {
        button: String,
        /// Name of the item.
        what: String,
    },
    /// The next Ctrl+C quits.
    Leaving,
}

pub struct Talk {
    editor: Editor,
    line: Line,
    prompt: Prompt,
    telling: Telling,
    offers: Offers,
    progress: Progress,
}

const NOT_MOVED: &str = "(not moved.)";
const ONCE_MORE: &str = "(ctrl+c once more leaves. esc stops an answer.)";

impl Talk {
    pub fn new(history: History) -> Self {
        Self {
            editor: Editor::new(history),
            line: Line::Free,
            prompt: Prompt::default(),
            telling: Telling::of_all().with_keys(),
            offers: Offers::default(),
            progress: Progress::default(),
        }
    }

    pub fn editor(&self) -> &Editor {
        &self.editor
    }

    /// Replaces the line.
    pub fn complete(&mut self, line: String) {
        self.editor.set(line);
    }

    /// Returns the prompt of the line.
    pub fn prompt(&self) -> String {
        match &self.line {
            Line::When { what, .. } => format!("move {what} to when? "),
            Line::Free | Line::Lone(..) | Line::Leaving => self.prompt.words(),
        }
    }

    /// Returns the status of running work, once it takes a while.
    pub fn status(&self, now: Instant) -> Option<String> {
        self.progress.status(now)
    }

    /// Returns true if an answer is streamed or work is running.
    pub fn is_busy(&self) -> bool {
        self.telling.is_speaking() || self.progress.is_on()
    }

    /// Returns when `on_wake` has something to do or the status changes.
    pub fn wakes(&self, now: Instant) -> Option<Instant> {
        let lone = if let Line::Lone(_, until) = self.line { Some(until) } else { None };
        [lone, self.progress.next(now)].into_iter().flatten().min()
    }

    /// Handles the passing of that time.
    pub fn woke(&mut self, at: &Moment) -> Vec<Wish> {
        match self.line {
            Line::Lone(letter, until) if until <= at.now => self.entered(letter.to_string(), at),
            Line::Lone(..) | Line::Free | Line::When { .. } | Line::Leaving => Vec::new(),
        }
    }

    /// Forgets running work after the connection was lost.
    pub fn lost(&mut self) {
        self.telling = Telling::of_all().with_keys();
        self.progress = Progress::default();
    }

    /// Records that something was sent that will be answered.
    pub fn sent(&mut self, now: Instant) {
        self.progress.asked(now);
    }

    pub fn telling(&mut self) -> &mut Telling {
        &mut self.telling
    }

    /// Handles an event.
    pub fn hear(&mut self, shown: &Shown, at: &Moment) -> Heard {
        self.prompt.follow(shown);
        let unasked = self.telling.is_unasked();
        let mut words = self.telling.hear(shown);
        let took = if self.telling.follows(shown) { self.progress.hear(shown, at.now) } else { Took::Short };
        // The outcome is not used here.
        self.telling.ended();
        if can_be_taken_back(shown) {
            self.offers.make('u', "undo", Deed::Undo, at.now);
        }
        let ring = rings::hear(shown, &mut self.offers, at.now, &at.clock).unwrap_or_default();
        words.push_str(&ring.words);
        // Unprompted messages ring like reminders.
        let news = match shown.name.as_str() {
            "sent" => news(&words),
            "ended" if unasked => news(&words),
            _ => None,
        };
        let long = (took == Took::Long).then(String::new);
        Heard { words, rings: ring.loud.or(news).or(long) }
    }

    /// Returns the recent open reminder, for a chat that was just started.
    pub fn come_to(&mut self, today: &Value, at: &Moment) -> String {
        let ring = rings::open_still(today, &mut self.offers, (at.now, &at.clock));
        ring.map(|ring| ring.words).unwrap_or_default()
    }

    pub fn key(&mut self, key: &Key, at: &Moment) -> Vec<Wish> {
        let leaving = self.line == Line::Leaving;
        if let Line::Lone(..) | Line::Leaving = self.line {
            self.line = Line::Free;
        }
        match key {
            Key::Interrupt if leaving => vec![Wish::Leave],
            Key::Interrupt => self.interrupt(),
            Key::Leave if self.editor.text().is_empty() => vec![Wish::Leave],
            Key::Escape => self.escape(),
            Key::Tab => vec![Wish::Complete],
            Key::Leave | Key::Pane(_) => Vec::new(),
            Key::Letter(_) | Key::Pasted(_) | Key::Enter | Key::Newline => self.edit(key, at),
            Key::Move(_) | Key::Erase(_) | Key::Recall(_) => self.edit(key, at),
        }
    }

    fn edit(&mut self, key: &Key, at: &Moment) -> Vec<Wish> {
        let was_empty = self.editor.text().is_empty();
        match (self.editor.press(key), key) {
            (Edited::Entered(line), _) => return self.entered(line, at),
            (_, Key::Letter(letter)) if was_empty && self.line == Line::Free => {
                if self.offers.get(*letter, at.now).is_some() {
                    self.line = Line::Lone(*letter, at.now + LONE);
                }
            }
            (Edited::Line | Edited::Nothing, _) => {}
        }
        Vec::new()
    }

    fn entered(&mut self, line: String, at: &Moment) -> Vec<Wish> {
        let entered = Wish::Entered(self.prompt(), line.clone());
        self.editor.clear();
        let words = line.trim().to_owned();
        let done = match std::mem::replace(&mut self.line, Line::Free) {
            Line::When { .. } if words.is_empty() => Some(Wish::Tell(NOT_MOVED)),
            Line::When { button, .. } => Some(Wish::Press(button, words)),
            Line::Free | Line::Lone(..) | Line::Leaving => {
                match self.offers.of_line(&line, at.now).cloned() {
                    Some(deed) => self.act(deed),
                    None => {
                        self.editor.remember(&line);
                        return vec![entered, Wish::Keep, Wish::Say(words)];
                    }
                }
            }
        };
        [entered].into_iter().chain(done).collect()
    }

    fn act(&mut self, deed: Deed) -> Option<Wish> {
        match deed {
            Deed::Press(button) => {
                let words = rings::words_for(&button).to_owned();
                Some(Wish::Press(button, words))
            }
            Deed::When { button, what } => {
                self.line = Line::When { button, what };
                None
            }
            Deed::Give(command) => Some(Wish::Say(command)),
            Deed::Undo => Some(Wish::Undo),
        }
    }

    /// Ctrl+C clears the line; the second one quits.
    fn interrupt(&mut self) -> Vec<Wish> {
        let text = self.editor.text();
        let entered = (!text.is_empty()).then(|| Wish::Entered(self.prompt(), format!("{text} ^C")));
        self.editor.clear();
        self.line = Line::Leaving;
        entered.into_iter().chain([Wish::Tell(ONCE_MORE)]).collect()
    }

    /// Esc cancels the question for a time, or stops the answer.
    fn escape(&mut self) -> Vec<Wish> {
        match self.line {
            Line::When { .. } => {
                self.line = Line::Free;
                self.editor.clear();
                vec![Wish::Tell(NOT_MOVED)]
            }
            Line::Free | Line::Lone(..) | Line::Leaving if self.is_busy() => {
                vec![Wish::Say("/stop".to_owned())]
            }
            Line::Free | Line::Lone(..) | Line::Leaving => Vec::new(),
        }
    }
}

/// Returns the last line of `words`, if there is one.
fn news(words: &str) -> Option<String> {
    words.trim().lines().last().map(|line| line.trim().to_owned())
}

/// Returns true for an answer that mentions how to undo it.
fn can_be_taken_back(shown: &Shown) -> bool {
    let entry = &shown.data["entry"];
    let text = entry["text"].as_str().unwrap_or_default();
    shown.name == "said" && entry["by"] == "assistant" && (text.starts_with('✓') || text.contains("`undo`"))
}

#[cfg(test)]
mod tests;
