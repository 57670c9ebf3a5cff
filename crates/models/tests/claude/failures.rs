//! Failures that the user sees when the vendor refuses, through the real program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::failure::Failure;
use engine::ports::Model;
use models::claude::{BadSettings, Claude, Company, Patience};
use testkit::model_server::Act;

use crate::stage::{Rig, Talk, program, settings};

async fn failed(act: fn() -> Act) -> Failure {
    let rig = Rig::new().await;
    rig.server.answering(move |_| act());
    let mut talk = Talk::main();
    talk.human("hi");
    let failure = talk.reply(&rig.claude).await.1.unwrap_err();
    rig.server.answering(|_| Act::says("Back again."));
    assert_eq!(talk.say(&rig.claude, "and now?").await, "Back again.");
    rig.claude.close().await;
    failure
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_refused_key_an_overloaded_vendor_and_a_bad_request_are_three_things() {
    let failure = failed(|| Act::refuses(401, "authentication_error", "invalid x-api-key")).await;
    assert!(matches!(failure, Failure::BadKey(_)), "{failure:?}");
    let failure = failed(Act::overloaded).await;
    assert!(matches!(failure, Failure::Busy(None)), "{failure:?}");
    let failure = failed(|| Act::refuses(400, "invalid_request_error", "that is wrong")).await;
    assert!(matches!(&failure, Failure::Rejected(why) if why.contains("that is wrong")), "{failure:?}");
}

#[tokio::test]
async fn a_program_that_is_not_there_says_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("claude");
    let refused = Claude::new(settings(missing.clone(), &home, ""), Company::default()).err().unwrap();
    assert_eq!(refused, BadSettings::Program(missing.display().to_string()));
    assert!(refused.to_string().contains("npm install -g @anthropic-ai/claude-code"), "{refused}");
    let refused =
        Claude::new(settings("no-such-claude".into(), &home, ""), Company::default()).err().unwrap();
    assert_eq!(refused, BadSettings::Unfound("no-such-claude".to_owned()));
    assert!(refused.to_string().contains("or set OLLIM_CLAUDE to its path"), "{refused}");
}

/// The program was present at start-up and is removed later.
#[tokio::test]
async fn a_program_that_was_taken_away_says_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("claude");
    std::fs::write(&program, "").unwrap();
    let claude = Claude::new(settings(program.clone(), &home, ""), Company::default()).unwrap();
    std::fs::remove_file(program).unwrap();
    let mut talk = Talk::main();
    talk.human("hi");
    for failure in [talk.reply(&claude).await.1.unwrap_err(), claude.examine().await.unwrap_err()] {
        assert!(failure.to_string().contains("or set OLLIM_CLAUDE to its path"), "{failure}");
    }
}

/// An inspection by the doctor calls no model.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn the_program_tells_its_version_and_whether_it_is_logged_in() {
    let rig = Rig::new().await;
    let examined = rig.claude.examine().await.unwrap();
    assert!(examined.version.contains("Claude Code"), "{examined:?}");
    assert_eq!(examined.login.as_deref(), Some("api_key"));
    let stranger =
        Rig::with(|settings| settings.environment.set("ANTHROPIC_API_KEY", ""), Company::default());
    let stranger = stranger.await;
    let failure = stranger.claude.examine().await.unwrap_err().to_string();
    assert!(failure.contains("run `claude auth login` once, or set ANTHROPIC_API_KEY"), "{failure}");
    assert!(rig.server.requests().is_empty() && stranger.server.requests().is_empty());
}

/// Creates a program in `folder` that counts its starts in the file `starts` and then runs `rest`.
fn counting(folder: &Path, rest: &str) -> PathBuf {
    let program = folder.join("claude");
    let count = folder.join("starts").display().to_string();
    std::fs::write(&program, format!("#!/bin/sh\necho started >> {count}\n{rest}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn starts(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
}

fn hurried(start: Duration) -> Patience {
    let again = [Duration::from_millis(1); 2];
    let end = Duration::from_millis(50);
    Patience { start, again, end, ..Patience::default() }
}

/// BF-12: a program that is never ready is started three times, and then the failure is reported.
#[tokio::test]
async fn a_program_that_is_never_ready_is_started_three_times() {
    let home = tempfile::tempdir().unwrap();
    let program = counting(home.path(), "exec sleep 600");
    let mut settings = settings(program, &home, "");
    settings.patience = hurried(Duration::from_secs(3));
    let claude = Claude::new(settings, Company::default()).unwrap();
    let mut talk = Talk::main();
    talk.human("hi");
    let failure = talk.reply(&claude).await.1.unwrap_err();
    assert!(
        matches!(&failure, Failure::Unreachable(why) if why.contains("not ready after 3 s")),
        "{failure:?}"
    );
    assert_eq!(starts(home.path()), 3);
    let usual = Patience::default().again.map(|pause| pause.as_secs());
    assert_eq!(usual, [5, 15]);
}

/// BF-12: a program that is ready at the third start answers.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_program_that_is_ready_at_the_third_start_answers() {
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
            settings.program = counting(&folder, &late);
            settings.patience = hurried(Duration::from_secs(180));
        },
        Company::default(),
    )
    .await;
    rig.server.answering(|_| Act::says("Here."));
    assert_eq!(Talk::main().say(&rig.claude, "hi").await, "Here.");
    assert_eq!(starts(home.path()), 3);
    rig.claude.close().await;
}
