//! Limits of messages, and Discord's responses when they are exceeded.

use serde_json::{Value, json};

use super::bot::{Bot, code};
use crate::fake_discord::{COMPONENTS_V2, Rate, Rates, SUPPRESS_NOTIFICATIONS, Setup};

fn unlimited_bot() -> Bot {
    let rates = Rates { sends: Rate::new(1_000, 1_000), global: Rate::new(1_000, 1_000), ..Rates::default() };
    Bot::with(Setup { rates, ..Setup::default() })
}

fn row(components: Value) -> Value {
    json!({"components": [{"type": 1, "components": components}], "content": "x"})
}

fn button(custom_id: &str, label: &str) -> Value {
    json!({"type": 2, "style": 1, "custom_id": custom_id, "label": label})
}

fn option(value: usize) -> Value {
    json!({"label": value.to_string(), "value": value.to_string()})
}

fn menu(options: usize) -> Value {
    let options: Vec<_> = (0..options).map(option).collect();
    json!({"type": 3, "custom_id": "menu", "options": options})
}

fn texts(many: usize) -> Value {
    let text = json!({"type": 10, "content": "x"});
    json!({"flags": COMPONENTS_V2, "components": vec![text; many]})
}

#[tokio::test(start_paused = true)]
async fn limits_are_enforced_exactly() {
    let bot = unlimited_bot();
    let long = |many: usize| "x".repeat(many);
    let embed = |embed: Value| json!({"embeds": [embed]});
    let field = |name: usize, value: usize| json!({"name": long(name), "value": long(value)});
    let six = |last: usize| {
        let full = json!({"description": long(2_000)});
        json!({"embeds": [full, full, {"description": long(last)}]})
    };
    let buttons = |many: usize| (0..many).map(|at| button(&at.to_string(), "a")).collect::<Value>();
    for (fits, breaks) in [
        (json!({"content": long(2_000)}), json!({"content": long(2_001)})),
        (json!({"content": "🦀".repeat(2_000)}), json!({"content": "🦀".repeat(2_001)})),
        (json!({"content": "x", "nonce": long(25)}), json!({"content": "x", "nonce": long(26)})),
        (embed(json!({"title": long(256)})), embed(json!({"title": long(257)}))),
        (embed(json!({"description": long(4_096)})), embed(json!({"description": long(4_097)}))),
        (embed(json!({"footer": {"text": long(2_048)}})), embed(json!({"footer": {"text": long(2_049)}}))),
        (embed(json!({"author": {"name": long(256)}})), embed(json!({"author": {"name": long(257)}}))),
        (embed(json!({"fields": vec![field(1, 1); 25]})), embed(json!({"fields": vec![field(1, 1); 26]}))),
        (embed(json!({"fields": [field(256, 1)]})), embed(json!({"fields": [field(257, 1)]}))),
        (embed(json!({"fields": [field(1, 1_024)]})), embed(json!({"fields": [field(1, 1_025)]}))),
        (six(2_000), six(2_001)),
        (
            json!({"embeds": vec![json!({"title": "x"}); 10]}),
            json!({"embeds": vec![json!({"title": "x"}); 11]}),
        ),
        (row(buttons(5)), row(buttons(6))),
        (row(json!([button(&long(100), "a")])), row(json!([button(&long(101), "a")]))),
        (row(json!([button("a", &long(80))])), row(json!([button("a", &long(81))]))),
        (row(json!([button("a", "x"), button("b", "x")])), row(json!([button("a", "x"), button("a", "x")]))),
        (row(json!([menu(25)])), row(json!([menu(26)]))),
        (row(json!([menu(1)])), row(json!([menu(1), button("a", "x")]))),
        (texts(40), texts(41)),
        (texts(1), json!({"flags": COMPONENTS_V2, "components": texts(1)["components"], "content": "x"})),
    ] {
        let taken = bot.send(fits);
        assert_eq!(taken.status, 200, "{}", taken.json());
        let refused = bot.send(breaks.clone());
        assert_eq!(code(&refused), (400, 50035), "{breaks}");
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn error_names_the_invalid_fields() {
    let bot = unlimited_bot();
    let refused =
        bot.send(json!({"content": "x".repeat(2_001), "embeds": [{}, {"title": "x".repeat(257)}]})).json();
    let long = |most: u32| {
        json!({"_errors": [
            {"code": "BASE_TYPE_MAX_LENGTH", "message": format!("Must be {most} or fewer in length.")},
        ]})
    };
    assert_eq!(refused["message"], "Invalid Form Body");
    assert_eq!(refused["errors"], json!({"content": long(2_000), "embeds": {"1": {"title": long(256)}}}));
}

#[tokio::test(start_paused = true)]
async fn empty_message_is_refused() {
    let bot = unlimited_bot();
    for nothing in [json!({}), json!({"content": " \n "}), json!({"content": "", "embeds": []})] {
        assert_eq!(code(&bot.send(nothing)), (400, 50006));
    }
    let kept = bot.send_text("  \n a word \n");
    assert_eq!(bot.discord.visible()[0].content, "a word");
    assert_eq!(code(&bot.message_request("PATCH", kept, "", json!({"content": ""}))), (400, 50006));
    assert_eq!(bot.send_text("\u{200b}"), bot.discord.visible()[1].id);
}

#[tokio::test(start_paused = true)]
async fn only_settable_flags_are_stored() {
    let bot = unlimited_bot();
    bot.send(json!({"content": "x", "flags": SUPPRESS_NOTIFICATIONS | 4 | 64 | 128}));
    let seen = &bot.discord.visible()[0];
    assert_eq!(seen.flags, SUPPRESS_NOTIFICATIONS | 4);
    assert!(!seen.notifies());
    let shown = bot.message_request("PATCH", seen.id, "", json!({"flags": 0})).json();
    assert_eq!(shown["flags"], SUPPRESS_NOTIFICATIONS);
    bot.send(json!({"content": "x"}));
    assert!(bot.discord.visible()[1].notifies());
}

#[tokio::test(start_paused = true)]
async fn malformed_requests_are_refused() {
    let many = Rate::new(u32::MAX, 1_000);
    let rates = Rates { sends: many, edits: many, others: many, global: many, ..Rates::default() };
    let bot = Bot::with(Setup { rates, ..Setup::default() });
    let mine = bot.send_text("still here");
    let application = bot.discord.application_id();
    let malformed =
        [json!(1), json!("text"), json!([]), json!([1]), json!([[{}]]), json!({"type": 1}), json!(true)];
    let mut refused = 0;
    for value in &malformed {
        for name in ["content", "embeds", "components", "nonce"] {
            for flags in [0, COMPONENTS_V2] {
                let body = json!({name: value, "flags": flags});
                refused += u32::from(bot.send(body.clone()).status == 400);
                bot.message_request("PATCH", mine, "", body);
            }
        }
        let deep = json!({"flags": COMPONENTS_V2, "components": [{"type": 12, "components": value, "accessory": value}]});
        bot.send(deep);
        assert_eq!(bot.send(value.clone()).status, 400, "{value}");
        if *value != json!([]) {
            let commands =
                bot.request("PUT", &format!("/applications/{application}/commands"), value.clone());
            assert_eq!(commands.status, 400, "{value}");
        }
        bot.request("POST", "/users/@me/channels", value.clone());
    }
    assert!(refused >= 40, "{refused}");
    for path in
        ["", "/", "/api", "/api/v10", "/channels", "/channels//messages", "/%", "/%zz?%&=", "http://x"]
    {
        assert!(matches!(bot.request("GET", path, Value::Null).status, 400..=499), "{path}");
    }
    let socket = bot.connect(super::bot::INTENTS).await;
    drop(socket);
}
