//! Failures that the user sees when the vendor refuses, through the real program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::failure::Failure;
use engine::ports::Model;
use models::claude::{Callbacks, Claude, ProgramSettingsError, ProgramTimeouts};
use testkit::model_server::ScriptedReply;

use crate::support::{Conversation, Rig, program, settings};

async fn failure_for(act: fn() -> ScriptedReply) -> Failure {
    let rig = Rig::new().await;
    rig.server.answering(move |_| act());
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let failure = talk.reply(&rig.claude).await.1.unwrap_err();
    rig.server.answering(|_| ScriptedReply::text("Back again."));
    assert_eq!(talk.say(&rig.claude, "and now?").await, "Back again.");
    rig.claude.close().await;
    failure
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn refused_key_overload_and_bad_request_are_distinct_failures() {
    let failure =
        failure_for(|| ScriptedReply::refusal(401, "authentication_error", "invalid x-api-key")).await;
    assert!(matches!(failure, Failure::BadKey(_)), "{failure:?}");
    let failure = failure_for(ScriptedReply::overloaded).await;
    assert!(matches!(failure, Failure::Overloaded(None)), "{failure:?}");
    let failure = failure_for(|| ScriptedReply::refusal(400, "invalid_request_error", "that is wrong")).await;
    assert!(matches!(&failure, Failure::Rejected(why) if why.contains("that is wrong")), "{failure:?}");
}

#[tokio::test]
async fn missing_program_error_explains_installation() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("claude");
    let refused = Claude::new(settings(missing.clone(), &home, ""), Callbacks::default()).err().unwrap();
    assert_eq!(refused, ProgramSettingsError::MissingProgram(missing.display().to_string()));
    assert!(refused.to_string().contains("npm install -g @anthropic-ai/claude-code"), "{refused}");
    let refused =
        Claude::new(settings("no-such-claude".into(), &home, ""), Callbacks::default()).err().unwrap();
    assert_eq!(refused, ProgramSettingsError::NotOnPath("no-such-claude".to_owned()));
    assert!(refused.to_string().contains("or set OLLIM_CLAUDE to its path"), "{refused}");
}

/// The program was present at start-up and is removed later.
#[tokio::test]
async fn removed_program_error_explains_installation() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("claude");
    std::fs::write(&program, "").unwrap();
    let claude = Claude::new(settings(program.clone(), &home, ""), Callbacks::default()).unwrap();
    std::fs::remove_file(program).unwrap();
    let mut talk = Conversation::main();
    talk.add_user("hi");
    for failure in [talk.reply(&claude).await.1.unwrap_err(), claude.inspect().await.unwrap_err()] {
        assert!(failure.to_string().contains("or set OLLIM_CLAUDE to its path"), "{failure}");
    }
}

/// An inspection by the doctor calls no model.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn inspection_returns_version_and_login_state() {
    let rig = Rig::new().await;
    let examined = rig.claude.inspect().await.unwrap();
    assert!(examined.version.contains("Claude Code"), "{examined:?}");
    assert_eq!(examined.login.as_deref(), Some("api_key"));
    let stranger =
        Rig::with(|settings| settings.environment.set("ANTHROPIC_API_KEY", ""), Callbacks::default());
    let stranger = stranger.await;
    let failure = stranger.claude.inspect().await.unwrap_err().to_string();
    assert!(failure.contains("run `claude auth login` once, or set ANTHROPIC_API_KEY"), "{failure}");
    assert!(rig.server.requests().is_empty() && stranger.server.requests().is_empty());
}

/// Creates a program in `folder` that counts its starts in the file `starts` and then runs `rest`.
fn counting_program(folder: &Path, rest: &str) -> PathBuf {
    let program = folder.join("claude");
    let count = folder.join("starts").display().to_string();
    std::fs::write(&program, format!("#!/bin/sh\necho started >> {count}\n{rest}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn start_count(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
}

fn short_timeouts(start: Duration) -> ProgramTimeouts {
    let again = [Duration::from_millis(1); 2];
    let end = Duration::from_millis(50);
    ProgramTimeouts { start, restart_delays: again, end, ..ProgramTimeouts::default() }
}

/// BF-12: a program that is never ready is started three times, and then the failure is reported.
#[tokio::test]
async fn program_that_is_never_ready_is_started_three_times() {
    let home = tempfile::tempdir().unwrap();
    let program = counting_program(home.path(), "exec sleep 600");
    let mut settings = settings(program, &home, "");
    settings.timeouts = short_timeouts(Duration::from_secs(3));
    let claude = Claude::new(settings, Callbacks::default()).unwrap();
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let failure = talk.reply(&claude).await.1.unwrap_err();
    assert!(
        matches!(&failure, Failure::Unreachable(why) if why.contains("not ready after 3 s")),
        "{failure:?}"
    );
    assert_eq!(start_count(home.path()), 3);
    let usual = ProgramTimeouts::default().restart_delays.map(|pause| pause.as_secs());
    assert_eq!(usual, [5, 15]);
}

/// BF-12: a program that is ready at the third start answers.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn program_that_is_ready_at_the_third_start_answers() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_owned();
    let real = program().display().to_string();
    let refuses = r#"read -r line; id=$(printf %s "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
        printf '{"type":"control_response","response":{"subtype":"error","request_id":"%s","error":"Control request timeout: initialize"}}\n' "$id"
        read -r line"#;
    let late =
        format!("[ \"$(wc -l < {}/starts)\" -ge 3 ] && exec {real} \"$@\"\n{refuses}", folder.display());
    let rig = Rig::with(
        |settings| {
            settings.program = counting_program(&folder, &late);
            settings.timeouts = short_timeouts(Duration::from_secs(180));
        },
        Callbacks::default(),
    )
    .await;
    rig.server.answering(|_| ScriptedReply::text("Here."));
    assert_eq!(Conversation::main().say(&rig.claude, "hi").await, "Here.");
    assert_eq!(start_count(home.path()), 3);
    rig.claude.close().await;
}
