//! What the human reads when the vendor refuses, through the real program.

use domain::failure::Failure;
use engine::ports::Model;
use models::claude::{BadSettings, Claude, Company};
use testkit::model_server::Act;

use crate::stage::{Rig, Talk, settings};

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

/// It was there when we started, and is gone now.
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

/// The doctor's question costs nothing: no model is asked.
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
