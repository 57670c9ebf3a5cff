//! Interactive chat in a raw terminal: keys are handled as they are pressed, and output appears
//! above the input line.

use std::io;

use engine::ports::Clock;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::completion::{Completed, complete};
use super::glance::Glance;
use super::history::History;
use super::keys::Input;
use super::screen::{Live, Look, Screen, Typed};
use super::talk::{Moment, Talk, Wish};
use super::{Said, Stopped, plain, readable, said, to_tell};
use crate::client::{Client, Followed, Following, Unanswered};

/// Shown when the daemon is gone.
pub(crate) const GONE: &str =
    "(i am not running any more. i wait here until i am back; ctrl+c twice leaves.)";

/// Shown when the daemon does not respond.
pub(crate) const STILL: &str = "(i stand still: nothing comes from me. i wait here until i am back; ctrl+c twice leaves. \
                                `ollim-bot doctor` tells more.)";

/// Parameters of a chat.
pub struct Seat<'a> {
    /// Name of the assistant.
    pub name: &'a str,
    pub clock: &'a dyn Clock,
    pub size: (u16, u16),
    pub look: Look,
    /// Lines entered before.
    pub history: History,
    /// Stores the history.
    pub keep: &'a dyn Fn(&History),
    /// Whether reminders continue after the chat is closed.
    pub afterwards: Afterwards,
}

/// Whether reminders continue after the chat is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// The assistant runs in another process.
    Ring,
    /// The assistant stops with the chat.
    Wait,
}

impl Afterwards {
    /// Returns the text shown on exit.
    pub fn tell(self) -> &'static str {
        match self {
            Self::Ring => "reminders go on.",
            Self::Wait => "reminders stop with me; `ollim-bot run --no-chat` keeps them going.",
        }
    }
}

/// Runs the chat until the user quits.
pub async fn sit(
    client: &Client,
    seat: Seat<'_>,
    mut keys: impl Stream<Item = io::Result<Input>> + Unpin,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Stopped> {
    let mut following = Following::begin(client).await?;
    let mut sitting = Sitting::new(client, seat);
    let glance = Glance::take(client).await;
    let greeting = sitting.greet(&glance);
    write(out, &greeting).await?;
    while sitting.stays == Stays::Here {
        let wakes = sitting.talk.wakes(Instant::now());
        let words = tokio::select! {
            input = keys.next() => match input {
                Some(input) => sitting.input(input?).await?,
                None => return Ok(()),
            },
            followed = following.next() => sitting.follow(followed),
            () = until(wakes) => {
                let wishes = sitting.talk.woke(&sitting.moment());
                sitting.grant(wishes).await?
            }
        };
        write(out, &words).await?;
    }
    Ok(())
}

async fn until(wakes: Option<Instant>) {
    match wakes {
        Some(wakes) => sleep_until(wakes).await,
        None => std::future::pending().await,
    }
}

/// Writes text; raw mode needs a carriage return before each newline.
async fn write(out: &mut (impl AsyncWrite + Unpin), words: &str) -> io::Result<()> {
    out.write_all(words.replace('\n', "\r\n").as_bytes()).await?;
    out.flush().await
}

/// Returns the bell, with a desktop notification of `words` in terminals that support it.
pub(crate) fn ringing(words: &str) -> String {
    match words {
        "" => "\u{7}".to_owned(),
        words => format!("\u{7}\u{1b}]9;{}\u{7}", readable(words)),
    }
}

struct Sitting<'a> {
    client: &'a Client,
    seat: Seat<'a>,
    screen: Screen,
    talk: Talk,
    stays: Stays,
}

/// Whether the chat is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    Here,
    Left,
}

impl<'a> Sitting<'a> {
    fn new(client: &'a Client, seat: Seat<'a>) -> Self {
        let screen = Screen::new(seat.size, seat.look);
        let talk = Talk::new(seat.history.clone());
        Self { client, seat, screen, talk, stays: Stays::Here }
    }

    fn moment(&self) -> Moment {
        Moment { now: Instant::now(), clock: self.seat.clock.now() }
    }

    fn greet(&mut self, glance: &Glance) -> String {
        let lines = glance.greeting(self.seat.name, &self.seat.clock.now(), self.screen.width());
        let lines = lines.iter().map(|line| self.screen.faint(&readable(line)) + "\n");
        let faint: String = lines.collect();
        let open = self.talk.come_to(&glance.today, &self.moment());
        format!("{faint}{}", self.show(&open))
    }

    /// Writes `words` and redraws the live area.
    fn show(&mut self, words: &str) -> String {
        let live = self.live();
        self.screen.show(words, live)
    }

    /// Returns the live area. While the assistant answers, the input line is shown only if it is
    /// not empty.
    fn live(&self) -> Live {
        let before = self.talk.editor().before();
        let text = self.talk.editor().text();
        let stands = self.stays == Stays::Here && (!self.talk.is_busy() || !text.is_empty());
        let line = stands.then(|| {
            let prompt = self.talk.prompt();
            let after = text[before.len()..].to_owned();
            Typed { prompt, before: before.to_owned(), after }
        });
        Live { status: self.talk.status(Instant::now()), line }
    }

    fn follow(&mut self, followed: Followed) -> String {
        match followed {
            Followed::Shown(shown) => {
                let heard = self.talk.hear(&shown, &self.moment());
                let sound = heard.rings.map(|words| ringing(&words));
                self.show(&heard.words) + &sound.unwrap_or_default()
            }
            Followed::Gone => self.lose(GONE),
            Followed::Still => self.lose(STILL),
            Followed::Back => self.show("  (i am back.)\n"),
        }
    }

    fn lose(&mut self, words: &str) -> String {
        self.talk.lost();
        self.show(&format!("  {words}\n"))
    }

    async fn input(&mut self, input: Input) -> Result<String, Stopped> {
        match input {
            Input::Resized(columns, rows) => {
                self.seat.size = (columns, rows);
                Ok(self.screen.resize(columns, rows) + &self.show(""))
            }
            Input::Key(key) => {
                let wishes = self.talk.key(&key, &self.moment());
                self.grant(wishes).await
            }
        }
    }

    /// Executes commands and returns the output.
    async fn grant(&mut self, wishes: Vec<Wish>) -> Result<String, Stopped> {
        let mut written = String::new();
        let mut words = String::new();
        for wish in wishes {
            match wish {
                Wish::Entered(prompt, line) => written += &self.screen.entered(&prompt, &line),
                Wish::Keep => (self.seat.keep)(self.talk.editor().history()),
                Wish::Tell(text) => words += &format!("  {text}\n"),
                Wish::Complete => words += &self.complete().await,
                Wish::Say(text) => words += &self.say(&text).await?,
                Wish::Press(button, with) => words += &pressed(self.client.press(&button, &with).await)?,
                Wish::Undo => words += &pressed(self.client.undo().await)?,
                Wish::Leave => words += &self.leave(),
            }
        }
        Ok(written + &self.show(&words))
    }

    async fn say(&mut self, words: &str) -> Result<String, Stopped> {
        match said(self.client, words, self.talk.telling()).await {
            Ok(Said::Nothing | Said::Done) => Ok(String::new()),
            Ok(Said::Sent) => {
                self.talk.sent(Instant::now());
                Ok(String::new())
            }
            Ok(Said::Told(text)) => Ok(told(&text)),
            Ok(Said::Leave) => Ok(self.leave()),
            Err(Stopped::Unanswered(error)) => Ok(told(&to_tell_seated(error)?)),
            Err(error) => Err(error),
        }
    }

    fn leave(&mut self) -> String {
        self.stays = Stays::Left;
        told(self.seat.afterwards.tell())
    }

    async fn complete(&mut self) -> String {
        let names = names(&self.client.get("/api/schedule").await.unwrap_or_default());
        match complete(self.talk.editor().text(), &names) {
            Completed::Not => String::new(),
            Completed::Line(line) => {
                self.talk.complete(line);
                String::new()
            }
            Completed::Several(line, all) => {
                let known = line == self.talk.editor().text();
                self.talk.complete(line);
                if known { told(&all.join("  ")) } else { String::new() }
            }
        }
    }
}

fn told(text: &str) -> String {
    format!("  {}\n", plain(text).replace('\n', "\n  "))
}

/// Returns the reply to a pressed button. Its effect is shown as an event.
fn pressed(answer: Result<Option<String>, Unanswered>) -> Result<String, Stopped> {
    match answer {
        Ok(text) => Ok(text.map(|text| told(&text)).unwrap_or_default()),
        Err(error) => Ok(told(&to_tell_seated(error)?)),
    }
}

/// Like `recoverable_text`, but also waits for a daemon that is not running.
pub(crate) fn to_tell_seated(error: Unanswered) -> Result<String, Unanswered> {
    match to_tell(error) {
        Err(Unanswered::NotRunning) => Ok(GONE.to_owned()),
        told => told,
    }
}

/// Returns the names of all plans.
pub(crate) fn names(schedule: &serde_json::Value) -> Vec<String> {
    let jobs = schedule["jobs"].as_array().into_iter().flatten();
    jobs.filter_map(|job| job["name"].as_str()).map(readable).collect()
}
