//! Planning in Discord: creating, listing, completing, moving, pausing and undoing.

use serde_json::{Value, json};
use testkit::discord::{Setup, Shown};

use crate::rig::{Rig, echo};

const MAIL: &str =
    "---\nid: mail\ncron: \"30 8 * * *\"\nbackground: true\ndescription: my mail\n---\nlook at my mail\n";

fn text(words: &str) -> [(&'static str, Value); 1] {
    [("text", json!(words))]
}

/// A new reminder is confirmed with Discord timestamps, and can be undone.
#[tokio::test(start_paused = true)]
async fn a_reminder_is_said_and_taken_back() {
    let rig = Rig::new(Setup::default(), echo).await;
    let choices = rig.human().asks_completion("/remind", "text", "call the dentist tomorrow at 10").await;
    assert_eq!(choices.unwrap()[0].name, "tue 17 nov 10:00 · in 25 h · call the dentist");
    let seen = rig.told("/remind", &text("call the dentist tomorrow at 10")).await;
    let tomorrow = 1_794_906_000;
    assert!(!seen.is_ephemeral());
    assert!(
        seen.content.starts_with(&format!("✓ call the dentist · <t:{tomorrow}:f> · <t:{tomorrow}:R>")),
        "{}",
        seen.content
    );
    rig.human().clicks(seen.id, "Undo").unwrap();
    let gone = rig.becomes(&seen, "taken back: call the dentist").await;
    assert_eq!(gone.buttons(), []);
    assert!(rig.told("/reminders", &[]).await.content.contains("no reminder waits"));
}

/// A text without a time goes to the inbox.
#[tokio::test(start_paused = true)]
async fn what_has_no_time_is_kept() {
    let rig = Rig::new(Setup::default(), echo).await;
    let seen = rig.told("/remind", &text("buy milk")).await;
    assert!(seen.content.contains("it is in the inbox: buy milk"), "{}", seen.content);
    assert!(rig.told("/status", &[]).await.content.contains("inbox: 1"));
    rig.human().runs("/remind", &text("tea on 31 feb at 5")).unwrap();
    let wrong = rig.sees("31").await;
    assert!(wrong.is_ephemeral(), "{}", wrong.content);
}

/// The card of the day begins with the next item, and completed items disappear from it.
#[tokio::test(start_paused = true)]
async fn the_day_is_a_card_on_which_things_are_done() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.told("/remind", &text("pack tomorrow at 9")).await;
    let empty = rig.told("/today", &[]).await;
    assert!(empty.content.contains("nothing left today.\n▶ <t:1794902400:f>"), "{}", empty.content);
    for words in ["groceries today at 17:30", "call mum today at 20:00"] {
        rig.told("/remind", &text(words)).await;
    }
    let card = rig.told("/today", &[]).await;
    let lines: Vec<&str> = card.content.lines().collect();
    assert_eq!(lines[0], "**monday 16 nov**");
    assert!(lines[1].starts_with("▶ <t:") && lines[1].ends_with("· groceries"), "{}", card.content);
    assert!(lines[2].starts_with("<t:") && lines[2].ends_with("· call mum"), "{}", card.content);
    assert_eq!(lines[3], "-# while you were away: 0 updates · inbox 0 · pings 5 left");
    let menu = &card.menus()[0];
    assert_eq!(menu.placeholder, "Done…");
    rig.human().chooses(card.id, &menu.custom_id, &[&menu.options[0].1]).unwrap();
    let after = rig.becomes(&card, "done: groceries").await;
    assert!(after.content.lines().any(|line| line.starts_with('▶') && line.ends_with("call mum")));
    rig.human().clicks(card.id, "Undo").unwrap();
    let back = rig.becomes(&card, "✓ today 17:30").await;
    assert_eq!(back.content.matches("groceries").count(), 2, "{}", back.content);
    let other = rig.told("/today", &[("day", json!("tomorrow"))]).await;
    assert!(other.content.contains("**tuesday 17 nov**") && other.content.contains("pack"));
    rig.human().runs("/today", &[("day", json!("soonish"))]).unwrap();
    assert!(rig.sees("`soonish` is no day").await.is_ephemeral());
}

/// `/now` shows one item, which a form can move.
#[tokio::test(start_paused = true)]
async fn the_next_thing_is_moved_with_a_form() {
    let rig = Rig::new(Setup::default(), echo).await;
    assert!(rig.told("/now", &[]).await.content.contains("nothing is planned"));
    rig.told("/remind", &text("call mum today at 20:00")).await;
    rig.told("/remind", &text("groceries today at 17:30")).await;
    let card = rig.told("/now", &[]).await;
    assert!(card.content.starts_with("▶ groceries · <t:"), "{}", card.content);
    let opened = rig.human().clicks(card.id, "Move to…").unwrap();
    assert!(matches!(rig.discord.sees_answer(opened).await, Shown::Modal(_)));
    rig.human().submits(opened, &[("when", "tomorrow 9")]).unwrap();
    let after = rig.becomes(&card, "✓ groceries").await;
    assert!(after.content.contains("▶ call mum"), "{}", after.content);
    let opened = rig.human().clicks(card.id, "Move to…").unwrap();
    rig.discord.sees_answer(opened).await;
    rig.human().submits(opened, &[("when", "whenever")]).unwrap();
    rig.passes(5).await;
    let wrong = rig.discord.visible().into_iter().last().unwrap();
    assert!(wrong.is_ephemeral(), "{}", rig.discord.transcript());
}

/// A routine is shown, run and paused with its card.
#[tokio::test(start_paused = true)]
async fn a_routine_is_run_and_paused() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.file("routines/mail.md", MAIL).await;
    rig.passes(2).await;
    let list = rig.told("/routines", &[]).await;
    assert!(list.content.contains("- **my mail** · every day 08:30 · next <t:"), "{}", list.content);
    let choices = rig.human().asks_completion("/routines", "name", "MAIL").await.unwrap();
    assert_eq!((choices[0].name.as_str(), &choices[0].value), ("my mail", &json!("mail")));
    let card = rig.told("/routines", &[("name", json!("mail"))]).await;
    assert!(card.content.contains("in the background"), "{}", card.content);
    assert_eq!(card.content.matches(":f>").count(), 5, "{}", card.content);
    rig.human().clicks(card.id, "Run now").unwrap();
    rig.becomes(&card, "it runs now.").await;
    rig.passes(30).await;
    rig.human().clicks(card.id, "Pause").unwrap();
    let paused = rig.becomes(&card, "my mail rests").await;
    assert!(paused.content.contains("last: done"), "{}", paused.content);
    rig.passes(2).await;
    rig.human().clicks(card.id, "Go on").unwrap();
    let on = rig.becomes(&card, "my mail goes on").await;
    assert!(on.content.contains("next: <t:"), "{}", on.content);
    let none = rig.human().runs("/routines", &[("name", json!("gym"))]).unwrap();
    rig.sees("no routine is called `gym`").await;
    assert_eq!(rig.discord.answer_to(none), Shown::Gone);
}

/// All routines can be paused and resumed.
#[tokio::test(start_paused = true)]
async fn everything_rests_and_goes_on() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.file("routines/mail.md", MAIL).await;
    let paused = rig.told("/pause", &[("until", json!("thursday"))]).await;
    assert!(paused.content.starts_with("all that repeats rests until <t:"), "{}", paused.content);
    assert!(rig.told("/routines", &[]).await.content.contains("all of it rests until"));
    rig.human().clicks(paused.id, "Go on").unwrap();
    rig.becomes(&paused, "everything goes on as planned").await;
    rig.told("/pause", &[]).await;
    assert!(rig.told("/resume", &[]).await.content.contains("goes on"));
    rig.human().runs("/pause", &[("until", json!("whenever"))]).unwrap();
    assert!(rig.sees("`whenever` is no time").await.is_ephemeral());
}

/// Any message can become a reminder, with a form that asks for the time.
#[tokio::test(start_paused = true)]
async fn a_message_is_remembered() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (typed, _) = rig.talk("the invoice is due on friday", "you said").await;
    let opened = rig.human().uses_message_command("Remind me about this", typed).unwrap();
    let Shown::Modal(form) = rig.discord.sees_answer(opened).await else { panic!("no form") };
    assert_eq!(form["components"][0]["component"]["value"], "the invoice is due on friday");
    let filled = rig.human().submits(opened, &[("when", "tomorrow 9")]).unwrap();
    let seen = rig.sees("✓ the invoice is due on friday · <t:1794902400:f>").await;
    assert!(!seen.is_ephemeral());
    assert!(matches!(rig.discord.answer_to(filled), Shown::Message(_)));
}

/// XB-7, XB-8: forged presses and presses of other users have no effect.
#[tokio::test(start_paused = true)]
async fn forged_presses_do_nothing() {
    let rig = Rig::new(Setup::default(), echo).await;
    let card = rig.told("/remind", &text("call mum today at 20:00")).await;
    for id in ["cmd:fly:now", "cmd:run:now", "cmd:done.x:now", "cmd:undo:moon", "cmd:"] {
        rig.human().forged(3, json!({"custom_id": id, "component_type": 2}), Some(card.id));
    }
    let stranger = rig.discord.stranger("mallory");
    stranger.forged(3, json!({"custom_id": "cmd:undo:words", "component_type": 2}), None);
    rig.passes(10).await;
    let list = rig.told("/reminders", &[]).await;
    assert!(list.content.contains("call mum"), "{}", list.content);
    assert_eq!(rig.all("✓ call mum").len(), 1);
}

/// The schedule is a picture, with a text alternative.
#[tokio::test(start_paused = true)]
async fn the_schedule_is_a_picture_and_words() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.file("routines/mail.md", MAIL).await;
    rig.told("/remind", &text("call mum today at 20:00")).await;
    assert!(rig.told("/status", &[]).await.content.contains("\nnext: <t:1794855600:f>"));
    let day = rig.told("/schedule", &[]).await;
    assert!(day.content.starts_with("1 <t:") && day.content.ends_with("· call mum"), "{}", day.content);
    let picture = &day.attachments[0];
    assert_eq!(
        (&picture["filename"], &picture["description"]),
        (&json!("schedule.png"), &json!("1 20:00 call mum"))
    );
    let week = rig.told("/schedule", &[("span", json!("week"))]).await;
    assert_eq!(week.content.lines().count(), 7, "{}", week.content);
    let description = week.attachments[0]["description"].as_str().unwrap();
    assert!(
        description.contains("2 tue 08:30 my mail") && description.chars().count() <= 1_024,
        "{description}"
    );
}
