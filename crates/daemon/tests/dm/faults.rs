//! Faults: whatever happens to requests and connections, each text is visible exactly once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use surfaces::event_hub::HubMessage;
use testkit::fake_discord::{DiscordFault, RequestFault, RequestFilter, Setup};

use crate::rig::{Rig, ScriptedReply, echo};

/// A seeded number generator.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Returns a text with line breaks, code and various scripts.
fn random_text(numbers: &mut SeededNumbers, number: u64) -> String {
    let mut text = format!("answer {number}: ");
    let length = 40 + numbers.next(5_000) as usize;
    let mut fenced = false;
    while text.len() < length {
        match numbers.next(14) {
            0 => text.push_str("\n\n"),
            1 => text.push('\n'),
            2 if !fenced => {
                text.push_str("\n```rust\n");
                fenced = true;
            }
            3 if fenced => {
                text.push_str("\n```\n");
                fenced = false;
            }
            4 => text.push_str("שלום עולם "),
            5 => text.push_str("👩‍👩‍👧 "),
            n => text.push_str(&format!("word{n} ")),
        }
    }
    if fenced && numbers.next(3) > 0 {
        text.push_str("\n```");
    }
    text.trim_end().to_owned()
}

fn random_mishap(numbers: &mut SeededNumbers) -> RequestFault {
    match numbers.next(7) {
        0 => RequestFault::Status(500),
        1 => RequestFault::Status(502),
        2 => RequestFault::Status(503),
        3 => RequestFault::LostBefore,
        4 => RequestFault::LostAfter,
        5 => RequestFault::Slow(Duration::from_millis(500 + numbers.next(9_000))),
        _ => {
            let scope = testkit::fake_discord::LimitScope::User;
            RequestFault::RateLimited { scope, retry_after: Duration::from_millis(200 + numbers.next(5_000)) }
        }
    }
}

/// Describes the first difference of two texts.
fn first_difference(left: &str, right: &str) -> String {
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let rest = |text: &str| text.chars().skip(same).take(60).collect::<String>();
    format!("after {same} letters: `{}` instead of `{}`", rest(left), rest(right))
}

async fn stream_with_faults(schedules: u64, seed: u64) {
    let expected: Arc<Mutex<String>> = Arc::default();
    let speech: Arc<Mutex<ScriptedReply>> = Arc::default();
    let model_speech = Arc::clone(&speech);
    let rig = Rig::new(Setup::default(), move |_| model_speech.lock().unwrap().clone()).await;
    let mut numbers = SeededNumbers(seed);
    for number in 0..schedules {
        let text = random_text(&mut numbers, number);
        let pace = (1 + numbers.next(200) as usize, Duration::from_millis(20 + numbers.next(400)));
        *speech.lock().unwrap() = ScriptedReply::streamed(&text, pace);
        expected.lock().unwrap().clone_from(&text);
        for _ in 0..numbers.next(5) {
            let on = if numbers.next(2) == 0 { RequestFilter::send() } else { RequestFilter::edit() };
            let skip = numbers.next(6) as u32;
            let times = 1 + numbers.next(3) as u32;
            rig.discord.inject_fault(DiscordFault::Request(
                on.after(skip).times(times),
                random_mishap(&mut numbers),
            ));
        }
        let before = rig.discord.visible().len();
        rig.user().send_text(&format!("go on {number}"));
        rig.advance(30 + 6_000 / pace.0 as u64 * pace.1.as_millis() as u64 / 1_000).await;
        rig.discord.clear_faults();
        rig.advance(130).await;
        let seen = rig.discord.visible();
        let parts: Vec<String> = seen.iter().skip(before + 1).map(|seen| seen.content.clone()).collect();
        // Discord trims the whitespace of messages, and a split code block gets its own fences.
        let letters = |text: &str| {
            text.replace("```rust", "").replace("```", "").split_whitespace().collect::<String>()
        };
        let visible = letters(&parts.concat());
        let sent = letters(&text);
        let (_, whole) = parts.split_last().unwrap();
        assert!(whole.iter().all(|part| part.matches("```").count() % 2 == 0), "every fence is closed");
        assert!(
            visible == sent,
            "schedule {number} of seed {seed}: {} parts, {}",
            parts.len(),
            first_difference(&visible, &sent)
        );
        assert!(seen.iter().skip(before + 1).all(|seen| seen.flags & (1 << 12) == 0), "no status line stays");
    }
    assert!(rig.discord.log().premature_requests.is_empty());
}

/// D6: despite faults on sends and edits, the visible text is finally what the model answered.
#[tokio::test(start_paused = true)]
async fn visible_text_equals_the_answer() {
    stream_with_faults(100, 1).await;
}

/// D6: like the previous test, with a thousand fault schedules.
#[tokio::test(start_paused = true)]
#[ignore = "a thousand fault schedules take some minutes: cargo xtask test --long"]
async fn visible_text_equals_the_answer_a_thousand_times() {
    stream_with_faults(1_000, 2).await;
}

/// D4: a message whose response was lost appears once, also after a kill and a ten-minute outage.
#[tokio::test(start_paused = true)]
async fn message_with_a_lost_response_appears_once() {
    lose_responses(60).await;
}

/// D4: like the previous test, a thousand times.
#[tokio::test(start_paused = true)]
#[ignore = "a thousand lost receipts take a minute: cargo xtask test --long"]
async fn message_with_a_lost_response_appears_once_a_thousand_times() {
    lose_responses(1_000).await;
}

async fn lose_responses(rounds: u64) {
    let mut rig = Rig::new(Setup::default(), echo).await;
    for round in 0..rounds {
        rig.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter));
        let words = format!("round {round}.");
        rig.user().send_text(&words);
        if round % 3 == 1 {
            // Discord accepted it and is down for ten minutes, and the program is killed meanwhile.
            rig.wait_for_message(&words).await;
            rig.discord
                .inject_fault(DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(600) });
            rig.kill().await;
            rig.advance(300).await;
            rig.start().await;
            rig.advance(400).await;
        }
        if round % 3 == 2 {
            rig.kill().await;
            rig.start().await;
        }
        rig.advance(60).await;
        assert_eq!(rig.messages_with(&words).len(), 1, "{round}:\n{}", rig.discord.transcript());
    }
}

/// P3, worst case: the response is lost, Discord has forgotten the nonce, and the history cannot be
/// read. Then the text is sent again, marked as a possible repeat.
#[tokio::test(start_paused = true)]
async fn unverifiable_message_is_repeated_and_marked() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter));
    rig.user().send_text("water the plants.");
    rig.wait_for_message("you said: water the plants.").await;
    rig.discord.inject_fault(DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(400) });
    rig.kill().await;
    rig.advance(300).await;
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::next("GET", "/channels/*/messages").always(),
        RequestFault::Code(50001),
    ));
    rig.start().await;
    rig.advance(3_600).await;
    let sent = rig.messages_with("you said: water the plants.");
    let repeats: Vec<bool> = sent.iter().map(|seen| seen.content.ends_with("-# may be a repeat")).collect();
    assert_eq!(repeats, [false, true], "{}", rig.discord.transcript());
}

/// D5: messages sent while the program was down are processed once, in order.
#[tokio::test(start_paused = true)]
async fn messages_during_downtime_are_processed_once_in_order() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    rig.kill().await;
    for n in 0..500 {
        rig.user().send_text(&format!("note {n}."));
        rig.advance(30).await;
    }
    rig.advance(3_600).await;
    rig.start().await;
    rig.wait_for_message("you said: note 499.").await;
    rig.advance(120).await;
    let messages: Vec<String> = rig.daemon.as_ref().unwrap().user_messages().await;
    let expected: Vec<String> =
        std::iter::once("hello".to_owned()).chain((0..500).map(|n| format!("note {n}."))).collect();
    assert_eq!(messages, expected);
}

/// D5: a random access error (50001) on the history loses no messages.
#[tokio::test(start_paused = true)]
async fn messages_during_downtime_survive_an_access_error() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    rig.kill().await;
    rig.user().send_text("a note.");
    rig.advance(3_600).await;
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::next("GET", "/channels/*/messages"),
        RequestFault::Code(50001),
    ));
    rig.start().await;
    rig.advance(120).await;
    assert_eq!(rig.daemon.as_ref().unwrap().user_messages().await, ["hello", "a note."]);
}

/// D8: after six hours without Discord, the queued posts arrive in order and are marked as late.
#[tokio::test(start_paused = true)]
async fn posts_arrive_in_order_after_six_hours_without_discord() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("drink") {
            ScriptedReply::text("⏰ drink water")
        } else {
            ScriptedReply::text("fine.")
        }
    })
    .await;
    rig.exchange("hello", "fine.").await;
    rig.discord
        .inject_fault(DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(6 * 3_600) });
    for hour in 10..15 {
        let text = format!(
            "---\nid: water{hour}\nrun-at: 2026-11-16T{hour}:00:00+01:00\n---\ndrink water at {hour}\n"
        );
        rig.write_job_file(&format!("reminders/water{hour}.md"), &text).await;
    }
    rig.advance(6 * 3_600 + 600).await;
    let late = rig.messages_with("drink water");
    assert_eq!(late.len(), 5, "{}", rig.discord.transcript());
    assert!(late.iter().all(|seen| seen.content.contains("-# from ")), "{}", rig.discord.transcript());
    let hours: Vec<&str> =
        late.iter().filter_map(|seen| seen.content.split("Mon ").nth(1)?.split(':').next()).collect();
    assert_eq!(hours, ["10", "11", "12", "13", "14"]);
}

/// SU-8: a reminder due before the direct messages are open is sent once after they are.
#[tokio::test(start_paused = true)]
async fn reminder_due_before_the_connection_is_sent_afterwards() {
    let down = DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(1_800) };
    let mut rig =
        Rig::with_fault(Setup::default(), |_: &str| ScriptedReply::text("⏰ drink water"), down).await;
    let text = "---\nid: water\nrun-at: 2026-11-16T08:59:00+01:00\n---\ndrink water\n";
    rig.write_job_file("reminders/water.md", text).await;
    rig.advance(600).await;
    assert_eq!(rig.messages_with("drink water").len(), 0, "{}", rig.discord.transcript());
    rig.advance(3_600).await;
    assert_eq!(rig.messages_with("drink water").len(), 1, "{}", rig.discord.transcript());
}

/// D2: a random access error (50001) on a send loses nothing: the DM is reopened, and the post is
/// sent once.
#[tokio::test(start_paused = true)]
async fn post_is_sent_after_the_dm_is_reopened() {
    let mut rig = Rig::new(Setup::default(), |_: &str| ScriptedReply::text("⏰ drink water")).await;
    rig.discord.inject_fault(DiscordFault::NoAccess);
    let text = "---\nid: water\nrun-at: 2026-11-16T09:30:00+01:00\n---\ndrink water\n";
    rig.write_job_file("reminders/water.md", text).await;
    rig.advance(40 * 60).await;
    assert_eq!(rig.messages_with("drink water").len(), 1, "{}", rig.discord.transcript());
}

/// D2: after ten minutes of access errors a post is given up, the user is shown the remedy, and
/// later posts are sent.
#[tokio::test(start_paused = true)]
async fn post_without_access_is_given_up_after_ten_minutes() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("tea") {
            ScriptedReply::text("⏰ make tea")
        } else {
            ScriptedReply::text("⏰ drink water")
        }
    })
    .await;
    let mut watcher = rig.daemon.as_ref().unwrap().hub.subscribe();
    watcher.snapshot();
    let mut refused = || {
        let mut count = 0;
        while let Some(HubMessage::Event(cue)) = watcher.try_next() {
            if let domain::assistant::Update::Notice(text) = &cue.update {
                count +=
                    usize::from(text.contains("Remove the application from your account and add it again"));
            }
        }
        count
    };
    rig.discord
        .inject_fault(DiscordFault::Request(RequestFilter::send().always(), RequestFault::Code(50001)));
    for (id, at) in [("water", "09:30"), ("tea", "10:30")] {
        let text = format!("---\nid: {id}\nrun-at: 2026-11-16T{at}:00+01:00\n---\n{id}\n");
        rig.write_job_file(&format!("reminders/{id}.md"), &text).await;
    }
    rig.advance(38 * 60).await;
    assert_eq!(refused(), 0, "it is tried for ten minutes");
    rig.advance(10 * 60).await;
    assert_eq!(refused(), 1);
    rig.discord.clear_faults();
    rig.advance(60 * 60).await;
    assert_eq!(rig.messages_with("drink water").len(), 0, "{}", rig.discord.transcript());
    assert_eq!(rig.messages_with("make tea").len(), 1, "{}", rig.discord.transcript());
}

/// D2, BF-23: a user whose DMs are closed is notified on the page, the undelivered ping is
/// refunded, and the daemon continues.
#[tokio::test(start_paused = true)]
async fn closed_dms_are_reported_on_the_page() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("[routine-bg:mail]") {
            ScriptedReply::calls("ping_user", r#"{"message":"the landlord wrote."}"#)
        } else {
            ScriptedReply::calls("report_updates", r#"{"message":"the landlord wrote."}"#)
        }
    })
    .await;
    let mut watcher = rig.daemon.as_ref().unwrap().hub.subscribe();
    watcher.snapshot();
    rig.discord
        .inject_fault(DiscordFault::Request(RequestFilter::send().always(), RequestFault::Code(50007)));
    let mail = "---\nid: mail\ncron: 30 9 * * *\nbackground: true\n---\nlook at the mail\n";
    rig.write_job_file("routines/mail.md", mail).await;
    rig.advance(40 * 60).await;
    let mut notices = Vec::new();
    while let Some(HubMessage::Event(cue)) = watcher.try_next() {
        if let domain::assistant::Update::Notice(text) = &cue.update {
            notices.push(text.clone());
        }
    }
    let refused: Vec<&String> =
        notices.iter().filter(|text| text.contains("not allowed to write to you")).collect();
    assert_eq!(refused.len(), 1, "{notices:?}");
    let left = std::fs::read_to_string(rig.dir.path().join("state/ping_budget.json")).unwrap();
    let left: serde_json::Value = serde_json::from_str(&left).unwrap();
    assert_eq!(
        (&left["available"], &left["daily_used"]),
        (&serde_json::json!(5.0), &serde_json::json!(0)),
        "{left}"
    );
}

/// D2: a revoked token is reported once, and everything else works.
#[tokio::test(start_paused = true)]
async fn revoked_token_is_reported_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    let mut watcher = rig.daemon.as_ref().unwrap().hub.subscribe();
    watcher.snapshot();
    rig.discord.inject_fault(DiscordFault::TokenRevoked);
    rig.discord.inject_fault(DiscordFault::Gateway(testkit::fake_discord::GatewayFault::Drop));
    rig.advance(3_600).await;
    let mut notices = Vec::new();
    while let Some(HubMessage::Event(cue)) = watcher.try_next() {
        if let domain::assistant::Update::Notice(text) = &cue.update {
            notices.push(text.clone());
        }
    }
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("token"), "{notices:?}");
    assert!(rig.discord.invalid_request_count() < 10);
}

/// D5: temporary errors when fetching the history lose no messages, even if new ones arrive
/// meanwhile.
#[tokio::test(start_paused = true)]
async fn temporary_history_errors_lose_no_messages() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    rig.kill().await;
    for n in 0..3 {
        rig.user().send_text(&format!("note {n}."));
    }
    rig.advance(3_600).await;
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::next("GET", "/channels/*/messages").times(4),
        RequestFault::Status(503),
    ));
    rig.start().await;
    rig.advance(3).await;
    rig.user().send_text("note 3.");
    rig.advance(120).await;
    let messages = rig.daemon.as_ref().unwrap().user_messages().await;
    assert_eq!(messages, ["hello", "note 0.", "note 1.", "note 2.", "note 3."]);
}
