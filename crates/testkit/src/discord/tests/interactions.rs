//! Commands, components and modals, and the bot's responses to them.

use std::time::Duration;

use serde_json::{Value, json};

use super::bot::{Bot, INTENTS, code, now};
use crate::discord::{Answer, Body, Call, EPHEMERAL, Installed, InteractionId, Setup, Shown, Socket};

fn commands() -> Value {
    let when = json!({"type": 3, "name": "when", "description": "x", "autocomplete": true, "required": true});
    let times = json!({"type": 4, "name": "times", "description": "x", "min_value": 1});
    json!([
        {"name": "fork", "description": "x"},
        {"name": "remind", "description": "x", "options": [when, times]},
        {"name": "Remind me about this", "type": 3},
    ])
}

async fn ready(setup: Setup) -> (Bot, Socket) {
    let bot = Bot::with(setup);
    let path = format!("/applications/{}/commands", bot.discord.application_id());
    assert_eq!(bot.ask("PUT", &path, commands()).status, 200);
    let socket = bot.connects(INTENTS).await;
    (bot, socket)
}

/// Returns the token of the latest interaction that the bot received.
async fn token(socket: &mut Socket) -> String {
    let came = now(socket).await;
    let last = came.iter().rfind(|frame| frame["t"] == "INTERACTION_CREATE").expect("an interaction");
    last["d"]["token"].as_str().unwrap().to_owned()
}

fn open(bot: &Bot, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
    let call = Call { method: method.into(), path: path.into(), token: None, body };
    bot.discord.call(call).answer().cloned().unwrap()
}

fn back(bot: &Bot, id: InteractionId, token: &str, kind: u8, data: Value) -> Answer {
    open(bot, "POST", &format!("/interactions/{id}/{token}/callback"), json!({"type": kind, "data": data}))
}

fn after(bot: &Bot, token: &str, method: &str, rest: &str, body: Value) -> Answer {
    open(bot, method, &format!("/webhooks/{}/{token}{rest}", bot.discord.application_id()), body)
}

#[tokio::test(start_paused = true)]
async fn a_command_is_answered_once_and_in_time() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let used = bot.discord.owner().runs("/fork", &[]).unwrap();
    let token = token(&mut socket).await;
    assert_eq!(bot.discord.answer_to(used), Shown::Nothing);
    let refused = back(&bot, used, &token, 4, json!({"content": "x".repeat(2_001)}));
    assert_eq!(code(&refused), (400, 50035));
    assert_eq!(code(&back(&bot, used, "forged", 4, json!({"content": "x"}))), (404, 10062));
    assert_eq!(code(&back(&bot, used, &token, 7, json!({"content": "x"}))), (400, 50035));
    assert_eq!(back(&bot, used, &token, 4, json!({"content": "forked", "flags": EPHEMERAL})).status, 204);
    assert_eq!(code(&back(&bot, used, &token, 4, json!({"content": "x"}))), (400, 40060));
    let Shown::Message(seen) = bot.discord.answer_to(used) else { panic!("nothing was shown") };
    assert!(seen.is_ephemeral() && seen.content == "forked");
    assert_eq!(code(&bot.on("GET", seen.id, "", Value::Null)), (404, 10008));
    assert_eq!(after(&bot, &token, "GET", "/messages/@original", Value::Null).json()["content"], "forked");
    assert_eq!(after(&bot, &token, "PATCH", "/messages/@original", json!({"content": "a fork"})).status, 200);
    assert_eq!(bot.discord.visible()[0].content, "a fork");
    assert_eq!(after(&bot, &token, "DELETE", "/messages/@original", Value::Null).status, 204);
    assert_eq!(bot.discord.visible(), []);
    assert_eq!(now(&mut socket).await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn after_three_seconds_it_is_too_late() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let used = bot.discord.owner().runs("/fork", &[]).unwrap();
    let token = token(&mut socket).await;
    assert_eq!(code(&after(&bot, &token, "POST", "", json!({"content": "early"}))), (404, 10015));
    tokio::time::advance(Duration::from_millis(3_001)).await;
    assert_eq!(code(&back(&bot, used, &token, 5, Value::Null)), (404, 10062));
    assert_eq!(bot.discord.answer_to(used), Shown::Failed);
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_be_awaited_for_fifteen_minutes() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let used = bot.discord.owner().runs("/fork", &[]).unwrap();
    let token = token(&mut socket).await;
    assert_eq!(back(&bot, used, &token, 5, json!({"flags": EPHEMERAL})).status, 204);
    assert_eq!(bot.discord.answer_to(used), Shown::Thinking);
    tokio::time::advance(Duration::from_secs(14 * 60)).await;
    let said = after(&bot, &token, "POST", "", json!({"content": "at last"}));
    assert_eq!(said.status, 200);
    let visible = bot.discord.visible();
    assert_eq!((visible.len(), visible[0].content.as_str(), visible[0].edits), (1, "at last", 0));
    assert!(visible[0].is_ephemeral());
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(code(&after(&bot, &token, "POST", "", json!({"content": "more"}))), (401, 50027));
}

#[tokio::test(start_paused = true)]
async fn five_more_messages_may_follow_if_only_a_person_installed_it() {
    for (installed, last) in [(Installed::User, (400, 40094)), (Installed::Guild, (200, 0))] {
        let (bot, mut socket) = ready(Setup { installed, ..Setup::default() }).await;
        let used = bot.discord.owner().runs("/fork", &[]).unwrap();
        let token = token(&mut socket).await;
        back(&bot, used, &token, 4, json!({"content": "first"}));
        for _ in 0..5 {
            assert_eq!(after(&bot, &token, "POST", "", json!({"content": "x"})).status, 200);
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(code(&after(&bot, &token, "POST", "", json!({"content": "x"}))), last);
    }
}

#[tokio::test(start_paused = true)]
async fn a_button_changes_its_message_or_is_only_heard() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let done = json!({"type": 2, "style": 1, "custom_id": "done:1", "label": "Done"});
    let grey = json!({"type": 2, "style": 2, "custom_id": "later:1", "label": "Later", "disabled": true});
    let row = json!([{"type": 1, "components": [done, grey]}]);
    bot.sends(json!({"content": "water the plants", "components": row}));
    let card = bot.discord.visible()[0].id;
    let owner = bot.discord.owner();
    assert!(owner.clicks(card, "Later").is_err());
    assert!(owner.clicks(card, "nothing").is_err());
    let pressed = owner.clicks(card, "Done").unwrap();
    let token = self::token(&mut socket).await;
    assert_eq!(back(&bot, pressed, &token, 6, Value::Null).status, 204);
    assert_eq!(bot.discord.answer_to(pressed), Shown::Heard);
    let change = json!({"content": "watered", "components": []});
    assert_eq!(after(&bot, &token, "PATCH", "/messages/@original", change).status, 200);
    assert_eq!((bot.discord.visible()[0].content.as_str(), bot.discord.visible()[0].edits), ("watered", 1));
    assert!(owner.clicks(card, "Done").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_menu_gives_what_was_chosen() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let option = |name: &str| json!({"label": name, "value": name});
    let menu = json!({"type": 3, "custom_id": "move", "options": [option("noon"), option("night")]});
    bot.sends(json!({"content": "move it?", "components": [{"type": 1, "components": [menu]}]}));
    let card = bot.discord.visible()[0].id;
    let owner = bot.discord.owner();
    assert!(owner.chooses(card, "move", &["dawn"]).is_err());
    assert!(owner.chooses(card, "move", &["noon", "night"]).is_err());
    let chosen = owner.chooses(card, "move", &["night"]).unwrap();
    let came = now(&mut socket).await;
    let heard = &came.last().unwrap()["d"];
    assert_eq!(heard["data"]["values"], json!(["night"]));
    assert_eq!(heard["message"]["id"], card.to_string());
    let token = heard["token"].as_str().unwrap();
    let answer = back(&bot, chosen, token, 7, json!({"content": "tonight", "components": []}));
    assert_eq!(answer.status, 204);
    assert!(matches!(bot.discord.answer_to(chosen), Shown::Updated(seen) if seen.content == "tonight"));
}

#[tokio::test(start_paused = true)]
async fn a_modal_is_opened_filled_in_and_sent() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let owner = bot.discord.owner();
    let used = owner.runs("/fork", &[]).unwrap();
    let token = self::token(&mut socket).await;
    let input = json!({"type": 4, "custom_id": "why", "style": 1, "max_length": 10});
    let modal = |title: &str| {
        let label = json!({"type": 18, "label": "why?", "component": input});
        json!({"custom_id": "ask", "title": title, "components": [label]})
    };
    assert_eq!(code(&back(&bot, used, &token, 9, modal(&"x".repeat(46)))), (400, 50035));
    assert_eq!(back(&bot, used, &token, 9, modal("Tell me")).status, 204);
    assert!(matches!(bot.discord.answer_to(used), Shown::Modal(modal) if modal["title"] == "Tell me"));
    assert!(owner.submits(used, &[("why", "longer than ten")]).is_err());
    assert!(owner.submits(used, &[("who", "me")]).is_err());
    let sent = owner.submits(used, &[("why", "because")]).unwrap();
    let came = now(&mut socket).await;
    let heard = &came.last().unwrap()["d"];
    assert_eq!(heard["data"]["components"][0]["component"]["value"], "because");
    let answer = back(&bot, sent, heard["token"].as_str().unwrap(), 4, json!({"content": "i see"}));
    assert_eq!(answer.status, 204);
}

#[tokio::test(start_paused = true)]
async fn an_option_completes_while_it_is_typed() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let owner = bot.discord.owner();
    let answering = async {
        loop {
            let frame = super::bot::text(&mut socket).await;
            if frame["t"] == "INTERACTION_CREATE" {
                let d = &frame["d"];
                assert_eq!((&d["type"], &d["data"]["options"][0]["focused"]), (&json!(4), &json!(true)));
                let id = d["id"].as_str().unwrap().parse().unwrap();
                let choices = json!({"choices": [{"name": "tomorrow at nine", "value": "tomorrow 9:00"}]});
                assert_eq!(back(&bot, id, d["token"].as_str().unwrap(), 8, choices).status, 204);
                return;
            }
        }
    };
    let (choices, ()) = tokio::join!(owner.asks_completion("/remind", "when", "tom"), answering);
    assert_eq!(choices.unwrap()[0].name, "tomorrow at nine");
    let unanswered = owner.asks_completion("/remind", "when", "tom").await;
    assert_eq!(unanswered.unwrap_err().0, "Loading options failed");
}

#[tokio::test(start_paused = true)]
async fn a_person_can_only_use_what_is_registered() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let owner = bot.discord.owner();
    assert!(owner.runs("/spoon", &[]).is_err());
    assert!(owner.runs("/remind", &[]).is_err());
    assert!(owner.runs("/remind", &[("when", json!(3))]).is_err());
    assert!(owner.runs("/remind", &[("when", json!("noon")), ("times", json!(0))]).is_err());
    assert!(owner.runs("/remind", &[("when", json!("noon")), ("colour", json!("red"))]).is_err());
    owner.runs("/remind", &[("when", json!("noon")), ("times", json!(2))]).unwrap();
    let said = owner.types("buy milk");
    owner.uses_message_command("Remind me about this", said).unwrap();
    let came = now(&mut socket).await;
    let wanted =
        json!([{"name": "when", "type": 3, "value": "noon"}, {"name": "times", "type": 4, "value": 2}]);
    assert_eq!(came[0]["d"]["data"]["options"], wanted);
    let menu = &came[2]["d"]["data"];
    assert_eq!(menu["resolved"]["messages"][said.to_string()]["content"], "buy milk");
    assert_eq!(menu["target_id"], said.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_stranger_can_forge_what_no_button_ever_sent() {
    let (bot, mut socket) = ready(Setup::default()).await;
    let stranger = bot.discord.stranger("mallory");
    stranger.forged(3, json!({"custom_id": "approve:1", "component_type": 2}), None);
    let came = now(&mut socket).await;
    assert_eq!(came[0]["d"]["user"]["username"], "mallory");
    assert_eq!(came[0]["d"]["data"]["custom_id"], "approve:1");
}
