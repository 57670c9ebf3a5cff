//! Connects the Google account from the DM: an ephemeral address, the address that the user pastes
//! back, and the result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Shared;
use super::sending::say_aside;
use crate::connecting::{Begun, Offered};

/// Interval at which lost access is checked.
const LOOKS: Duration = Duration::from_secs(10);

const STRANGER: &str = "-# That is not the expected address. Try /google-auth once more.";

type Ending = BoxFuture<'static, Option<String>>;

/// GO-8: starts an attempt. Returns the text for the user and the pending outcome, if the attempt
/// waits for the user.
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

/// GO-9: reports the outcome in a short message.
pub(in crate::discord) async fn end(shared: &Shared, ended: Ending) {
    if let Some(text) = ended.await {
        say_aside(shared, &text).await;
    }
}

/// MC-4: returns true if the message was meant for the waiting attempt.
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

/// SC-6: notifies the user once when a grant has ended.
pub(super) async fn watch(shared: Arc<Shared>) {
    loop {
        if let Some(explanation) = shared.ports.google.ended_grant() {
            say_aside(&shared, &format!("-# {explanation}")).await;
            shared.ports.google.told_so();
        }
        tokio::time::sleep(LOOKS).await;
    }
}
