//! Connecting Google here: an address that only the human sees, the one that they paste, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Shared;
use super::sending::say_aside;
use crate::connecting::{Begun, Offered};

/// How often to look whether access has ended.
const LOOKS: Duration = Duration::from_secs(10);

const STRANGER: &str = "-# That is not the expected address. Try /google-auth once more.";

/// How it ends.
type Ending = BoxFuture<'static, Option<String>>;

/// GO-8: what the human reads, and how it ends, if there is something to wait for.
pub(in crate::discord) async fn begin(shared: &Shared, service: Option<&str>) -> (String, Option<Ending>) {
    match shared.ports.google.begin(service).await {
        Begun::Told(text) => (text, None),
        Begun::Waiting { address, ended } => {
            let text = format!(
                "[Connect Google here]({address})\n\
                 Google says that it has not verified the app, because the app is your own: press Advanced, then Go \
                 to the app.\n\
                 If the browser ends at a page that does not load, paste its address here.\n\
                 -# This works for 5 minutes."
            );
            (text, Some(ended))
        }
    }
}

/// GO-9: says in a few words how it ended.
pub(in crate::discord) async fn end(shared: &Shared, ended: Ending) {
    if let Some(text) = ended.await {
        say_aside(shared, &text).await;
    }
}

/// MC-4: whether what the human wrote was for whoever waits for them.
pub(super) async fn is_taken(shared: &Shared, text: &str) -> bool {
    match shared.ports.google.offer(text) {
        Offered::Taken => true,
        Offered::Stranger => {
            say_aside(shared, STRANGER).await;
            true
        }
        Offered::NotForUs => false,
    }
}

/// SC-6: tells the human, once, that a grant has ended.
pub(super) async fn watch(shared: Arc<Shared>) {
    loop {
        if let Some(explanation) = shared.ports.google.ended_grant() {
            say_aside(&shared, &format!("-# {explanation}")).await;
            shared.ports.google.told_so();
        }
        tokio::time::sleep(LOOKS).await;
    }
}
