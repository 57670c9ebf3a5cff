//! Reminder cards: they are sent when due and answered with buttons, also after a restart.

use domain::assistant::Request;
use engine::ports::Clock as _;
use testkit::discord::Setup;

use crate::rig::{Rig, Speech};

const DENTIST: &str = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T09:05:00+01:00\n---\ncall the dentist\n";

fn reminds(words: &str) -> Speech {
    if words.contains("dentist") { Speech::of("⏰ call the dentist") } else { Speech::of("ok") }
}

/// XB-7, A12: after a kill, a button moves a reminder, which fires again at that time.
#[tokio::test(start_paused = true)]
async fn a_reminder_is_moved_by_a_button_after_a_kill() {
    let mut rig = Rig::new(Setup::default(), reminds).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    let card = rig.sees("call the dentist").await;
    assert!(card.buzzes());
    assert_eq!(
        card.buttons().iter().map(|b| b.label.clone()).collect::<Vec<_>>(),
        ["Done", "In 10 min", "Break it down"]
    );
    rig.killed().await;
    rig.start().await;
    rig.passes(5).await;
    rig.human().clicks(card.id, "In 10 min").unwrap();
    rig.sees("moved to").await;
    rig.passes(11 * 60).await;
    assert_eq!(rig.all("call the dentist").len(), 2, "{}", rig.discord.transcript());
}

/// A reminder overtakes posts that wait for Discord's rate limit.
#[tokio::test(start_paused = true)]
async fn a_reminder_overtakes_a_full_outbox() {
    let mut rig = Rig::new(Setup::default(), reminds).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    while rig.clock.now().strftime("%H:%M:%S").to_string().as_str() < "09:04:55" {
        rig.passes(1).await;
    }
    let desk = rig.life.as_ref().unwrap().desk.clone();
    for number in 0..100 {
        desk.ask(Request::Announce(format!("note {number}."))).await;
    }
    rig.passes(12).await;
    assert_eq!(rig.all("call the dentist").len(), 1, "{}", rig.discord.transcript());
    let sent = rig.all("note ").len();
    assert!((5..30).contains(&sent), "{sent} notes were sent, and the others still wait");
    rig.passes(120).await;
    let notes: Vec<String> = rig.all("note ").into_iter().map(|seen| seen.content).collect();
    assert_eq!(notes, (0..100).map(|number| format!("note {number}.")).collect::<Vec<_>>());
    assert_eq!(rig.all("call the dentist").len(), 1, "{}", rig.discord.transcript());
}

/// XB-7: a reminder can be answered by a reply or a reaction like by its buttons; undo restores it.
#[tokio::test(start_paused = true)]
async fn a_reminder_is_answered_by_words_and_reactions() {
    let mut rig = Rig::new(Setup::default(), reminds).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    let card = rig.sees("⏰ call the dentist").await;
    rig.human().replies(card.id, "tomorrow 9");
    rig.sees("moved to").await;
    rig.human().clicks(card.id, "Undo").unwrap();
    rig.sees("⏰ call the dentist").await;
    rig.human().reacts(card.id, "✅").unwrap();
    rig.sees("~~call the dentist~~ done").await;
    rig.passes(25 * 3_600).await;
    assert_eq!(rig.all("call the dentist").len(), 1, "{}", rig.discord.transcript());
}

/// A time entered in a form moves the reminder; an invalid one is rejected with an ephemeral
/// message.
#[tokio::test(start_paused = true)]
async fn a_time_can_be_picked_in_a_form() {
    let mut rig = Rig::new(Setup::default(), reminds).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    let card = rig.sees("⏰ call the dentist").await;
    let menu = card.menus()[0].custom_id.clone();
    let opened = rig.human().chooses(card.id, &menu, &["pick a time…"]).unwrap();
    rig.passes(1).await;
    rig.human().submits(opened, &[("when", "purple")]).unwrap();
    rig.sees("`purple` is no time").await;
    let opened = rig.human().chooses(card.id, &menu, &["pick a time…"]).unwrap();
    rig.passes(1).await;
    rig.human().submits(opened, &[("when", "in 2 hours")]).unwrap();
    rig.sees("moved to").await;
    rig.passes(2 * 3_600 + 60).await;
    assert_eq!(rig.all("call the dentist").len(), 2, "{}", rig.discord.transcript());
}

/// I5, XB-7: a button pressed immediately after an approval request appears always updates the
/// request.
#[tokio::test(start_paused = true)]
async fn a_press_that_comes_at_once_is_seen() {
    let speaks = |words: &str| {
        if words.contains("take it out") {
            Speech::calls("inbox_remove", r#"{"number":1}"#)
        } else {
            Speech::of("fine.")
        }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.talk("/permissions default", "from now on the mode is").await;
    for _ in 0..12 {
        rig.human().types("take it out");
        let asks = rig.sees("may i run").await;
        rig.human().clicks(asks.id, "No").unwrap();
        rig.passes(20).await;
        let visible = rig.discord.visible();
        let seen = visible.iter().find(|seen| seen.id == asks.id).unwrap();
        assert!(seen.content.contains("denied") && seen.buttons().is_empty(), "{}", rig.discord.transcript());
    }
}
