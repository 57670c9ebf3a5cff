//! Tests of parsing valid and malformed events.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn message() -> Value {
    json!({
        "id": "10", "channel_id": "20", "author": { "id": "30", "username": "human" }, "content": "hello",
        "type": 0, "attachments": [], "embeds": [], "nonce": 7, "something_new": { "a": [1] },
    })
}

fn parse_message(data: &Value) -> Message {
    let Ok(Some(Event::Message(message))) = parse("MESSAGE_CREATE", data) else { panic!("no message") };
    message
}

fn interaction(kind: u8, data: &Value) -> Interaction {
    let whole = json!({
        "id": "1", "application_id": "2", "token": "secret", "type": kind, "data": data,
        "user": { "id": "3" }, "channel_id": "4", "context": 1, "message": message(),
    });
    let Ok(Some(Event::Interaction(interaction))) = parse("INTERACTION_CREATE", &whole) else {
        panic!("none")
    };
    interaction
}

#[test]
fn unknown_events_are_ignored() {
    assert_eq!(parse("TYPING_START", &json!({})), Ok(None));
    assert_eq!(parse("", &Value::Null), Ok(None));
}

#[test]
fn optional_fields_of_a_message_may_be_missing() {
    let plain = parse_message(&message());
    assert_eq!(
        (plain.id, plain.author, plain.nonce.as_deref()),
        (Snowflake(10), Author::Person(Snowflake(30)), Some("7"))
    );
    assert!(plain.in_dm() && plain.reply_to.is_none());
    let bare = parse_message(&json!({ "id": "1", "channel_id": "2", "author": { "id": "3" } }));
    assert_eq!(bare.content, "");
}

/// D7: authors are identified by id; webhooks and bots are recognized as such.
#[test]
fn authors_are_identified_by_id_and_type() {
    let mut data = message();
    data["author"]["bot"] = json!(true);
    assert_eq!(parse_message(&data).author, Author::Bot(Snowflake(30)));
    data["webhook_id"] = json!("40");
    assert_eq!(parse_message(&data).author, Author::Webhook(Snowflake(40)));
    data["guild_id"] = json!("50");
    assert!(!parse_message(&data).in_dm());
}

#[test]
fn a_reply_has_its_message_even_if_that_is_deleted() {
    let mut data = message();
    data["type"] = json!(19);
    data["message_reference"] = json!({ "type": 0, "message_id": "9", "channel_id": "20" });
    data["referenced_message"] = Value::Null;
    assert_eq!(parse_message(&data).reply_to, Some(ReplyTo { message: Snowflake(9), quoted: None }));
    let card = json!({ "title": "dentist", "description": "15:00", "fields": [{ "name": "leave", "value": "14:35" }] });
    data["referenced_message"] =
        json!({ "author": { "id": "5", "bot": true }, "content": "", "embeds": [card] });
    let quoted = parse_message(&data).reply_to.unwrap().quoted.unwrap();
    assert_eq!(
        (quoted.author, quoted.embed.as_str()),
        (Author::Bot(Snowflake(5)), "dentist\n15:00\nleave\n14:35")
    );
    data["message_reference"]["type"] = json!(1);
    assert_eq!(parse_message(&data).reply_to, None, "a forwarded message answers nothing");
}

#[test]
fn a_missing_field_is_reported_in_a_sentence() {
    let check =
        |name: &str, data: Value, expected: &str| assert_eq!(parse(name, &data).unwrap_err(), expected);
    check("READY", json!({}), "READY from Discord has no id in `id`; it is passed over");
    let no_author = json!({ "id": "1", "channel_id": "2" });
    check("MESSAGE_CREATE", no_author, "MESSAGE_CREATE from Discord has no author; it is passed over");
    let no_user =
        json!({ "id": "1", "token": "t", "application_id": "2", "type": 2, "data": { "name": "x" } });
    check(
        "INTERACTION_CREATE",
        no_user,
        "INTERACTION_CREATE from Discord has nobody in `user`; it is passed over",
    );
}

#[test]
fn every_kind_of_interaction_is_parsed() {
    let options =
        json!([{ "name": "when", "type": 3, "value": "at 3" }, { "name": "n", "type": 4, "value": 5 }]);
    let given = vec![
        OptionValue { name: "when".into(), value: "at 3".into() },
        OptionValue { name: "n".into(), value: "5".into() },
    ];
    let command = interaction(2, &json!({ "name": "remind", "options": options }));
    assert_eq!(command.user, Snowflake(3));
    assert_eq!(
        command.kind,
        InteractionKind::Command { name: "remind".into(), options: given, target: None }
    );
    assert!(!format!("{command:?}").contains("secret"));

    let on = json!({ "name": "Remind me", "type": 3, "target_id": "10", "resolved": { "messages": { "10": message() } } });
    let InteractionKind::Command { target: Some(target), .. } = interaction(2, &on).kind else {
        panic!("no target")
    };
    assert_eq!(target.content, "hello");

    let typing = json!({ "name": "remind", "options": [{ "name": "when", "value": "to", "focused": true }] });
    let InteractionKind::Autocomplete { focused, .. } = interaction(4, &typing).kind else {
        panic!("not typing")
    };
    assert_eq!(focused, OptionValue { name: "when".into(), value: "to".into() });

    let chosen = json!({ "custom_id": "move", "component_type": 3, "values": ["1h"] });
    let InteractionKind::Component { values, message, .. } = interaction(3, &chosen).kind else {
        panic!("not pressed")
    };
    assert_eq!((values, message.unwrap().id), (vec!["1h".to_owned()], Snowflake(10)));
    assert_eq!(interaction(77, &json!({})).kind, InteractionKind::Unknown);
}

#[test]
fn forms_are_parsed_in_both_formats() {
    let new = json!({ "type": 18, "component": { "type": 4, "custom_id": "what", "value": "tea" } });
    let menu = json!({ "type": 18, "component": { "type": 3, "custom_id": "lane", "values": ["a", "b"] } });
    let old = json!({ "type": 1, "components": [{ "type": 4, "custom_id": "when", "value": "3" }] });
    let form = json!({ "custom_id": "edit", "components": [new, menu, old] });
    let InteractionKind::Form { fields, .. } = interaction(5, &form).kind else { panic!("not filled") };
    assert_eq!(fields["what"], ["tea"]);
    assert_eq!(fields["lane"], ["a", "b"]);
    assert_eq!(fields["when"], ["3"]);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[0-9]{0,20}".prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Parsing never panics, whatever an event contains.
    #[test]
    fn parsing_an_event_never_panics(at in 0..9_usize, field in 0..9_usize, value in any_value()) {
        let names = [
            "READY", "RESUMED", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_REACTION_ADD",
            "MESSAGE_REACTION_REMOVE", "INTERACTION_CREATE", "OTHER",
        ];
        let fields =
            ["id", "author", "embeds", "attachments", "message_reference", "data", "type", "user", "nonce"];
        let mut data = message();
        data[fields[field]] = value.clone();
        let _ = parse(names[at], &data);
        let _ = parse(names[at], &value);
    }
}
