//! Errors that retrying cannot fix: reported once, without retries.

use surfaces::discord::gateway::{Ended, Fatal};
use testkit::discord::{Setup, Trouble, Upset};

use crate::rig::{Rig, pass, seconds};

/// D2: a fatal close code ends the gateway with a sentence that says what to do.
#[tokio::test(start_paused = true)]
async fn a_fatal_code_ends_it_with_one_clear_sentence() {
    for (code, fatal) in [
        (4004, Fatal::Token),
        (4010, Fatal::Shards),
        (4011, Fatal::Shards),
        (4012, Fatal::Version),
        (4013, Fatal::Intents),
        (4014, Fatal::DisallowedIntents),
    ] {
        let rig = Rig::new(Setup::default());
        let mut process = rig.process(None, u64::from(code));
        process.event().await;
        rig.discord.trouble(Trouble::Gateway(Upset::Close(code)));
        assert_eq!(process.ended().await, Ended::Fatal(fatal), "{code}");
        pass(seconds(3600)).await;
        assert_eq!(rig.discord.ledger().connects.len(), 1, "{code}");
        let sentence = fatal.to_string();
        assert!(sentence.contains(": ") && sentence.len() > 60, "{sentence}");
    }
}

/// D2: an invalid token is detected by one request, before connecting.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_accepted_is_tried_once() {
    let rig = Rig::new(Setup::default());
    rig.discord.trouble(Trouble::Revoked);
    let mut process = rig.process(None, 1);
    assert_eq!(process.ended().await, Ended::Fatal(Fatal::Token));
    pass(seconds(3600)).await;
    let ledger = rig.discord.ledger();
    assert_eq!((ledger.requests.len(), ledger.connects.len()), (1, 0));
}

/// D2: a token that is revoked at runtime ends the gateway.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_taken_away_ends_it() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 1);
    process.event().await;
    rig.discord.trouble(Trouble::Revoked);
    assert_eq!(process.ended().await, Ended::Fatal(Fatal::Token));
    assert_eq!(rig.discord.ledger().connects.len(), 1);
}
