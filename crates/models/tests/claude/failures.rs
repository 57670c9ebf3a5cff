//! What the human reads when the vendor refuses, through the real program.

use domain::failure::Failure;
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
    let claude = Claude::new(settings("no-such-claude".into(), &home, ""), Company::default()).unwrap();
    let mut talk = Talk::main();
    talk.human("hi");
    for failure in [talk.reply(&claude).await.1.unwrap_err(), claude.examine().await.unwrap_err()] {
        assert!(failure.to_string().contains("or set OLLIM_CLAUDE to its path"), "{failure}");
    }
}
