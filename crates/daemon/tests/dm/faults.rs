//! Faults: whatever happens to requests and connections, each text is visible exactly once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use surfaces::stage::Sight;
use testkit::discord::{Mishap, On, Setup, Trouble};

use crate::rig::{Rig, Speech, echo};

/// A seeded number generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Returns a text with line breaks, code and various scripts.
fn text(numbers: &mut Numbers, mark: u64) -> String {
    let mut text = format!("answer {mark}: ");
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

fn mishap(numbers: &mut Numbers) -> Mishap {
    match numbers.next(7) {
        0 => Mishap::Status(500),
        1 => Mishap::Status(502),
        2 => Mishap::Status(503),
        3 => Mishap::LostBefore,
        4 => Mishap::LostAfter,
        5 => Mishap::Slow(Duration::from_millis(500 + numbers.next(9_000))),
        _ => {
            let scope = testkit::discord::Scope::User;
            Mishap::TooMany { scope, retry_after: Duration::from_millis(200 + numbers.next(5_000)) }
        }
    }
}

/// Describes the first difference of two texts.
fn differs(left: &str, right: &str) -> String {
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let rest = |text: &str| text.chars().skip(same).take(60).collect::<String>();
    format!("after {same} letters: `{}` instead of `{}`", rest(left), rest(right))
}

async fn streams(schedules: u64, seed: u64) {
    let said: Arc<Mutex<String>> = Arc::default();
    let speech: Arc<Mutex<Speech>> = Arc::default();
    let speaker = Arc::clone(&speech);
    let rig = Rig::new(Setup::default(), move |_| speaker.lock().unwrap().clone()).await;
    let mut numbers = Numbers(seed);
    for mark in 0..schedules {
        let text = text(&mut numbers, mark);
        let pace = (1 + numbers.next(200) as usize, Duration::from_millis(20 + numbers.next(400)));
        *speech.lock().unwrap() = Speech::slowly(&text, pace);
        said.lock().unwrap().clone_from(&text);
        for _ in 0..numbers.next(5) {
            let on = if numbers.next(2) == 0 { On::send() } else { On::edit() };
            let skip = numbers.next(6) as u32;
            let times = 1 + numbers.next(3) as u32;
            rig.discord.trouble(Trouble::Call(on.after(skip).times(times), mishap(&mut numbers)));
        }
        let before = rig.discord.visible().len();
        rig.human().types(&format!("go on {mark}"));
        rig.passes(30 + 6_000 / pace.0 as u64 * pace.1.as_millis() as u64 / 1_000).await;
        rig.discord.calm();
        rig.passes(130).await;
        let seen = rig.discord.visible();
        let parts: Vec<String> = seen.iter().skip(before + 1).map(|seen| seen.content.clone()).collect();
        // Discord trims the whitespace of messages, and a split code block gets its own fences.
        let letters = |text: &str| {
            text.replace("```rust", "").replace("```", "").split_whitespace().collect::<String>()
        };
        let visible = letters(&parts.concat());
        let meant = letters(&text);
        let (_, whole) = parts.split_last().unwrap();
        assert!(whole.iter().all(|part| part.matches("```").count() % 2 == 0), "every fence is closed");
        assert!(
            visible == meant,
            "schedule {mark} of seed {seed}: {} parts, {}",
            parts.len(),
            differs(&visible, &meant)
        );
        assert!(seen.iter().skip(before + 1).all(|seen| seen.flags & (1 << 12) == 0), "no status line stays");
    }
    assert!(rig.discord.ledger().embargo_breaches.is_empty());
}

/// D6: despite faults on sends and edits, the visible text is finally what the model answered.
#[tokio::test(start_paused = true)]
async fn visible_text_is_what_the_model_said() {
    streams(100, 1).await;
}

/// D6: like the previous test, with a thousand fault schedules.
#[tokio::test(start_paused = true)]
#[ignore = "a thousand fault schedules take some minutes: cargo xtask test --long"]
async fn visible_text_is_what_the_model_said_a_thousand_times() {
    streams(1_000, 2).await;
}

/// D4: a message whose response was lost appears once, also after a kill and a ten-minute outage.
#[tokio::test(start_paused = true)]
async fn a_message_whose_receipt_was_lost_is_there_once() {
    loses_receipts(60).await;
}

/// D4: like the previous test, a thousand times.
#[tokio::test(start_paused = true)]
#[ignore = "a thousand lost receipts take a minute: cargo xtask test --long"]
async fn a_message_whose_receipt_was_lost_is_there_once_a_thousand_times() {
    loses_receipts(1_000).await;
}

async fn loses_receipts(rounds: u64) {
    let mut rig = Rig::new(Setup::default(), echo).await;
    for round in 0..rounds {
        rig.discord.trouble(Trouble::Call(On::send(), Mishap::LostAfter));
        let words = format!("round {round}.");
        rig.human().types(&words);
        if round % 3 == 1 {
            // Discord accepted it and is down for ten minutes, and the program is killed meanwhile.
            rig.sees(&words).await;
            rig.discord.trouble(Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(600) });
            rig.killed().await;
            rig.passes(300).await;
            rig.start().await;
            rig.passes(400).await;
        }
        if round % 3 == 2 {
            rig.killed().await;
            rig.start().await;
        }
        rig.passes(60).await;
        assert_eq!(rig.all(&words).len(), 1, "{round}:\n{}", rig.discord.transcript());
    }
}

/// P3, worst case: the response is lost, Discord has forgotten the nonce, and the history cannot be
/// read. Then the text is sent again, marked as a possible repeat.
#[tokio::test(start_paused = true)]
async fn words_that_cannot_be_looked_for_come_again_and_say_so() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.discord.trouble(Trouble::Call(On::send(), Mishap::LostAfter));
    rig.human().types("water the plants.");
    rig.sees("you said: water the plants.").await;
    rig.discord.trouble(Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(400) });
    rig.killed().await;
    rig.passes(300).await;
    rig.discord.trouble(Trouble::Call(On::next("GET", "/channels/*/messages").always(), Mishap::Code(50001)));
    rig.start().await;
    rig.passes(3_600).await;
    let told = rig.all("you said: water the plants.");
    let repeats: Vec<bool> = told.iter().map(|seen| seen.content.ends_with("-# may be a repeat")).collect();
    assert_eq!(repeats, [false, true], "{}", rig.discord.transcript());
}

/// D5: messages sent while the program was down are processed once, in order.
#[tokio::test(start_paused = true)]
async fn what_was_written_meanwhile_is_heard_once_and_in_order() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    rig.killed().await;
    for n in 0..500 {
        rig.human().types(&format!("note {n}."));
        rig.passes(30).await;
    }
    rig.passes(3_600).await;
    rig.start().await;
    rig.sees("you said: note 499.").await;
    rig.passes(120).await;
    let heard: Vec<String> = rig.life.as_ref().unwrap().heard().await;
    let expected: Vec<String> =
        std::iter::once("hello".to_owned()).chain((0..500).map(|n| format!("note {n}."))).collect();
    assert_eq!(heard, expected);
}

/// D5: a random access error (50001) on the history loses no messages.
#[tokio::test(start_paused = true)]
async fn what_was_written_meanwhile_is_heard_despite_a_lack_of_access() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    rig.killed().await;
    rig.human().types("a note.");
    rig.passes(3_600).await;
    rig.discord.trouble(Trouble::Call(On::next("GET", "/channels/*/messages"), Mishap::Code(50001)));
    rig.start().await;
    rig.passes(120).await;
    assert_eq!(rig.life.as_ref().unwrap().heard().await, ["hello", "a note."]);
}

/// D8: after six hours without Discord, the queued posts arrive in order and are marked as late.
#[tokio::test(start_paused = true)]
async fn after_six_hours_without_discord_everything_comes_in_order() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("drink") { Speech::of("⏰ drink water") } else { Speech::of("fine.") }
    })
    .await;
    rig.talk("hello", "fine.").await;
    rig.discord.trouble(Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(6 * 3_600) });
    for hour in 10..15 {
        let text = format!(
            "---\nid: water{hour}\nrun-at: 2026-11-16T{hour}:00:00+01:00\n---\ndrink water at {hour}\n"
        );
        rig.file(&format!("reminders/water{hour}.md"), &text).await;
    }
    rig.passes(6 * 3_600 + 600).await;
    let late = rig.all("drink water");
    assert_eq!(late.len(), 5, "{}", rig.discord.transcript());
    assert!(late.iter().all(|seen| seen.content.contains("-# from ")), "{}", rig.discord.transcript());
    let hours: Vec<&str> =
        late.iter().filter_map(|seen| seen.content.split("Mon ").nth(1)?.split(':').next()).collect();
    assert_eq!(hours, ["10", "11", "12", "13", "14"]);
}

/// SU-8: a reminder due before the direct messages are open is sent once after they are.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_due_before_discord_answers_is_heard() {
    let down = Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(1_800) };
    let mut rig = Rig::troubled(Setup::default(), |_: &str| Speech::of("⏰ drink water"), down).await;
    let text = "---\nid: water\nrun-at: 2026-11-16T08:59:00+01:00\n---\ndrink water\n";
    rig.file("reminders/water.md", text).await;
    rig.passes(600).await;
    assert_eq!(rig.all("drink water").len(), 0, "{}", rig.discord.transcript());
    rig.passes(3_600).await;
    assert_eq!(rig.all("drink water").len(), 1, "{}", rig.discord.transcript());
}

/// D2: a random access error (50001) on a send loses nothing: the DM is reopened, and the post is
/// sent once.
#[tokio::test(start_paused = true)]
async fn a_post_without_access_is_sent_after_the_dm_is_opened_anew() {
    let mut rig = Rig::new(Setup::default(), |_: &str| Speech::of("⏰ drink water")).await;
    rig.discord.trouble(Trouble::NoAccess);
    let text = "---\nid: water\nrun-at: 2026-11-16T09:30:00+01:00\n---\ndrink water\n";
    rig.file("reminders/water.md", text).await;
    rig.passes(40 * 60).await;
    assert_eq!(rig.all("drink water").len(), 1, "{}", rig.discord.transcript());
}

/// D2: after ten minutes of access errors a post is given up, the user is shown the remedy, and
/// later posts are sent.
#[tokio::test(start_paused = true)]
async fn a_post_that_never_gets_access_is_given_up_after_ten_minutes() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("tea") { Speech::of("⏰ make tea") } else { Speech::of("⏰ drink water") }
    })
    .await;
    let mut watcher = rig.life.as_ref().unwrap().stage.subscribe();
    watcher.scene();
    let mut refused = || {
        let mut count = 0;
        while let Some(Sight::Cue(cue)) = watcher.try_next() {
            if let domain::assistant::Shown::Notice(text) = &cue.shown {
                count +=
                    usize::from(text.contains("Remove the application from your account and add it again"));
            }
        }
        count
    };
    rig.discord.trouble(Trouble::Call(On::send().always(), Mishap::Code(50001)));
    for (id, at) in [("water", "09:30"), ("tea", "10:30")] {
        let text = format!("---\nid: {id}\nrun-at: 2026-11-16T{at}:00+01:00\n---\n{id}\n");
        rig.file(&format!("reminders/{id}.md"), &text).await;
    }
    rig.passes(38 * 60).await;
    assert_eq!(refused(), 0, "it is tried for ten minutes");
    rig.passes(10 * 60).await;
    assert_eq!(refused(), 1);
    rig.discord.calm();
    rig.passes(60 * 60).await;
    assert_eq!(rig.all("drink water").len(), 0, "{}", rig.discord.transcript());
    assert_eq!(rig.all("make tea").len(), 1, "{}", rig.discord.transcript());
}

/// D2, BF-23: a user whose DMs are closed is notified on the page, the undelivered ping is
/// refunded, and the daemon goes on.
#[tokio::test(start_paused = true)]
async fn who_takes_no_messages_is_told_elsewhere() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("[routine-bg:mail]") {
            Speech::calls("ping_user", r#"{"message":"the landlord wrote."}"#)
        } else {
            Speech::calls("report_updates", r#"{"message":"the landlord wrote."}"#)
        }
    })
    .await;
    let mut watcher = rig.life.as_ref().unwrap().stage.subscribe();
    watcher.scene();
    rig.discord.trouble(Trouble::Call(On::send().always(), Mishap::Code(50007)));
    let mail = "---\nid: mail\ncron: 30 9 * * *\nbackground: true\n---\nlook at the mail\n";
    rig.file("routines/mail.md", mail).await;
    rig.passes(40 * 60).await;
    let mut told = Vec::new();
    while let Some(Sight::Cue(cue)) = watcher.try_next() {
        if let domain::assistant::Shown::Notice(text) = &cue.shown {
            told.push(text.clone());
        }
    }
    let refused: Vec<&String> =
        told.iter().filter(|text| text.contains("not allowed to write to you")).collect();
    assert_eq!(refused.len(), 1, "{told:?}");
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
async fn a_revoked_token_is_told_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    let mut watcher = rig.life.as_ref().unwrap().stage.subscribe();
    watcher.scene();
    rig.discord.trouble(Trouble::Revoked);
    rig.discord.trouble(Trouble::Gateway(testkit::discord::Upset::Drop));
    rig.passes(3_600).await;
    let mut told = Vec::new();
    while let Some(Sight::Cue(cue)) = watcher.try_next() {
        if let domain::assistant::Shown::Notice(text) = &cue.shown {
            told.push(text.clone());
        }
    }
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("token"), "{told:?}");
    assert!(rig.discord.invalid_requests() < 10);
}

/// D5: temporary errors when fetching the history lose no messages, even if new ones arrive
/// meanwhile.
#[tokio::test(start_paused = true)]
async fn what_was_written_meanwhile_is_waited_for() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    rig.killed().await;
    for n in 0..3 {
        rig.human().types(&format!("note {n}."));
    }
    rig.passes(3_600).await;
    rig.discord.trouble(Trouble::Call(On::next("GET", "/channels/*/messages").times(4), Mishap::Status(503)));
    rig.start().await;
    rig.passes(3).await;
    rig.human().types("note 3.");
    rig.passes(120).await;
    let heard = rig.life.as_ref().unwrap().heard().await;
    assert_eq!(heard, ["hello", "note 0.", "note 1.", "note 2.", "note 3."]);
}
