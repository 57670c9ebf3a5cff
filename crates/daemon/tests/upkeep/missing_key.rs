//! A missing key affects only the model.

use std::os::unix::fs::PermissionsExt;

use testkit::process::{free_port, stderr, stdout};

use crate::rig::{fresh_program, run, write_state_file};
use crate::setup::{KEY, assert_refused, set_up_model, start_model_server, state_file};

/// ENV-2: without its stored key only the model is unavailable. If the variable of this shell
/// requests the model, the start fails.
#[test]
fn missing_key_affects_only_the_model() {
    let model_server = start_model_server();
    let mut program = fresh_program();
    assert_eq!(set_up_model(&program, KEY, &model_server.url()).status.code(), Some(0));
    std::fs::remove_file(state_file(&program, "anthropic.key")).unwrap();
    for words in
        [&["add", "tea tomorrow at 10"][..], &["today"], &["week"], &["reminder", "list"], &["config"]]
    {
        let done = run(&program, words);
        assert_eq!(done.status.code(), Some(0), "{words:?}: {}", stderr(&done));
    }
    let doctor = stdout(&run(&program, &["doctor"]));
    let key = "OLLIM_MODEL asks for anthropic:sonnet, but ANTHROPIC_API_KEY is not set.";
    assert!(doctor.contains(&format!("✗ model    {key}")), "{doctor}");
    assert!(doctor.contains("\n    fix: ollim-bot setup model\n"), "{doctor}");
    program.set_env("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
    let running = program.start();
    let status = stdout(&run(&program, &["status"]));
    assert!(status.contains("\n  brain     offline\n"), "{status}");
    assert!(status.contains(&format!("\n  note      {key}")), "{status}");
    assert!(status.contains("i answer without a model: ollim-bot setup model"), "{status}");
    running.terminate();
    program.set_env("OLLIM_MODEL", "anthropic:sonnet");
    assert_refused(&run(&program, &["run", "--no-chat"]), 78, key);
}

/// A missing key file that an earlier setup named has the same effect; one that others can read is
/// an error.
#[test]
fn missing_key_file_affects_only_the_model() {
    let program = fresh_program();
    write_state_file(
        &program,
        "environment",
        "OLLIM_MODEL=anthropic:sonnet\nANTHROPIC_API_KEY_FILE=/nowhere/key\n",
    );
    let output = run(&program, &["chat", "--once", "hello"]);
    assert!(output.status.success() && stderr(&output).contains("/nowhere/key: "), "{}", stderr(&output));
    write_state_file(&program, "environment", "OLLIM_MODEL=anthropic:sonnet\n");
    let key = write_state_file(&program, "anthropic.key", KEY);
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o644)).unwrap();
    assert_refused(&run(&program, &["today"]), 78, "others can read this secret");
}
