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

fn heard(data: &Value) -> Message {
    let Ok(Some(Event::Message(message))) = read("MESSAGE_CREATE", data) else { panic!("no message") };
    message
}

fn interaction(kind: u8, data: &Value) -> Interaction {
    let whole = json!({
        "id": "1", "application_id": "2", "token": "secret", "type": kind, "data": data,
        "user": { "id": "3" }, "channel_id": "4", "context": 1, "message": message(),
    });
    let Ok(Some(Event::Interaction(interaction))) = read("INTERACTION_CREATE", &whole) else {
        panic!("none")
    };
    interaction
}

#[test]
fn an_event_that_is_none_of_ours_is_passed_over() {
    assert_eq!(read("TYPING_START", &json!({})), Ok(None));
    assert_eq!(read("", &Value::Null), Ok(None));
}

#[test]
fn a_message_lacks_nothing_that_it_need_not_have() {
    let plain = heard(&message());
    assert_eq!(
        (plain.id, plain.author, plain.nonce.as_deref()),
        (Snowflake(10), Author::Person(Snowflake(30)), Some("7"))
    );
    assert!(plain.in_dm() && plain.reply_to.is_none());
    let bare = heard(&json!({ "id": "1", "channel_id": "2", "author": { "id": "3" } }));
    assert_eq!(bare.content, "");
}

/// D7: authors are identified by id; webhooks and bots are recognized as such.
#[test]
fn an_author_is_what_they_are_and_not_what_they_are_called() {
    let mut data = message();
    data["author"]["bot"] = json!(true);
    assert_eq!(heard(&data).author, Author::Bot(Snowflake(30)));
    data["webhook_id"] = json!("40");
    assert_eq!(heard(&data).author, Author::Webhook(Snowflake(40)));
    data["guild_id"] = json!("50");
    assert!(!heard(&data).in_dm());
}

#[test]
fn a_reply_knows_what_it_answers_even_if_that_is_gone() {
    let mut data = message();
    data["type"] = json!(19);
    data["message_reference"] = json!({ "type": 0, "message_id": "9", "channel_id": "20" });
    data["referenced_message"] = Value::Null;
    assert_eq!(heard(&data).reply_to, Some(ReplyTo { message: Snowflake(9), quoted: None }));
    let card = json!({ "title": "dentist", "description": "15:00", "fields": [{ "name": "leave", "value": "14:35" }] });
    data["referenced_message"] =
        json!({ "author": { "id": "5", "bot": true }, "content": "", "embeds": [card] });
    let quoted = heard(&data).reply_to.unwrap().quoted.unwrap();
    assert_eq!(
        (quoted.author, quoted.embed.as_str()),
        (Author::Bot(Snowflake(5)), "dentist\n15:00\nleave\n14:35")
    );
    data["message_reference"]["type"] = json!(1);
    assert_eq!(heard(&data).reply_to, None, "a forwarded message answers nothing");
}

#[test]
fn an_event_that_lacks_something_is_told_in_a_sentence() {
    let check =
        |name: &str, data: Value, expected: &str| assert_eq!(read(name, &data).unwrap_err(), expected);
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
fn every_kind_of_interaction_is_read() {
    let options =
        json!([{ "name": "when", "type": 3, "value": "at 3" }, { "name": "n", "type": 4, "value": 5 }]);
    let given = vec![
        Given { name: "when".into(), value: "at 3".into() },
        Given { name: "n".into(), value: "5".into() },
    ];
    let command = interaction(2, &json!({ "name": "remind", "options": options }));
    assert_eq!(command.user, Snowflake(3));
    assert_eq!(command.asked, Asked::Command { name: "remind".into(), given, target: None });
    assert!(!format!("{command:?}").contains("secret"));

    let on = json!({ "name": "Remind me", "type": 3, "target_id": "10", "resolved": { "messages": { "10": message() } } });
    let Asked::Command { target: Some(target), .. } = interaction(2, &on).asked else { panic!("no target") };
    assert_eq!(target.content, "hello");

    let typing = json!({ "name": "remind", "options": [{ "name": "when", "value": "to", "focused": true }] });
    let Asked::Typing { focused, .. } = interaction(4, &typing).asked else { panic!("not typing") };
    assert_eq!(focused, Given { name: "when".into(), value: "to".into() });

    let chosen = json!({ "custom_id": "move", "component_type": 3, "values": ["1h"] });
    let Asked::Pressed { values, message, .. } = interaction(3, &chosen).asked else { panic!("not pressed") };
    assert_eq!((values, message.unwrap().id), (vec!["1h".to_owned()], Snowflake(10)));
    assert_eq!(interaction(77, &json!({})).asked, Asked::Unknown);
}

#[test]
fn a_form_is_read_in_its_new_shape_and_its_old_one() {
    let new = json!({ "type": 18, "component": { "type": 4, "custom_id": "what", "value": "tea" } });
    let menu = json!({ "type": 18, "component": { "type": 3, "custom_id": "lane", "values": ["a", "b"] } });
    let old = json!({ "type": 1, "components": [{ "type": 4, "custom_id": "when", "value": "3" }] });
    let form = json!({ "custom_id": "edit", "components": [new, menu, old] });
    let Asked::Filled { fields, .. } = interaction(5, &form).asked else { panic!("not filled") };
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
    fn no_event_brings_us_down(at in 0..9_usize, field in 0..9_usize, value in any_value()) {
        let names = [
            "READY", "RESUMED", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_REACTION_ADD",
            "MESSAGE_REACTION_REMOVE", "INTERACTION_CREATE", "OTHER",
        ];
        let fields =
            ["id", "author", "embeds", "attachments", "message_reference", "data", "type", "user", "nonce"];
        let mut data = message();
        data[fields[field]] = value.clone();
        let _ = read(names[at], &data);
        let _ = read(names[at], &value);
    }
}
