//! Token tests: valid ones are used, expired ones refreshed, revoked ones removed.

use accounts::AccountError;
use accounts::google::{ConnectionState, GoogleFile, Service};
use accounts::mail::Mailbox;

use crate::rig::{REFRESH, Rig};

#[tokio::test]
async fn valid_token_is_used() {
    let rig = Rig::connected().await;
    rig.google.labels().await.unwrap();
    assert_eq!(rig.request_paths(), ["GET /gmail/v1/users/me/labels"]);
}

/// GO-2, GO-3: an expired token is refreshed and stored; values that Google does not repeat stay.
#[tokio::test]
async fn expired_token_is_refreshed_and_stored() {
    let rig = Rig::connected().await;
    rig.store_token("2026-11-16T07:00:30.123456Z");
    rig.google.labels().await.unwrap();
    rig.google.labels().await.unwrap();
    let labels = "GET /gmail/v1/users/me/labels";
    assert_eq!(rig.request_paths(), ["POST /token", labels, labels]);
    let token = rig.files.token();
    assert_eq!(token["refresh_token"], REFRESH);
    assert_eq!(token["scopes"][0], "a");
    assert_eq!(token["expiry"], "2026-11-16T07:59:59Z");
    assert!(
        token["client_id"].is_string()
            && token["client_secret"].is_string()
            && token["token_uri"].is_string()
    );
}

/// GO-3: a rejected token is refreshed once, and the request is repeated.
#[tokio::test]
async fn rejected_token_is_refreshed_once() {
    let rig = Rig::connected().await;
    rig.server.account().access_tokens.clear();
    rig.google.labels().await.unwrap();
    let labels = "GET /gmail/v1/users/me/labels";
    assert_eq!(rig.request_paths(), [labels, "POST /token", labels]);

    rig.fail("labels", 401, "");
    rig.fail("labels", 401, "");
    let trouble = rig.google.labels().await.unwrap_err();
    assert_eq!(
        trouble.to_string(),
        "Google does not accept the token. Run `ollim-bot google disconnect`, then `ollim-bot google connect`."
    );
    assert!(rig.files.get(GoogleFile::Token).is_some());
}

/// GO-4: a revoked grant is removed, and a mark for the notification of the user is stored.
#[tokio::test]
async fn revoked_grant_is_removed_and_marked() {
    let rig = Rig::connected().await;
    rig.store_token("2026-11-16T06:00:00Z");
    rig.server.account().refresh_tokens.clear();
    let trouble = rig.google.labels().await.unwrap_err();
    assert!(matches!(trouble, AccountError::NotConnected(_)), "{trouble:?}");
    assert!(
        trouble.to_string().starts_with("Google access has ended: it was removed in your Google account"),
        "{trouble}"
    );
    assert!(trouble.to_string().contains("/google-auth"), "{trouble}");
    assert_eq!(rig.files.get(GoogleFile::Token), None);
    assert_eq!(rig.files.get(GoogleFile::RevocationNotice).as_deref(), Some(""));
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
    let trouble = rig.google.labels().await.unwrap_err().to_string();
    assert!(trouble.starts_with("Google is not connected."), "{trouble}");
    rig.google.dismiss_revocation_notice().unwrap();
    let when = rig.google.last_revocation().map(|withdrawal| withdrawal.at.to_string());
    assert_eq!(when.as_deref(), Some("2026-11-16T07:00:00Z"), "whoever looks later still knows");
    rig.google.disconnect().await.unwrap();
    assert_eq!(rig.google.last_revocation(), None, "whoever lets it be is not told again");
}

/// GO-4: a grant that ends within about a week after connecting is explained by the project's
/// status Testing, even after a refresh; a later end is not.
#[tokio::test]
async fn grant_ending_within_a_week_is_explained_by_testing_status() {
    let ended = async |connected_at: &str| {
        let rig = Rig::connected().await;
        let mut token = rig.files.token();
        token["connected_at"] = connected_at.into();
        token["expiry"] = "2026-11-16T06:00:00Z".into();
        token["scopes"] = serde_json::json!([Service::Mail.scope()]);
        rig.files.put(GoogleFile::Token, &token.to_string());
        rig.google.labels().await.unwrap();
        assert_eq!(rig.files.token()["connected_at"], connected_at, "a renewal keeps the time");
        rig.server.account().refresh_tokens.clear();
        rig.server.account().access_tokens.clear();
        let told = rig.google.labels().await.unwrap_err().to_string();
        let withdrawal = rig.google.last_revocation().expect("a mark");
        assert_eq!(withdrawal.explanation(), told);
        assert_eq!(withdrawal.services, [Service::Mail]);
        assert_eq!(rig.google.services_to_request(&Service::ALL), [Service::Mail]);
        (withdrawal.in_testing, told)
    };
    let (in_testing, told) = ended("2026-11-09T06:00:00Z").await;
    assert!(in_testing, "{told}");
    assert_eq!(
        told,
        "Google ended the access within 8 days after you connected it. Your Google project is probably in status Testing, \
         where access ends after 7 days. Publish it: open https://console.cloud.google.com/auth/audience (Google Auth \
         Platform, Audience) and press Publish app. Verification is not needed for your own use. Then run `ollim-bot google \
         connect` in a terminal, or /google-auth in Discord."
    );
    let (in_testing, told) = ended("2026-10-16T07:00:00Z").await;
    assert!(!in_testing && told.starts_with("Google access has ended:"), "{told}");
}

/// GO-1: a token that Google does not accept for a service is explained with the step that grants the service.
#[tokio::test]
async fn missing_scope_is_explained() {
    let rig = Rig::connected().await;
    let body = r#"{"error":{"code":403,"status":"PERMISSION_DENIED","errors":[{"reason":"insufficientPermissions"}]}}"#;
    rig.fail("labels", 403, body);
    let trouble = rig.google.labels().await.unwrap_err().to_string();
    assert!(trouble.contains("Run `ollim-bot google connect mail`"), "{trouble}");
}

/// GO-4: a temporary error does not remove the token.
#[tokio::test]
async fn temporary_error_keeps_the_token() {
    let check = async |status: u16, body: &str, expected: &str| {
        let rig = Rig::connected().await;
        rig.store_token("2026-11-16T06:00:00Z");
        rig.fail("/token", status, body);
        assert_eq!(rig.google.labels().await.unwrap_err().to_string(), expected);
        assert!(rig.files.get(GoogleFile::Token).is_some(), "{status}");
        assert_eq!(rig.files.get(GoogleFile::RevocationNotice), None, "{status}");
        rig.google.labels().await.unwrap();
    };
    let later = |status: u16| format!("google has trouble of its own ({status}). try again later.");
    check(500, r#"{"error":"internal_failure"}"#, &later(500)).await;
    check(503, "<html>busy</html>", &later(503)).await;
    check(429, "", "google says that we ask too often. try again in a few minutes.").await;
    check(200, "not a token", "google answered with something else than a token. try again.").await;
    let client = "Google does not know the client in state/credentials.json. Download the file once more (Google Auth \
                  Platform, Clients), then run `ollim-bot setup google --client-file FILE`.";
    check(401, r#"{"error":"invalid_client"}"#, client).await;
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let rig = Rig::connected().await;
    let Rig { server, google, files } = rig;
    drop(server);
    let trouble = google.labels().await.unwrap_err();
    assert!(trouble.to_string().starts_with("google cannot be reached: "), "{trouble}");
    assert!(files.get(GoogleFile::Token).is_some());
}

/// GO-6: the connection state is determined from the files alone.
#[tokio::test]
async fn connection_state_follows_from_the_files() {
    let rig = Rig::connected().await;
    rig.store_token("2020-01-01T00:00:00Z");
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Connected));
    rig.files.put(GoogleFile::Token, r#"{"token":"t","expiry":"2020-01-01T00:00:00Z"}"#);
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
    rig.files.put(GoogleFile::Token, r#"{"token":"t","expiry":"2026-12-01T00:00:00Z"}"#);
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Connected));
    rig.files.put(GoogleFile::Token, "{}");
    assert_eq!(rig.google.connection_state(), Ok(ConnectionState::Disconnected));
    assert_eq!(rig.request_paths(), Vec::<String>::new());
}

#[tokio::test]
async fn broken_file_is_reported_with_its_remedy() {
    let rig = Rig::connected().await;
    rig.files.put(GoogleFile::Token, "{\n\"token\": oops");
    let trouble = rig.google.labels().await.unwrap_err().to_string();
    assert_eq!(
        trouble,
        "state/token.json: line 2 is not JSON. Run `ollim-bot google disconnect`, then `ollim-bot google connect`."
    );
    rig.google.disconnect().await.unwrap();
    assert_eq!(rig.files.get(GoogleFile::Token), None, "the first step of the remedy works");
    rig.store_token("2020-01-01T00:00:00Z");
    rig.files.put(GoogleFile::Credentials, "{\"installed\":{}}");
    let trouble = rig.google.labels().await.unwrap_err().to_string();
    assert!(
        trouble.starts_with("state/credentials.json: there is no client_id and client_secret"),
        "{trouble}"
    );
}
