//! The seat: a person before a terminal that can do more than lines. Keys go in as they are pressed, what is said comes
//! out above the line, and the line is kept.

use std::io;
use std::time::Duration;

use engine::ports::Clock;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::completion::{Completed, complete};
use super::editor::{Edited, Editor};
use super::glance::Glance;
use super::history::History;
use super::keys::{Input, Key};
use super::offers::{Deed, Offers};
use super::progress::{Progress, Took};
use super::prompt::Prompt;
use super::screen::{Live, Look, Screen, Typed};
use super::telling::Telling;
use super::{Said, Stopped, plain, readable, rings, said, say};
use crate::client::{Client, Followed, Following, Shown, Unanswered};

/// How long a letter waits for another one before it does what it offers.
const LONE: Duration = Duration::from_millis(700);
/// For somebody who waits for an assistant that has gone.
const GONE: &str = "  (i am not running any more. i wait here until i am back; ctrl+c twice leaves.)\n";

/// Who sits there, and before what.
pub struct Seat<'a> {
    /// What the assistant is called.
    pub name: &'a str,
    /// What time it is.
    pub clock: &'a dyn Clock,
    /// Columns and rows.
    pub size: (u16, u16),
    /// How words may look.
    pub look: Look,
    /// What was typed before.
    pub history: History,
    /// Keeps what was typed.
    pub keep: &'a dyn Fn(&History),
    /// What becomes of reminders when the human leaves.
    pub afterwards: Afterwards,
}

/// What becomes of reminders when the human leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// They ring: the assistant runs elsewhere.
    Ring,
    /// They wait until it is started again.
    Wait,
}

impl Afterwards {
    fn tell(self) -> &'static str {
        match self {
            Self::Ring => "reminders go on.",
            Self::Wait => "reminders stop with me; `ollim-bot run --no-chat` keeps them going.",
        }
    }
}

/// Sits down and talks until the human leaves.
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
    loop {
        let wakes = sitting.wakes();
        let words = tokio::select! {
            input = keys.next() => match input {
                Some(input) => sitting.input(input?).await?,
                None => return Ok(()),
            },
            followed = following.next() => sitting.follow(followed),
            () = until(wakes) => sitting.woke().await?,
        };
        write(out, &words).await?;
        if sitting.state == State::Left {
            return Ok(());
        }
    }
}

async fn until(wakes: Option<Instant>) {
    match wakes {
        Some(wakes) => sleep_until(wakes).await,
        None => std::future::pending().await,
    }
}

/// In raw mode a line ends with two letters.
async fn write(out: &mut (impl AsyncWrite + Unpin), words: &str) -> io::Result<()> {
    out.write_all(words.replace('\n', "\r\n").as_bytes()).await?;
    out.flush().await
}

struct Sitting<'a> {
    client: &'a Client,
    seat: Seat<'a>,
    screen: Screen,
    editor: Editor,
    prompt: Prompt,
    telling: Telling,
    offers: Offers,
    progress: Progress,
    state: State,
}

/// What the line is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Anything.
    Talking,
    /// A letter waits whether another one follows, until then.
    Lone(char, Instant),
    /// The time to which something is moved.
    When { button: String, what: String },
    /// Nothing, if ctrl+c is pressed once more.
    Leaving,
    /// Nothing any more.
    Left,
}

impl<'a> Sitting<'a> {
    fn new(client: &'a Client, seat: Seat<'a>) -> Self {
        Self {
            client,
            screen: Screen::new(seat.size, seat.look),
            editor: Editor::new(seat.history.clone()),
            prompt: Prompt::default(),
            telling: Telling::of_all().with_keys(),
            offers: Offers::default(),
            progress: Progress::default(),
            state: State::Talking,
            seat,
        }
    }

    fn greet(&mut self, glance: &Glance) -> String {
        let line = glance.line(self.seat.name, &self.seat.clock.now(), self.screen.width());
        let faint = self.screen.faint(&readable(&line));
        format!("{faint}\n{}", self.show(""))
    }

    /// Writes `words`, and below them what stands there now.
    fn show(&mut self, words: &str) -> String {
        let live = self.live();
        self.screen.show(words, live)
    }

    /// While the assistant speaks the line is only there if something is typed.
    fn live(&self) -> Live {
        let status = self.progress.status(Instant::now());
        let idle = !self.telling.is_speaking() && !self.progress.is_on();
        let line = (self.state != State::Left && (idle || !self.editor.text().is_empty())).then(|| {
            let (before, text) = (self.editor.before(), self.editor.text());
            let after = text[before.len()..].to_owned();
            Typed { prompt: self.prompt_words(), before: before.to_owned(), after }
        });
        Live { status, line }
    }

    fn prompt_words(&self) -> String {
        match &self.state {
            State::When { what, .. } => format!("move {what} to when? "),
            State::Talking | State::Lone(..) | State::Leaving | State::Left => self.prompt.words(),
        }
    }

    /// When something changes by itself.
    fn wakes(&self) -> Option<Instant> {
        let lone = if let State::Lone(_, until) = self.state { Some(until) } else { None };
        [lone, self.progress.next(Instant::now())].into_iter().flatten().min()
    }

    async fn woke(&mut self) -> Result<String, Stopped> {
        match self.state {
            State::Lone(letter, until) if until <= Instant::now() => {
                self.state = State::Talking;
                self.enter(letter.to_string()).await
            }
            State::Talking | State::Lone(..) | State::When { .. } | State::Leaving | State::Left => {
                Ok(self.show(""))
            }
        }
    }

    fn follow(&mut self, followed: Followed) -> String {
        match followed {
            Followed::Shown(shown) => self.hear(&shown),
            Followed::Gone => {
                self.progress.end(Instant::now());
                self.telling = Telling::of_all().with_keys();
                self.show(GONE)
            }
            Followed::Back => self.show("  (i am back.)\n"),
        }
    }

    fn hear(&mut self, shown: &Shown) -> String {
        let (now, clock) = (Instant::now(), self.seat.clock.now());
        self.prompt.follow(shown);
        let mut words = self.telling.hear(shown);
        let took = match self.telling.follows(shown) {
            true => self.progress.hear(shown, now),
            false => Took::Short,
        };
        if can_be_taken_back(shown) {
            self.offers.make('u', "undo", Deed::Say("undo".to_owned()), now);
        }
        let ring = rings::hear(shown, &mut self.offers, (now, &clock)).unwrap_or_default();
        words.push_str(&ring.words);
        self.telling.ended();
        let sound = match (ring.loud, took) {
            (Some(words), _) => format!("\u{7}\u{1b}]9;{}\u{7}", readable(&words)),
            (None, Took::Long) => "\u{7}".to_owned(),
            (None, Took::Short) => String::new(),
        };
        self.show(&words) + &sound
    }

    async fn input(&mut self, input: Input) -> Result<String, Stopped> {
        let key = match input {
            Input::Resized(columns, rows) => {
                self.seat.size = (columns, rows);
                return Ok(self.screen.resize((columns, rows)) + &self.show(""));
            }
            Input::Key(key) => key,
        };
        if let State::Lone(..) | State::Leaving = self.state
            && key != Key::Interrupt
        {
            self.state = State::Talking;
        }
        match key {
            Key::Interrupt => Ok(self.interrupt()),
            Key::Leave if self.editor.text().is_empty() => Ok(self.leave()),
            Key::Escape => self.escape().await,
            Key::Tab => self.complete().await,
            Key::Leave | Key::Pane(_) => Ok(String::new()),
            Key::Letter(_) | Key::Pasted(_) | Key::Enter | Key::Newline => self.edit(&key).await,
            Key::Move(_) | Key::Erase(_) | Key::Recall(_) => self.edit(&key).await,
        }
    }

    async fn edit(&mut self, key: &Key) -> Result<String, Stopped> {
        let was_empty = self.editor.text().is_empty();
        match self.editor.press(key) {
            Edited::Entered(line) => self.enter(line).await,
            Edited::Line | Edited::Nothing => {
                let now = Instant::now();
                if let (Key::Letter(letter), true, State::Talking) = (key, was_empty, &self.state)
                    && self.offers.get(*letter, now).is_some()
                {
                    self.state = State::Lone(*letter, now + LONE);
                }
                Ok(self.show(""))
            }
        }
    }

    /// A line is finished.
    async fn enter(&mut self, line: String) -> Result<String, Stopped> {
        let entered = self.screen.entered(&self.prompt_words(), &line);
        self.editor.clear();
        let done = match std::mem::replace(&mut self.state, State::Talking) {
            State::When { button, .. } if !line.trim().is_empty() => self.press(&button, line.trim()).await,
            State::When { .. } => Ok("  (not moved.)\n".to_owned()),
            State::Talking | State::Lone(..) | State::Leaving | State::Left => {
                match self.offers.of_line(&line, Instant::now()).cloned() {
                    Some(deed) => self.act(deed).await,
                    None => self.talk(&line).await,
                }
            }
        };
        Ok(entered + &self.show(&done?))
    }

    async fn talk(&mut self, line: &str) -> Result<String, Stopped> {
        self.editor.remember(line);
        (self.seat.keep)(self.editor.history());
        let said = said(self.client, line.trim(), &mut self.telling).await;
        self.came_of(said)
    }

    async fn act(&mut self, deed: Deed) -> Result<String, Stopped> {
        match deed {
            Deed::Press(button) => self.press(&button, rings::words_for(&button)).await,
            Deed::When { button, what } => {
                self.state = State::When { button, what };
                Ok(String::new())
            }
            Deed::Give(command) => {
                let said = said(self.client, &command, &mut self.telling).await;
                self.came_of(said)
            }
            Deed::Say(words) => {
                let said = say(self.client, &words.as_str().into(), &mut self.telling).await;
                self.came_of(said)
            }
        }
    }

    async fn press(&mut self, button: &str, words: &str) -> Result<String, Stopped> {
        match self.client.press(button, words).await {
            // What became of it is shown.
            Ok(text) => Ok(text.map(|text| format!("  {text}\n")).unwrap_or_default()),
            Err(Unanswered::Refused(why)) => Ok(format!("  {why}\n")),
            Err(Unanswered::NotRunning) => Ok(GONE.to_owned()),
            Err(error) => Err(error.into()),
        }
    }

    /// What to tell of words or a command that were sent.
    fn came_of(&mut self, said: Result<Said, Stopped>) -> Result<String, Stopped> {
        match said {
            Ok(Said::Nothing) => Ok(String::new()),
            Ok(Said::Sent) => {
                self.progress.asked(Instant::now());
                Ok(String::new())
            }
            Ok(Said::Told(text)) => Ok(format!("  {}\n", plain(&text).replace('\n', "\n  "))),
            Ok(Said::Leave) => {
                self.state = State::Left;
                Ok(format!("  {}\n", self.seat.afterwards.tell()))
            }
            Err(Stopped::Unanswered(Unanswered::NotRunning)) => Ok(GONE.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Ctrl+C: the line is cleared, and the second time the human leaves.
    fn interrupt(&mut self) -> String {
        if self.state == State::Leaving {
            return self.leave();
        }
        let text = self.editor.text().to_owned();
        let entered = match text.is_empty() {
            true => String::new(),
            false => self.screen.entered(&self.prompt_words(), &format!("{text} ^C")),
        };
        self.editor.clear();
        self.state = State::Leaving;
        entered + &self.show("  (ctrl+c once more leaves. esc stops an answer.)\n")
    }

    fn leave(&mut self) -> String {
        self.editor.clear();
        self.state = State::Left;
        self.show(&format!("  {}\n", self.seat.afterwards.tell()))
    }

    /// Esc: what is asked is not asked any more, or the answer stops.
    async fn escape(&mut self) -> Result<String, Stopped> {
        if let State::When { .. } = self.state {
            self.state = State::Talking;
            self.editor.clear();
            return Ok(self.show("  (not moved.)\n"));
        }
        if !self.telling.is_speaking() && !self.progress.is_on() {
            return Ok(String::new());
        }
        let said = said(self.client, "/stop", &mut self.telling).await;
        self.progress.end(Instant::now());
        let words = match said {
            Ok(Said::Sent) => String::new(),
            other => self.came_of(other)?,
        };
        Ok(self.show(&words))
    }

    async fn complete(&mut self) -> Result<String, Stopped> {
        let names = match self.client.get("/api/schedule").await {
            Ok(schedule) => names(&schedule),
            Err(_) => Vec::new(),
        };
        match complete(self.editor.text(), &names) {
            Completed::Not => Ok("\u{7}".to_owned()),
            Completed::Line(line) => {
                self.editor.set(line);
                Ok(self.show(""))
            }
            Completed::Several(line, all) => {
                let new = line != self.editor.text();
                self.editor.set(line);
                let choices = if new { String::new() } else { format!("  {}\n", all.join("  ")) };
                Ok(self.show(&choices))
            }
        }
    }
}

/// The names of all that is planned.
fn names(schedule: &serde_json::Value) -> Vec<String> {
    let jobs = schedule["jobs"].as_array().into_iter().flatten();
    jobs.filter_map(|job| job["name"].as_str()).map(readable).collect()
}

/// Whether `shown` is an answer that says how to take back what it tells.
fn can_be_taken_back(shown: &Shown) -> bool {
    let entry = &shown.data["entry"];
    let text = entry["text"].as_str().unwrap_or_default();
    shown.name == "said" && entry["by"] == "assistant" && (text.starts_with('✓') || text.contains("`undo`"))
}
