//! A missing key affects only the model.

use std::os::unix::fs::PermissionsExt;

use testkit::kill::{free_port, stderr, stdout};

use crate::rig::{fresh, keep, run};
use crate::setup::{KEY, backstage, refused, set_up_model, state};

/// ENV-2: without its stored key only the model is unavailable. If the variable of this shell
/// requests the model, the start fails.
#[test]
fn a_key_that_is_gone_takes_nothing_but_the_model() {
    let backstage = backstage();
    let mut program = fresh();
    assert_eq!(set_up_model(&program, KEY, &backstage.url()).status.code(), Some(0));
    std::fs::remove_file(state(&program, "anthropic.key")).unwrap();
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
    program.set("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
    let running = program.start();
    let status = stdout(&run(&program, &["status"]));
    assert!(status.contains("\n  brain     offline\n"), "{status}");
    assert!(status.contains(&format!("\n  note      {key}")), "{status}");
    assert!(status.contains("i answer without a model: ollim-bot setup model"), "{status}");
    running.terminate();
    program.set("OLLIM_MODEL", "anthropic:sonnet");
    refused(&run(&program, &["run", "--no-chat"]), 78, key);
}

/// A missing key file that an earlier setup named has the same effect; one that others can read is
/// an error.
#[test]
fn a_key_file_that_was_named_once_and_is_gone_takes_nothing_but_the_model() {
    let program = fresh();
    keep(&program, "environment", "OLLIM_MODEL=anthropic:sonnet\nANTHROPIC_API_KEY_FILE=/nowhere/key\n");
    let said = run(&program, &["chat", "--once", "hello"]);
    assert!(said.status.success() && stderr(&said).contains("/nowhere/key: "), "{}", stderr(&said));
    keep(&program, "environment", "OLLIM_MODEL=anthropic:sonnet\n");
    let key = keep(&program, "anthropic.key", KEY);
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o644)).unwrap();
    refused(&run(&program, &["today"]), 78, "others can read this secret");
}
