//! Interactive chat in a raw terminal: keys are handled as they are pressed, and output appears
//! above the input line.

use std::io;

use engine::ports::Clock;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::chat_state::{ChatCommand, ChatState, Moment};
use super::completion::{Completion, complete};
use super::history::History;
use super::keys::Input;
use super::screen::{InputLine, LiveArea, Screen, TextStyle};
use super::status_line::StatusLine;
use super::{LineResult, TerminalError, recoverable_text, strip_bold, strip_control, submit_line};
use crate::client::{Client, ClientError, Follower, FollowerEvent};

/// Shown when the daemon is gone.
pub(crate) const DISCONNECTED: &str =
    "(i am not running any more. i wait here until i am back; ctrl+c twice leaves.)";

/// Shown when the daemon does not respond.
pub(crate) const UNRESPONSIVE: &str = "(i stand still: nothing comes from me. i wait here until i am back; ctrl+c twice leaves. \
                                `ollim-bot doctor` tells more.)";

/// Parameters of a chat.
pub struct ChatOptions<'a> {
    /// Name of the assistant.
    pub name: &'a str,
    pub clock: &'a dyn Clock,
    pub size: (u16, u16),
    pub style: TextStyle,
    /// Lines entered before.
    pub history: History,
    /// Stores the history.
    pub save_history: &'a dyn Fn(&History),
    /// Whether reminders continue after the chat is closed.
    pub after_exit: AfterExit,
}

/// Whether reminders continue after the chat is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterExit {
    /// The assistant runs in another process.
    RemindersContinue,
    /// The assistant stops with the chat.
    RemindersStop,
}

impl AfterExit {
    /// Returns the text shown on exit.
    pub fn text(self) -> &'static str {
        match self {
            Self::RemindersContinue => "reminders go on.",
            Self::RemindersStop => "reminders stop with me; `ollim-bot run --no-chat` keeps them going.",
        }
    }
}

/// Runs the chat until the user quits.
pub async fn run_chat(
    client: &Client,
    options: ChatOptions<'_>,
    mut keys: impl Stream<Item = io::Result<Input>> + Unpin,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), TerminalError> {
    let mut follower = Follower::start(client).await?;
    let mut session = ChatSession::new(client, options);
    let status_line = StatusLine::fetch(client).await;
    let greeting = session.greet(&status_line);
    write(out, &greeting).await?;
    while session.status == SessionStatus::Open {
        let wakes = session.state.next_wake(Instant::now());
        let words = tokio::select! {
            input = keys.next() => match input {
                Some(input) => session.on_input(input?).await?,
                None => return Ok(()),
            },
            followed = follower.next() => session.on_follower_event(followed),
            () = wait_until(wakes) => {
                let wishes = session.state.on_wake(&session.moment());
                session.run_commands(wishes).await?
            }
        };
        write(out, &words).await?;
    }
    Ok(())
}

async fn wait_until(wakes: Option<Instant>) {
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
pub(crate) fn bell(words: &str) -> String {
    match words {
        "" => "\u{7}".to_owned(),
        words => format!("\u{7}\u{1b}]9;{}\u{7}", strip_control(words)),
    }
}

struct ChatSession<'a> {
    client: &'a Client,
    options: ChatOptions<'a>,
    screen: Screen,
    state: ChatState,
    status: SessionStatus,
}

/// Whether the chat is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionStatus {
    Open,
    Closed,
}

impl<'a> ChatSession<'a> {
    fn new(client: &'a Client, seat: ChatOptions<'a>) -> Self {
        let screen = Screen::new(seat.size, seat.style);
        let talk = ChatState::new(seat.history.clone());
        Self { client, options: seat, screen, state: talk, status: SessionStatus::Open }
    }

    fn moment(&self) -> Moment {
        Moment { now: Instant::now(), clock: self.options.clock.now() }
    }

    fn greet(&mut self, glance: &StatusLine) -> String {
        let lines = glance.greeting(self.options.name, &self.options.clock.now(), self.screen.width());
        let lines = lines.iter().map(|line| self.screen.dim(&strip_control(line)) + "\n");
        let faint: String = lines.collect();
        let open = self.state.open_reminder(&glance.today, &self.moment());
        format!("{faint}{}", self.show(&open))
    }

    /// Writes `words` and redraws the live area.
    fn show(&mut self, words: &str) -> String {
        let live = self.live_area();
        self.screen.show(words, live)
    }

    /// Returns the live area. While the assistant answers, the input line is shown only if it is
    /// not empty.
    fn live_area(&self) -> LiveArea {
        let before = self.state.editor().before();
        let text = self.state.editor().text();
        let stands = self.status == SessionStatus::Open && (!self.state.is_busy() || !text.is_empty());
        let line = stands.then(|| {
            let prompt = self.state.prompt();
            let after = text[before.len()..].to_owned();
            InputLine { prompt, before: before.to_owned(), after }
        });
        LiveArea { status: self.state.status(Instant::now()), line }
    }

    fn on_follower_event(&mut self, event: FollowerEvent) -> String {
        match event {
            FollowerEvent::Event(shown) => {
                let output = self.state.on_event(&shown, &self.moment());
                let sound = output.alert.map(|words| bell(&words));
                self.show(&output.text) + &sound.unwrap_or_default()
            }
            FollowerEvent::Closed => self.on_connection_lost(DISCONNECTED),
            FollowerEvent::Unresponsive => self.on_connection_lost(UNRESPONSIVE),
            FollowerEvent::Reconnected => self.show("  (i am back.)\n"),
        }
    }

    fn on_connection_lost(&mut self, words: &str) -> String {
        self.state.reset();
        self.show(&format!("  {words}\n"))
    }

    async fn on_input(&mut self, input: Input) -> Result<String, TerminalError> {
        match input {
            Input::Resized(columns, rows) => {
                self.options.size = (columns, rows);
                Ok(self.screen.resize(columns, rows) + &self.show(""))
            }
            Input::Key(key) => {
                let wishes = self.state.on_key(&key, &self.moment());
                self.run_commands(wishes).await
            }
        }
    }

    /// Executes commands and returns the output.
    async fn run_commands(&mut self, commands: Vec<ChatCommand>) -> Result<String, TerminalError> {
        let mut written = String::new();
        let mut words = String::new();
        for command in commands {
            match command {
                ChatCommand::CommitLine(prompt, line) => written += &self.screen.commit_line(&prompt, &line),
                ChatCommand::SaveHistory => (self.options.save_history)(self.state.editor().history()),
                ChatCommand::Show(text) => words += &format!("  {text}\n"),
                ChatCommand::Complete => words += &self.complete().await,
                ChatCommand::Submit(text) => words += &self.submit(&text).await?,
                ChatCommand::Press(button, with) => {
                    words += &press_result(self.client.press(&button, &with).await)?
                }
                ChatCommand::Undo => words += &press_result(self.client.undo().await)?,
                ChatCommand::Quit => words += &self.leave(),
            }
        }
        Ok(written + &self.show(&words))
    }

    async fn submit(&mut self, words: &str) -> Result<String, TerminalError> {
        match submit_line(self.client, words, self.state.transcript()).await {
            Ok(LineResult::Empty | LineResult::Done) => Ok(String::new()),
            Ok(LineResult::Sent) => {
                self.state.on_sent(Instant::now());
                Ok(String::new())
            }
            Ok(LineResult::Reply(text)) => Ok(indent(&text)),
            Ok(LineResult::Quit) => Ok(self.leave()),
            Err(TerminalError::Client(error)) => Ok(indent(&recoverable_or_offline_text(error)?)),
            Err(error) => Err(error),
        }
    }

    fn leave(&mut self) -> String {
        self.status = SessionStatus::Closed;
        indent(self.options.after_exit.text())
    }

    async fn complete(&mut self) -> String {
        let names = plan_names(&self.client.get("/api/schedule").await.unwrap_or_default());
        match complete(self.state.editor().text(), &names) {
            Completion::NoMatch => String::new(),
            Completion::Single(line) => {
                self.state.set_line(line);
                String::new()
            }
            Completion::Ambiguous(line, all) => {
                let known = line == self.state.editor().text();
                self.state.set_line(line);
                if known { indent(&all.join("  ")) } else { String::new() }
            }
        }
    }
}

fn indent(text: &str) -> String {
    format!("  {}\n", strip_bold(text).replace('\n', "\n  "))
}

/// Returns the reply to a pressed button. Its effect is shown as an event.
fn press_result(answer: Result<Option<String>, ClientError>) -> Result<String, TerminalError> {
    match answer {
        Ok(text) => Ok(text.map(|text| indent(&text)).unwrap_or_default()),
        Err(error) => Ok(indent(&recoverable_or_offline_text(error)?)),
    }
}

/// Like `recoverable_text`, but also waits for a daemon that is not running.
pub(crate) fn recoverable_or_offline_text(error: ClientError) -> Result<String, ClientError> {
    match recoverable_text(error) {
        Err(ClientError::NotRunning) => Ok(DISCONNECTED.to_owned()),
        told => told,
    }
}

/// Returns the names of all plans.
pub(crate) fn plan_names(schedule: &serde_json::Value) -> Vec<String> {
    let jobs = schedule["jobs"].as_array().into_iter().flatten();
    jobs.filter_map(|job| job["name"].as_str()).map(strip_control).collect()
}
