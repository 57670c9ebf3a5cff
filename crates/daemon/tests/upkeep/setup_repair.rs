//! Setup with broken earlier settings: it still works, and loses nothing.

use std::os::unix::fs::PermissionsExt;

use testkit::process::{stderr, stdout};

use crate::rig::{fresh_program, mode, run, write_state_file};
use crate::setup::{KEY, WRONG_KEY, assert_refused, set_up_model, start_model_server, state_file};

/// ENV-2: an unknown line of the environment file does not block the setup, and is preserved.
#[test]
fn unknown_line_does_not_block_the_setup() {
    let model_server = start_model_server();
    let program = fresh_program();
    let url = model_server.url();
    write_state_file(&program, "environment", &format!("ANTHROPIC_BASE_URL={url}\nOLLIM_NMAE=x\n"));
    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stderr(&done).contains("there is no setting called OLLIM_NMAE."), "{}", stderr(&done));
    let stored = std::fs::read_to_string(state_file(&program, "environment")).unwrap();
    assert!(
        stored.contains("OLLIM_NMAE=x\n") && stored.contains("OLLIM_MODEL=anthropic:sonnet\n"),
        "{stored}"
    );
    write_state_file(&program, "environment", &stored.replace("OLLIM_NMAE=x\n", ""));
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// ENV-2, J2: a key that others can read is refused, and both the doctor and the setup fix that.
#[test]
fn readable_key_is_fixed_by_doctor_and_setup() {
    let model_server = start_model_server();
    let program = fresh_program();
    let url = model_server.url();
    let key = write_state_file(&program, "anthropic.key", WRONG_KEY);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let lines = format!("OLLIM_MODEL=anthropic:sonnet\nANTHROPIC_BASE_URL={url}\n");
    write_state_file(&program, "environment", &lines);
    let doctor = stdout(&run(&program, &["doctor"]));
    let output = "make it yours alone: chmod 600\n    fix: ollim-bot doctor --fix\n";
    assert!(doctor.contains(output), "{doctor}");
    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(mode(&key), 0o600);
    let text = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
}

/// B3: stored settings that cannot be read are not treated as missing: nothing is changed, and the
/// error is reported.
#[test]
fn unreadable_settings_are_not_replaced() {
    let model_server = start_model_server();
    let program = fresh_program();
    let inside = write_state_file(&program, "thing", "mine");
    std::fs::create_dir(state_file(&program, "environment")).unwrap();
    std::fs::rename(inside, state_file(&program, "environment").join("thing")).unwrap();
    let output = "environment cannot be read: Is a directory (os error 21). nothing was changed.";
    assert_refused(&set_up_model(&program, KEY, &model_server.url()), 78, output);
    let you = run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    assert_refused(&you, 78, output);
    assert!(!state_file(&program, "anthropic.key").exists());
    let content = std::fs::read_to_string(state_file(&program, "environment").join("thing")).unwrap();
    assert_eq!(content, "mine");
    let doctor = stdout(&run(&program, &["doctor"]));
    let output =
        "it cannot be read: Is a directory (os error 21).\n    fix: make it a file that you can read\n";
    assert!(doctor.contains(output), "{doctor}");
}
