//! State of a chat, without I/O: keys and events are inputs, commands and text are outputs. Shared
//! by the line mode and the full screen.

use std::time::Duration;

use jiff::Zoned;
use serde_json::Value;
use tokio::time::Instant;

use super::editor::{EditResult, Editor};
use super::history::History;
use super::keys::Key;
use super::notices;
use super::progress::{Progress, WorkLength};
use super::prompt::Prompt;
use super::shortcuts::{ShortcutAction, Shortcuts};
use super::transcript::Transcript;
use crate::client::StreamEvent;

/// How long a single letter waits for another one before its shortcut is used.
pub const LONE_LETTER_DELAY: Duration = Duration::from_millis(700);

/// The time of an input, on both clocks.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The monotonic time, to measure durations.
    pub now: Instant,
    /// Wall clock for displayed times.
    pub clock: Zoned,
}

/// A command for the chat's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatCommand {
    /// Make this line permanent, with this prompt.
    CommitLine(String, String),
    /// Submit this as a message or command.
    Submit(String),
    /// Press this button with this text.
    Press(String, String),
    /// Undo the last change of the schedule.
    Undo,
    /// Show this text.
    Show(&'static str),
    Complete,
    /// Store the history.
    SaveHistory,
    Quit,
}

/// Output for an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventOutput {
    pub text: String,
    /// Bell, with a text for terminals that can show it.
    pub alert: Option<String>,
}

/// Purpose of the input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputState {
    Free,
    /// A single letter waits until this time for another one.
    PendingLetter(char, Instant),
    /// Asks to which time an item is moved.
    AskTime {
        button: String,
        /// Name of the item.
        name: String,
    },
    /// The next Ctrl+C quits.
    ConfirmQuit,
}

pub struct ChatState {
    editor: Editor,
    input_state: InputState,
    prompt: Prompt,
    transcript: Transcript,
    shortcuts: Shortcuts,
    progress: Progress,
}

const MOVE_CANCELLED: &str = "(not moved.)";
const QUIT_HINT: &str = "(ctrl+c once more leaves. esc stops an answer.)";

impl ChatState {
    pub fn new(history: History) -> Self {
        Self {
            editor: Editor::new(history),
            input_state: InputState::Free,
            prompt: Prompt::default(),
            transcript: Transcript::for_all().interactive(),
            shortcuts: Shortcuts::default(),
            progress: Progress::default(),
        }
    }

    pub fn editor(&self) -> &Editor {
        &self.editor
    }

    /// Replaces the line.
    pub fn set_line(&mut self, line: String) {
        self.editor.set(line);
    }

    /// Returns the prompt of the line.
    pub fn prompt(&self) -> String {
        match &self.input_state {
            InputState::AskTime { name: what, .. } => format!("move {what} to when? "),
            InputState::Free | InputState::PendingLetter(..) | InputState::ConfirmQuit => self.prompt.text(),
        }
    }

    /// Returns the status of running work, once it takes a while.
    pub fn status(&self, now: Instant) -> Option<String> {
        self.progress.status(now)
    }

    /// Returns true if an answer is streamed or work is running.
    pub fn is_busy(&self) -> bool {
        self.transcript.is_streaming() || self.progress.is_active()
    }

    /// Returns when `on_wake` has something to do or the status changes.
    pub fn next_wake(&self, now: Instant) -> Option<Instant> {
        let lone =
            if let InputState::PendingLetter(_, until) = self.input_state { Some(until) } else { None };
        [lone, self.progress.next_change(now)].into_iter().flatten().min()
    }

    /// Runs a pending single-letter shortcut whose waiting time has passed.
    pub fn on_wake(&mut self, at: &Moment) -> Vec<ChatCommand> {
        match self.input_state {
            InputState::PendingLetter(letter, until) if until <= at.now => {
                self.on_line(letter.to_string(), at)
            }
            InputState::PendingLetter(..)
            | InputState::Free
            | InputState::AskTime { .. }
            | InputState::ConfirmQuit => Vec::new(),
        }
    }

    /// Forgets running work after the connection was lost.
    pub fn reset(&mut self) {
        self.transcript = Transcript::for_all().interactive();
        self.progress = Progress::default();
    }

    /// Records that something was sent that will be answered.
    pub fn on_sent(&mut self, now: Instant) {
        self.progress.start(now);
    }

    pub fn transcript(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Handles an event.
    pub fn on_event(&mut self, shown: &StreamEvent, at: &Moment) -> EventOutput {
        self.prompt.on_event(shown);
        let unasked = self.transcript.is_unprompted();
        let mut words = self.transcript.on_event(shown);
        let length = if self.transcript.follows(shown) {
            self.progress.on_event(shown, at.now)
        } else {
            WorkLength::Short
        };
        // The outcome is not used here.
        self.transcript.outcome();
        if is_undoable(shown) {
            self.shortcuts.add('u', "undo", ShortcutAction::Undo, at.now);
        }
        let ring = notices::on_event(shown, &mut self.shortcuts, at.now, &at.clock).unwrap_or_default();
        words.push_str(&ring.text);
        // Unprompted messages ring like reminders.
        let news = match shown.name.as_str() {
            "sent" => last_line(&words),
            "ended" if unasked => last_line(&words),
            _ => None,
        };
        let long = (length == WorkLength::Long).then(String::new);
        EventOutput { text: words, alert: ring.alert.or(news).or(long) }
    }

    /// Returns the recent open reminder, for a chat that was just started.
    pub fn open_reminder(&mut self, today: &Value, at: &Moment) -> String {
        let ring = notices::recent_open_reminder(today, &mut self.shortcuts, (at.now, &at.clock));
        ring.map(|ring| ring.text).unwrap_or_default()
    }

    pub fn on_key(&mut self, key: &Key, at: &Moment) -> Vec<ChatCommand> {
        let leaving = self.input_state == InputState::ConfirmQuit;
        if let InputState::PendingLetter(..) | InputState::ConfirmQuit = self.input_state {
            self.input_state = InputState::Free;
        }
        match key {
            Key::Interrupt if leaving => vec![ChatCommand::Quit],
            Key::Interrupt => self.interrupt(),
            Key::EndOfInput if self.editor.text().is_empty() => vec![ChatCommand::Quit],
            Key::Escape => self.escape(),
            Key::Tab => vec![ChatCommand::Complete],
            Key::EndOfInput | Key::Pane(_) => Vec::new(),
            Key::Char(_) | Key::Pasted(_) | Key::Enter | Key::Newline => self.edit(key, at),
            Key::Move(_) | Key::Erase(_) | Key::Recall(_) => self.edit(key, at),
        }
    }

    fn edit(&mut self, key: &Key, at: &Moment) -> Vec<ChatCommand> {
        let was_empty = self.editor.text().is_empty();
        match (self.editor.handle_key(key), key) {
            (EditResult::Entered(line), _) => return self.on_line(line, at),
            (_, Key::Char(letter)) if was_empty && self.input_state == InputState::Free => {
                if self.shortcuts.get(*letter, at.now).is_some() {
                    self.input_state = InputState::PendingLetter(*letter, at.now + LONE_LETTER_DELAY);
                }
            }
            (EditResult::Changed | EditResult::Ignored, _) => {}
        }
        Vec::new()
    }

    fn on_line(&mut self, line: String, at: &Moment) -> Vec<ChatCommand> {
        let entered = ChatCommand::CommitLine(self.prompt(), line.clone());
        self.editor.clear();
        let words = line.trim().to_owned();
        let done = match std::mem::replace(&mut self.input_state, InputState::Free) {
            InputState::AskTime { .. } if words.is_empty() => Some(ChatCommand::Show(MOVE_CANCELLED)),
            InputState::AskTime { button, .. } => Some(ChatCommand::Press(button, words)),
            InputState::Free | InputState::PendingLetter(..) | InputState::ConfirmQuit => {
                match self.shortcuts.for_line(&line, at.now).cloned() {
                    Some(deed) => self.run_action(deed),
                    None => {
                        self.editor.remember(&line);
                        return vec![entered, ChatCommand::SaveHistory, ChatCommand::Submit(words)];
                    }
                }
            }
        };
        [entered].into_iter().chain(done).collect()
    }

    fn run_action(&mut self, action: ShortcutAction) -> Option<ChatCommand> {
        match action {
            ShortcutAction::Press(button) => {
                let words = notices::press_text(&button).to_owned();
                Some(ChatCommand::Press(button, words))
            }
            ShortcutAction::AskTime { button, name: what } => {
                self.input_state = InputState::AskTime { button, name: what };
                None
            }
            ShortcutAction::Submit(command) => Some(ChatCommand::Submit(command)),
            ShortcutAction::Undo => Some(ChatCommand::Undo),
        }
    }

    /// Ctrl+C clears the line; the second one quits.
    fn interrupt(&mut self) -> Vec<ChatCommand> {
        let text = self.editor.text();
        let entered =
            (!text.is_empty()).then(|| ChatCommand::CommitLine(self.prompt(), format!("{text} ^C")));
        self.editor.clear();
        self.input_state = InputState::ConfirmQuit;
        entered.into_iter().chain([ChatCommand::Show(QUIT_HINT)]).collect()
    }

    /// Esc cancels the question for a time, or stops the answer.
    fn escape(&mut self) -> Vec<ChatCommand> {
        match self.input_state {
            InputState::AskTime { .. } => {
                self.input_state = InputState::Free;
                self.editor.clear();
                vec![ChatCommand::Show(MOVE_CANCELLED)]
            }
            InputState::Free | InputState::PendingLetter(..) | InputState::ConfirmQuit if self.is_busy() => {
                vec![ChatCommand::Submit("/stop".to_owned())]
            }
            InputState::Free | InputState::PendingLetter(..) | InputState::ConfirmQuit => Vec::new(),
        }
    }
}

/// Returns the last line of `words`, if there is one.
fn last_line(words: &str) -> Option<String> {
    words.trim().lines().last().map(|line| line.trim().to_owned())
}

/// Returns true for an answer that mentions how to undo it.
fn is_undoable(shown: &StreamEvent) -> bool {
    let entry = &shown.data["entry"];
    let text = entry["text"].as_str().unwrap_or_default();
    shown.name == "said" && entry["by"] == "assistant" && (text.starts_with('✓') || text.contains("`undo`"))
}

#[cfg(test)]
mod tests;
