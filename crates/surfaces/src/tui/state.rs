//! State of the full screen, without I/O: events are inputs, commands are outputs.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::log::ConversationLog;
use super::panes::{Overview, Pane};
use crate::client::StreamEvent;
use crate::terminal::chat_state::{ChatCommand as Wanted, ChatState, Moment};
use crate::terminal::history::History;
use crate::terminal::interactive::{DISCONNECTED, UNRESPONSIVE};
use crate::terminal::keys::{self, Direction, Key};

/// An input of the state.
#[derive(Clone, Debug)]
pub enum Event {
    Key(Key),
    /// An event of the assistant.
    Stream(StreamEvent),
    /// The connection was closed.
    Closed,
    /// The daemon does not respond.
    Unresponsive,
    /// The connection is open again.
    Reconnected,
    /// The stored messages were fetched.
    MessagesRead(Value),
    /// The data of the panes was fetched.
    OverviewRead(Box<Overview>),
    /// The reply to a command.
    Reply(String),
    /// A message was sent and will be answered.
    Sent,
    /// The completed line.
    Completed(String),
    Woke,
}

/// A command for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A command of the chat.
    Chat(Wanted),
    /// Fetch the data of the panes.
    FetchOverview,
    /// Fetch the stored messages.
    FetchMessages,
    /// Ring the bell, with a text for terminals that can show it.
    Bell(String),
}

/// The state.
pub struct State {
    pub(super) chat: ChatState,
    pub(super) log: ConversationLog,
    pub(super) overview: Overview,
    pub(super) focus: Pane,
    /// Number of rows by which the focused pane is scrolled.
    pub(super) scrolled: usize,
    pub(super) availability: Availability,
    /// Topic of the fork in which the user is.
    pub(super) fork_topic: Option<String>,
    /// When to fetch the data of the panes again.
    next_fetch: Instant,
}

/// Availability of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Available,
    /// The connection is closed; reconnecting.
    Gone,
    /// The daemon does not respond; reconnecting.
    Unresponsive,
}

/// Rows per page.
const PAGE_ROWS: usize = 8;
/// Maximum scroll of the panes next to the conversation.
const MAX_SCROLL: usize = 500;
/// Interval at which the panes are updated without events.
const FETCH_INTERVAL: Duration = Duration::from_secs(30);

impl State {
    /// Creates an empty state with a history.
    pub fn new(history: History, now: Instant) -> Self {
        Self {
            chat: ChatState::new(history),
            log: ConversationLog::default(),
            overview: Overview::default(),
            focus: Pane::Chat,
            scrolled: 0,
            availability: Availability::Available,
            fork_topic: None,
            next_fetch: now + FETCH_INTERVAL,
        }
    }

    pub fn chat(&mut self) -> &mut ChatState {
        &mut self.chat
    }

    /// Returns when the next change is due.
    pub fn next_wake(&self, now: Instant) -> Instant {
        self.chat.next_wake(now).unwrap_or(self.next_fetch).min(self.next_fetch)
    }

    /// Handles `event` and returns the new state and the commands that follow.
    #[must_use]
    pub fn update(mut self, event: Event, at: &Moment) -> (Self, Vec<Command>) {
        let commands = match event {
            Event::Key(key) => self.on_key(&key, at),
            Event::Stream(shown) => self.on_event(&shown, at),
            Event::Closed => self.on_connection_lost(Availability::Gone, DISCONNECTED),
            Event::Unresponsive => self.on_connection_lost(Availability::Unresponsive, UNRESPONSIVE),
            Event::Reconnected => {
                self.availability = Availability::Available;
                vec![Command::FetchMessages]
            }
            Event::MessagesRead(messages) => {
                self.log = ConversationLog::from_messages(&messages);
                Vec::new()
            }
            Event::OverviewRead(looked) => {
                let open = self.chat.open_reminder(&looked.status_line.today, at);
                self.log.push(&open);
                (self.overview, self.next_fetch) = (*looked, at.now + FETCH_INTERVAL);
                Vec::new()
            }
            Event::Reply(text) => self.show_text(&text),
            Event::Sent => {
                self.chat.on_sent(at.now);
                Vec::new()
            }
            Event::Completed(line) => {
                self.chat.set_line(line);
                Vec::new()
            }
            Event::Woke => self.on_wake(at),
        };
        (self, commands)
    }

    fn on_connection_lost(&mut self, availability: Availability, words: &str) -> Vec<Command> {
        (self.availability, self.fork_topic) = (availability, None);
        self.chat.reset();
        self.show_text(words)
    }

    fn on_wake(&mut self, at: &Moment) -> Vec<Command> {
        let fetch = (self.next_fetch <= at.now && self.availability == Availability::Available)
            .then_some(Command::FetchOverview);
        if self.next_fetch <= at.now {
            self.next_fetch = at.now + FETCH_INTERVAL;
        }
        let wanted = self.chat.on_wake(at);
        self.on_chat_commands(wanted).into_iter().chain(fetch).collect()
    }

    fn on_event(&mut self, shown: &StreamEvent, at: &Moment) -> Vec<Command> {
        let output = self.chat.on_event(shown, at);
        self.log.push(&output.text);
        let rings = output.alert.map(Command::Bell);
        let (data, topic) = (&shown.data, |fork: &Value| fork["topic"].as_str().unwrap_or("").to_owned());
        let looks = match shown.name.as_str() {
            "hello" => {
                self.fork_topic = data["fork"].is_object().then(|| topic(&data["fork"]));
                vec![Command::FetchOverview]
            }
            "forked" => {
                self.fork_topic = Some(topic(data));
                vec![Command::FetchOverview]
            }
            "unforked" => {
                self.fork_topic = None;
                vec![Command::FetchOverview]
            }
            "card" | "ended" | "sent" | "notice" => vec![Command::FetchOverview],
            "reload" | "moved" => vec![Command::FetchMessages, Command::FetchOverview],
            _ => Vec::new(),
        };
        rings.into_iter().chain(looks).collect()
    }

    fn on_key(&mut self, key: &Key, at: &Moment) -> Vec<Command> {
        match (key, self.focus) {
            (Key::Pane(keys::PaneKey::Function(number)), _) => self.toggle_pane(*number),
            (Key::Pane(keys::PaneKey::Page(way)), _) => self.scroll(*way),
            (Key::Escape, Pane::Today | Pane::Forks | Pane::Pings | Pane::Help) => self.focus_chat(),
            (Key::Escape, Pane::Chat) if self.scrolled > 0 => self.scrolled = 0,
            (_, _) => {
                let wanted = self.chat.on_key(key, at);
                return self.on_chat_commands(wanted);
            }
        }
        Vec::new()
    }

    /// Handles commands of the chat that only change the display, and returns the others.
    fn on_chat_commands(&mut self, wanted: Vec<Wanted>) -> Vec<Command> {
        let mut commands = Vec::new();
        for command in wanted {
            match command {
                Wanted::CommitLine(prompt, line) => {
                    self.focus_chat();
                    self.log.push_user(&prompt, &line);
                }
                Wanted::Show(text) => drop(self.show_text(text)),
                command @ (Wanted::Submit(_) | Wanted::Press(..) | Wanted::Complete) => {
                    commands.push(Command::Chat(command))
                }
                command @ (Wanted::Undo | Wanted::SaveHistory | Wanted::Quit) => {
                    commands.push(Command::Chat(command))
                }
            }
        }
        commands
    }

    fn show_text(&mut self, text: &str) -> Vec<Command> {
        self.log.push(&format!("  {}\n", text.replace('\n', "\n  ")));
        Vec::new()
    }

    fn focus_chat(&mut self) {
        (self.focus, self.scrolled) = (Pane::Chat, 0);
    }

    fn toggle_pane(&mut self, number: u8) {
        let Some(pane) = Pane::for_key(number) else { return };
        self.scrolled = 0;
        self.focus = if self.focus == pane { Pane::Chat } else { pane };
    }

    fn scroll(&mut self, direction: Direction) {
        // The conversation scrolls from its end, the other panes from their beginning.
        let (further, most) = match self.focus {
            Pane::Chat => (Direction::Earlier, self.log.len()),
            Pane::Today | Pane::Forks | Pane::Pings | Pane::Help => (Direction::Later, MAX_SCROLL),
        };
        self.scrolled = if direction == further {
            (self.scrolled + PAGE_ROWS).min(most)
        } else {
            self.scrolled.saturating_sub(PAGE_ROWS)
        };
    }
}

#[cfg(test)]
mod tests;
