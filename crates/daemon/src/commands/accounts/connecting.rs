//! Connecting the account at Google with the human before us.

use std::io::{self, IsTerminal};

use accounts::Trouble;
use accounts::google::{Connection, Ended, Google, Pasted, SignIn};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::voice::note;

/// Sees to it that the account is connected: asks the human, if one is before us.
pub async fn ready(google: &Google) -> Result<(), Trouble> {
    match google.connection()? {
        Connection::Connected => Ok(()),
        Connection::Apart if is_attended() => connect(google).await,
        Connection::Apart | Connection::NoClient => Err(google.not_connected()),
    }
}

/// Asks the human before us to connect it.
async fn connect(google: &Google) -> Result<(), Trouble> {
    let sign_in = google.begin().await?;
    note(&format!("to connect google, open this in a browser within five minutes:\n\n{}\n", sign_in.url()));
    note(
        "is the browser on another machine? then it ends at a page that does not load. paste its address here.",
    );
    match wait(sign_in).await? {
        Ended::Connected => Ok(()),
        Ended::NobodyCame => Err(Trouble::Unconnected(
            "nobody came within five minutes. run it again when you are ready.".to_owned(),
        )),
    }
}

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
                        "that is not the address i wait for. it begins with http://127.0.0.1: and has code= in it.",
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
