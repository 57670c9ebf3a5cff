//! Runs interactive terminal sessions: the line editor and the full-screen interface.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use journal::disk::{Disk, replace};
use surfaces::client::Client;
use surfaces::terminal::history::History;
use surfaces::terminal::keys;
use surfaces::terminal::raw::{Raw, size};
use surfaces::terminal::screen::Look;
use surfaces::terminal::seat::{Afterwards, Seat, sit};
use surfaces::tui::{Setup, show};
use tokio::io::stdout;

use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::{Settings, Terminal};

/// The file with the typed lines, in the `state` directory.
const HISTORY: &str = "terminal_history";

/// Returns how to draw on the terminal, if stdin and stdout are an interactive one.
pub fn able(settings: &Settings) -> Option<Look> {
    let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match settings.places.terminal {
        Terminal::Able(look) if both => Some(look),
        Terminal::Able(_) | Terminal::Dumb => None,
    }
}

/// The typed lines and their file.
struct Typed<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
}

impl<'a> Typed<'a> {
    fn of(settings: &Settings, disk: &'a Arc<dyn Disk>) -> Self {
        Self { disk: disk.as_ref(), path: settings.paths.state().join(HISTORY) }
    }

    fn read(&self) -> History {
        let typed = self.disk.read(&self.path).unwrap_or_default();
        History::read(&String::from_utf8_lossy(&typed))
    }

    fn keep(&self, history: &History) {
        // A failed write must not end the session.
        let _ = replace(self.disk, &self.path, history.write().as_bytes());
    }
}

/// Runs a chat with the line editor.
pub async fn talk(
    client: &Client,
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    look: Look,
    afterwards: Afterwards,
) -> Result<(), Failed> {
    let typed = Typed::of(settings, disk);
    let seat = Seat {
        name: &settings.names.value.assistant,
        clock: &SystemClock::new(settings.zone.value.clone()),
        size: size(),
        look,
        history: typed.read(),
        keep: &|history| typed.keep(history),
        afterwards,
    };
    let _raw = Raw::enter()?;
    sit(client, seat, keys::pressed_here(), &mut stdout()).await.map_err(Failed::from)
}

/// Runs the full-screen interface.
pub async fn full_screen(
    client: &Client,
    (settings, disk): (&Settings, &Arc<dyn Disk>),
    look: Look,
) -> Result<(), Failed> {
    let typed = Typed::of(settings, disk);
    let setup = Setup {
        clock: &SystemClock::new(settings.zone.value.clone()),
        look,
        history: typed.read(),
        keep: &|history| typed.keep(history),
    };
    show(client, setup, keys::pressed_here()).await.map_err(Failed::from)
}
