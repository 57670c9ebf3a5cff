//! Connecting Google in the direct messages.

use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use surfaces::account_connector::{AccountConnector, ConnectStart, OfferOutcome};
use testkit::fake_discord::Setup;
use tokio::sync::oneshot;

use crate::rig::{Rig, echo};

/// A fake account connector: accepts one pasted address, and returns what the test configured.
#[derive(Default)]
pub struct FakeGoogleAccount(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Option<oneshot::Sender<Option<String>>>,
    connected: ConnectionState,
    ended_grant: Option<String>,
    services: Vec<Option<String>>,
}

#[derive(Default, PartialEq)]
enum ConnectionState {
    #[default]
    No,
    Yes,
}

const SIGN_IN_ADDRESS: &str = "https://accounts.google.com/o/oauth2/v2/auth?state=s3cret";

impl AccountConnector for FakeGoogleAccount {
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, ConnectStart> {
        let mut state = self.0.lock().unwrap();
        state.services.push(service.map(str::to_owned));
        if state.connected == ConnectionState::Yes {
            return async { ConnectStart::Unavailable("google is connected already.".to_owned()) }.boxed();
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting = Some(sender);
        let ended = async { receiver.await.ok().flatten() }.boxed();
        async { ConnectStart::Waiting { address: SIGN_IN_ADDRESS.to_owned(), outcome: ended } }.boxed()
    }

    fn offer(&self, text: &str) -> OfferOutcome {
        let mut state = self.0.lock().unwrap();
        if state.waiting.is_none() || !text.starts_with("http://127.0.0.1:") {
            return OfferOutcome::Unrelated;
        }
        if !text.contains("state=s3cret") {
            return OfferOutcome::WrongAttempt;
        }
        if let Some(waits) = state.waiting.take() {
            state.connected = ConnectionState::Yes;
            let _ = waits.send(Some("google is connected.".to_owned()));
        }
        OfferOutcome::Accepted
    }

    fn ended_access_notice(&self) -> Option<String> {
        self.0.lock().unwrap().ended_grant.clone()
    }

    fn mark_notified(&self) {
        self.0.lock().unwrap().ended_grant = None;
    }
}

/// SL-15, GO-8, GO-9, MC-4: the address is ephemeral, the pasted one does not reach the
/// conversation, and a short message confirms the connection.
#[tokio::test(start_paused = true)]
async fn google_is_connected_with_a_pasted_address() {
    let rig = Rig::new(Setup::default(), echo).await;
    let begun = rig.command_reply("/google-auth", &[]).await;
    assert!(begun.is_ephemeral(), "{}", begun.content);
    for words in [SIGN_IN_ADDRESS, "paste its address here", "5 minutes"] {
        assert!(begun.content.contains(words), "{}", begun.content);
    }
    rig.user().send_text("http://127.0.0.1:4711/?state=other&code=x");
    rig.wait_for_message("not the expected address").await;
    rig.user().send_text("http://127.0.0.1:4711/?state=s3cret&code=4/canary");
    let done = rig.wait_for_message("google is connected.").await;
    assert!(!done.is_ephemeral());
    rig.exchange("hello", "you said: hello").await;
    let messages = rig.daemon.as_ref().unwrap().user_messages().await;
    assert_eq!(messages, ["hello"], "the address was for nobody else");
    assert!(
        rig.command_reply("/google-auth", &[("service", json!("mail"))])
            .await
            .content
            .contains("connected already")
    );
    assert_eq!(rig.google.0.lock().unwrap().services, [None, Some("mail".to_owned())]);
}

/// SC-6: an expired grant is reported once, with how to connect again.
#[tokio::test(start_paused = true)]
async fn expired_grant_is_reported_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    let explanation = "Google ended the access. Publish the app, then use /google-auth.";
    rig.google.0.lock().unwrap().ended_grant = Some(explanation.to_owned());
    rig.advance(60).await;
    let notices = rig.messages_with("Google ended the access.");
    assert_eq!(notices.len(), 1, "{}", rig.discord.transcript());
    assert!(notices[0].content.starts_with("-# ") && notices[0].content.contains("/google-auth"));
}
