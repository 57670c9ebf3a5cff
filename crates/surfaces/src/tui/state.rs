//! The state of the full screen: what happened goes in, and what is wanted of the assistant comes out.

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

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// The assistant shows something.
    Shown(Shown),
    /// It has gone.
    Gone,
    /// It is there, and nothing comes from it.
    Still,
    /// It is back.
    Back,
    /// What was said before.
    Read(Value),
    /// How things stand.
    Looked(Box<Looked>),
    /// What came of something that was wanted, in words.
    Told(String),
    /// The human's words were sent, and will be answered.
    Sent,
    /// The line can become this.
    Completed(String),
    /// Time passed.
    Woke,
}

/// Something that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// What the talk wants.
    Talk(Wanted),
    /// Look how things stand.
    Look,
    /// Read what was said.
    Read,
    /// Ring, with these words where terminals can show them.
    Ring(String),
}

/// What the full screen shows.
pub struct State {
    pub(super) talk: Talk,
    pub(super) log: Log,
    pub(super) looked: Looked,
    pub(super) focus: Pane,
    /// How many rows the pane in focus is scrolled.
    pub(super) scrolled: usize,
    pub(super) there: There,
    /// What the side conversation is about that the human is in.
    pub(super) aside: Option<String>,
    /// When to look how things stand, if nothing happens before.
    look: Instant,
}

/// Whether the assistant is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    /// It is.
    Yes,
    /// It is not; it is looked for.
    No,
    /// It is, and stands still; it is looked for.
    Still,
}

/// How many rows a page is.
const PAGE: usize = 8;
/// The most rows of a pane beside the conversation that are scrolled.
const ROWS: usize = 500;
/// How often to look how things stand, if nothing happens.
const LOOK: Duration = Duration::from_secs(30);

impl State {
    /// An empty screen, for somebody who typed this before.
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

    /// The talk: what is sent is told to it.
    pub fn talk(&mut self) -> &mut Talk {
        &mut self.talk
    }

    /// When something changes by itself.
    pub fn wakes(&self, now: Instant) -> Instant {
        self.talk.wakes(now).unwrap_or(self.look).min(self.look)
    }

    /// What it is after `event`, and what is wanted then.
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

    /// What the talk wants, but for what is only to be seen.
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
        // The conversation is read from its end, everything else from its beginning.
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
