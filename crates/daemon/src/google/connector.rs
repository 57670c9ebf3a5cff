//! Connects Google from another surface. There is one attempt at a time; it ends when it is
//! answered, expires, or is replaced by a newer one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use accounts::Trouble;
use accounts::google::{Connection, Ended, Google, Paste, Pasted, Service, SignIn};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use surfaces::connecting::{Begun, Connecting, Offered};
use tokio_util::sync::CancellationToken;

use crate::commands::accounts::connecting::requested;

/// Connects the account. Invalid settings are reported when a connection is requested.
pub struct Connector {
    google: Result<Google, Trouble>,
    /// The services that are requested when the user names none.
    usual: Vec<Service>,
    pending: Mutex<Option<Pending>>,
}

/// An attempt that waits for the browser.
struct Pending {
    paste: Paste,
    /// Cancelled when the attempt has ended.
    over: CancellationToken,
}

impl Connector {
    /// Connects `google`; requests the services in `usual` when the user names none.
    pub fn new(google: Result<Google, Trouble>, usual: Vec<Service>) -> Self {
        Self { google, usual, pending: Mutex::new(None) }
    }

    async fn try_begin(&self, service: Option<&str>) -> Result<Begun, Trouble> {
        let google = self.google.as_ref().map_err(Trouble::clone)?;
        let named: Vec<Service> = service.and_then(Service::named).into_iter().collect();
        let services = requested(google, &named, &self.usual)?;
        let granted = google.granted()?;
        match google.connection()? {
            Connection::Connected if services.iter().all(|service| granted.contains(service)) => {
                return Ok(Begun::Told(format!(
                    "{} Nothing to do; `ollim-bot google disconnect` ends it.",
                    google.description()?
                )));
            }
            Connection::NoClient => return Err(google.not_connected()),
            Connection::Connected | Connection::Apart => {}
        }
        let sign_in = google.begin(&services).await?;
        let address = sign_in.url();
        let over = CancellationToken::new();
        let pending = Pending { paste: sign_in.paste(), over: over.clone() };
        if let Some(earlier) = self.pending().replace(pending) {
            earlier.over.cancel();
        }
        Ok(Begun::Waiting { address, ended: ended(google.clone(), sign_in, over).boxed() })
    }

    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of the attempt and returns its message; `None` if it expired or was replaced.
async fn ended(google: Google, sign_in: SignIn, over: CancellationToken) -> Option<String> {
    let replaced = over.clone();
    let _over = over.drop_guard();
    match replaced.run_until_cancelled(sign_in.wait()).await? {
        Ok(Ended::Connected) => Some(google.description().unwrap_or_else(|trouble| trouble.to_string())),
        Ok(Ended::NobodyCame) => None,
        Err(trouble) => Some(trouble.to_string()),
    }
}

impl Connecting for Connector {
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, Begun> {
        self.try_begin(service)
            .map(|begun| begun.unwrap_or_else(|trouble| Begun::Told(trouble.to_string())))
            .boxed()
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

    fn ended_grant(&self) -> Option<String> {
        let google = self.google.as_ref().ok().filter(|google| google.is_taken_back())?;
        let connect = "Google access has ended. Connect it again with /google-auth.";
        Some(google.withdrawn().map_or_else(|| connect.to_owned(), |withdrawal| withdrawal.explained()))
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
        (Connector::new(google, Service::ALL.to_vec()), files)
    }

    async fn waiting(connector: &Connector) -> (String, BoxFuture<'static, Option<String>>) {
        match connector.begin(None).await {
            Begun::Waiting { address, ended } => (address, ended),
            Begun::Told(text) => panic!("{text}"),
        }
    }

    /// Returns the address to which a browser would be redirected from `address`, with this answer.
    fn back(address: &str, answer: &str) -> String {
        let part =
            |name: &str, end: char| address.split(name).nth(1).unwrap().split(end).next().unwrap().to_owned();
        format!("http://127.0.0.1:{}/?state={}&{answer}", part("127.0.0.1%3A", '&'), part("&state=", '&'))
    }

    /// GO-9, GO-11: A new attempt replaces the previous one, and only the first answer to it
    /// counts.
    #[tokio::test]
    async fn only_the_newest_attempt_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, _) = connector(dir.path(), &server);
        assert_eq!(connector.offer("http://127.0.0.1:1/?state=x&code=y"), Offered::NotForUs);
        let (first, first_ended) = waiting(&connector).await;
        let (second, second_ended) = waiting(&connector).await;
        assert_eq!(first_ended.await, None, "it ends without a word");
        assert_eq!(connector.offer(&back(&first, "error=x")), Offered::Stranger);
        assert_eq!(connector.offer("good morning"), Offered::NotForUs);
        assert_eq!(connector.offer(&back(&second, "error=access_denied")), Offered::Taken);
        let told = second_ended.await.unwrap();
        assert!(told.starts_with("Google was not connected (access_denied)."), "{told}");
        assert!(told.contains("add yourself as a test user, or publish the app"), "{told}");
        assert_eq!(connector.offer(&back(&second, "error=x")), Offered::NotForUs, "nobody waits any more");
    }

    /// SC-6: An ended grant is reported until the user has been notified.
    #[tokio::test]
    async fn a_grant_that_ended_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, files) = connector(dir.path(), &server);
        assert_eq!(connector.ended_grant(), None);
        files.replace(File::Revoked, b"").unwrap();
        files.replace(File::Withdrawn, b"2026-11-16T07:00:00Z\ntesting\ntasks\n").unwrap();
        let told = connector.ended_grant().expect("an explanation");
        assert!(told.contains("press Publish app") && told.contains("/google-auth"), "{told}");
        connector.told_so();
        assert_eq!(connector.ended_grant(), None);
    }

    /// GO-1, GO-8: A named service is requested alone; without a name, the services of the ended
    /// grant are requested.
    #[tokio::test]
    async fn a_named_service_is_requested_alone() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, files) = connector(dir.path(), &server);
        let scopes = async |service: Option<&str>| match connector.begin(service).await {
            Begun::Waiting { address, .. } => {
                let scope = address.split("&scope=").nth(1).unwrap().split('&').next().unwrap();
                scope
                    .split("%2Fauth%2F")
                    .skip(1)
                    .map(|scope| scope.split('+').next().unwrap().to_owned())
                    .collect()
            }
            Begun::Told(text) => vec![text],
        };
        assert_eq!(scopes(Some("tasks")).await, ["tasks"]);
        assert_eq!(scopes(None).await, ["tasks", "calendar.events", "gmail.readonly"]);
        files.replace(File::Withdrawn, b"2026-11-16T07:00:00Z\nended\ncalendar\n").unwrap();
        assert_eq!(scopes(None).await, ["calendar.events"]);
        let token =
            br#"{"token":"t","refresh_token":"r","scopes":["https://www.googleapis.com/auth/tasks"]}"#;
        files.replace(File::Token, token).unwrap();
        assert_eq!(scopes(Some("mail")).await, ["tasks", "gmail.readonly"]);
        let told = scopes(None).await;
        assert!(
            told[0].starts_with("Google is connected for tasks. Not granted: calendar, mail."),
            "{told:?}"
        );
    }
}
