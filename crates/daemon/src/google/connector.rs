//! Connecting Google from a surface elsewhere: one attempt at a time, which ends when it is done, too old, or another
//! one begins.

use std::sync::{Mutex, MutexGuard, PoisonError};

use accounts::Trouble;
use accounts::google::{Connection, Ended, Google, Paste, Pasted, SignIn};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use surfaces::connecting::{Begun, Connecting, Offered};
use tokio_util::sync::CancellationToken;

/// Who connects the account. Settings that cannot work are told when somebody asks.
pub struct Connector {
    google: Result<Google, Trouble>,
    pending: Mutex<Option<Pending>>,
}

/// Somebody is waited for.
struct Pending {
    paste: Paste,
    /// That is over, one way or another.
    over: CancellationToken,
}

impl Connector {
    /// Who connects `google`.
    pub fn new(google: Result<Google, Trouble>) -> Self {
        Self { google, pending: Mutex::new(None) }
    }

    async fn try_begin(&self) -> Result<Begun, Trouble> {
        let google = self.google.as_ref().map_err(Trouble::clone)?;
        match google.connection()? {
            Connection::Connected => {
                return Ok(Begun::Told(
                    "google is connected already. `ollim-bot google disconnect` ends that.".to_owned(),
                ));
            }
            Connection::NoClient => return Err(google.not_connected()),
            Connection::Apart => {}
        }
        let sign_in = google.begin().await?;
        let (address, over) = (sign_in.url(), CancellationToken::new());
        let pending = Pending { paste: sign_in.paste(), over: over.clone() };
        if let Some(earlier) = self.pending().replace(pending) {
            earlier.over.cancel();
        }
        Ok(Begun::Waiting { address, ended: ended(sign_in, over).boxed() })
    }

    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How it ends, in a few words.
async fn ended(sign_in: SignIn, over: CancellationToken) -> Option<String> {
    let replaced = over.clone();
    let _over = over.drop_guard();
    match replaced.run_until_cancelled(sign_in.wait()).await? {
        Ok(Ended::Connected) => Some("google is connected.".to_owned()),
        Ok(Ended::NobodyCame) => None,
        Err(trouble) => Some(trouble.to_string()),
    }
}

impl Connecting for Connector {
    fn begin(&self) -> BoxFuture<'_, Begun> {
        self.try_begin().map(|begun| begun.unwrap_or_else(|trouble| Begun::Told(trouble.to_string()))).boxed()
    }

    fn offer(&self, text: &str) -> Offered {
        let pending = self.pending();
        let Some(pending) = pending.as_ref().filter(|pending| !pending.over.is_cancelled()) else {
            return Offered::NotForUs;
        };
        match pending.paste.offer(text) {
            Pasted::Taken => Offered::Taken,
            Pasted::Stranger => Offered::Stranger,
            Pasted::NotForUs => Offered::NotForUs,
        }
    }

    fn is_taken_back(&self) -> bool {
        self.google.as_ref().is_ok_and(Google::is_taken_back)
    }

    fn told_so(&self) {
        if let Ok(google) = &self.google
            && let Err(trouble) = google.told_so()
        {
            tracing::warn!(%trouble, "The mark of a grant that ended stays.");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use accounts::google::{Addresses, File, Keep};
    use journal::Paths;
    use journal::disk::RealDisk;
    use testkit::clock::VirtualClock;
    use testkit::google::{CLIENT, CLIENT_SECRET, GoogleServer};

    use super::*;
    use crate::google::Files;

    fn connector(dir: &Path, server: &GoogleServer) -> (Connector, Arc<Files>) {
        let files = Arc::new(Files { paths: Paths::new(dir), disk: Arc::new(RealDisk) });
        let client =
            format!(r#"{{"installed":{{"client_id":"{CLIENT}","client_secret":"{CLIENT_SECRET}"}}}}"#);
        files.replace(File::Credentials, client.as_bytes()).unwrap();
        let clock = Arc::new(VirtualClock::new("2026-11-16T08:00[Europe/Madrid]".parse().unwrap()));
        let keep: Arc<dyn Keep> = files.clone();
        let google = Google::new(Addresses::played_at(&server.url()).unwrap(), keep, clock);
        (Connector::new(google), files)
    }

    async fn waiting(connector: &Connector) -> (String, BoxFuture<'static, Option<String>>) {
        match connector.begin().await {
            Begun::Waiting { address, ended } => (address, ended),
            Begun::Told(text) => panic!("{text}"),
        }
    }

    /// An address that a browser could be sent back to after it was at `address`, with this answer.
    fn back(address: &str, answer: &str) -> String {
        let part =
            |name: &str, end: char| address.split(name).nth(1).unwrap().split(end).next().unwrap().to_owned();
        format!("http://127.0.0.1:{}/?state={}&{answer}", part("127.0.0.1%3A", '&'), part("&state=", '&'))
    }

    /// GO-9, GO-11: a new attempt takes the place of the one before, and the first answer to it counts.
    #[tokio::test]
    async fn only_the_newest_attempt_is_waited_for() {
        let (dir, server) = (tempfile::tempdir().unwrap(), GoogleServer::start().await.unwrap());
        let (connector, _) = connector(dir.path(), &server);
        assert_eq!(connector.offer("http://127.0.0.1:1/?state=x&code=y"), Offered::NotForUs);
        let (first, first_ended) = waiting(&connector).await;
        let (second, second_ended) = waiting(&connector).await;
        assert_eq!(first_ended.await, None, "it ends without a word");
        assert_eq!(connector.offer(&back(&first, "error=x")), Offered::Stranger);
        assert_eq!(connector.offer("good morning"), Offered::NotForUs);
        assert_eq!(connector.offer(&back(&second, "error=access_denied")), Offered::Taken);
        let told = second_ended.await.unwrap();
        assert_eq!(told, "google was not connected: access_denied. nothing has changed.");
        assert_eq!(connector.offer(&back(&second, "error=x")), Offered::NotForUs, "nobody waits any more");
    }

    /// SC-6: the mark of a grant that ended is there until the human was told.
    #[tokio::test]
    async fn a_grant_that_ended_is_told_once() {
        let (dir, server) = (tempfile::tempdir().unwrap(), GoogleServer::start().await.unwrap());
        let (connector, files) = connector(dir.path(), &server);
        assert!(!connector.is_taken_back());
        files.replace(File::Revoked, b"").unwrap();
        assert!(connector.is_taken_back());
        connector.told_so();
        assert!(!connector.is_taken_back());
    }
}
