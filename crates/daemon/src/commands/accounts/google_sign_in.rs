//! Connects the Google account with the help of the user at the terminal.

use std::io::{self, IsTerminal};

use accounts::AccountError;
use accounts::google::{
    ConnectionState, Google, PasteOutcome, Service, SignIn, SignInOutcome, join_names, not_granted,
};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::printer::note;

/// The outcome of making sure that services are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They were granted before.
    WasConnected,
    /// The user has just granted them.
    JustConnected,
}

/// Returns the services to request. Without names nothing is added to an account that is connected.
pub fn services_to_request(
    google: &Google,
    named: &[Service],
    usual: &[Service],
) -> Result<Vec<Service>, AccountError> {
    match google.connection_state()? {
        ConnectionState::Connected => Ok(named.to_vec()),
        ConnectionState::Disconnected | ConnectionState::NoClient if named.is_empty() => {
            Ok(google.services_to_request(usual))
        }
        ConnectionState::Disconnected | ConnectionState::NoClient => Ok(named.to_vec()),
    }
}

/// Makes sure that `services` are granted: asks the user at the terminal, if there is one.
pub async fn ensure_granted(google: &Google, services: &[Service]) -> Result<Readiness, AccountError> {
    let granted = google.granted_services()?;
    let missing = services.iter().find(|service| !granted.contains(service));
    match (google.connection_state()?, missing) {
        (ConnectionState::Connected, None) => Ok(Readiness::WasConnected),
        (ConnectionState::Connected | ConnectionState::Disconnected, _) if is_interactive() => {
            connect(google, services).await
        }
        (ConnectionState::Connected, Some(service)) => Err(not_granted(*service)),
        (ConnectionState::Disconnected | ConnectionState::NoClient, _) => Err(google.not_connected()),
    }
}

/// Asks the user at the terminal to grant `services`.
async fn connect(google: &Google, services: &[Service]) -> Result<Readiness, AccountError> {
    let sign_in = google.begin_sign_in(services).await?;
    note(&format!(
        "To connect Google for {}, open this in a browser within five minutes:\n\n{}\n",
        join_names(sign_in.services()),
        sign_in.authorization_url()
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
        SignInOutcome::Connected => Ok(Readiness::JustConnected),
        SignInOutcome::TimedOut => Err(AccountError::NotConnected(
            "No answer came within five minutes. Run it again when you are ready.".to_owned(),
        )),
    }
}

/// What to do at the page that Google shows for apps which it has not verified.
const UNVERIFIED: &str = "Google says that it has not verified the app, because the app is your own. Press Advanced, \
                          then Go to the app.";

async fn wait(sign_in: SignIn) -> Result<SignInOutcome, AccountError> {
    let paste = sign_in.paste();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let pasting = async {
        while let Ok(Some(line)) = lines.next_line().await {
            match paste.offer(&line) {
                PasteOutcome::Accepted => break,
                PasteOutcome::NotARedirect if line.trim().is_empty() => {}
                PasteOutcome::NotARedirect | PasteOutcome::OtherSignIn => {
                    note(
                        "That is not the expected address. It begins with http://127.0.0.1: and has code= in it.",
                    );
                }
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        ended = sign_in.finish() => ended,
        never = pasting => never,
    }
}

fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
