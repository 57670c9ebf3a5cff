//! No secret appears in any message.

use accounts::calendar::Calendar;
use accounts::mail::Mailbox;
use accounts::tasks::{TaskList, Which};
use testkit::google::CLIENT_SECRET;

use crate::rig::{ACCESS, REFRESH, Rig};

/// J1: error responses that echo secrets do not put them into our messages.
#[tokio::test]
async fn no_secret_is_in_what_we_say() {
    let rig = Rig::connected().await;
    let shapes = |secrets: &str| {
        [
            format!(r#"{{"error":{{"code":400,"message":"{secrets}"}}}}"#),
            format!(r#"{{"error":"bad","error_description":"{secrets}"}}"#),
            secrets.to_owned(),
        ]
    };
    let told = shapes(ACCESS).into_iter().zip(shapes(&format!("{REFRESH} {CLIENT_SECRET}")));
    let told: Vec<_> = told.collect();
    let mut said = vec![format!("{:?}", rig.google)];
    for status in [200, 400, 401, 403, 404, 418, 429, 500] {
        for (shape, when_renewed) in &told {
            for path in ["/gmail", "/tasks", "/calendar"] {
                rig.fail(path, status, shape);
            }
            said.push(format!("{:?}", rig.google.labels().await));
            said.push(format!("{:?}", rig.google.list(Which::All).await));
            said.push(format!("{:?}", rig.google.show("x").await));
            rig.hold("2020-01-01T00:00:00Z");
            rig.fail("/token", status, when_renewed);
            said.push(format!("{:?}", rig.google.labels().await));
            rig.server.world().faults.clear();
            rig.hold("2026-11-16T08:00:00Z");
        }
    }
    let sign_in = rig.google.begin(&accounts::google::Service::ALL).await.unwrap();
    said.push(format!("{sign_in:?} {:?}", sign_in.paste()));
    rig.fail("/token", 400, &told[1].1);
    let url = sign_in.url();
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let port = url.split("127.0.0.1%3A").nth(1).unwrap().split('&').next().unwrap();
    sign_in.paste().offer(&format!("http://127.0.0.1:{port}/?state={state}&code={REFRESH}"));
    said.push(format!("{:?}", sign_in.wait().await));
    for line in &said {
        for secret in [ACCESS, REFRESH, CLIENT_SECRET, state] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}
