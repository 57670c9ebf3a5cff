//! Runs interactive terminal sessions: the line editor and the full-screen interface.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use journal::disk::{Disk, replace};
use surfaces::client::Client;
use surfaces::terminal::history::History;
use surfaces::terminal::interactive::{AfterExit, ChatOptions, run_chat};
use surfaces::terminal::keys;
use surfaces::terminal::raw::{RawMode, size};
use surfaces::terminal::screen::TextStyle;
use surfaces::tui::{FullScreenOptions, run};
use tokio::io::stdout;

use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::{Settings, Terminal};

/// The file with the typed lines, in the `state` directory.
const HISTORY_FILE: &str = "terminal_history";

/// Returns how to draw on the terminal, if stdin and stdout are an interactive one.
pub fn interactive_look(settings: &Settings) -> Option<TextStyle> {
    let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match settings.integrations.terminal {
        Terminal::Interactive(look) if both => Some(look),
        Terminal::Interactive(_) | Terminal::Dumb => None,
    }
}

/// The typed lines and their file.
struct InputHistory<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
}

impl<'a> InputHistory<'a> {
    fn of(settings: &Settings, disk: &'a Arc<dyn Disk>) -> Self {
        Self { disk: disk.as_ref(), path: settings.paths.state().join(HISTORY_FILE) }
    }

    fn read(&self) -> History {
        let typed = self.disk.read(&self.path).unwrap_or_default();
        History::parse(&String::from_utf8_lossy(&typed))
    }

    fn save(&self, history: &History) {
        // A failed write must not end the session.
        let _ = replace(self.disk, &self.path, history.to_text().as_bytes());
    }
}

/// Runs a chat with the line editor.
pub async fn run_line_editor(
    client: &Client,
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    look: TextStyle,
    afterwards: AfterExit,
) -> Result<(), CommandError> {
    let typed = InputHistory::of(settings, disk);
    let seat = ChatOptions {
        name: &settings.names.value.assistant,
        clock: &SystemClock::new(settings.zone.value.clone()),
        size: size(),
        style: look,
        history: typed.read(),
        save_history: &|history| typed.save(history),
        after_exit: afterwards,
    };
    let _raw = RawMode::enter()?;
    run_chat(client, seat, keys::input_stream(), &mut stdout()).await.map_err(CommandError::from)
}

/// Runs the full-screen interface.
pub async fn run_full_screen(
    client: &Client,
    (settings, disk): (&Settings, &Arc<dyn Disk>),
    look: TextStyle,
) -> Result<(), CommandError> {
    let typed = InputHistory::of(settings, disk);
    let setup = FullScreenOptions {
        clock: &SystemClock::new(settings.zone.value.clone()),
        style: look,
        history: typed.read(),
        save_history: &|history| typed.save(history),
    };
    run(client, setup, keys::input_stream()).await.map_err(CommandError::from)
}
