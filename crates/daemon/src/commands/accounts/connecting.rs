//! Connects the Google account with the help of the user at the terminal.

use std::io::{self, IsTerminal};

use accounts::Trouble;
use accounts::google::{Connection, Ended, Google, Pasted, Service, SignIn, not_granted, sentence};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::voice::note;

/// The outcome of making sure that services are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They were granted before.
    WasConnected,
    /// The user has just granted them.
    JustConnected,
}

/// Returns the services to request. Without names nothing is added to an account that is connected.
pub fn requested(google: &Google, named: &[Service], usual: &[Service]) -> Result<Vec<Service>, Trouble> {
    match google.connection()? {
        Connection::Connected => Ok(named.to_vec()),
        Connection::Apart | Connection::NoClient if named.is_empty() => Ok(google.services_to_request(usual)),
        Connection::Apart | Connection::NoClient => Ok(named.to_vec()),
    }
}

/// Makes sure that `services` are granted: asks the user at the terminal, if there is one.
pub async fn ready(google: &Google, services: &[Service]) -> Result<Readiness, Trouble> {
    let granted = google.granted()?;
    let missing = services.iter().find(|service| !granted.contains(service));
    match (google.connection()?, missing) {
        (Connection::Connected, None) => Ok(Readiness::WasConnected),
        (Connection::Connected | Connection::Apart, _) if is_attended() => connect(google, services).await,
        (Connection::Connected, Some(service)) => Err(not_granted(*service)),
        (Connection::Apart | Connection::NoClient, _) => Err(google.not_connected()),
    }
}

/// Asks the user at the terminal to grant `services`.
async fn connect(google: &Google, services: &[Service]) -> Result<Readiness, Trouble> {
    let sign_in = google.begin(services).await?;
    note(&format!(
        "To connect Google for {}, open this in a browser within five minutes:\n\n{}\n",
        sentence(sign_in.services()),
        sign_in.url()
    ));
    note(UNVERIFIED);
    if sign_in.services().len() > 1 {
        note(
            "You can untick services there, or request fewer: `ollim-bot google connect tasks` requests tasks alone.",
        );
    }
    note(
        "If the browser is on another machine, it ends at a page that does not load. Then paste its address here.",
    );
    match wait(sign_in).await? {
        Ended::Connected => Ok(Readiness::JustConnected),
        Ended::NobodyCame => Err(Trouble::Unconnected(
            "No answer came within five minutes. Run it again when you are ready.".to_owned(),
        )),
    }
}

/// What to do at the page that Google shows for apps which it has not verified.
const UNVERIFIED: &str = "Google says that it has not verified the app, because the app is your own. Press Advanced, \
                          then Go to the app.";

async fn wait(sign_in: SignIn) -> Result<Ended, Trouble> {
    let paste = sign_in.paste();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let pasting = async {
        while let Ok(Some(line)) = lines.next_line().await {
            match paste.offer(&line) {
                Pasted::Taken => break,
                Pasted::NotForUs if line.trim().is_empty() => {}
                Pasted::NotForUs | Pasted::Stranger => {
                    note(
                        "That is not the expected address. It begins with http://127.0.0.1: and has code= in it.",
                    );
                }
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        ended = sign_in.wait() => ended,
        never = pasting => never,
    }
}

fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
