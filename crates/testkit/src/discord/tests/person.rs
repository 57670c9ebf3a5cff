//! The text transcript of what a user sees, and the console.

use expect_test::expect;
use serde_json::json;

use super::bot::{Bot, INTENTS};
use crate::discord::{Console, SUPPRESS_NOTIFICATIONS};

#[tokio::test(start_paused = true)]
async fn a_conversation_can_be_read() {
    let bot = Bot::new();
    let socket = bot.connects(INTENTS).await;
    let owner = bot.discord.owner();
    let said = owner.types("what is on today?");
    bot.on("PUT", said, "/reactions/👀/@me", json!(null));
    bot.sends(json!({"content": "one moment", "flags": SUPPRESS_NOTIFICATIONS}));
    let status = bot.discord.visible()[1].id;
    bot.on("PATCH", status, "", json!({"content": "two things:\n- plants\n- dentist"}));
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
    bot.sends(json!({"embeds": [embed], "components": rows}));
    owner.replies(status, "thanks");
    let gone = owner.types("never mind");
    owner.deletes(gone).unwrap();
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
async fn a_stranger_has_a_channel_of_their_own() {
    let bot = Bot::new();
    let stranger = bot.discord.stranger("sam");
    let said = stranger.types("who are you?");
    assert_eq!(bot.discord.visible(), []);
    assert_eq!(bot.discord.visible_to(&stranger)[0].id, said);
    assert!(bot.discord.owner().reacts(said, "👍").is_err());
    assert!(bot.discord.owner().edits(said, "x").is_err());
}

#[tokio::test(start_paused = true)]
async fn the_same_day_has_the_same_ids() {
    let day = || {
        let bot = Bot::new();
        bot.says("hello");
        (bot.discord.owner().types("hi"), bot.discord.visible())
    };
    assert_eq!(day(), day());
}

#[tokio::test(start_paused = true)]
async fn everything_can_be_done_from_a_console() {
    let bot = Bot::new();
    let console = Console::new(bot.discord.clone());
    let obey = async |line: &str| console.obey(line).await.map_err(|unfit| unfit.0);
    let said = obey("type hello there").await.unwrap();
    bot.says("hi");
    assert_eq!(obey("wait hi").await.unwrap(), "there");
    obey(&format!("react {said} 👍")).await.unwrap();
    obey("reply last good to hear").await.unwrap();
    let told = "owner: hello there\n    👍 owner\nollim: hi\n  ╭ hi\nowner: good to hear\n";
    assert_eq!(obey("transcript").await.unwrap(), told);
    assert!(obey("run /nothing").await.is_err());
    assert!(obey("dance").await.unwrap_err().contains("help"));
    obey("fail 503").await.unwrap();
    assert_eq!(bot.sends(json!({"content": "x"})).status, 503);
    assert!(obey("ledger").await.unwrap().starts_with("200 POST /channels/*/messages\n503 POST"));
}
