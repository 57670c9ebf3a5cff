//! State of the full screen, without I/O: events are inputs, commands are outputs.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::log::Log;
use super::panes::{Looked, Pane};
use crate::client::Shown;
use crate::terminal::history::History;
use crate::terminal::keys::{self, Key, Way};
use crate::terminal::seat::{GONE, STILL};
use crate::terminal::talk::{Moment, Talk, Wish as Wanted};

/// An input of the state.
#[derive(Clone, Debug)]
pub enum Event {
    Key(Key),
    /// An event of the assistant.
    Shown(Shown),
    /// The connection was closed.
    Gone,
    /// The daemon does not respond.
    Still,
    /// The connection is open again.
    Back,
    /// The stored messages were fetched.
    Read(Value),
    /// The data of the panes was fetched.
    Looked(Box<Looked>),
    /// The reply to a command.
    Told(String),
    /// A message was sent and will be answered.
    Sent,
    /// The completed line.
    Completed(String),
    Woke,
}

/// A command for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A command of the chat.
    Talk(Wanted),
    /// Fetch the data of the panes.
    Look,
    /// Fetch the stored messages.
    Read,
    /// Ring the bell, with a text for terminals that can show it.
    Ring(String),
}

/// The state.
pub struct State {
    pub(super) talk: Talk,
    pub(super) log: Log,
    pub(super) looked: Looked,
    pub(super) focus: Pane,
    /// Number of rows by which the focused pane is scrolled.
    pub(super) scrolled: usize,
    pub(super) there: There,
    /// Topic of the fork in which the user is.
    pub(super) aside: Option<String>,
    /// When to fetch the data of the panes again.
    look: Instant,
}

/// Availability of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Yes,
    /// The connection is closed; reconnecting.
    No,
    /// The daemon does not respond; reconnecting.
    Still,
}

/// Rows per page.
const PAGE: usize = 8;
/// Maximum scroll of the panes next to the conversation.
const ROWS: usize = 500;
/// Interval at which the panes are updated without events.
const LOOK: Duration = Duration::from_secs(30);

impl State {
    /// Creates an empty state with a history.
    pub fn new(history: History, now: Instant) -> Self {
        Self {
            talk: Talk::new(history),
            log: Log::default(),
            looked: Looked::default(),
            focus: Pane::Chat,
            scrolled: 0,
            there: There::Yes,
            aside: None,
            look: now + LOOK,
        }
    }

    pub fn talk(&mut self) -> &mut Talk {
        &mut self.talk
    }

    /// Returns when the next change is due.
    pub fn wakes(&self, now: Instant) -> Instant {
        self.talk.wakes(now).unwrap_or(self.look).min(self.look)
    }

    /// Handles `event` and returns the new state and the commands that follow.
    #[must_use]
    pub fn update(mut self, event: Event, at: &Moment) -> (Self, Vec<Wish>) {
        let wishes = match event {
            Event::Key(key) => self.key(&key, at),
            Event::Shown(shown) => self.hear(&shown, at),
            Event::Gone => self.lose(There::No, GONE),
            Event::Still => self.lose(There::Still, STILL),
            Event::Back => {
                self.there = There::Yes;
                vec![Wish::Read]
            }
            Event::Read(messages) => {
                self.log = Log::read(&messages);
                Vec::new()
            }
            Event::Looked(looked) => {
                let open = self.talk.come_to(&looked.glance.today, at);
                self.log.push(&open);
                (self.looked, self.look) = (*looked, at.now + LOOK);
                Vec::new()
            }
            Event::Told(text) => self.tell(&text),
            Event::Sent => {
                self.talk.sent(at.now);
                Vec::new()
            }
            Event::Completed(line) => {
                self.talk.complete(line);
                Vec::new()
            }
            Event::Woke => self.woke(at),
        };
        (self, wishes)
    }

    fn lose(&mut self, there: There, words: &str) -> Vec<Wish> {
        (self.there, self.aside) = (there, None);
        self.talk.lost();
        self.tell(words)
    }

    fn woke(&mut self, at: &Moment) -> Vec<Wish> {
        let looks = (self.look <= at.now && self.there == There::Yes).then_some(Wish::Look);
        if self.look <= at.now {
            self.look = at.now + LOOK;
        }
        let wanted = self.talk.woke(at);
        self.wanted(wanted).into_iter().chain(looks).collect()
    }

    fn hear(&mut self, shown: &Shown, at: &Moment) -> Vec<Wish> {
        let heard = self.talk.hear(shown, at);
        self.log.push(&heard.words);
        let rings = heard.rings.map(Wish::Ring);
        let (data, topic) = (&shown.data, |fork: &Value| fork["topic"].as_str().unwrap_or("").to_owned());
        let looks = match shown.name.as_str() {
            "hello" => {
                self.aside = data["fork"].is_object().then(|| topic(&data["fork"]));
                vec![Wish::Look]
            }
            "forked" => {
                self.aside = Some(topic(data));
                vec![Wish::Look]
            }
            "unforked" => {
                self.aside = None;
                vec![Wish::Look]
            }
            "card" | "ended" | "sent" | "notice" => vec![Wish::Look],
            "reload" | "moved" => vec![Wish::Read, Wish::Look],
            _ => Vec::new(),
        };
        rings.into_iter().chain(looks).collect()
    }

    fn key(&mut self, key: &Key, at: &Moment) -> Vec<Wish> {
        match (key, self.focus) {
            (Key::Pane(keys::Pane::Function(number)), _) => self.turn_to(*number),
            (Key::Pane(keys::Pane::Page(way)), _) => self.scroll(*way),
            (Key::Escape, Pane::Today | Pane::Forks | Pane::Pings | Pane::Help) => self.turn_to_chat(),
            (Key::Escape, Pane::Chat) if self.scrolled > 0 => self.scrolled = 0,
            (_, _) => {
                let wanted = self.talk.key(key, at);
                return self.wanted(wanted);
            }
        }
        Vec::new()
    }

    /// Handles commands of the chat that only change the display, and returns the others.
    fn wanted(&mut self, wanted: Vec<Wanted>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for wish in wanted {
            match wish {
                Wanted::Entered(prompt, line) => {
                    self.turn_to_chat();
                    self.log.human(&prompt, &line);
                }
                Wanted::Tell(text) => drop(self.tell(text)),
                wish @ (Wanted::Say(_) | Wanted::Press(..) | Wanted::Complete) => {
                    wishes.push(Wish::Talk(wish))
                }
                wish @ (Wanted::Undo | Wanted::Keep | Wanted::Leave) => wishes.push(Wish::Talk(wish)),
            }
        }
        wishes
    }

    fn tell(&mut self, text: &str) -> Vec<Wish> {
        self.log.push(&format!("  {}\n", text.replace('\n', "\n  ")));
        Vec::new()
    }

    fn turn_to_chat(&mut self) {
        (self.focus, self.scrolled) = (Pane::Chat, 0);
    }

    fn turn_to(&mut self, number: u8) {
        let Some(pane) = Pane::of_key(number) else { return };
        self.scrolled = 0;
        self.focus = if self.focus == pane { Pane::Chat } else { pane };
    }

    fn scroll(&mut self, way: Way) {
        // The conversation scrolls from its end, the other panes from their beginning.
        let (further, most) = match self.focus {
            Pane::Chat => (Way::Earlier, self.log.len()),
            Pane::Today | Pane::Forks | Pane::Pings | Pane::Help => (Way::Later, ROWS),
        };
        self.scrolled = if way == further {
            (self.scrolled + PAGE).min(most)
        } else {
            self.scrolled.saturating_sub(PAGE)
        };
    }
}

#[cfg(test)]
mod tests;
