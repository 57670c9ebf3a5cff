//! Errors that retrying cannot fix: reported once, without retries.

use surfaces::discord::gateway::{Fatal, GatewayExit};
use testkit::fake_discord::{DiscordFault, GatewayFault, Setup};

use crate::fixture::{Fixture, pass, seconds};

/// D2: a fatal close code ends the gateway with a sentence that says what to do.
#[tokio::test(start_paused = true)]
async fn a_fatal_close_code_ends_the_gateway_with_a_clear_sentence() {
    for (code, fatal) in [
        (4004, Fatal::Token),
        (4010, Fatal::Shards),
        (4011, Fatal::Shards),
        (4012, Fatal::Version),
        (4013, Fatal::Intents),
        (4014, Fatal::DisallowedIntents),
    ] {
        let rig = Fixture::new(Setup::default());
        let mut process = rig.process(None, u64::from(code));
        process.event().await;
        rig.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Close(code)));
        assert_eq!(process.ended().await, GatewayExit::Fatal(fatal), "{code}");
        pass(seconds(3600)).await;
        assert_eq!(rig.discord.log().connects.len(), 1, "{code}");
        let sentence = fatal.to_string();
        assert!(sentence.contains(": ") && sentence.len() > 60, "{sentence}");
    }
}

/// D2: an invalid token is detected by one request, before connecting.
#[tokio::test(start_paused = true)]
async fn an_invalid_token_is_tried_once() {
    let rig = Fixture::new(Setup::default());
    rig.discord.inject_fault(DiscordFault::TokenRevoked);
    let mut process = rig.process(None, 1);
    assert_eq!(process.ended().await, GatewayExit::Fatal(Fatal::Token));
    pass(seconds(3600)).await;
    let ledger = rig.discord.log();
    assert_eq!((ledger.requests.len(), ledger.connects.len()), (1, 0));
}

/// D2: a token that is revoked at runtime ends the gateway.
#[tokio::test(start_paused = true)]
async fn a_revoked_token_ends_the_gateway() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 1);
    process.event().await;
    rig.discord.inject_fault(DiscordFault::TokenRevoked);
    assert_eq!(process.ended().await, GatewayExit::Fatal(Fatal::Token));
    assert_eq!(rig.discord.log().connects.len(), 1);
}
