//! The text transcript of what a user sees, and the console.

use expect_test::expect;
use serde_json::json;

use super::bot::{Bot, INTENTS};
use crate::fake_discord::{Console, SUPPRESS_NOTIFICATIONS};

#[tokio::test(start_paused = true)]
async fn transcript_shows_the_conversation() {
    let bot = Bot::new();
    let socket = bot.connect(INTENTS).await;
    let owner = bot.discord.owner();
    let said = owner.send_text("what is on today?");
    bot.message_request("PUT", said, "/reactions/👀/@me", json!(null));
    bot.send(json!({"content": "one moment", "flags": SUPPRESS_NOTIFICATIONS}));
    let status = bot.discord.visible()[1].id;
    bot.message_request("PATCH", status, "", json!({"content": "two things:\n- plants\n- dentist"}));
    let done = json!({"type": 2, "style": 1, "custom_id": "done", "label": "Done"});
    let option = |name: &str| json!({"label": name, "value": name});
    let menu = json!({
        "type": 3, "custom_id": "m", "placeholder": "Move to…", "options": [option("noon"), option("night")],
    });
    let rows = json!([{"type": 1, "components": [done]}, {"type": 1, "components": [menu]}]);
    let embed = json!({
        "title": "Plants", "description": "water them", "fields": [{"name": "when", "value": "noon"}],
        "footer": {"text": "from a routine"},
    });
    bot.send(json!({"embeds": [embed], "components": rows}));
    owner.reply(status, "thanks");
    let gone = owner.send_text("never mind");
    owner.delete(gone).unwrap();
    expect![[r#"
        owner: what is on today?
            👀 ollim
        ollim (silent, edited once): two things:
            - plants
            - dentist
        ollim: 
            │ **Plants**
            │ water them
            │ when: noon
            │ _from a routine_
            [Done]
            [Move to… ▾ noon | night]
          ╭ two things:
        owner: thanks
    "#]]
    .assert_eq(&bot.discord.transcript());
    drop(socket);
}

#[tokio::test(start_paused = true)]
async fn other_users_have_separate_channels() {
    let bot = Bot::new();
    let other_user = bot.discord.other_user("sam");
    let said = other_user.send_text("who are you?");
    assert_eq!(bot.discord.visible(), []);
    assert_eq!(bot.discord.visible_to(&other_user)[0].id, said);
    assert!(bot.discord.owner().add_reaction(said, "👍").is_err());
    assert!(bot.discord.owner().edit(said, "x").is_err());
}

#[tokio::test(start_paused = true)]
async fn equal_runs_have_equal_ids() {
    let day = || {
        let bot = Bot::new();
        bot.send_text("hello");
        (bot.discord.owner().send_text("hi"), bot.discord.visible())
    };
    assert_eq!(day(), day());
}

#[tokio::test(start_paused = true)]
async fn console_executes_commands() {
    let bot = Bot::new();
    let console = Console::new(bot.discord.clone());
    let execute = async |line: &str| console.execute(line).await.map_err(|error| error.0);
    let said = execute("type hello there").await.unwrap();
    bot.send_text("hi");
    assert_eq!(execute("wait hi").await.unwrap(), "there");
    execute(&format!("react {said} 👍")).await.unwrap();
    execute("reply last good to hear").await.unwrap();
    let expected = "owner: hello there\n    👍 owner\nollim: hi\n  ╭ hi\nowner: good to hear\n";
    assert_eq!(execute("transcript").await.unwrap(), expected);
    assert!(execute("run /nothing").await.is_err());
    assert!(execute("dance").await.unwrap_err().contains("help"));
    execute("fail 503").await.unwrap();
    assert_eq!(bot.send(json!({"content": "x"})).status, 503);
    assert!(execute("ledger").await.unwrap().starts_with("200 POST /channels/*/messages\n503 POST"));
}
