//! Rate limits: no request is sent too early, none is lost, and the order is kept.

use std::time::Duration;

use jiff::SignedDuration;
use surfaces::discord::Snowflake;
use surfaces::discord::message::OutgoingMessage;
use surfaces::discord::rest::{DiscordError as Failed, Rest};
use testkit::fake_discord::{
    ActivityLog, DiscordFault, LimitScope, Rate, Rates, RequestFault, RequestFilter, Setup,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::fixture::{Fixture, pass, seconds};

fn texts(rig: &Fixture) -> Vec<String> {
    rig.discord.visible().into_iter().map(|seen| seen.content).collect()
}

fn numbers(until: usize) -> Vec<String> {
    (0..until).map(|number| number.to_string()).collect()
}

/// Returns the maximum number of refusals within ten minutes, of any scope.
fn max_refusals(ledger: &ActivityLog) -> usize {
    let refused =
        |request: &&testkit::fake_discord::LoggedRequest| matches!(request.status, Some(401 | 403 | 429));
    let times: Vec<_> = ledger.requests.iter().filter(refused).map(|request| request.at).collect();
    let within =
        |from: &Duration| times.iter().filter(|at| (*from..*from + seconds(600)).contains(at)).count();
    times.iter().map(within).max().unwrap_or_default()
}

async fn send(rest: Rest, channel: Snowflake, words: String) -> Result<(), Failed> {
    rest.create_message(channel, &OutgoingMessage::text(words.clone()), Some(&words)).await.map(drop)
}

/// D3: a thousand messages are sent in order as fast as the limit allows, and none too early.
#[tokio::test(start_paused = true)]
async fn a_thousand_queued_messages_drain_in_order() {
    let rig = Fixture::new(Setup::default());
    let began = Instant::now();
    let mut sending = JoinSet::new();
    for words in numbers(1000) {
        sending.spawn(send(rig.rest.clone(), rig.channel(), words));
    }
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    assert_eq!(texts(&rig), numbers(1000));
    let ledger = rig.discord.log();
    assert_eq!(ledger.premature_requests, []);
    assert_eq!(max_refusals(&ledger), 0, "limits are learnt from the headers, not by running into them");
    assert!(began.elapsed() < seconds(1010), "{:?} for 1,000 messages at one a second", began.elapsed());
}

/// D3: a priority message waits only for the limit; the others keep their order.
#[tokio::test(start_paused = true)]
async fn a_priority_message_waits_only_for_the_limit() {
    let rig = Fixture::new(Setup::default());
    let mut sending = JoinSet::new();
    for words in numbers(100) {
        sending.spawn(send(rig.rest.clone(), rig.channel(), words));
    }
    pass(seconds(10)).await;
    let before = texts(&rig).len();
    let began = Instant::now();
    send(rig.rest.with_priority(), rig.channel(), "reminder".to_owned()).await.unwrap();
    assert!(began.elapsed() <= seconds(5), "{:?}", began.elapsed());
    let place = texts(&rig).iter().position(|text| text == "reminder").unwrap();
    assert_eq!(place, before, "nothing left before it");
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    let others: Vec<String> = texts(&rig).into_iter().filter(|text| text != "reminder").collect();
    assert_eq!(others, numbers(100));
    assert_eq!(rig.discord.log().premature_requests, []);
}

/// D3: half an hour of refusals of every scope, with clock changes, loses nothing.
#[tokio::test(start_paused = true)]
async fn half_an_hour_of_refusals_loses_nothing() {
    let rig = Fixture::new(Setup::default());
    let channel = rig.channel();
    let first = rig.rest.create_message(channel, &OutgoingMessage::text("0"), None).await.unwrap();
    let mut sending = JoinSet::new();
    let mut beside = JoinSet::new();
    for minute in 0..30 {
        rig.clock.shift_wall_clock(SignedDuration::from_hours(if minute % 2 == 0 { 1000 } else { -1001 }));
        rig.discord.clear_faults();
        for mishap in storm(minute) {
            rig.discord.inject_fault(DiscordFault::Request(RequestFilter::any().always(), mishap));
        }
        for part in 0..6 {
            sending.spawn(send(rig.rest.clone(), channel, (1 + minute * 6 + part).to_string()));
            let rest = rig.rest.clone();
            beside.spawn(async move {
                let _ = rest.typing(channel).await;
                let _ = rest.react(channel, first.id, "👀").await;
                let _ = rest.edit_message(channel, first.id, &OutgoingMessage::text("0")).await;
                let _ = rest.messages_after(channel, first.id, 5).await;
                let _ = rest.current_user().await;
            });
            pass(seconds(10)).await;
        }
    }
    rig.discord.clear_faults();
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    while beside.join_next().await.is_some() {}

    assert_eq!(texts(&rig), numbers(181), "all arrived, in order");
    let ledger = rig.discord.log();
    assert_eq!(ledger.premature_requests, []);
    let most = max_refusals(&ledger);
    assert!((20..100).contains(&most), "{most} refused within ten minutes");
}

/// Returns the failures of this minute.
fn storm(minute: usize) -> Vec<RequestFault> {
    let too_many =
        |scope, millis| RequestFault::RateLimited { scope, retry_after: Duration::from_millis(millis) };
    match minute % 5 {
        0 => vec![too_many(LimitScope::User, 300)],
        1 => vec![too_many(LimitScope::Shared, 1_000)],
        2 => vec![too_many(LimitScope::Global, 650)],
        3 => vec![RequestFault::ClaimRemaining(3)],
        _ => vec![too_many(LimitScope::Global, 20_000)],
    }
}

/// D3: a server that claims one remaining request and refuses it still gets everything in the end.
#[tokio::test(start_paused = true)]
async fn wrong_remaining_counts_lose_nothing() {
    let rig = Fixture::new(Setup::default());
    rig.discord
        .inject_fault(DiscordFault::Request(RequestFilter::send().always(), RequestFault::ClaimRemaining(1)));
    for words in numbers(30) {
        send(rig.rest.clone(), rig.channel(), words).await.unwrap();
    }
    assert_eq!(texts(&rig), numbers(30));
    assert_eq!(rig.discord.log().premature_requests, []);
}

/// D3: a delayed reaction delays nothing else, and a typing indicator that would be late is
/// dropped.
#[tokio::test(start_paused = true)]
async fn a_delayed_reaction_delays_no_message() {
    let rig = Fixture::new(Setup::default());
    let channel = rig.channel();
    let first = rig.rest.create_message(channel, &OutgoingMessage::text("0"), None).await.unwrap();
    let refusal = RequestFault::RateLimited { scope: LimitScope::User, retry_after: seconds(600) };
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::next("PUT", "/channels/*/messages/*/reactions"),
        refusal.clone(),
    ));
    rig.discord
        .inject_fault(DiscordFault::Request(RequestFilter::next("POST", "/channels/*/typing"), refusal));
    let began = Instant::now();
    let react = async { rig.rest.react(channel, first.id, "👀").await.unwrap() };
    let unreact = async {
        pass(seconds(1)).await;
        rig.rest.unreact(channel, first.id, "👀").await.unwrap();
    };
    let others = async {
        pass(seconds(1)).await;
        for words in ["1", "2", "3"] {
            send(rig.rest.clone(), channel, words.into()).await.unwrap();
        }
        assert!(matches!(rig.rest.typing(channel).await, Err(Failed::Unavailable(_))));
        assert!(began.elapsed() < seconds(10));
    };
    tokio::join!(react, unreact, others);
    assert!(began.elapsed() > seconds(590));
    assert!(rig.discord.visible()[0].reactions.is_empty(), "the mark that was taken away is away");
    assert_eq!(rig.discord.log().matching("POST", "/channels/*/typing").count(), 1);
}

/// D3: concurrent requests stay below the global limit.
#[tokio::test(start_paused = true)]
async fn concurrent_requests_stay_below_the_global_limit() {
    let others = Rate::new(1000, 1_000);
    let rig = Fixture::new(Setup { rates: Rates { others, ..Rates::default() }, ..Setup::default() });
    let strangers: Vec<_> = (0..200).map(|n| rig.discord.other_user(&n.to_string())).collect();
    let mut sending = JoinSet::new();
    for stranger in strangers {
        sending.spawn(send(rig.rest.clone(), Snowflake(stranger.channel().0), "hello".into()));
    }
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    assert_eq!(max_refusals(&rig.discord.log()), 0);
}

/// D3: a cancelled request releases its lane.
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_releases_its_lane() {
    let rig = Fixture::new(Setup::default());
    rig.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::Slow(seconds(50))));
    let slow = send(rig.rest.clone(), rig.channel(), "slow".into());
    assert!(tokio::time::timeout(seconds(1), slow).await.is_err());
    send(rig.rest.clone(), rig.channel(), "next".into()).await.unwrap();
    assert_eq!(texts(&rig), ["slow", "next"]);
}

/// Too many edits of an old message affect only that message.
#[tokio::test(start_paused = true)]
async fn too_many_edits_of_a_message_delay_no_other_message() {
    let rig = Fixture::new(Setup::default());
    let old = rig.rest.create_message(rig.channel(), &OutgoingMessage::text("old"), None).await.unwrap();
    rig.discord.inject_fault(DiscordFault::Request(RequestFilter::edit(), RequestFault::Code(30046)));
    let edit = rig.rest.edit_message(rig.channel(), old.id, &OutgoingMessage::text("new")).await;
    assert!(matches!(edit, Err(Failed::Rejected { code: 30046, .. })), "{edit:?}");
    let began = Instant::now();
    rig.rest.edit_message(rig.channel(), old.id, &OutgoingMessage::text("new")).await.unwrap();
    assert!(began.elapsed() < seconds(1));
}
