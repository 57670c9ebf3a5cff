//! Connects the Google account from the DM: an ephemeral address, the address that the user pastes
//! back, and the result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Shared;
use super::delivery::send_notice;
use crate::account_connector::{ConnectStart, OfferOutcome};

/// Interval at which lost access is checked.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

const WRONG_ADDRESS: &str = "-# That is not the expected address. Try /google-auth once more.";

type Outcome = BoxFuture<'static, Option<String>>;

/// GO-8: starts an attempt. Returns the text for the user and the pending outcome, if the attempt
/// waits for the user.
pub(in crate::discord) async fn start(shared: &Shared, service: Option<&str>) -> (String, Option<Outcome>) {
    match shared.ports.google.begin(service).await {
        ConnectStart::Unavailable(text) => (text, None),
        ConnectStart::Waiting { address, outcome: ended } => {
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
pub(in crate::discord) async fn announce_outcome(shared: &Shared, outcome: Outcome) {
    if let Some(text) = outcome.await {
        send_notice(shared, &text).await;
    }
}

/// MC-4: returns true if the message was meant for the waiting attempt.
pub(super) async fn handle_pasted(shared: &Shared, text: &str) -> bool {
    match shared.ports.google.offer(text) {
        OfferOutcome::Accepted => true,
        OfferOutcome::WrongAttempt => {
            send_notice(shared, WRONG_ADDRESS).await;
            true
        }
        OfferOutcome::Unrelated => false,
    }
}

/// SC-6: notifies the user once when a grant has ended.
pub(super) async fn watch_access(shared: Arc<Shared>) {
    loop {
        if let Some(explanation) = shared.ports.google.ended_access_notice() {
            send_notice(&shared, &format!("-# {explanation}")).await;
            shared.ports.google.mark_notified();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
