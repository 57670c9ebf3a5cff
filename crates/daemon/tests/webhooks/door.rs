//! The webhook endpoint of the real program: on and off, secrets, and duplicate calls.

use testkit::kill::Program;

use crate::rig::{BINARY, Rig};

const BEARER: (&str, &str) = ("authorization", "Bearer sesame");

/// WH-1, WH-4, WH-11: an accepted call is shown and stored; new files are picked up, and an invalid
/// one harms no other.
#[test]
fn a_call_is_taken_and_told_of() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.write("webhooks/broken.md", "---\nid: broken\n---\nDo.\n");
    let running = rig.program.start();
    assert_eq!(
        rig.call("bell", &[BEARER], r#"{"door": "front"}"#).unwrap(),
        (202, r#"{"status":"accepted"}"#.to_owned())
    );
    assert_eq!(
        rig.count("SELECT count(*) FROM occurrences WHERE source = 'webhook:bell' AND stage = 'done'"),
        1
    );
    assert_eq!(rig.ring("broken", "1", "{}"), Some(404));
    assert_eq!(rig.ring("later", "1", "{}"), Some(404));
    rig.write("webhooks/later.md", &crate::rig::BELL.replace("id: bell", "id: later"));
    assert_eq!(rig.ring("later", "1", r#"{"door": "garden"}"#), Some(202));
    let health = running.get("/api/health").unwrap();
    let surfaces = health["surfaces"].to_string();
    assert!(surfaces.contains(&format!("webhooks http://127.0.0.1:{}/hook/", rig.port)), "{surfaces}");
    let notices = health["notices"].to_string();
    assert!(notices.contains("webhooks/broken.md can't be used: `fields`: is missing"), "{notices}");
    let why = testkit::kill::stdout(&rig.program.run(&["why", "webhook:bell"]));
    assert!(why.contains("done") && !why.contains("silent"), "{why}");
    let later = testkit::kill::stdout(&rig.program.run(&["why", "webhook:later"]));
    assert!(later.contains("held as held:"), "{later}");
    let pings = testkit::kill::stdout(&rig.program.run(&["pings"]));
    let held = pings.split_whitespace().find(|word| word.starts_with("held:") && word.len() > 5).unwrap();
    let one = testkit::kill::stdout(&rig.program.run(&["why", held]));
    assert!(one.starts_with("webhook:") && !one.contains("never begun"), "{one}");
    assert!(running.terminate().0.success());
    assert_eq!(rig.ring("bell", "2", "{}"), None, "the door is shut");
}

/// ENV-3, WH-1, F1: without a secret webhooks are off, with a notice.
#[test]
fn without_a_secret_the_door_stays_shut_and_everything_else_goes_on() {
    let mut rig = Rig::new(Program::offline(BINARY));
    rig.program.set("WEBHOOK_SECRET", "");
    let running = rig.program.start();
    assert_eq!(rig.ring("bell", "1", r#"{"door": "front"}"#), None);
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("webhooks are off: there is no secret. set WEBHOOK_SECRET"), "{notices}");
    assert!(running.log().contains("webhooks are off: there is no secret"), "{}", running.log());
    let doctor = rig.program.run(&["doctor"]);
    assert!(testkit::kill::stdout(&doctor).contains("webhooks are off: there is no secret"));
    running.converse("hello").unwrap();

    rig.program.set("WEBHOOK_PORT", "many");
    let doctor = rig.program.run(&["doctor"]);
    assert!(testkit::kill::stdout(&doctor).contains("`many` is no port"));

    rig.program.set("WEBHOOK_PORT", "8787").set("WEBHOOK_SECRET", "sesame");
    rig.write("settings.toml", "[webhooks]\naddress_header = \"who calls\"\n");
    let doctor = rig.program.run(&["doctor"]);
    assert!(testkit::kill::stdout(&doctor).contains("`who calls` in settings.toml is no name of a header"));
}

/// F4: behind a proxy with a configured header, only the guessing address is blocked.
#[test]
fn behind_a_proxy_only_who_guesses_is_refused() {
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
fn a_secret_in_a_file_is_read_at_every_call() {
    let mut rig = Rig::new(Program::offline(BINARY));
    let file = rig.program.home().join("secret");
    rig.program.set("WEBHOOK_SECRET_FILE", file.to_str().unwrap());
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
fn a_replay_after_a_restart_does_nothing() {
    let rig = Rig::new(Program::offline(BINARY));
    let running = rig.program.start();
    assert_eq!(rig.ring("bell", "one", r#"{"door": "front"}"#), Some(202));
    running.kill();
    let _running = rig.program.start();
    let headers = [BEARER, ("idempotency-key", "one")];
    let (status, body) = rig.call("bell", &headers, r#"{ "door":"front" }"#).unwrap();
    assert_eq!((status, body.contains("\"repeat\":true")), (202, true), "{body}");
    assert_eq!(rig.count("SELECT count(*) FROM occurrences"), 1);
    assert_eq!(rig.ring("bell", "two", r#"{"door": "front"}"#), Some(202));
    assert_eq!(rig.count("SELECT count(*) FROM occurrences"), 2);
    // Any string is a valid idempotency key.
    for number in ["with a space", "n\u{fc}mero", &"9".repeat(2000)] {
        let before = rig.count("SELECT count(*) FROM occurrences");
        assert_eq!(rig.ring("bell", number, r#"{"door": "front"}"#), Some(202));
        assert_eq!(rig.ring("bell", number, r#"{"door": "front"}"#), Some(202));
        assert_eq!(rig.count("SELECT count(*) FROM occurrences"), before + 1, "{number}");
    }
}
