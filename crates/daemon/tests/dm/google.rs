//! Connecting Google in the direct messages.

use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use surfaces::connecting::{Begun, Connecting, Offered};
use testkit::discord::Setup;
use tokio::sync::oneshot;

use crate::rig::{Rig, echo};

/// A fake account connector: accepts one pasted address, and returns what the test configured.
#[derive(Default)]
pub struct Account(Mutex<State>);

#[derive(Default)]
struct State {
    waits: Option<oneshot::Sender<Option<String>>>,
    connected: Connected,
    ended_grant: Option<String>,
    services: Vec<Option<String>>,
}

#[derive(Default, PartialEq)]
enum Connected {
    #[default]
    No,
    Yes,
}

const ADDRESS: &str = "https://accounts.google.com/o/oauth2/v2/auth?state=s3cret";

impl Connecting for Account {
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, Begun> {
        let mut state = self.0.lock().unwrap();
        state.services.push(service.map(str::to_owned));
        if state.connected == Connected::Yes {
            return async { Begun::Told("google is connected already.".to_owned()) }.boxed();
        }
        let (sender, receiver) = oneshot::channel();
        state.waits = Some(sender);
        let ended = async { receiver.await.ok().flatten() }.boxed();
        async { Begun::Waiting { address: ADDRESS.to_owned(), ended } }.boxed()
    }

    fn offer(&self, text: &str) -> Offered {
        let mut state = self.0.lock().unwrap();
        if state.waits.is_none() || !text.starts_with("http://127.0.0.1:") {
            return Offered::NotForUs;
        }
        if !text.contains("state=s3cret") {
            return Offered::Stranger;
        }
        if let Some(waits) = state.waits.take() {
            state.connected = Connected::Yes;
            let _ = waits.send(Some("google is connected.".to_owned()));
        }
        Offered::Taken
    }

    fn ended_grant(&self) -> Option<String> {
        self.0.lock().unwrap().ended_grant.clone()
    }

    fn told_so(&self) {
        self.0.lock().unwrap().ended_grant = None;
    }
}

/// SL-15, GO-8, GO-9, MC-4: the address is ephemeral, the pasted one does not reach the
/// conversation, and a short message confirms the connection.
#[tokio::test(start_paused = true)]
async fn google_is_connected_by_a_pasted_address() {
    let rig = Rig::new(Setup::default(), echo).await;
    let begun = rig.told("/google-auth", &[]).await;
    assert!(begun.is_ephemeral(), "{}", begun.content);
    for words in [ADDRESS, "paste its address here", "5 minutes"] {
        assert!(begun.content.contains(words), "{}", begun.content);
    }
    rig.human().types("http://127.0.0.1:4711/?state=other&code=x");
    rig.sees("not the expected address").await;
    rig.human().types("http://127.0.0.1:4711/?state=s3cret&code=4/canary");
    let done = rig.sees("google is connected.").await;
    assert!(!done.is_ephemeral());
    rig.talk("hello", "you said: hello").await;
    let heard = rig.life.as_ref().unwrap().heard().await;
    assert_eq!(heard, ["hello"], "the address was for nobody else");
    assert!(
        rig.told("/google-auth", &[("service", json!("mail"))]).await.content.contains("connected already")
    );
    assert_eq!(rig.google.0.lock().unwrap().services, [None, Some("mail".to_owned())]);
}

/// SC-6: an expired grant is reported once, with how to connect again.
#[tokio::test(start_paused = true)]
async fn a_grant_that_was_taken_back_is_told_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    let explanation = "Google ended the access. Publish the app, then use /google-auth.";
    rig.google.0.lock().unwrap().ended_grant = Some(explanation.to_owned());
    rig.passes(60).await;
    let told = rig.all("Google ended the access.");
    assert_eq!(told.len(), 1, "{}", rig.discord.transcript());
    assert!(told[0].content.starts_with("-# ") && told[0].content.contains("/google-auth"));
}
