//! Registration of commands, and ownership of the application.

use serde_json::{Value, json};

use super::bot::{Bot, code};
use crate::fake_discord::{Ownership, Setup};

fn put_commands(bot: &Bot, commands: &Value) -> crate::fake_discord::ApiResponse {
    bot.request("PUT", &format!("/applications/{}/commands", bot.discord.application_id()), commands.clone())
}

#[tokio::test(start_paused = true)]
async fn replaced_commands_keep_their_ids() {
    let bot = Bot::new();
    let model =
        json!({"name": "model", "description": "which model", "contexts": [1, 2], "integration_types": [1]});
    let first = put_commands(&bot, &json!([model, {"name": "old", "description": "x"}])).json();
    assert_eq!((&first[0]["type"], &first[0]["contexts"]), (&json!(1), &json!([1, 2])));
    let second = put_commands(&bot, &json!([model])).json();
    assert_eq!(first[0]["id"], second[0]["id"]);
    assert_eq!(bot.discord.registered_commands().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn invalid_command_is_refused() {
    let bot = Bot::new();
    let long = |many: usize| "x".repeat(many);
    let with = |option: Value| json!([{"name": "a", "description": "x", "options": [option]}]);
    let choices = |many: usize| vec![json!({"name": "x", "value": "y"}); many];
    let optional = json!({"type": 3, "name": "a", "description": "x"});
    let required = json!({"type": 3, "name": "b", "description": "x", "required": true});
    for wrong in [
        json!([{"name": "Model", "description": "x"}]),
        json!([{"name": "two words", "description": "x"}]),
        json!([{"name": long(33), "description": "x"}]),
        json!([{"name": "a", "description": ""}]),
        json!([{"name": "a", "description": long(101)}]),
        json!([{"name": "a", "description": "x"}, {"name": "a", "description": "y"}]),
        json!([{"name": "a", "type": 3, "description": "x"}]),
        json!([{"name": "a", "description": "x", "options": [optional, required]}]),
        json!([{"name": "a", "description": "x", "options": vec![optional.clone(); 26]}]),
        with(json!({"type": 3, "name": "a", "description": "x", "choices": choices(26)})),
        with(
            json!({"type": 3, "name": "a", "description": "x", "choices": choices(1), "autocomplete": true}),
        ),
        with(json!({"type": 99, "name": "a", "description": "x"})),
    ] {
        assert_eq!(code(&put_commands(&bot, &wrong)), (400, 50035), "{wrong}");
        tokio::time::advance(std::time::Duration::from_secs(10)).await;
    }
    let many: Vec<_> = (0..101).map(|at| json!({"name": format!("c{at}"), "description": "x"})).collect();
    assert_eq!(code(&put_commands(&bot, &json!(many))), (400, 30032));
    assert_eq!(put_commands(&bot, &json!(many[..100])).status, 200);
    assert_eq!(put_commands(&bot, &json!([{"name": "Remind me about this", "type": 3}])).status, 200);
}

#[tokio::test(start_paused = true)]
async fn new_commands_per_day_are_limited() {
    let bot = Bot::new();
    let batch = |round: usize| {
        let command = |at| json!({"name": format!("c{round}-{at}"), "description": "x"});
        json!((0..100).map(command).collect::<Vec<_>>())
    };
    assert_eq!(put_commands(&bot, &batch(0)).status, 200);
    assert_eq!(put_commands(&bot, &batch(1)).status, 200);
    assert_eq!(code(&put_commands(&bot, &batch(2))), (429, 30034));
    assert_eq!(put_commands(&bot, &batch(1)).status, 200);
}

#[tokio::test(start_paused = true)]
async fn application_reports_its_owner() {
    let bot = Bot::new();
    let owner = bot.discord.owner().id().to_string();
    for path in ["/applications/@me", "/oauth2/applications/@me"] {
        let application = bot.request("GET", path, Value::Null).json();
        assert_eq!((&application["owner"]["id"], &application["team"]), (&json!(owner), &Value::Null));
    }
    let bot = Bot::with(Setup { ownership: Ownership::Team, ..Setup::default() });
    let application = bot.request("GET", "/applications/@me", Value::Null).json();
    assert_eq!(application["team"]["owner_user_id"], bot.discord.owner().id().to_string());
    assert_ne!(application["owner"]["id"], application["team"]["owner_user_id"]);
}
