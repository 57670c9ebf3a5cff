//! Attention features in Discord: deferred messages arrive silently and once.

use domain::assistant::{Answer, Query, Request};
use domain::attention::Attention;
use serde_json::json;
use testkit::fake_discord::{MessageView, Setup};

use crate::rig::{Rig, ScriptedReply};

impl Rig {
    /// Queries the current attention state.
    async fn attention(&self) -> Attention {
        let assistant = &self.daemon.as_ref().unwrap().assistant;
        let answer = assistant.ask(Request::Query(Query::Attention)).await;
        let Answer::Attention(attention) = answer else { panic!("{answer:?}") };
        *attention
    }
}

const MAIL: &str = "---\nid: mail\ncron: \"30 9 * * *\"\nbackground: true\ndescription: my mail\n\
                    update-main-session: freely\n---\nlook at my mail\n";

fn pinging_model(words: &str) -> ScriptedReply {
    if words.contains("look at my mail") {
        ScriptedReply::calls("ping_user", r#"{"message":"two mails need an answer"}"#)
    } else {
        ScriptedReply::text("ok")
    }
}

/// A ping during quiet hours arrives silently in the evening digest, also after a kill.
#[tokio::test(start_paused = true)]
async fn deferred_ping_arrives_silently() {
    let mut rig = Rig::new(Setup::default(), pinging_model).await;
    rig.exchange("/quiet 8-17", "quiet hours are 08:00-17:00").await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    rig.advance(3 * 3_600).await;
    assert_eq!(rig.messages_with("two mails").len(), 0, "{}", rig.discord.transcript());
    rig.kill().await;
    rig.start().await;
    rig.advance(6 * 3_600).await;
    let digest = rig.wait_for_message("my mail: two mails need an answer").await;
    assert!(!digest.notifies(), "{}", rig.discord.transcript());
    rig.advance(24 * 3_600).await;
    assert_eq!(rig.messages_with("two mails need an answer (09:30").len(), 2, "{}", rig.discord.transcript());
}

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-16T{time}:00+01:00\n---\n{words}\n")
}

fn reminding_model(words: &str) -> ScriptedReply {
    if words.contains("dentist") {
        ScriptedReply::text("⏰ call the dentist")
    } else {
        ScriptedReply::text("ok")
    }
}

fn labels(seen: &MessageView) -> Vec<String> {
    seen.buttons().iter().map(|button| button.label.clone()).collect()
}

/// An unanswered reminder is repeated once as a smaller version; an answer updates both messages.
#[tokio::test(start_paused = true)]
async fn unanswered_reminder_is_repeated_once_as_a_smaller_version() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.wait_for_message("⏰ call the dentist").await;
    rig.advance(22 * 60).await;
    let smaller = rig.wait_for_message("smaller version").await;
    assert!(smaller.notifies() && smaller.content != card.content);
    assert_eq!(smaller.reply_to, Some(card.id));
    assert_eq!(labels(&smaller), ["Done", "Not today"]);
    rig.user().click(smaller.id, "Not today").unwrap();
    rig.wait_for_edit(&smaller, "moved to").await;
    rig.wait_for_edit(&card, "moved to").await;
    rig.advance(20 * 3_600).await;
    assert_eq!(rig.messages_with("smaller version").len(), 0, "{}", rig.discord.transcript());
    assert_eq!(rig.messages_with("without an answer").len(), 0, "{}", rig.discord.transcript());
}

/// An unanswered reminder is listed in the evening digest, where it can be dropped.
#[tokio::test(start_paused = true)]
async fn unanswered_reminder_can_be_dropped_in_the_digest() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.wait_for_message("⏰ call the dentist").await;
    rig.advance(9 * 3_600).await;
    let digest = rig.wait_for_message("1 thing without an answer").await;
    assert!(!digest.notifies() && digest.buttons().is_empty());
    let menu = &digest.menus()[0];
    let drop = menu.options.iter().find(|option| option.1.starts_with("drop it")).unwrap();
    rig.user().choose(digest.id, &menu.custom_id, &[&drop.1]).unwrap();
    rig.wait_for_edit(&card, "dropped").await;
    let buzzed = rig.discord.visible().iter().filter(|seen| seen.notifies()).count();
    assert_eq!(buzzed, 2, "it rang, and once more: {}", rig.discord.transcript());
}

/// A reminder snoozed once is offered a plan, and one snoozed twice is offered other choices.
#[tokio::test(start_paused = true)]
async fn repeatedly_snoozed_reminder_gets_other_choices() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    for third in ["Break it down", "When we talk next"] {
        let card = rig.wait_for_message("⏰ call the dentist").await;
        assert_eq!(labels(&card), ["Done", "In 10 min", third]);
        rig.user().click(card.id, "In 10 min").unwrap();
        rig.wait_for_edit(&card, "moved to").await;
        rig.advance(11 * 60).await;
    }
    let third = rig.wait_for_message("this one keeps moving.").await;
    assert_eq!(labels(&third), ["Make it smaller", "Pick a day", "Drop it"]);
    let opened = rig.user().click(third.id, "Pick a day").unwrap();
    rig.advance(1).await;
    rig.user().submit_modal(opened, &[("when", "saturday 10:00")]).unwrap();
    rig.wait_for_edit(&third, "moved to").await;
}

/// Three simultaneous reminders are one message, in which single ones can be completed and the rest
/// moved to the evening.
/// The last change can be undone, and equal texts are separate choices.
#[tokio::test(start_paused = true)]
async fn simultaneous_reminders_are_one_message() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    for (id, words) in [("a1b2c3d4", "call mum"), ("b1b2c3d4", "pay the rent"), ("c1b2c3d4", "call mum")] {
        rig.write_job_file(&format!("reminders/{id}.md"), &reminder(id, "09:05", words)).await;
    }
    let card = rig.wait_for_message("3 things for now").await;
    assert_eq!(labels(&card), ["All to tonight"]);
    let menu = &card.menus()[0];
    assert_eq!(menu.placeholder, "Which is done?");
    let rent = menu.options.iter().find(|option| option.1.contains("rent")).unwrap();
    rig.user().choose(card.id, &menu.custom_id, &[&rent.1]).unwrap();
    let after = rig.wait_for_edit(&card, "~~pay the rent~~ done").await;
    assert_eq!(labels(&after), ["All to tonight", "Undo"]);
    rig.user().click(after.id, "Undo").unwrap();
    let after = rig.wait_for_edit(&card, "\n2. pay the rent\n").await;
    assert_eq!(labels(&after), ["All to tonight"]);
    rig.user().choose(card.id, &menu.custom_id, &[&rent.1]).unwrap();
    let after = rig.wait_for_edit(&card, "~~pay the rent~~ done").await;
    rig.user().click(after.id, "All to tonight").unwrap();
    let after = rig.wait_for_edit(&card, "call mum · moved").await;
    assert_eq!((after.content.matches(" · moved").count(), labels(&after)), (2, vec!["Undo".to_owned()]));
    rig.user().click(after.id, "Undo").unwrap();
    let after = rig.wait_for_edit(&card, "\n1. call mum\n").await;
    assert_eq!(
        (after.content.matches(" · moved").count(), labels(&after).len()),
        (0, 1),
        "{}",
        after.content
    );
    rig.user().click(after.id, "All to tonight").unwrap();
    rig.wait_for_edit(&card, "call mum · moved").await;
    rig.advance(11 * 3_600).await;
    assert_eq!(rig.messages_with("2 things for now").len(), 1, "{}", rig.discord.transcript());
}

/// The first completion of a day adds a line, the second does not.
#[tokio::test(start_paused = true)]
async fn first_completion_of_a_day_adds_a_line() {
    let mut rig = Rig::new(Setup::default(), reminding_model).await;
    rig.write_job_file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.wait_for_message("⏰ call the dentist").await;
    rig.user().click(card.id, "Done").unwrap();
    rig.wait_for_edit(&card, "first one today.").await;
    rig.write_job_file("reminders/other.md", &reminder("b1b2c3d4", "09:25", "call the dentist back")).await;
    rig.advance(25 * 60).await;
    let next = rig.wait_for_message("⏰ call the dentist").await;
    rig.user().click(next.id, "Done").unwrap();
    let done = rig.wait_for_edit(&next, "done").await;
    assert!(!done.content.contains("today"), "{}", done.content);
}

/// A thumbs-down on a ping is recorded for its routine, without a reaction.
#[tokio::test(start_paused = true)]
async fn thumbs_down_is_recorded_for_the_routine() {
    let mut rig = Rig::new(Setup::default(), pinging_model).await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    rig.advance(35 * 60).await;
    let ping = rig.wait_for_message("two mails need an answer").await;
    rig.user().add_reaction(ping.id, "👎").unwrap();
    rig.advance(5).await;
    let attention = rig.attention().await;
    let disliked: Vec<(String, u32)> =
        attention.disliked.iter().map(|one| (one.source.to_string(), one.count)).collect();
    assert_eq!(disliked, [("routine:mail".to_owned(), 1)]);
    assert_eq!(attention.push_count.count, 1);
    let shown = rig.discord.visible().len();
    rig.advance(3_600).await;
    assert_eq!(rig.discord.visible().len(), shown, "{}", rig.discord.transcript());
}

/// Quiet hours and focus work as commands.
#[tokio::test(start_paused = true)]
async fn quiet_hours_and_focus_work_as_commands() {
    let rig = Rig::new(Setup::default(), reminding_model).await;
    let quiet = rig.command_reply("/quiet", &[("hours", json!("23-7"))]).await;
    assert!(quiet.content.contains("quiet hours are 23:00-07:00"), "{}", quiet.content);
    let focus = rig.command_reply("/focus", &[("minutes", json!(25)), ("on", json!("taxes"))]).await;
    assert!(focus.content.contains("25 min on taxes"), "{}", focus.content);
    assert!(rig.command_reply("/held", &[]).await.content.contains("nothing is held"));
    rig.advance(26 * 60).await;
    let over = rig.wait_for_message("25 min are up. how did it go?").await;
    assert!(over.notifies());
}
