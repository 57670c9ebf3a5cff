//! Setup with broken earlier settings: it still works, and loses nothing.

use std::os::unix::fs::PermissionsExt;

use testkit::kill::{stderr, stdout};

use crate::rig::{fresh, keep, mode, run};
use crate::setup::{KEY, WRONG, backstage, refused, set_up_model, state};

/// ENV-2: an unknown line of the environment file does not block the setup, and is preserved.
#[test]
fn a_bad_line_locks_nobody_out_of_the_setup() {
    let backstage = backstage();
    let program = fresh();
    let url = backstage.url();
    keep(&program, "environment", &format!("ANTHROPIC_BASE_URL={url}\nOLLIM_NMAE=x\n"));
    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stderr(&done).contains("there is no setting called OLLIM_NMAE."), "{}", stderr(&done));
    let kept = std::fs::read_to_string(state(&program, "environment")).unwrap();
    assert!(kept.contains("OLLIM_NMAE=x\n") && kept.contains("OLLIM_MODEL=anthropic:sonnet\n"), "{kept}");
    keep(&program, "environment", &kept.replace("OLLIM_NMAE=x\n", ""));
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
}

/// ENV-2, J2: a key that others can read is refused, and both the doctor and the setup fix that.
#[test]
fn a_key_that_others_can_read_locks_nobody_out_of_the_setup() {
    let backstage = backstage();
    let program = fresh();
    let url = backstage.url();
    let key = keep(&program, "anthropic.key", WRONG);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let lines = format!("OLLIM_MODEL=anthropic:sonnet\nANTHROPIC_BASE_URL={url}\n");
    keep(&program, "environment", &lines);
    let doctor = stdout(&run(&program, &["doctor"]));
    let told = "make it yours alone: chmod 600\n    fix: ollim-bot doctor --fix\n";
    assert!(doctor.contains(told), "{doctor}");
    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(mode(&key), 0o600);
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
}

/// B3: stored settings that cannot be read are not treated as missing: nothing is changed, and the
/// error is reported.
#[test]
fn what_cannot_be_read_stays_as_it_is() {
    let backstage = backstage();
    let program = fresh();
    let inside = keep(&program, "thing", "mine");
    std::fs::create_dir(state(&program, "environment")).unwrap();
    std::fs::rename(inside, state(&program, "environment").join("thing")).unwrap();
    let told = "environment cannot be read: Is a directory (os error 21). nothing was changed.";
    refused(&set_up_model(&program, KEY, &backstage.url()), 78, told);
    let you = run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    refused(&you, 78, told);
    assert!(!state(&program, "anthropic.key").exists());
    let stays = std::fs::read_to_string(state(&program, "environment").join("thing")).unwrap();
    assert_eq!(stays, "mine");
    let doctor = stdout(&run(&program, &["doctor"]));
    let told =
        "it cannot be read: Is a directory (os error 21).\n    fix: make it a file that you can read\n";
    assert!(doctor.contains(told), "{doctor}");
}
