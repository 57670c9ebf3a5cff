//! Connects Google from another surface. There is one attempt at a time; it ends when it is
//! answered, expires, or is replaced by a newer one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use accounts::AccountError;
use accounts::google::{ConnectionState, Google, PasteInput, PasteOutcome, Service, SignIn, SignInOutcome};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use surfaces::account_connector::{AccountConnector, ConnectStart, OfferOutcome};
use tokio_util::sync::CancellationToken;

use crate::commands::accounts::google_sign_in::services_to_request;

/// Connects the account. Invalid settings are reported when a connection is requested.
pub struct Connector {
    google: Result<Google, AccountError>,
    /// The services that are requested when the user names none.
    usual: Vec<Service>,
    pending: Mutex<Option<PendingSignIn>>,
}

/// An attempt that waits for the browser.
struct PendingSignIn {
    paste: PasteInput,
    /// Cancelled when the attempt has ended.
    ended: CancellationToken,
}

impl Connector {
    /// Connects `google`; requests the services in `usual` when the user names none.
    pub fn new(google: Result<Google, AccountError>, usual: Vec<Service>) -> Self {
        Self { google, usual, pending: Mutex::new(None) }
    }

    async fn try_begin(&self, service: Option<&str>) -> Result<ConnectStart, AccountError> {
        let google = self.google.as_ref().map_err(AccountError::clone)?;
        let named: Vec<Service> = service.and_then(Service::from_name).into_iter().collect();
        let services = services_to_request(google, &named, &self.usual)?;
        let granted = google.granted_services()?;
        match google.connection_state()? {
            ConnectionState::Connected if services.iter().all(|service| granted.contains(service)) => {
                return Ok(ConnectStart::Unavailable(format!(
                    "{} Nothing to do; `ollim-bot google disconnect` ends it.",
                    google.description()?
                )));
            }
            ConnectionState::NoClient => return Err(google.not_connected()),
            ConnectionState::Connected | ConnectionState::Disconnected => {}
        }
        let sign_in = google.begin_sign_in(&services).await?;
        let address = sign_in.authorization_url();
        let over = CancellationToken::new();
        let pending = PendingSignIn { paste: sign_in.paste(), ended: over.clone() };
        if let Some(earlier) = self.pending().replace(pending) {
            earlier.ended.cancel();
        }
        Ok(ConnectStart::Waiting { address, outcome: wait_for_end(google.clone(), sign_in, over).boxed() })
    }

    fn pending(&self) -> MutexGuard<'_, Option<PendingSignIn>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of the attempt and returns its message; `None` if it expired or was replaced.
async fn wait_for_end(google: Google, sign_in: SignIn, over: CancellationToken) -> Option<String> {
    let replaced = over.clone();
    let _over = over.drop_guard();
    match replaced.run_until_cancelled(sign_in.finish()).await? {
        Ok(SignInOutcome::Connected) => {
            Some(google.description().unwrap_or_else(|trouble| trouble.to_string()))
        }
        Ok(SignInOutcome::TimedOut) => None,
        Err(trouble) => Some(trouble.to_string()),
    }
}

impl AccountConnector for Connector {
    fn begin<'a>(&'a self, service: Option<&'a str>) -> BoxFuture<'a, ConnectStart> {
        self.try_begin(service)
            .map(|begun| begun.unwrap_or_else(|trouble| ConnectStart::Unavailable(trouble.to_string())))
            .boxed()
    }

    fn offer(&self, text: &str) -> OfferOutcome {
        let pending = self.pending();
        let Some(pending) = pending.as_ref().filter(|pending| !pending.ended.is_cancelled()) else {
            return OfferOutcome::Unrelated;
        };
        match pending.paste.offer(text) {
            PasteOutcome::Accepted => OfferOutcome::Accepted,
            PasteOutcome::OtherSignIn => OfferOutcome::WrongAttempt,
            PasteOutcome::NotARedirect => OfferOutcome::Unrelated,
        }
    }

    fn ended_access_notice(&self) -> Option<String> {
        let google = self.google.as_ref().ok().filter(|google| google.has_revocation_notice())?;
        let connect = "Google access has ended. Connect it again with /google-auth.";
        Some(
            google
                .last_revocation()
                .map_or_else(|| connect.to_owned(), |withdrawal| withdrawal.explanation()),
        )
    }

    fn mark_notified(&self) {
        if let Ok(google) = &self.google
            && let Err(trouble) = google.dismiss_revocation_notice()
        {
            tracing::warn!(%trouble, "The mark of a grant that ended stays.");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use accounts::google::{Endpoints, GoogleFile, GoogleFileStore};
    use journal::Paths;
    use journal::disk::RealDisk;
    use testkit::clock::VirtualClock;
    use testkit::google::{CLIENT, CLIENT_SECRET, GoogleServer};

    use super::*;
    use crate::google::AccountFiles;

    fn connector(dir: &Path, server: &GoogleServer) -> (Connector, Arc<AccountFiles>) {
        let files = Arc::new(AccountFiles { paths: Paths::new(dir), disk: Arc::new(RealDisk) });
        let client =
            format!(r#"{{"installed":{{"client_id":"{CLIENT}","client_secret":"{CLIENT_SECRET}"}}}}"#);
        files.replace(GoogleFile::Credentials, client.as_bytes()).unwrap();
        let clock = Arc::new(VirtualClock::new("2026-11-16T08:00[Europe/Madrid]".parse().unwrap()));
        let keep: Arc<dyn GoogleFileStore> = files.clone();
        let google = Google::new(Endpoints::fake_at(&server.url()).unwrap(), keep, clock);
        (Connector::new(google, Service::ALL.to_vec()), files)
    }

    async fn begin_sign_in(connector: &Connector) -> (String, BoxFuture<'static, Option<String>>) {
        match connector.begin(None).await {
            ConnectStart::Waiting { address, outcome: ended } => (address, ended),
            ConnectStart::Unavailable(text) => panic!("{text}"),
        }
    }

    /// Returns the address to which a browser would be redirected from `address`, with this answer.
    fn redirect_address(address: &str, answer: &str) -> String {
        let part =
            |name: &str, end: char| address.split(name).nth(1).unwrap().split(end).next().unwrap().to_owned();
        format!("http://127.0.0.1:{}/?state={}&{answer}", part("127.0.0.1%3A", '&'), part("&state=", '&'))
    }

    /// GO-9, GO-11: A new attempt replaces the previous one, and only the first answer to it
    /// counts.
    #[tokio::test]
    async fn newest_attempt_replaces_the_previous_one() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, _) = connector(dir.path(), &server);
        assert_eq!(connector.offer("http://127.0.0.1:1/?state=x&code=y"), OfferOutcome::Unrelated);
        let (first, first_ended) = begin_sign_in(&connector).await;
        let (second, second_ended) = begin_sign_in(&connector).await;
        assert_eq!(first_ended.await, None, "it ends without a word");
        assert_eq!(connector.offer(&redirect_address(&first, "error=x")), OfferOutcome::WrongAttempt);
        assert_eq!(connector.offer("good morning"), OfferOutcome::Unrelated);
        assert_eq!(
            connector.offer(&redirect_address(&second, "error=access_denied")),
            OfferOutcome::Accepted
        );
        let told = second_ended.await.unwrap();
        assert!(told.starts_with("Google was not connected (access_denied)."), "{told}");
        assert!(told.contains("add yourself as a test user, or publish the app"), "{told}");
        assert_eq!(
            connector.offer(&redirect_address(&second, "error=x")),
            OfferOutcome::Unrelated,
            "nobody waits any more"
        );
    }

    /// SC-6: An ended grant is reported until the user has been notified.
    #[tokio::test]
    async fn ended_grant_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, files) = connector(dir.path(), &server);
        assert_eq!(connector.ended_access_notice(), None);
        files.replace(GoogleFile::RevocationNotice, b"").unwrap();
        files.replace(GoogleFile::Revocation, b"2026-11-16T07:00:00Z\ntesting\ntasks\n").unwrap();
        let told = connector.ended_access_notice().expect("an explanation");
        assert!(told.contains("press Publish app") && told.contains("/google-auth"), "{told}");
        connector.mark_notified();
        assert_eq!(connector.ended_access_notice(), None);
    }

    /// GO-1, GO-8: A named service is requested alone; without a name, the services of the ended
    /// grant are requested.
    #[tokio::test]
    async fn named_service_is_requested_alone() {
        let dir = tempfile::tempdir().unwrap();
        let server = GoogleServer::start().await.unwrap();
        let (connector, files) = connector(dir.path(), &server);
        let scopes = async |service: Option<&str>| match connector.begin(service).await {
            ConnectStart::Waiting { address, .. } => {
                let scope = address.split("&scope=").nth(1).unwrap().split('&').next().unwrap();
                scope
                    .split("%2Fauth%2F")
                    .skip(1)
                    .map(|scope| scope.split('+').next().unwrap().to_owned())
                    .collect()
            }
            ConnectStart::Unavailable(text) => vec![text],
        };
        assert_eq!(scopes(Some("tasks")).await, ["tasks"]);
        assert_eq!(scopes(None).await, ["tasks", "calendar.events", "gmail.readonly"]);
        files.replace(GoogleFile::Revocation, b"2026-11-16T07:00:00Z\nended\ncalendar\n").unwrap();
        assert_eq!(scopes(None).await, ["calendar.events"]);
        let token =
            br#"{"token":"t","refresh_token":"r","scopes":["https://www.googleapis.com/auth/tasks"]}"#;
        files.replace(GoogleFile::Token, token).unwrap();
        assert_eq!(scopes(Some("mail")).await, ["tasks", "gmail.readonly"]);
        let told = scopes(None).await;
        assert!(
            told[0].starts_with("Google is connected for tasks. Not granted: calendar, mail."),
            "{told:?}"
        );
    }
}
