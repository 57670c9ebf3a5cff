//! Reminder cards: they are sent when due and answered with buttons, also after a restart.

use domain::assistant::Request;
use engine::ports::Clock as _;
use testkit::fake_discord::Setup;

use crate::rig::{Rig, ScriptedReply};

const DENTIST: &str = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T09:05:00+01:00\n---\ncall the dentist\n";

fn reminding_model(words: &str) -> ScriptedReply {
    if words.contains("dentist") {
        ScriptedReply::text("⏰ call the dentist")
    } else {
        ScriptedReply::text("ok")
    }
}

/// XB-7, A12: after a kill, a button moves a reminder, which fires again at that time.
#[tokio::test(start_paused = true)]
async fn reminder_is_moved_by_a_button_after_a_kill() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", DENTIST).await;
    let card = rig.wait_for_message("call the dentist").await;
    assert!(card.notifies());
    assert_eq!(
        card.buttons().iter().map(|b| b.label.clone()).collect::<Vec<_>>(),
        ["Done", "In 10 min", "Break it down"]
    );
    rig.kill().await;
    rig.start().await;
    rig.advance(5).await;
    rig.user().click(card.id, "In 10 min").unwrap();
    rig.wait_for_message("moved to").await;
    rig.advance(11 * 60).await;
    assert_eq!(rig.messages_with("call the dentist").len(), 2, "{}", rig.discord.transcript());
}

/// A reminder overtakes posts that wait for Discord's rate limit.
#[tokio::test(start_paused = true)]
async fn reminder_overtakes_a_full_outbox() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", DENTIST).await;
    while rig.clock.now().strftime("%H:%M:%S").to_string().as_str() < "09:04:55" {
        rig.advance(1).await;
    }
    let assistant = rig.daemon.as_ref().unwrap().assistant.clone();
    for number in 0..100 {
        assistant.ask(Request::Announce(format!("note {number}."))).await;
    }
    rig.advance(12).await;
    assert_eq!(rig.messages_with("call the dentist").len(), 1, "{}", rig.discord.transcript());
    let sent = rig.messages_with("note ").len();
    assert!((5..30).contains(&sent), "{sent} notes were sent, and the others still wait");
    rig.advance(120).await;
    let notes: Vec<String> = rig.messages_with("note ").into_iter().map(|seen| seen.content).collect();
    assert_eq!(notes, (0..100).map(|number| format!("note {number}.")).collect::<Vec<_>>());
    assert_eq!(rig.messages_with("call the dentist").len(), 1, "{}", rig.discord.transcript());
}

/// XB-7: a reminder can be answered by a reply or a reaction like by its buttons; undo restores it.
#[tokio::test(start_paused = true)]
async fn reminder_is_answered_by_reply_and_reaction() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", DENTIST).await;
    let card = rig.wait_for_message("⏰ call the dentist").await;
    rig.user().reply(card.id, "tomorrow 9");
    rig.wait_for_message("moved to").await;
    rig.user().click(card.id, "Undo").unwrap();
    rig.wait_for_message("⏰ call the dentist").await;
    rig.user().add_reaction(card.id, "✅").unwrap();
    rig.wait_for_message("~~call the dentist~~ done").await;
    rig.advance(25 * 3_600).await;
    assert_eq!(rig.messages_with("call the dentist").len(), 1, "{}", rig.discord.transcript());
}

/// A time entered in a form moves the reminder; an invalid one is rejected with an ephemeral
/// message.
#[tokio::test(start_paused = true)]
async fn reminder_time_can_be_entered_in_a_form() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", DENTIST).await;
    let card = rig.wait_for_message("⏰ call the dentist").await;
    let menu = card.menus()[0].custom_id.clone();
    let opened = rig.user().choose(card.id, &menu, &["pick a time…"]).unwrap();
    rig.advance(1).await;
    rig.user().submit_modal(opened, &[("when", "purple")]).unwrap();
    rig.wait_for_message("`purple` is no time").await;
    let opened = rig.user().choose(card.id, &menu, &["pick a time…"]).unwrap();
    rig.advance(1).await;
    rig.user().submit_modal(opened, &[("when", "in 2 hours")]).unwrap();
    rig.wait_for_message("moved to").await;
    rig.advance(2 * 3_600 + 60).await;
    assert_eq!(rig.messages_with("call the dentist").len(), 2, "{}", rig.discord.transcript());
}

/// I5, XB-7: a button pressed immediately after an approval request appears always updates the
/// request.
#[tokio::test(start_paused = true)]
async fn immediate_press_updates_the_approval_message() {
    let model = |words: &str| {
        if words.contains("take it out") {
            ScriptedReply::calls("inbox_remove", r#"{"number":1}"#)
        } else {
            ScriptedReply::text("fine.")
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.exchange("/permissions default", "from now on the mode is").await;
    for _ in 0..12 {
        rig.user().send_text("take it out");
        let approval = rig.wait_for_message("may i run").await;
        rig.user().click(approval.id, "No").unwrap();
        rig.advance(20).await;
        let visible = rig.discord.visible();
        let seen = visible.iter().find(|seen| seen.id == approval.id).unwrap();
        assert!(seen.content.contains("denied") && seen.buttons().is_empty(), "{}", rig.discord.transcript());
    }
}
