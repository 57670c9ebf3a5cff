//! Google sign-in tests: by a local browser, by a pasted URL, and failures.

use accounts::google::{ConnectionState, GoogleFile, PasteOutcome, Service, SignInOutcome};
use accounts::mail::Mailbox;
use accounts::tasks::{TaskFilter, TaskList};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::Rig;

/// Requests a URL; returns the status line, the redirect target and the body.
async fn browse(address: &str) -> (String, Option<String>, String) {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, target) =
        rest.split_once('/').map_or((rest, String::new()), |(host, target)| (host, target.to_owned()));
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").expect("an answer");
    let location = head
        .lines()
        .find_map(|line| line.to_lowercase().starts_with("location: ").then(|| line[10..].to_owned()));
    (head.lines().next().unwrap().to_owned(), location, page.to_owned())
}

/// GO-7, GO-9, GO-10: the user consents in a local browser, which ends on a small page; the token
/// is stored.
#[tokio::test]
async fn local_browser_completes_the_sign_in() {
    let rig = Rig::disconnected().await;
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
    rig.files.put(GoogleFile::RevocationNotice, "");
    let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let url = sign_in.authorization_url();
    let (outcome, page) = tokio::join!(sign_in.finish(), async {
        let (_, location, _) = browse(&url).await;
        let location = location.expect("google sends the browser back");
        let wrong_state = location.replace("state=", "state=x");
        assert!(
            browse(&wrong_state).await.0.contains("404"),
            "an answer to another question changes nothing"
        );
        assert!(
            browse(&format!("{}/favicon.ico", &location[..location.find("/?").unwrap()]))
                .await
                .0
                .contains("404")
        );
        browse(&location).await
    });
    assert_eq!(outcome, Ok(SignInOutcome::Connected));
    assert!(page.0.contains("200") && page.2.contains("You can close this window."), "{page:?}");
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Connected));
    assert_eq!(rig.files.get(GoogleFile::RevocationNotice), None, "the mark of an earlier end is gone");
    rig.google.labels().await.unwrap();
}

/// GO-1, GO-7: only the scopes for tasks, events and reading mail are requested, with offline
/// access.
#[tokio::test]
async fn only_needed_scopes_are_requested() {
    let rig = Rig::disconnected().await;
    browse(&rig.google.begin_sign_in(&Service::ALL).await.unwrap().authorization_url()).await;
    let asked = rig.server.account().requests[0].clone();
    assert_eq!(
        asked.query_value("scope"),
        Some(
            "https://www.googleapis.com/auth/tasks https://www.googleapis.com/auth/calendar.events \
             https://www.googleapis.com/auth/gmail.readonly"
        )
    );
    assert_eq!(
        (asked.query_value("access_type"), asked.query_value("code_challenge_method")),
        (Some("offline"), Some("S256"))
    );
}

/// Grants what a sign-in for `services` asks for, except the boxes that are unticked.
async fn connect(rig: &Rig, services: &[Service]) -> Result<SignInOutcome, accounts::AccountError> {
    let sign_in = rig.google.begin_sign_in(services).await.unwrap();
    let location = browse(&sign_in.authorization_url()).await.1.unwrap();
    assert_eq!(sign_in.paste().offer(&location), PasteOutcome::Accepted);
    sign_in.finish().await
}

/// GO-1: only the scopes of the named services are requested; a service that is added later keeps the earlier ones.
#[tokio::test]
async fn scopes_are_requested_per_service() {
    let rig = Rig::disconnected().await;
    assert_eq!(connect(&rig, &[Service::Tasks]).await, Ok(SignInOutcome::Connected));
    let scope = |rig: &Rig| {
        let world = rig.server.account();
        let consents =
            world.requests.iter().rev().find_map(|request| request.query_value("scope").map(str::to_owned));
        consents.expect("a consent")
    };
    assert_eq!(scope(&rig), Service::Tasks.scope());
    assert_eq!(rig.google.granted_services(), Ok(vec![Service::Tasks]));
    rig.google.list(TaskFilter::Open).await.unwrap();

    let asked = rig.request_paths().len();
    let trouble = rig.google.labels().await.unwrap_err().to_string();
    assert_eq!(
        trouble,
        "Google is connected, but not for mail. Run `ollim-bot google connect mail` in a terminal, or /google-auth in \
         Discord, and tick its box."
    );
    assert_eq!(rig.request_paths().len(), asked, "Google is not asked for a service that was not granted");

    assert_eq!(connect(&rig, &[Service::Mail]).await, Ok(SignInOutcome::Connected));
    assert_eq!(scope(&rig), format!("{} {}", Service::Tasks.scope(), Service::Mail.scope()));
    assert_eq!(rig.google.granted_services(), Ok(vec![Service::Tasks, Service::Mail]));
    rig.google.labels().await.unwrap();
    assert_eq!(
        rig.google.description().unwrap(),
        "Google is connected for tasks and mail. Not granted: calendar. `ollim-bot google connect calendar` adds calendar."
    );
}

/// GO-1: the user may untick boxes; the others work. Without any box nothing is connected.
#[tokio::test]
async fn unticked_services_are_not_granted() {
    let rig = Rig::disconnected().await;
    rig.server.account().denied_scopes = vec![Service::Mail.scope()];
    assert_eq!(connect(&rig, &Service::ALL).await, Ok(SignInOutcome::Connected));
    assert_eq!(rig.google.granted_services(), Ok(vec![Service::Tasks, Service::Calendar]));
    rig.google.list(TaskFilter::Open).await.unwrap();
    rig.google.labels().await.unwrap_err();

    let rig = Rig::disconnected().await;
    rig.server.account().denied_scopes = Service::ALL.map(Service::scope).to_vec();
    let trouble = connect(&rig, &Service::ALL).await.unwrap_err().to_string();
    assert_eq!(
        trouble,
        "Google was not connected: no box was ticked. Connect once more and tick tasks, calendar and mail."
    );
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
}

/// GO-9: the redirect fails in a browser on another machine; its URL is pasted.
#[tokio::test]
async fn pasted_url_completes_the_sign_in() {
    let rig = Rig::disconnected().await;
    let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let (_, location, _) = browse(&sign_in.authorization_url()).await;
    let paste = sign_in.paste();
    assert_eq!(paste.offer("good morning"), PasteOutcome::NotARedirect);
    assert_eq!(paste.offer("http://127.0.0.1:1/?state=x&code=y"), PasteOutcome::OtherSignIn);
    assert_eq!(paste.offer(&format!(" {}\n", location.unwrap())), PasteOutcome::Accepted);
    assert_eq!(sign_in.finish().await, Ok(SignInOutcome::Connected));
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Connected));
}

/// GO-7: a code is useless without its PKCE verifier.
#[tokio::test]
async fn code_of_another_sign_in_is_refused() {
    let rig = Rig::disconnected().await;
    let mine = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let other = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let other_redirect = browse(&other.authorization_url()).await.1.unwrap();
    let code = other_redirect.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let own = browse(&mine.authorization_url()).await.1.unwrap();
    let own_code = own.split("code=").nth(1).unwrap().split('&').next().unwrap();
    assert_eq!(mine.paste().offer(&own.replace(own_code, code)), PasteOutcome::Accepted);
    let trouble = mine.finish().await.unwrap_err().to_string();
    assert_eq!(trouble, "Google does not know that code any more. Connect once more.");
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
}

/// GO-9: a denial is reported and changes nothing.
#[tokio::test]
async fn denial_changes_nothing() {
    let rig = Rig::disconnected().await;
    let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let location = browse(&sign_in.authorization_url()).await.1.unwrap();
    let denied = location.replace("code=", "error=access_denied&x=");
    assert_eq!(sign_in.paste().offer(&denied), PasteOutcome::Accepted);
    let trouble = sign_in.finish().await.unwrap_err().to_string();
    assert_eq!(
        trouble,
        "Google was not connected (access_denied). If you did not decline it yourself, your Google project is in status \
         Testing: add yourself as a test user, or publish the app (Google Auth Platform, Audience, \
         https://console.cloud.google.com/auth/audience). Nothing has changed."
    );
}

/// GO-9: other refusals are explained with their remedy.
#[tokio::test]
async fn refusals_are_explained() {
    let rig = Rig::disconnected().await;
    for (reason, expected) in [
        (
            "admin_policy_enforced",
            "the administrator of your Google account does not allow this app. Ask them",
        ),
        ("server_error", "Google was not connected (server_error)."),
    ] {
        let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
        let location = browse(&sign_in.authorization_url()).await.1.unwrap();
        let denied = location.replace("code=", &format!("error={reason}&x="));
        assert_eq!(sign_in.paste().offer(&denied), PasteOutcome::Accepted);
        let trouble = sign_in.finish().await.unwrap_err().to_string();
        assert!(trouble.contains(expected), "{trouble}");
    }
}

/// GO-9: a sign-in times out after five minutes.
#[tokio::test(start_paused = true)]
async fn sign_in_times_out_after_five_minutes() {
    let rig = Rig::disconnected().await;
    let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(sign_in.finish().await, Ok(SignInOutcome::TimedOut));
    assert_eq!(began.elapsed().as_secs(), 300);
}

/// GO-11: a dropped sign-in closes its port.
#[tokio::test]
async fn dropped_sign_in_closes_its_port() {
    let rig = Rig::disconnected().await;
    let sign_in = rig.google.begin_sign_in(&Service::ALL).await.unwrap();
    let location = browse(&sign_in.authorization_url()).await.1.unwrap();
    let host = location.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    drop(sign_in);
    assert!(TcpStream::connect(host).await.is_err());
}

/// GO-5: without a client a sign-in fails with setup instructions.
#[tokio::test]
async fn missing_client_is_explained_with_setup_instructions() {
    let rig = Rig::disconnected().await;
    rig.files.put(GoogleFile::Credentials, "");
    let trouble = rig.google.begin_sign_in(&Service::ALL).await.unwrap_err().to_string();
    assert!(trouble.starts_with("state/credentials.json: line "), "{trouble}");
    let empty = std::sync::Arc::new(crate::rig::MemoryFiles::default());
    let clock = std::sync::Arc::new(crate::rig::FixedClock);
    let addresses = accounts::google::Endpoints::fake_at(&rig.server.url()).unwrap();
    let google = accounts::google::Google::new(addresses, empty, clock).unwrap();
    assert_eq!(google.connection_state(), Ok(ConnectionState::NoClient));
    let trouble = google.begin_sign_in(&Service::ALL).await.unwrap_err().to_string();
    assert!(
        trouble.contains("5. Run `ollim-bot setup google --client-file FILE` with that file."),
        "{trouble}"
    );
    assert!(trouble.contains("It is kept at state/credentials.json."), "{trouble}");
    assert!(trouble.contains("Then open Audience and press Publish app."), "{trouble}");
    assert!(trouble.contains("in status Testing, access ends after 7 days"), "{trouble}");
}

#[tokio::test]
async fn disconnecting_revokes_the_token() {
    let rig = Rig::connected().await;
    rig.google.disconnect().await.unwrap();
    assert_eq!(rig.server.account().refresh_tokens, Vec::<String>::new());
    assert_eq!(rig.files.get(GoogleFile::Token), None);
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
    rig.store_token("2026-11-16T08:00:00Z");
    rig.fail("/revoke", 500, "");
    rig.google.disconnect().await.unwrap();
    assert_eq!(rig.files.get(GoogleFile::Token), None, "a google that fails does not keep us connected");
}
