//! No secret appears in any message.

use accounts::calendar::Calendar;
use accounts::mail::Mailbox;
use accounts::tasks::{TaskFilter, TaskList};
use testkit::google::CLIENT_SECRET;

use crate::rig::{ACCESS, REFRESH, Rig};

/// J1: error responses that echo secrets do not put them into our messages.
#[tokio::test]
async fn messages_contain_no_secrets() {
    let rig = Rig::connected().await;
    let shapes = |secrets: &str| {
        [
            format!(r#"{{"error":{{"code":400,"message":"{secrets}"}}}}"#),
            format!(r#"{{"error":"bad","error_description":"{secrets}"}}"#),
            secrets.to_owned(),
        ]
    };
    let shapes_by_request = shapes(ACCESS).into_iter().zip(shapes(&format!("{REFRESH} {CLIENT_SECRET}")));
    let shapes_by_request: Vec<_> = shapes_by_request.collect();
    let mut messages = vec![format!("{:?}", rig.google)];
    for status in [200, 400, 401, 403, 404, 418, 429, 500] {
        for (shape, when_renewed) in &shapes_by_request {
            for path in ["/gmail", "/tasks", "/calendar"] {
                rig.fail(path, status, shape);
            }
            messages.push(format!("{:?}", rig.google.labels().await));
            messages.push(format!("{:?}", rig.google.list(TaskFilter::All).await));
            messages.push(format!("{:?}", rig.google.get("x").await));
            rig.store_token("2020-01-01T00:00:00Z");
            rig.fail("/token", status, when_renewed);
            messages.push(format!("{:?}", rig.google.labels().await));
            rig.server.account().faults.clear();
            rig.store_token("2026-11-16T08:00:00Z");
        }
    }
    let sign_in = rig.google.begin_sign_in(&accounts::google::Service::ALL).await.unwrap();
    messages.push(format!("{sign_in:?} {:?}", sign_in.paste()));
    rig.fail("/token", 400, &shapes_by_request[1].1);
    let url = sign_in.authorization_url();
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let port = url.split("127.0.0.1%3A").nth(1).unwrap().split('&').next().unwrap();
    sign_in.paste().offer(&format!("http://127.0.0.1:{port}/?state={state}&code={REFRESH}"));
    messages.push(format!("{:?}", sign_in.finish().await));
    for line in &messages {
        for secret in [ACCESS, REFRESH, CLIENT_SECRET, state] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}
