//! Event loop of the full screen. Restores the terminal however it ends.

use std::io::{self, Write};
use std::panic;
use std::sync::mpsc::{Receiver, channel};

use crossterm::cursor::Show;
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use engine::ports::Clock;
use futures_util::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::time::{Instant, sleep_until};

use super::panes::Overview;
use super::state::{Command, Event, State};
use super::view::draw;
use crate::client::{Client, ClientError, Follower, FollowerEvent};
use crate::terminal::chat_state::{ChatCommand as Wanted, Moment};
use crate::terminal::completion::{Completion, complete};
use crate::terminal::history::History;
use crate::terminal::interactive::{bell, plan_names, recoverable_or_offline_text};
use crate::terminal::keys::Input;
use crate::terminal::raw::RawMode;
use crate::terminal::screen::TextStyle;
use crate::terminal::{LineResult, TerminalError, strip_bold, strip_control, submit_line};

/// Parameters of the full screen.
pub struct FullScreenOptions<'a> {
    pub clock: &'a dyn Clock,
    pub style: TextStyle,
    /// Lines entered before.
    pub history: History,
    /// Stores the history.
    pub save_history: &'a dyn Fn(&History),
}

/// Request for the initial messages.
const MESSAGES_PATH: &str = "/api/messages?limit=100";

/// Runs the full screen until the user quits.
pub async fn run(
    client: &Client,
    setup: FullScreenOptions<'_>,
    mut keys: impl Stream<Item = io::Result<Input>> + Unpin,
) -> Result<(), TerminalError> {
    let mut follower = Follower::start(client).await?;
    let state = State::new(setup.history.clone(), Instant::now());
    let mut driver = Driver { client, options: setup, state: Some(state), status: Status::Running };
    let _taken = TerminalGuard::enter()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    driver.dispatch(Event::Reconnected).await?;
    while driver.status == Status::Running {
        let wakes = driver.draw(&mut terminal)?;
        let event = tokio::select! {
            input = keys.next() => match input {
                Some(Ok(Input::Key(key))) => Event::Key(key),
                // The next draw uses the new size.
                Some(Ok(Input::Resized(..))) => continue,
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            followed = follower.next() => match followed {
                FollowerEvent::Event(driver) => Event::Stream(driver),
                FollowerEvent::Closed => Event::Closed,
                FollowerEvent::Unresponsive => Event::Unresponsive,
                FollowerEvent::Reconnected => Event::Reconnected,
            },
            () = sleep_until(wakes) => Event::Woke,
        };
        driver.dispatch(event).await?;
    }
    Ok(())
}

struct Driver<'a> {
    client: &'a Client,
    options: FullScreenOptions<'a>,
    /// `None` only during an update.
    state: Option<State>,
    status: Status,
}

/// Whether the full screen is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Running,
    Quit,
}

impl Driver<'_> {
    fn moment(&self) -> Moment {
        Moment { now: Instant::now(), clock: self.options.clock.now() }
    }

    /// Draws and returns when the next change is due.
    fn draw(&self, terminal: &mut Terminal<CrosstermBackend<io::Stdout>>) -> io::Result<Instant> {
        let at = self.moment();
        let Some(state) = &self.state else { return Ok(at.now) };
        terminal.draw(|frame| draw(state, &at, self.options.style, frame))?;
        Ok(state.next_wake(at.now))
    }

    /// Updates the state with `event` and the events that follow from its commands.
    async fn dispatch(&mut self, event: Event) -> Result<(), TerminalError> {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let Some(state) = self.state.take() else { return Ok(()) };
            let (state, commands) = state.update(event, &self.moment());
            self.state = Some(state);
            for command in commands {
                events.extend(self.execute(command).await?);
            }
        }
        Ok(())
    }

    async fn execute(&mut self, command: Command) -> Result<Option<Event>, TerminalError> {
        match command {
            Command::FetchOverview => {
                Ok(Some(Event::OverviewRead(Box::new(Overview::fetch(self.client).await))))
            }
            Command::FetchMessages => Ok(self.client.get(MESSAGES_PATH).await.ok().map(Event::MessagesRead)),
            Command::Bell(words) => {
                let mut out = io::stdout();
                out.write_all(bell(&words).as_bytes()).and_then(|()| out.flush())?;
                Ok(None)
            }
            Command::Chat(wanted) => self.execute_chat(wanted).await,
        }
    }

    async fn execute_chat(&mut self, command: Wanted) -> Result<Option<Event>, TerminalError> {
        let Some(state) = &mut self.state else { return Ok(None) };
        match command {
            Wanted::Quit => {
                self.status = Status::Quit;
                Ok(None)
            }
            Wanted::SaveHistory => {
                (self.options.save_history)(state.chat().editor().history());
                Ok(None)
            }
            Wanted::Complete => {
                let names = plan_names(&self.client.get("/api/schedule").await.unwrap_or_default());
                Ok(match complete(state.chat().editor().text(), &names) {
                    Completion::NoMatch => None,
                    Completion::Single(line) | Completion::Ambiguous(line, _) => Some(Event::Completed(line)),
                })
            }
            Wanted::Press(button, words) => press_event(self.client.press(&button, &words).await),
            Wanted::Undo => press_event(self.client.undo().await),
            Wanted::Submit(words) => {
                match submit_line(self.client, &words, state.chat().transcript()).await {
                    Ok(LineResult::Empty | LineResult::Done) => Ok(None),
                    Ok(LineResult::Sent) => Ok(Some(Event::Sent)),
                    Ok(LineResult::Reply(text)) => Ok(Some(Event::Reply(strip_bold(&text)))),
                    Ok(LineResult::Quit) => {
                        self.status = Status::Quit;
                        Ok(None)
                    }
                    Err(TerminalError::Client(error)) => error_event(error).map(Some),
                    Err(error) => Err(error),
                }
            }
            // Shown by the state itself.
            Wanted::CommitLine(..) | Wanted::Show(_) => Ok(None),
        }
    }
}

fn press_event(answer: Result<Option<String>, ClientError>) -> Result<Option<Event>, TerminalError> {
    match answer {
        Ok(text) => Ok(text.map(Event::Reply)),
        Err(error) => error_event(error).map(Some),
    }
}

fn error_event(error: ClientError) -> Result<Event, TerminalError> {
    Ok(Event::Reply(recoverable_or_offline_text(error)?))
}

/// Guard of the alternate screen; restores the terminal when dropped, including by a panic.
///
/// A panic in another task does not end the full screen. Its message is printed after the terminal
/// was restored.
struct TerminalGuard {
    _raw: RawMode,
    panics: Receiver<String>,
}

impl TerminalGuard {
    fn enter() -> io::Result<Self> {
        let (told, panics) = channel();
        panic::set_hook(Box::new(move |panicked| drop(told.send(panicked.to_string()))));
        let taken = Self { _raw: RawMode::enter()?, panics };
        execute!(io::stdout(), EnterAlternateScreen)?;
        Ok(taken)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        for panicked in self.panics.try_iter() {
            let _ = write!(io::stderr(), "{}\r\n", strip_control(&panicked).replace('\n', "\r\n"));
        }
        if !std::thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use testkit::clock::VirtualClock;

    use super::*;
    use crate::terminal::keys::Key;

    /// Requests to a hung daemon show their error and do not close the full screen.
    #[tokio::test(start_paused = true)]
    async fn a_hung_daemon_does_not_close_the_full_screen() {
        let home = tempfile::tempdir().unwrap();
        let _deaf = UnixListener::bind(home.path().join("door")).unwrap();
        let clock = VirtualClock::new("2026-11-15T14:36[Europe/Berlin]".parse().unwrap());
        let setup = FullScreenOptions {
            clock: &clock,
            style: TextStyle::Plain,
            history: History::default(),
            save_history: &|_| {},
        };
        let state = Some(State::new(History::default(), Instant::now()));
        let client = Client::new(home.path(), "door");
        let mut showing = Driver { client: &client, options: setup, state, status: Status::Running };

        for typed in ["hello", "/status"] {
            showing.dispatch(Event::Key(Key::Pasted(typed.to_owned()))).await.unwrap();
            showing.dispatch(Event::Key(Key::Enter)).await.unwrap();
        }
        for wanted in [Wanted::Press("done/dentist".to_owned(), String::new()), Wanted::Undo] {
            let told = showing.execute_chat(wanted).await.unwrap().unwrap();
            showing.dispatch(told).await.unwrap();
        }

        assert_eq!(showing.status, Status::Running);
        let rows = showing.state.unwrap().log.rows(400, 10, 0);
        let told = "  ollim-bot runs here, but did not answer within 15 s: it stands still. it may or may not have \
                    taken this: look before you say it again. `ollim-bot doctor` and `ollim-bot service status` \
                    tell more.";
        assert_eq!(rows, ["> hello", told, "> /status", told, told, told]);
    }
}
