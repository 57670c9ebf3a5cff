//! Event stream for browsers and the command line (server-sent events).

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, StreamExt, unfold};
use serde::Serialize;

use super::App;
use super::gate::Through;
use super::refusal::Refusal;
use super::wire::{SceneWire, ShownWire};
use crate::stage::{Scene, Sight, Watcher};

/// Reconnect delay for browsers.
const RETRY: Duration = Duration::from_secs(1);

/// Streams a snapshot and all following events.
pub(super) async fn follow(
    State(app): State<App>,
    Extension(through): Extension<Through>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let mut watcher = app.ports().stage.subscribe();
    let hello = scene("hello", watcher.scene()).retry(RETRY);
    let first = futures_util::stream::iter([hello]);
    let stream = first.chain(unfold(watcher, next)).take_until(through.stop.cancelled_owned());
    let beat = KeepAlive::new().interval(app.limits().heartbeat).text("still here");
    Ok(Sse::new(stream.map(Ok)).keep_alive(beat))
}

async fn next(mut watcher: Watcher) -> Option<(Event, Watcher)> {
    let event = match watcher.next().await {
        Sight::Cue(cue) => {
            let shown = ShownWire::from(&cue.shown);
            event(shown.name(), cue.number, &shown)
        }
        Sight::Missed(missed) => scene("reload", missed),
        Sight::Over => return None,
    };
    Some((event, watcher))
}

fn scene(name: &str, scene: Scene) -> Event {
    let number = scene.number;
    event(name, number, &SceneWire::from(scene))
}

fn event(name: &str, number: u64, data: &impl Serialize) -> Event {
    // DTOs always serialize; the page reloads when it cannot parse an event.
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).id(number.to_string()).data(data)
}
