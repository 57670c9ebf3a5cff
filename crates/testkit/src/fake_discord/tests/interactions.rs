//! Commands, components and modals, and the bot's responses to them.

use std::time::Duration;

use serde_json::{Value, json};

use super::bot::{Bot, INTENTS, available_frames, code};
use crate::fake_discord::{
    ApiRequest, ApiResponse, Body, EPHEMERAL, GatewaySocket, Installation, InteractionId, InteractionView,
    Setup,
};

fn commands() -> Value {
    let when = json!({"type": 3, "name": "when", "description": "x", "autocomplete": true, "required": true});
    let times = json!({"type": 4, "name": "times", "description": "x", "min_value": 1});
    json!([
        {"name": "fork", "description": "x"},
        {"name": "remind", "description": "x", "options": [when, times]},
        {"name": "Remind me about this", "type": 3},
    ])
}

async fn start_bot(setup: Setup) -> (Bot, GatewaySocket) {
    let bot = Bot::with(setup);
    let path = format!("/applications/{}/commands", bot.discord.application_id());
    assert_eq!(bot.request("PUT", &path, commands()).status, 200);
    let socket = bot.connect(INTENTS).await;
    (bot, socket)
}

/// Returns the token of the latest interaction that the bot received.
async fn last_token(socket: &mut GatewaySocket) -> String {
    let frames = available_frames(socket).await;
    let last = frames.iter().rfind(|frame| frame["t"] == "INTERACTION_CREATE").expect("an interaction");
    last["d"]["token"].as_str().unwrap().to_owned()
}

fn unauthenticated_request(bot: &Bot, method: &str, path: &str, body: Value) -> ApiResponse {
    let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
    let call = ApiRequest { method: method.into(), path: path.into(), token: None, body };
    bot.discord.request(call).response().cloned().unwrap()
}

fn callback_request(bot: &Bot, id: InteractionId, token: &str, kind: u8, data: Value) -> ApiResponse {
    unauthenticated_request(
        bot,
        "POST",
        &format!("/interactions/{id}/{token}/callback"),
        json!({"type": kind, "data": data}),
    )
}

fn followup_request(bot: &Bot, token: &str, method: &str, rest: &str, body: Value) -> ApiResponse {
    unauthenticated_request(
        bot,
        method,
        &format!("/webhooks/{}/{token}{rest}", bot.discord.application_id()),
        body,
    )
}

#[tokio::test(start_paused = true)]
async fn command_is_answered_once_within_the_time_limit() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let used = bot.discord.owner().run_command("/fork", &[]).unwrap();
    let token = last_token(&mut socket).await;
    assert_eq!(bot.discord.interaction_view(used), InteractionView::Pending);
    let refused = callback_request(&bot, used, &token, 4, json!({"content": "x".repeat(2_001)}));
    assert_eq!(code(&refused), (400, 50035));
    assert_eq!(code(&callback_request(&bot, used, "forged", 4, json!({"content": "x"}))), (404, 10062));
    assert_eq!(code(&callback_request(&bot, used, &token, 7, json!({"content": "x"}))), (400, 50035));
    assert_eq!(
        callback_request(&bot, used, &token, 4, json!({"content": "forked", "flags": EPHEMERAL})).status,
        204
    );
    assert_eq!(code(&callback_request(&bot, used, &token, 4, json!({"content": "x"}))), (400, 40060));
    let InteractionView::Message(seen) = bot.discord.interaction_view(used) else {
        panic!("nothing was shown")
    };
    assert!(seen.is_ephemeral() && seen.content == "forked");
    assert_eq!(code(&bot.message_request("GET", seen.id, "", Value::Null)), (404, 10008));
    assert_eq!(
        followup_request(&bot, &token, "GET", "/messages/@original", Value::Null).json()["content"],
        "forked"
    );
    assert_eq!(
        followup_request(&bot, &token, "PATCH", "/messages/@original", json!({"content": "a fork"})).status,
        200
    );
    assert_eq!(bot.discord.visible()[0].content, "a fork");
    assert_eq!(followup_request(&bot, &token, "DELETE", "/messages/@original", Value::Null).status, 204);
    assert_eq!(bot.discord.visible(), []);
    assert_eq!(available_frames(&mut socket).await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn first_response_expires_after_three_seconds() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let used = bot.discord.owner().run_command("/fork", &[]).unwrap();
    let token = last_token(&mut socket).await;
    assert_eq!(code(&followup_request(&bot, &token, "POST", "", json!({"content": "early"}))), (404, 10015));
    tokio::time::advance(Duration::from_millis(3_001)).await;
    assert_eq!(code(&callback_request(&bot, used, &token, 5, Value::Null)), (404, 10062));
    assert_eq!(bot.discord.interaction_view(used), InteractionView::Failed);
}

#[tokio::test(start_paused = true)]
async fn deferred_response_is_possible_for_fifteen_minutes() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let used = bot.discord.owner().run_command("/fork", &[]).unwrap();
    let token = last_token(&mut socket).await;
    assert_eq!(callback_request(&bot, used, &token, 5, json!({"flags": EPHEMERAL})).status, 204);
    assert_eq!(bot.discord.interaction_view(used), InteractionView::Thinking);
    tokio::time::advance(Duration::from_secs(14 * 60)).await;
    let said = followup_request(&bot, &token, "POST", "", json!({"content": "at last"}));
    assert_eq!(said.status, 200);
    let visible = bot.discord.visible();
    assert_eq!((visible.len(), visible[0].content.as_str(), visible[0].edits), (1, "at last", 0));
    assert!(visible[0].is_ephemeral());
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(code(&followup_request(&bot, &token, "POST", "", json!({"content": "more"}))), (401, 50027));
}

#[tokio::test(start_paused = true)]
async fn followups_are_limited_for_user_installations() {
    for (installation, last) in [(Installation::User, (400, 40094)), (Installation::Guild, (200, 0))] {
        let (bot, mut socket) = start_bot(Setup { installation, ..Setup::default() }).await;
        let used = bot.discord.owner().run_command("/fork", &[]).unwrap();
        let token = last_token(&mut socket).await;
        callback_request(&bot, used, &token, 4, json!({"content": "first"}));
        for _ in 0..5 {
            assert_eq!(followup_request(&bot, &token, "POST", "", json!({"content": "x"})).status, 200);
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(code(&followup_request(&bot, &token, "POST", "", json!({"content": "x"}))), last);
    }
}

#[tokio::test(start_paused = true)]
async fn button_is_acknowledged_and_updates_its_message() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let done = json!({"type": 2, "style": 1, "custom_id": "done:1", "label": "Done"});
    let grey = json!({"type": 2, "style": 2, "custom_id": "later:1", "label": "Later", "disabled": true});
    let row = json!([{"type": 1, "components": [done, grey]}]);
    bot.send(json!({"content": "water the plants", "components": row}));
    let card = bot.discord.visible()[0].id;
    let owner = bot.discord.owner();
    assert!(owner.click(card, "Later").is_err());
    assert!(owner.click(card, "nothing").is_err());
    let pressed = owner.click(card, "Done").unwrap();
    let token = self::last_token(&mut socket).await;
    assert_eq!(callback_request(&bot, pressed, &token, 6, Value::Null).status, 204);
    assert_eq!(bot.discord.interaction_view(pressed), InteractionView::Acknowledged);
    let change = json!({"content": "watered", "components": []});
    assert_eq!(followup_request(&bot, &token, "PATCH", "/messages/@original", change).status, 200);
    assert_eq!((bot.discord.visible()[0].content.as_str(), bot.discord.visible()[0].edits), ("watered", 1));
    assert!(owner.click(card, "Done").is_err());
}

#[tokio::test(start_paused = true)]
async fn menu_sends_the_chosen_values() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let option = |name: &str| json!({"label": name, "value": name});
    let menu = json!({"type": 3, "custom_id": "move", "options": [option("noon"), option("night")]});
    bot.send(json!({"content": "move it?", "components": [{"type": 1, "components": [menu]}]}));
    let card = bot.discord.visible()[0].id;
    let owner = bot.discord.owner();
    assert!(owner.choose(card, "move", &["dawn"]).is_err());
    assert!(owner.choose(card, "move", &["noon", "night"]).is_err());
    let chosen = owner.choose(card, "move", &["night"]).unwrap();
    let frames = available_frames(&mut socket).await;
    let interaction = &frames.last().unwrap()["d"];
    assert_eq!(interaction["data"]["values"], json!(["night"]));
    assert_eq!(interaction["message"]["id"], card.to_string());
    let token = interaction["token"].as_str().unwrap();
    let answer = callback_request(&bot, chosen, token, 7, json!({"content": "tonight", "components": []}));
    assert_eq!(answer.status, 204);
    assert!(
        matches!(bot.discord.interaction_view(chosen), InteractionView::Updated(seen) if seen.content == "tonight")
    );
}

#[tokio::test(start_paused = true)]
async fn modal_is_opened_and_submitted() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let owner = bot.discord.owner();
    let used = owner.run_command("/fork", &[]).unwrap();
    let token = self::last_token(&mut socket).await;
    let input = json!({"type": 4, "custom_id": "why", "style": 1, "max_length": 10});
    let modal = |title: &str| {
        let label = json!({"type": 18, "label": "why?", "component": input});
        json!({"custom_id": "ask", "title": title, "components": [label]})
    };
    assert_eq!(code(&callback_request(&bot, used, &token, 9, modal(&"x".repeat(46)))), (400, 50035));
    assert_eq!(callback_request(&bot, used, &token, 9, modal("Tell me")).status, 204);
    assert!(
        matches!(bot.discord.interaction_view(used), InteractionView::Modal(modal) if modal["title"] == "Tell me")
    );
    assert!(owner.submit_modal(used, &[("why", "longer than ten")]).is_err());
    assert!(owner.submit_modal(used, &[("who", "me")]).is_err());
    let sent = owner.submit_modal(used, &[("why", "because")]).unwrap();
    let frames = available_frames(&mut socket).await;
    let interaction = &frames.last().unwrap()["d"];
    assert_eq!(interaction["data"]["components"][0]["component"]["value"], "because");
    let answer =
        callback_request(&bot, sent, interaction["token"].as_str().unwrap(), 4, json!({"content": "i see"}));
    assert_eq!(answer.status, 204);
}

#[tokio::test(start_paused = true)]
async fn option_autocompletes() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let owner = bot.discord.owner();
    let answering = async {
        loop {
            let frame = super::bot::next_frame(&mut socket).await;
            if frame["t"] == "INTERACTION_CREATE" {
                let d = &frame["d"];
                assert_eq!((&d["type"], &d["data"]["options"][0]["focused"]), (&json!(4), &json!(true)));
                let id = d["id"].as_str().unwrap().parse().unwrap();
                let choices = json!({"choices": [{"name": "tomorrow at nine", "value": "tomorrow 9:00"}]});
                assert_eq!(callback_request(&bot, id, d["token"].as_str().unwrap(), 8, choices).status, 204);
                return;
            }
        }
    };
    let (choices, ()) = tokio::join!(owner.complete_option("/remind", "when", "tom"), answering);
    assert_eq!(choices.unwrap()[0].name, "tomorrow at nine");
    let unanswered = owner.complete_option("/remind", "when", "tom").await;
    assert_eq!(unanswered.unwrap_err().0, "Loading options failed");
}

#[tokio::test(start_paused = true)]
async fn only_registered_commands_can_be_run() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let owner = bot.discord.owner();
    assert!(owner.run_command("/spoon", &[]).is_err());
    assert!(owner.run_command("/remind", &[]).is_err());
    assert!(owner.run_command("/remind", &[("when", json!(3))]).is_err());
    assert!(owner.run_command("/remind", &[("when", json!("noon")), ("times", json!(0))]).is_err());
    assert!(owner.run_command("/remind", &[("when", json!("noon")), ("colour", json!("red"))]).is_err());
    owner.run_command("/remind", &[("when", json!("noon")), ("times", json!(2))]).unwrap();
    let said = owner.send_text("buy milk");
    owner.run_message_command("Remind me about this", said).unwrap();
    let frames = available_frames(&mut socket).await;
    let expected =
        json!([{"name": "when", "type": 3, "value": "noon"}, {"name": "times", "type": 4, "value": 2}]);
    assert_eq!(frames[0]["d"]["data"]["options"], expected);
    let menu = &frames[2]["d"]["data"];
    assert_eq!(menu["resolved"]["messages"][said.to_string()]["content"], "buy milk");
    assert_eq!(menu["target_id"], said.to_string());
}

#[tokio::test(start_paused = true)]
async fn interactions_can_be_forged() {
    let (bot, mut socket) = start_bot(Setup::default()).await;
    let stranger = bot.discord.other_user("mallory");
    stranger.send_forged_interaction(3, json!({"custom_id": "approve:1", "component_type": 2}), None);
    let frames = available_frames(&mut socket).await;
    assert_eq!(frames[0]["d"]["user"]["username"], "mallory");
    assert_eq!(frames[0]["d"]["data"]["custom_id"], "approve:1");
}
