//! Seating: what a terminal needs from this program, so that the human can sit down before it.

use std::io::IsTerminal;
use std::sync::Arc;

use journal::disk::{Disk, replace};
use surfaces::client::Client;
use surfaces::terminal::history::History;
use surfaces::terminal::keys;
use surfaces::terminal::raw::{Raw, size};
use surfaces::terminal::screen::Look;
use surfaces::terminal::seat::{Afterwards, Seat, sit};
use tokio::io::stdout;

use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::{Settings, Terminal};

/// What was typed, in the state directory.
const HISTORY: &str = "terminal_history";

/// How the human's terminal may be used, if both its ends are one.
pub fn able(settings: &Settings) -> Option<Look> {
    let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match settings.places.terminal {
        Terminal::Able(look) if both => Some(look),
        Terminal::Able(_) | Terminal::Dumb => None,
    }
}

/// Talks with somebody whose keys are heard one by one.
pub async fn talk(
    client: &Client,
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    (look, afterwards): (Look, Afterwards),
) -> Result<(), Failed> {
    let path = settings.paths.state().join(HISTORY);
    let typed = disk.read(&path).unwrap_or_default();
    // A line that is not kept is no reason to stop talking.
    let keep = |history: &History| drop(replace(disk.as_ref(), &path, history.write().as_bytes()));
    let seat = Seat {
        name: &settings.names.value.assistant,
        clock: &SystemClock::new(settings.zone.value.clone()),
        size: size(),
        look,
        history: History::read(&String::from_utf8_lossy(&typed)),
        keep: &keep,
        afterwards,
    };
    let _raw = Raw::enter()?;
    sit(client, seat, keys::pressed_here(), &mut stdout()).await.map_err(Failed::from)
}
