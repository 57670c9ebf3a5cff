//! Planning in Discord: creating, listing, completing, moving, pausing and undoing.

use serde_json::{Value, json};
use testkit::fake_discord::{InteractionView, Setup};

use crate::rig::{Rig, echo};

const MAIL: &str =
    "---\nid: mail\ncron: \"30 8 * * *\"\nbackground: true\ndescription: my mail\n---\nlook at my mail\n";

fn text_option(words: &str) -> [(&'static str, Value); 1] {
    [("text", json!(words))]
}

/// A new reminder is confirmed with Discord timestamps, and can be undone.
#[tokio::test(start_paused = true)]
async fn reminder_is_created_and_undone() {
    let rig = Rig::new(Setup::default(), echo).await;
    let choices = rig.user().complete_option("/remind", "text", "call the dentist tomorrow at 10").await;
    assert_eq!(choices.unwrap()[0].name, "tue 17 nov 10:00 · in 25 h · call the dentist");
    let seen = rig.command_reply("/remind", &text_option("call the dentist tomorrow at 10")).await;
    let tomorrow = 1_794_906_000;
    assert!(!seen.is_ephemeral());
    assert!(
        seen.content.starts_with(&format!("✓ call the dentist · <t:{tomorrow}:f> · <t:{tomorrow}:R>")),
        "{}",
        seen.content
    );
    rig.user().click(seen.id, "Undo").unwrap();
    let gone = rig.wait_for_edit(&seen, "taken back: call the dentist").await;
    assert_eq!(gone.buttons(), []);
    assert!(rig.command_reply("/reminders", &[]).await.content.contains("no reminder waits"));
}

/// A text without a time goes to the inbox.
#[tokio::test(start_paused = true)]
async fn text_without_a_time_goes_to_the_inbox() {
    let rig = Rig::new(Setup::default(), echo).await;
    let seen = rig.command_reply("/remind", &text_option("buy milk")).await;
    assert!(seen.content.contains("it is in the inbox: buy milk"), "{}", seen.content);
    assert!(rig.command_reply("/status", &[]).await.content.contains("inbox: 1"));
    rig.user().run_command("/remind", &text_option("tea on 31 feb at 5")).unwrap();
    let wrong = rig.wait_for_message("31").await;
    assert!(wrong.is_ephemeral(), "{}", wrong.content);
}

/// The card of the day begins with the next item, and completed items disappear from it.
#[tokio::test(start_paused = true)]
async fn items_are_completed_on_the_day_card() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.command_reply("/remind", &text_option("pack tomorrow at 9")).await;
    let empty = rig.command_reply("/today", &[]).await;
    assert!(empty.content.contains("nothing left today.\n▶ <t:1794902400:f>"), "{}", empty.content);
    for words in ["groceries today at 17:30", "call mum today at 20:00"] {
        rig.command_reply("/remind", &text_option(words)).await;
    }
    let card = rig.command_reply("/today", &[]).await;
    let lines: Vec<&str> = card.content.lines().collect();
    assert_eq!(lines[0], "**monday 16 nov**");
    assert!(lines[1].starts_with("▶ <t:") && lines[1].ends_with("· groceries"), "{}", card.content);
    assert!(lines[2].starts_with("<t:") && lines[2].ends_with("· call mum"), "{}", card.content);
    assert_eq!(lines[3], "-# while you were away: 0 updates · inbox 0 · pings 5 left");
    let menu = &card.menus()[0];
    assert_eq!(menu.placeholder, "Done…");
    rig.user().choose(card.id, &menu.custom_id, &[&menu.options[0].1]).unwrap();
    let after = rig.wait_for_edit(&card, "done: groceries").await;
    assert!(after.content.lines().any(|line| line.starts_with('▶') && line.ends_with("call mum")));
    rig.user().click(card.id, "Undo").unwrap();
    let back = rig.wait_for_edit(&card, "✓ today 17:30").await;
    assert_eq!(back.content.matches("groceries").count(), 2, "{}", back.content);
    let other = rig.command_reply("/today", &[("day", json!("tomorrow"))]).await;
    assert!(other.content.contains("**tuesday 17 nov**") && other.content.contains("pack"));
    rig.user().run_command("/today", &[("day", json!("soonish"))]).unwrap();
    assert!(rig.wait_for_message("`soonish` is no day").await.is_ephemeral());
}

/// `/now` shows one item, which a form can move.
#[tokio::test(start_paused = true)]
async fn next_item_is_moved_with_a_form() {
    let rig = Rig::new(Setup::default(), echo).await;
    assert!(rig.command_reply("/now", &[]).await.content.contains("nothing is planned"));
    rig.command_reply("/remind", &text_option("call mum today at 20:00")).await;
    rig.command_reply("/remind", &text_option("groceries today at 17:30")).await;
    let card = rig.command_reply("/now", &[]).await;
    assert!(card.content.starts_with("▶ groceries · <t:"), "{}", card.content);
    let opened = rig.user().click(card.id, "Move to…").unwrap();
    assert!(matches!(rig.discord.wait_for_answer(opened).await, InteractionView::Modal(_)));
    rig.user().submit_modal(opened, &[("when", "tomorrow 9")]).unwrap();
    let after = rig.wait_for_edit(&card, "✓ groceries").await;
    assert!(after.content.contains("▶ call mum"), "{}", after.content);
    let opened = rig.user().click(card.id, "Move to…").unwrap();
    rig.discord.wait_for_answer(opened).await;
    rig.user().submit_modal(opened, &[("when", "whenever")]).unwrap();
    rig.advance(5).await;
    let wrong = rig.discord.visible().into_iter().last().unwrap();
    assert!(wrong.is_ephemeral(), "{}", rig.discord.transcript());
}

/// A routine is shown, run and paused with its card.
#[tokio::test(start_paused = true)]
async fn routine_is_run_and_paused() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    rig.advance(2).await;
    let list = rig.command_reply("/routines", &[]).await;
    assert!(list.content.contains("- **my mail** · every day 08:30 · next <t:"), "{}", list.content);
    let choices = rig.user().complete_option("/routines", "name", "MAIL").await.unwrap();
    assert_eq!((choices[0].name.as_str(), &choices[0].value), ("my mail", &json!("mail")));
    let card = rig.command_reply("/routines", &[("name", json!("mail"))]).await;
    assert!(card.content.contains("in the background"), "{}", card.content);
    assert_eq!(card.content.matches(":f>").count(), 5, "{}", card.content);
    rig.user().click(card.id, "Run now").unwrap();
    rig.wait_for_edit(&card, "it runs now.").await;
    rig.advance(30).await;
    rig.user().click(card.id, "Pause").unwrap();
    let paused = rig.wait_for_edit(&card, "my mail rests").await;
    assert!(paused.content.contains("last: done"), "{}", paused.content);
    rig.advance(2).await;
    rig.user().click(card.id, "Go on").unwrap();
    let on = rig.wait_for_edit(&card, "my mail goes on").await;
    assert!(on.content.contains("next: <t:"), "{}", on.content);
    let none = rig.user().run_command("/routines", &[("name", json!("gym"))]).unwrap();
    rig.wait_for_message("no routine is called `gym`").await;
    assert_eq!(rig.discord.interaction_view(none), InteractionView::Deleted);
}

/// All routines can be paused and resumed.
#[tokio::test(start_paused = true)]
async fn all_routines_are_paused_and_resumed() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    let paused = rig.command_reply("/pause", &[("until", json!("thursday"))]).await;
    assert!(paused.content.starts_with("all that repeats rests until <t:"), "{}", paused.content);
    assert!(rig.command_reply("/routines", &[]).await.content.contains("all of it rests until"));
    rig.user().click(paused.id, "Go on").unwrap();
    rig.wait_for_edit(&paused, "everything goes on as planned").await;
    rig.command_reply("/pause", &[]).await;
    assert!(rig.command_reply("/resume", &[]).await.content.contains("goes on"));
    rig.user().run_command("/pause", &[("until", json!("whenever"))]).unwrap();
    assert!(rig.wait_for_message("`whenever` is no time").await.is_ephemeral());
}

/// Any message can become a reminder, with a form that asks for the time.
#[tokio::test(start_paused = true)]
async fn message_becomes_a_reminder() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (typed, _) = rig.exchange("the invoice is due on friday", "you said").await;
    let opened = rig.user().run_message_command("Remind me about this", typed).unwrap();
    let InteractionView::Modal(form) = rig.discord.wait_for_answer(opened).await else { panic!("no form") };
    assert_eq!(form["components"][0]["component"]["value"], "the invoice is due on friday");
    let filled = rig.user().submit_modal(opened, &[("when", "tomorrow 9")]).unwrap();
    let seen = rig.wait_for_message("✓ the invoice is due on friday · <t:1794902400:f>").await;
    assert!(!seen.is_ephemeral());
    assert!(matches!(rig.discord.interaction_view(filled), InteractionView::Message(_)));
}

/// XB-7, XB-8: forged presses and presses of other users have no effect.
#[tokio::test(start_paused = true)]
async fn forged_presses_do_nothing() {
    let rig = Rig::new(Setup::default(), echo).await;
    let card = rig.command_reply("/remind", &text_option("call mum today at 20:00")).await;
    for id in ["cmd:fly:now", "cmd:run:now", "cmd:done.x:now", "cmd:undo:moon", "cmd:"] {
        rig.user().send_forged_interaction(3, json!({"custom_id": id, "component_type": 2}), Some(card.id));
    }
    let stranger = rig.discord.other_user("mallory");
    stranger.send_forged_interaction(3, json!({"custom_id": "cmd:undo:words", "component_type": 2}), None);
    rig.advance(10).await;
    let list = rig.command_reply("/reminders", &[]).await;
    assert!(list.content.contains("call mum"), "{}", list.content);
    assert_eq!(rig.messages_with("✓ call mum").len(), 1);
}

/// The schedule is a picture, with a text alternative.
#[tokio::test(start_paused = true)]
async fn schedule_is_a_picture_with_a_text_alternative() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    rig.command_reply("/remind", &text_option("call mum today at 20:00")).await;
    assert!(rig.command_reply("/status", &[]).await.content.contains("\nnext: <t:1794855600:f>"));
    let day = rig.command_reply("/schedule", &[]).await;
    assert!(day.content.starts_with("1 <t:") && day.content.ends_with("· call mum"), "{}", day.content);
    let picture = &day.attachments[0];
    assert_eq!(
        (&picture["filename"], &picture["description"]),
        (&json!("schedule.png"), &json!("1 20:00 call mum"))
    );
    let week = rig.command_reply("/schedule", &[("span", json!("week"))]).await;
    assert_eq!(week.content.lines().count(), 7, "{}", week.content);
    let description = week.attachments[0]["description"].as_str().unwrap();
    assert!(
        description.contains("2 tue 08:30 my mail") && description.chars().count() <= 1_024,
        "{description}"
    );
}
