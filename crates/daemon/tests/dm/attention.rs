//! Attention features in Discord: deferred messages arrive silently and once.

use domain::assistant::{Answer, Question, Request};
use domain::attention::Attention;
use serde_json::json;
use testkit::discord::{Seen, Setup};

use crate::rig::{Rig, Speech};

impl Rig {
    /// Queries the current attention state.
    async fn attention(&self) -> Attention {
        let desk = &self.life.as_ref().unwrap().desk;
        let answer = desk.ask(Request::Tell(Question::Attention)).await;
        let Answer::Attention(attention) = answer else { panic!("{answer:?}") };
        *attention
    }
}

const MAIL: &str = "---\nid: mail\ncron: \"30 9 * * *\"\nbackground: true\ndescription: my mail\n\
                    update-main-session: freely\n---\nlook at my mail\n";

fn pings(words: &str) -> Speech {
    if words.contains("look at my mail") {
        Speech::calls("ping_user", r#"{"message":"two mails need an answer"}"#)
    } else {
        Speech::of("ok")
    }
}

/// A ping during quiet hours arrives silently in the evening digest, also after a kill.
#[tokio::test(start_paused = true)]
async fn what_waited_comes_without_a_sound() {
    let mut rig = Rig::new(Setup::default(), pings).await;
    rig.talk("/quiet 8-17", "quiet hours are 08:00-17:00").await;
    rig.file("routines/mail.md", MAIL).await;
    rig.passes(3 * 3_600).await;
    assert_eq!(rig.all("two mails").len(), 0, "{}", rig.discord.transcript());
    rig.killed().await;
    rig.start().await;
    rig.passes(6 * 3_600).await;
    let digest = rig.sees("my mail: two mails need an answer").await;
    assert!(!digest.buzzes(), "{}", rig.discord.transcript());
    rig.passes(24 * 3_600).await;
    assert_eq!(rig.all("two mails need an answer (09:30").len(), 2, "{}", rig.discord.transcript());
}

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-16T{time}:00+01:00\n---\n{words}\n")
}

fn rings(words: &str) -> Speech {
    if words.contains("dentist") { Speech::of("⏰ call the dentist") } else { Speech::of("ok") }
}

fn labels(seen: &Seen) -> Vec<String> {
    seen.buttons().iter().map(|button| button.label.clone()).collect()
}

/// An unanswered reminder is repeated once as a smaller version; an answer updates both messages.
#[tokio::test(start_paused = true)]
async fn a_reminder_is_put_otherwise_once_and_answered_there() {
    let mut rig = Rig::new(Setup::default(), rings).await;
    rig.file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.sees("⏰ call the dentist").await;
    rig.passes(22 * 60).await;
    let smaller = rig.sees("smaller version").await;
    assert!(smaller.buzzes() && smaller.content != card.content);
    assert_eq!(smaller.reply_to, Some(card.id));
    assert_eq!(labels(&smaller), ["Done", "Not today"]);
    rig.human().clicks(smaller.id, "Not today").unwrap();
    rig.becomes(&smaller, "moved to").await;
    rig.becomes(&card, "moved to").await;
    rig.passes(20 * 3_600).await;
    assert_eq!(rig.all("smaller version").len(), 0, "{}", rig.discord.transcript());
    assert_eq!(rig.all("without an answer").len(), 0, "{}", rig.discord.transcript());
}

/// An unanswered reminder is listed in the evening digest, where it can be dropped.
#[tokio::test(start_paused = true)]
async fn what_nobody_answered_is_dropped_in_the_evening() {
    let mut rig = Rig::new(Setup::default(), rings).await;
    rig.file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.sees("⏰ call the dentist").await;
    rig.passes(9 * 3_600).await;
    let digest = rig.sees("1 thing without an answer").await;
    assert!(!digest.buzzes() && digest.buttons().is_empty());
    let menu = &digest.menus()[0];
    let drop = menu.options.iter().find(|option| option.1.starts_with("drop it")).unwrap();
    rig.human().chooses(digest.id, &menu.custom_id, &[&drop.1]).unwrap();
    rig.becomes(&card, "dropped").await;
    let buzzed = rig.discord.visible().iter().filter(|seen| seen.buzzes()).count();
    assert_eq!(buzzed, 2, "it rang, and once more: {}", rig.discord.transcript());
}

/// A reminder snoozed once is offered a plan, and one snoozed twice is offered other choices.
#[tokio::test(start_paused = true)]
async fn what_keeps_moving_is_asked_about_otherwise() {
    let mut rig = Rig::new(Setup::default(), rings).await;
    rig.file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    for third in ["Break it down", "When we talk next"] {
        let card = rig.sees("⏰ call the dentist").await;
        assert_eq!(labels(&card), ["Done", "In 10 min", third]);
        rig.human().clicks(card.id, "In 10 min").unwrap();
        rig.becomes(&card, "moved to").await;
        rig.passes(11 * 60).await;
    }
    let third = rig.sees("this one keeps moving.").await;
    assert_eq!(labels(&third), ["Make it smaller", "Pick a day", "Drop it"]);
    let opened = rig.human().clicks(third.id, "Pick a day").unwrap();
    rig.passes(1).await;
    rig.human().submits(opened, &[("when", "saturday 10:00")]).unwrap();
    rig.becomes(&third, "moved to").await;
}

/// Three simultaneous reminders are one message, in which single ones can be completed and the rest
/// moved to the evening.
/// The last change can be undone, and equal texts are separate choices.
#[tokio::test(start_paused = true)]
async fn three_at_once_are_one_message() {
    let mut rig = Rig::new(Setup::default(), rings).await;
    for (id, words) in [("a1b2c3d4", "call mum"), ("b1b2c3d4", "pay the rent"), ("c1b2c3d4", "call mum")] {
        rig.file(&format!("reminders/{id}.md"), &reminder(id, "09:05", words)).await;
    }
    let card = rig.sees("3 things for now").await;
    assert_eq!(labels(&card), ["All to tonight"]);
    let menu = &card.menus()[0];
    assert_eq!(menu.placeholder, "Which is done?");
    let rent = menu.options.iter().find(|option| option.1.contains("rent")).unwrap();
    rig.human().chooses(card.id, &menu.custom_id, &[&rent.1]).unwrap();
    let after = rig.becomes(&card, "~~pay the rent~~ done").await;
    assert_eq!(labels(&after), ["All to tonight", "Undo"]);
    rig.human().clicks(after.id, "Undo").unwrap();
    let after = rig.becomes(&card, "\n2. pay the rent\n").await;
    assert_eq!(labels(&after), ["All to tonight"]);
    rig.human().chooses(card.id, &menu.custom_id, &[&rent.1]).unwrap();
    let after = rig.becomes(&card, "~~pay the rent~~ done").await;
    rig.human().clicks(after.id, "All to tonight").unwrap();
    let after = rig.becomes(&card, "call mum · moved").await;
    assert_eq!((after.content.matches(" · moved").count(), labels(&after)), (2, vec!["Undo".to_owned()]));
    rig.human().clicks(after.id, "Undo").unwrap();
    let after = rig.becomes(&card, "\n1. call mum\n").await;
    assert_eq!(
        (after.content.matches(" · moved").count(), labels(&after).len()),
        (0, 1),
        "{}",
        after.content
    );
    rig.human().clicks(after.id, "All to tonight").unwrap();
    rig.becomes(&card, "call mum · moved").await;
    rig.passes(11 * 3_600).await;
    assert_eq!(rig.all("2 things for now").len(), 1, "{}", rig.discord.transcript());
}

/// The first completion of a day adds a line, the second does not.
#[tokio::test(start_paused = true)]
async fn the_first_of_a_day_is_worth_a_line() {
    let mut rig = Rig::new(Setup::default(), rings).await;
    rig.file("reminders/dentist.md", &reminder("a1b2c3d4", "09:05", "call the dentist")).await;
    let card = rig.sees("⏰ call the dentist").await;
    rig.human().clicks(card.id, "Done").unwrap();
    rig.becomes(&card, "first one today.").await;
    rig.file("reminders/other.md", &reminder("b1b2c3d4", "09:25", "call the dentist back")).await;
    rig.passes(25 * 60).await;
    let next = rig.sees("⏰ call the dentist").await;
    rig.human().clicks(next.id, "Done").unwrap();
    let done = rig.becomes(&next, "done").await;
    assert!(!done.content.contains("today"), "{}", done.content);
}

/// A thumbs-down on a ping is recorded for its routine, without a reaction.
#[tokio::test(start_paused = true)]
async fn a_thumb_down_is_kept_for_the_routine() {
    let mut rig = Rig::new(Setup::default(), pings).await;
    rig.file("routines/mail.md", MAIL).await;
    rig.passes(35 * 60).await;
    let ping = rig.sees("two mails need an answer").await;
    rig.human().reacts(ping.id, "👎").unwrap();
    rig.passes(5).await;
    let attention = rig.attention().await;
    let disliked: Vec<(String, u32)> =
        attention.disliked.iter().map(|one| (one.source.to_string(), one.count)).collect();
    assert_eq!(disliked, [("routine:mail".to_owned(), 1)]);
    assert_eq!(attention.pushes.count, 1);
    let shown = rig.discord.visible().len();
    rig.passes(3_600).await;
    assert_eq!(rig.discord.visible().len(), shown, "{}", rig.discord.transcript());
}

/// Quiet hours and focus work as commands.
#[tokio::test(start_paused = true)]
async fn less_is_asked_for_with_commands() {
    let rig = Rig::new(Setup::default(), rings).await;
    let quiet = rig.told("/quiet", &[("hours", json!("23-7"))]).await;
    assert!(quiet.content.contains("quiet hours are 23:00-07:00"), "{}", quiet.content);
    let focus = rig.told("/focus", &[("minutes", json!(25)), ("on", json!("taxes"))]).await;
    assert!(focus.content.contains("25 min on taxes"), "{}", focus.content);
    assert!(rig.told("/held", &[]).await.content.contains("nothing is held"));
    rig.passes(26 * 60).await;
    let over = rig.sees("25 min are up. how did it go?").await;
    assert!(over.buzzes());
}
