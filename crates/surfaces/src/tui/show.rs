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

use super::panes::Looked;
use super::state::{Event, State, Wish};
use super::view::view;
use crate::client::{Client, Followed, Following, Unanswered};
use crate::terminal::completion::{Completed, complete};
use crate::terminal::history::History;
use crate::terminal::keys::Input;
use crate::terminal::raw::Raw;
use crate::terminal::screen::Look;
use crate::terminal::seat::{names, ringing, to_tell_seated};
use crate::terminal::talk::{Moment, Wish as Wanted};
use crate::terminal::{Said, Stopped, plain, readable, said};

/// Parameters of the full screen.
pub struct Setup<'a> {
    pub clock: &'a dyn Clock,
    pub look: Look,
    /// Lines entered before.
    pub history: History,
    /// Stores the history.
    pub keep: &'a dyn Fn(&History),
}

/// Request for the initial messages.
const ENTRIES: &str = "/api/messages?limit=100";

/// Runs the full screen until the user quits.
pub async fn show(
    client: &Client,
    setup: Setup<'_>,
    mut keys: impl Stream<Item = io::Result<Input>> + Unpin,
) -> Result<(), Stopped> {
    let mut following = Following::begin(client).await?;
    let state = State::new(setup.history.clone(), Instant::now());
    let mut shown = Showing { client, setup, state: Some(state), stays: Stays::Here };
    let _taken = Taken::take()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    shown.happen(Event::Back).await?;
    while shown.stays == Stays::Here {
        let wakes = shown.draw(&mut terminal)?;
        let event = tokio::select! {
            input = keys.next() => match input {
                Some(Ok(Input::Key(key))) => Event::Key(key),
                // The next draw uses the new size.
                Some(Ok(Input::Resized(..))) => continue,
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            followed = following.next() => match followed {
                Followed::Shown(shown) => Event::Shown(shown),
                Followed::Gone => Event::Gone,
                Followed::Still => Event::Still,
                Followed::Back => Event::Back,
            },
            () = sleep_until(wakes) => Event::Woke,
        };
        shown.happen(event).await?;
    }
    Ok(())
}

struct Showing<'a> {
    client: &'a Client,
    setup: Setup<'a>,
    /// `None` only during an update.
    state: Option<State>,
    stays: Stays,
}

/// Whether the full screen is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    Here,
    Left,
}

impl Showing<'_> {
    fn moment(&self) -> Moment {
        Moment { now: Instant::now(), clock: self.setup.clock.now() }
    }

    /// Draws and returns when the next change is due.
    fn draw(&self, terminal: &mut Terminal<CrosstermBackend<io::Stdout>>) -> io::Result<Instant> {
        let at = self.moment();
        let Some(state) = &self.state else { return Ok(at.now) };
        terminal.draw(|frame| view(state, &at, self.setup.look, frame))?;
        Ok(state.wakes(at.now))
    }

    /// Updates the state with `event` and the events that follow from its commands.
    async fn happen(&mut self, event: Event) -> Result<(), Stopped> {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let Some(state) = self.state.take() else { return Ok(()) };
            let (state, wishes) = state.update(event, &self.moment());
            self.state = Some(state);
            for wish in wishes {
                events.extend(self.grant(wish).await?);
            }
        }
        Ok(())
    }

    async fn grant(&mut self, wish: Wish) -> Result<Option<Event>, Stopped> {
        match wish {
            Wish::Look => Ok(Some(Event::Looked(Box::new(Looked::look(self.client).await)))),
            Wish::Read => Ok(self.client.get(ENTRIES).await.ok().map(Event::Read)),
            Wish::Ring(words) => {
                let mut out = io::stdout();
                out.write_all(ringing(&words).as_bytes()).and_then(|()| out.flush())?;
                Ok(None)
            }
            Wish::Talk(wanted) => self.talk(wanted).await,
        }
    }

    async fn talk(&mut self, wanted: Wanted) -> Result<Option<Event>, Stopped> {
        let Some(state) = &mut self.state else { return Ok(None) };
        match wanted {
            Wanted::Leave => {
                self.stays = Stays::Left;
                Ok(None)
            }
            Wanted::Keep => {
                (self.setup.keep)(state.talk().editor().history());
                Ok(None)
            }
            Wanted::Complete => {
                let names = names(&self.client.get("/api/schedule").await.unwrap_or_default());
                Ok(match complete(state.talk().editor().text(), &names) {
                    Completed::Not => None,
                    Completed::Line(line) | Completed::Several(line, _) => Some(Event::Completed(line)),
                })
            }
            Wanted::Press(button, words) => answered(self.client.press(&button, &words).await),
            Wanted::Undo => answered(self.client.undo().await),
            Wanted::Say(words) => match said(self.client, &words, state.talk().telling()).await {
                Ok(Said::Nothing | Said::Done) => Ok(None),
                Ok(Said::Sent) => Ok(Some(Event::Sent)),
                Ok(Said::Told(text)) => Ok(Some(Event::Told(plain(&text)))),
                Ok(Said::Leave) => {
                    self.stays = Stays::Left;
                    Ok(None)
                }
                Err(Stopped::Unanswered(error)) => told(error).map(Some),
                Err(error) => Err(error),
            },
            // Shown by the state itself.
            Wanted::Entered(..) | Wanted::Tell(_) => Ok(None),
        }
    }
}

fn answered(answer: Result<Option<String>, Unanswered>) -> Result<Option<Event>, Stopped> {
    match answer {
        Ok(text) => Ok(text.map(Event::Told)),
        Err(error) => told(error).map(Some),
    }
}

fn told(error: Unanswered) -> Result<Event, Stopped> {
    Ok(Event::Told(to_tell_seated(error)?))
}

/// Guard of the alternate screen; restores the terminal when dropped, including by a panic.
///
/// A panic in another task does not end the full screen. Its message is printed after the terminal
/// was restored.
struct Taken {
    _raw: Raw,
    panics: Receiver<String>,
}

impl Taken {
    fn take() -> io::Result<Self> {
        let (told, panics) = channel();
        panic::set_hook(Box::new(move |panicked| drop(told.send(panicked.to_string()))));
        let taken = Self { _raw: Raw::enter()?, panics };
        execute!(io::stdout(), EnterAlternateScreen)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        for panicked in self.panics.try_iter() {
            let _ = write!(io::stderr(), "{}\r\n", readable(&panicked).replace('\n', "\r\n"));
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
    async fn an_assistant_that_stands_still_does_not_end_the_full_screen() {
        let home = tempfile::tempdir().unwrap();
        let _deaf = UnixListener::bind(home.path().join("door")).unwrap();
        let clock = VirtualClock::new("2026-11-15T14:36[Europe/Berlin]".parse().unwrap());
        let setup = Setup { clock: &clock, look: Look::Plain, history: History::default(), keep: &|_| {} };
        let state = Some(State::new(History::default(), Instant::now()));
        let client = Client::new(home.path(), "door");
        let mut showing = Showing { client: &client, setup, state, stays: Stays::Here };

        for typed in ["hello", "/status"] {
            showing.happen(Event::Key(Key::Pasted(typed.to_owned()))).await.unwrap();
            showing.happen(Event::Key(Key::Enter)).await.unwrap();
        }
        for wanted in [Wanted::Press("done/dentist".to_owned(), String::new()), Wanted::Undo] {
            let told = showing.talk(wanted).await.unwrap().unwrap();
            showing.happen(told).await.unwrap();
        }

        assert_eq!(showing.stays, Stays::Here);
        let rows = showing.state.unwrap().log.rows(400, 10, 0);
        let told = "  ollim-bot runs here, but did not answer within 15 s: it stands still. it may or may not have \
                    taken this: look before you say it again. `ollim-bot doctor` and `ollim-bot service status` \
                    tell more.";
        assert_eq!(rows, ["> hello", told, "> /status", told, told, told]);
    }
}
