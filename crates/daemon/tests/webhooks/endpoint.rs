//! The webhook endpoint of the real program: on and off, secrets, and duplicate calls.

use testkit::process::Program;

use crate::rig::{BINARY, Rig};

const AUTHORIZATION: (&str, &str) = ("authorization", "Bearer sesame");

/// WH-1, WH-4, WH-11: an accepted call is shown and stored; new files are picked up, and an invalid
/// one harms no other.
#[test]
fn accepted_call_is_shown_and_stored() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.write("webhooks/broken.md", "---\nid: broken\n---\nDo.\n");
    let running = rig.program.start();
    assert_eq!(
        rig.call("bell", &[AUTHORIZATION], r#"{"door": "front"}"#).unwrap(),
        (202, r#"{"status":"accepted"}"#.to_owned())
    );
    assert_eq!(
        rig.count("SELECT count(*) FROM occurrences WHERE source = 'webhook:bell' AND stage = 'done'"),
        1
    );
    assert_eq!(rig.deliver("broken", "1", "{}"), Some(404));
    assert_eq!(rig.deliver("later", "1", "{}"), Some(404));
    rig.write("webhooks/later.md", &crate::rig::VERBATIM_WEBHOOK.replace("id: bell", "id: later"));
    assert_eq!(rig.deliver("later", "1", r#"{"door": "garden"}"#), Some(202));
    let health = running.get("/api/health").unwrap();
    let surfaces = health["surfaces"].to_string();
    assert!(surfaces.contains(&format!("webhooks http://127.0.0.1:{}/hook/", rig.port)), "{surfaces}");
    let notices = health["notices"].to_string();
    assert!(notices.contains("webhooks/broken.md can't be used: `fields`: is missing"), "{notices}");
    let why = testkit::process::stdout(&rig.program.run(&["why", "webhook:bell"]));
    assert!(why.contains("done") && !why.contains("silent"), "{why}");
    let later = testkit::process::stdout(&rig.program.run(&["why", "webhook:later"]));
    assert!(later.contains("held as held:"), "{later}");
    let pings = testkit::process::stdout(&rig.program.run(&["pings"]));
    let deferred = pings.split_whitespace().find(|word| word.starts_with("held:") && word.len() > 5).unwrap();
    let explanation = testkit::process::stdout(&rig.program.run(&["why", deferred]));
    assert!(explanation.starts_with("webhook:") && !explanation.contains("never begun"), "{explanation}");
    assert!(running.terminate().0.success());
    assert_eq!(rig.deliver("bell", "2", "{}"), None, "the door is shut");
}

/// ENV-3, WH-1, F1: without a secret webhooks are off, with a notice.
#[test]
fn webhooks_are_off_without_a_secret() {
    let mut rig = Rig::new(Program::offline(BINARY));
    rig.program.set_env("WEBHOOK_SECRET", "");
    let running = rig.program.start();
    assert_eq!(rig.deliver("bell", "1", r#"{"door": "front"}"#), None);
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("webhooks are off: there is no secret. set WEBHOOK_SECRET"), "{notices}");
    assert!(running.log().contains("webhooks are off: there is no secret"), "{}", running.log());
    let doctor = rig.program.run(&["doctor"]);
    assert!(testkit::process::stdout(&doctor).contains("webhooks are off: there is no secret"));
    running.send_and_wait("hello").unwrap();

    rig.program.set_env("WEBHOOK_PORT", "many");
    let doctor = rig.program.run(&["doctor"]);
    assert!(testkit::process::stdout(&doctor).contains("`many` is no port"));

    rig.program.set_env("WEBHOOK_PORT", "8787").set_env("WEBHOOK_SECRET", "sesame");
    rig.write("settings.toml", "[webhooks]\naddress_header = \"who calls\"\n");
    let doctor = rig.program.run(&["doctor"]);
    assert!(
        testkit::process::stdout(&doctor).contains("`who calls` in settings.toml is no name of a header")
    );
}

/// F4: behind a proxy with a configured header, only the guessing address is blocked.
#[test]
fn only_the_guessing_address_is_blocked_behind_a_proxy() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.write("settings.toml", "[webhooks]\naddress_header = \"X-Forwarded-For\"\n");
    let _running = rig.program.start();
    let call = |secret: &str, from: &str| {
        let headers = [("authorization", secret), ("x-forwarded-for", from)];
        rig.call("bell", &headers, r#"{"door": "front"}"#).unwrap().0
    };
    let bad: Vec<u16> = (0..11).map(|_| call("Bearer guess", "192.0.2.7")).collect();
    assert_eq!((&bad[..10], bad[10]), ([401; 10].as_slice(), 429));
    assert_eq!((call("Bearer sesame", "192.0.2.7"), call("Bearer sesame", "192.0.2.8")), (429, 202));
}

/// J4: a secret file is read at each call; a missing one, or one that others can read, rejects all
/// calls.
#[test]
fn secret_file_is_read_at_every_call() {
    let mut rig = Rig::new(Program::offline(BINARY));
    let file = rig.program.home().join("secret");
    rig.program.set_env("WEBHOOK_SECRET_FILE", file.to_str().unwrap());
    rig.write("../secret", "first\n");
    let _running = rig.program.start();
    let call = |secret: &str| {
        let secret = format!("Bearer {secret}");
        rig.call("bell", &[("authorization", &secret)], r#"{"door": "front"}"#).unwrap().0
    };
    assert_eq!((call("first"), call("sesame")), (202, 401));
    rig.write("../secret", "second\n");
    assert_eq!((call("first"), call("second")), (401, 202));
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(call("second"), 401);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((call("second"), call("sesame")), (401, 401), "what was named and is gone lets nobody in");
    // A webhook can have its own secret.
    rig.write("state/webhook-secrets/bell", "own");
    assert_eq!((call("own"), call("second")), (202, 401));
}

/// F2: a call delivered before a restart is not accepted again afterwards.
#[test]
fn repeated_call_after_a_restart_does_nothing() {
    let rig = Rig::new(Program::offline(BINARY));
    let running = rig.program.start();
    assert_eq!(rig.deliver("bell", "one", r#"{"door": "front"}"#), Some(202));
    running.kill();
    let _running = rig.program.start();
    let headers = [AUTHORIZATION, ("idempotency-key", "one")];
    let (status, body) = rig.call("bell", &headers, r#"{ "door":"front" }"#).unwrap();
    assert_eq!((status, body.contains("\"repeat\":true")), (202, true), "{body}");
    assert_eq!(rig.count("SELECT count(*) FROM occurrences"), 1);
    assert_eq!(rig.deliver("bell", "two", r#"{"door": "front"}"#), Some(202));
    assert_eq!(rig.count("SELECT count(*) FROM occurrences"), 2);
    // Any string is a valid idempotency key.
    for number in ["with a space", "n\u{fc}mero", &"9".repeat(2000)] {
        let before = rig.count("SELECT count(*) FROM occurrences");
        assert_eq!(rig.deliver("bell", number, r#"{"door": "front"}"#), Some(202));
        assert_eq!(rig.deliver("bell", number, r#"{"door": "front"}"#), Some(202));
        assert_eq!(rig.count("SELECT count(*) FROM occurrences"), before + 1, "{number}");
    }
}
