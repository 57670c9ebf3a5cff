//! Event stream for browsers and the command line (server-sent events).

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, StreamExt, unfold};
use serde::Serialize;

use super::App;
use super::api_error::ApiError;
use super::authentication::Connection;
use super::dto::{SnapshotDto, UpdateDto};
use crate::event_hub::{HubMessage, Snapshot, Subscription};

/// Reconnect delay for browsers.
const RETRY: Duration = Duration::from_secs(1);

/// Streams a snapshot and all following events.
pub(super) async fn stream_events(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let mut subscription = app.ports().event_hub.subscribe();
    let hello = snapshot_event("hello", subscription.snapshot()).retry(RETRY);
    let first = futures_util::stream::iter([hello]);
    let stream = first.chain(unfold(subscription, next_event)).take_until(connection.stop.cancelled_owned());
    let beat = KeepAlive::new().interval(app.limits().heartbeat_interval).text("still here");
    Ok(Sse::new(stream.map(Ok)).keep_alive(beat))
}

async fn next_event(mut subscription: Subscription) -> Option<(Event, Subscription)> {
    let event = match subscription.next().await {
        HubMessage::Event(cue) => {
            let shown = UpdateDto::from(&cue.update);
            sse_event(shown.name(), cue.seq, &shown)
        }
        HubMessage::Lagged(missed) => snapshot_event("reload", missed),
        HubMessage::Closed => return None,
    };
    Some((event, subscription))
}

fn snapshot_event(name: &str, snapshot: Snapshot) -> Event {
    let number = snapshot.seq;
    sse_event(name, number, &SnapshotDto::from(snapshot))
}

fn sse_event(name: &str, number: u64, data: &impl Serialize) -> Event {
    // DTOs always serialize; the page reloads when it cannot parse an event.
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).id(number.to_string()).data(data)
}
