//! Tests of the parsing of tool calls.

use domain::assistant::{InboxCommand, Request, TurnRequest};
use domain::context::{Names, estimate_overhead, instructions};
use domain::context_tool::{ContextTool, ForkOptions, Urgency};
use domain::conversation::Json;
use domain::embed::{ButtonAction, ButtonStyle, Colour, FieldLayout};
use domain::inbox::InboxItemId;
use domain::label::{Label, Realm};
use domain::place::ContextToolKind;
use domain::tool::{Outcome, ToolCall, ToolClass};
use domain::turn::TurnId;
use engine::ports::ToolRunner;
use serde_json::{Value, json};

use crate::{ResolvedCall, TOOLS, Toolbox, schema};

fn call(name: &str, input: &str) -> ToolCall {
    ToolCall { id: "a".to_owned(), name: name.to_owned(), input: Json(input.to_owned()) }
}

/// Returns the request that `call` sends to the assistant, or what is wrong with it.
fn parsed_request(turn: TurnId, call: &ToolCall) -> Result<Request, String> {
    match crate::resolve_call(turn, call)? {
        ResolvedCall::Request(request) => Ok(request),
        ResolvedCall::Run(..) | ResolvedCall::RunForCaller(..) => Err("it works itself.".to_owned()),
    }
}

fn context_tool(name: &str, input: Value) -> ContextTool {
    match parsed_request(TurnId(7), &call(name, &input.to_string())) {
        Ok(Request::Turn(TurnId(7), TurnRequest::UseContextTool(wish))) => wish,
        other => panic!("{name} made of {input}: {other:?}"),
    }
}

fn refusal(name: &str, input: &str) -> String {
    parsed_request(TurnId(7), &call(name, input)).expect_err("it fits")
}

/// TL-1: the eight context tools, and ours for the inbox, the schedule, files and the web.
#[test]
fn all_tools_are_listed() {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.spec.name).collect();
    for tool in ContextToolKind::ALL {
        assert!(names.contains(&tool.name()), "{} is missing", tool.name());
    }
    assert_eq!(names.len(), ContextToolKind::ALL.len() + 16);
    for name in [
        "inbox_add",
        "inbox_list",
        "inbox_remove",
        "schedule",
        "status",
        "Read",
        "Write",
        "Edit",
        "Glob",
        "Grep",
        "Bash",
        "WebFetch",
        "WebSearch",
        "Skill",
        "Task",
        "mcp",
    ] {
        assert!(names.contains(&name), "{name} is missing");
    }
}

/// Bounds the fixed cost of every request.
#[test]
fn instructions_and_tools_are_short() {
    let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
    let tokens = estimate_overhead(&instructions(&names), &Toolbox::default().tools());
    assert!(tokens <= 5_000, "{tokens} tokens");
}

/// TL-3, TL-6, TL-8, TL-10, TL-11, TL-13, TL-15, TL-16: the schemas are exactly as specified.
#[test]
fn schemas_are_as_specified() {
    let schema = |name: &str| -> Value {
        let tool = TOOLS.iter().find(|tool| tool.spec.name == name).expect("a tool");
        serde_json::from_str(tool.spec.schema).expect("a schema")
    };
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let boolean = json!({"type": "boolean"});
    let object = |required: &[&str], properties: Value| match required {
        [] => json!({"type": "object", "properties": properties}),
        _ => json!({"type": "object", "required": required, "properties": properties}),
    };
    assert_eq!(schema("ping_user"), object(&["message"], json!({"message": text, "critical": boolean})));
    assert_eq!(schema("follow_up_chain"), object(&["minutes_from_now"], json!({"minutes_from_now": number})));
    assert_eq!(schema("save_context"), object(&[], json!({})));
    assert_eq!(schema("exit_fork"), object(&[], json!({})));
    assert_eq!(schema("report_updates"), object(&["message"], json!({"message": text})));
    assert_eq!(schema("enter_fork"), object(&[], json!({"topic": text, "idle_timeout": number})));
    let instructions =
        json!({"type": "string", "description": "what to keep and what to drop when compacting"});
    assert_eq!(schema("compact_session"), object(&["instructions"], json!({"instructions": instructions})));

    let embed = schema("discord_embed");
    assert_eq!(embed["required"], json!(["title"]));
    let names: Vec<&String> = embed["properties"].as_object().expect("fields").keys().collect();
    assert_eq!(names, ["buttons", "color", "critical", "description", "fields", "title"]);
    assert_eq!(embed["properties"]["buttons"]["maxItems"], 5);
    assert_eq!(embed["properties"]["buttons"]["items"]["required"], json!(["label", "action"]));
    assert_eq!(embed["properties"]["fields"]["items"]["required"], json!(["name", "value"]));
    let button = &embed["properties"]["buttons"]["items"]["properties"];
    assert!(button["label"]["description"].as_str().expect("advice").contains("Close"));
    assert!(
        button["style"]["description"]
            .as_str()
            .expect("advice")
            .contains("success, danger, primary, secondary")
    );
    let actions = button["action"]["description"].as_str().expect("advice");
    for action in ["task_done:<task_id>", "task_del:<task_id>", "event_del:<event_id>", "agent:<prompt>"] {
        assert!(actions.contains(action), "{action}");
    }
}

/// TL-3, TL-5: an embed with all fields, and one with only the required ones.
#[test]
fn embed_is_parsed_with_defaults() {
    let ContextTool::Show(plain, Urgency::Normal) = context_tool("discord_embed", json!({"title": "Today"}))
    else {
        panic!("no embed");
    };
    assert_eq!((plain.colour, plain.fields.len(), plain.buttons.len()), (Colour::Blue, 0, 0));
    let full = json!({
        "title": "Today", "description": "two things", "color": "mauve", "critical": true, "else": 1,
        "fields": [{"name": "a", "value": "b"}, {"name": "c", "value": "d", "inline": false}],
        "buttons": [
            {"label": "Done", "style": "success", "action": "task_done:x1"},
            {"label": "Close", "style": "odd", "action": "agent:close it"},
        ],
    });
    let ContextTool::Show(embed, Urgency::Critical) = context_tool("discord_embed", full) else {
        panic!("no embed")
    };
    assert_eq!(embed.colour, Colour::Blue, "an unknown colour is the default");
    assert_eq!(
        embed.fields.iter().map(|field| field.layout).collect::<Vec<_>>(),
        [FieldLayout::Inline, FieldLayout::FullLine]
    );
    assert_eq!(
        (embed.buttons[0].style, embed.buttons[1].style),
        (ButtonStyle::Success, ButtonStyle::Secondary)
    );
    assert_eq!(embed.buttons[1].action, ButtonAction::Ask("close it".to_owned()));
}

/// TL-6, TL-8, TL-11, TL-13, TL-16, RP-21: the context tools are parsed into their requests.
#[test]
fn context_tool_calls_are_parsed() {
    assert_eq!(
        context_tool("ping_user", json!({"message": "up"})),
        ContextTool::Ping("up".to_owned(), Urgency::Normal)
    );
    let urgent = context_tool("ping_user", json!({"message": "up", "critical": true}));
    assert_eq!(urgent, ContextTool::Ping("up".to_owned(), Urgency::Critical));
    assert_eq!(context_tool("follow_up_chain", json!({"minutes_from_now": 5})), ContextTool::FollowUp(5));
    assert_eq!(context_tool("follow_up_chain", json!({"minutes_from_now": 5.0})), ContextTool::FollowUp(5));
    assert_eq!(context_tool("save_context", json!({})), ContextTool::Save);
    assert_eq!(context_tool("exit_fork", json!({"left": "over"})), ContextTool::ExitFork);
    assert_eq!(
        context_tool("report_updates", json!({"message": "two mails"})),
        ContextTool::Report("two mails".to_owned())
    );
    let asked = ForkOptions { topic: Some("tax".to_owned()), idle_minutes: Some(20) };
    assert_eq!(
        context_tool("enter_fork", json!({"topic": " tax ", "idle_timeout": 20})),
        ContextTool::EnterFork(asked)
    );
    assert_eq!(context_tool("enter_fork", json!({})), ContextTool::EnterFork(ForkOptions::default()));
    let instructions = ContextTool::Compact("keep names".to_owned());
    assert_eq!(context_tool("compact_session", json!({"instructions": "keep names"})), instructions);
}

/// TL-9, TL-17: constraints that a schema cannot express are checked too.
#[test]
fn minutes_start_at_one_and_text_is_not_blank() {
    for number in ["0", "-5", "1e300", "4294967296"] {
        let told = refusal("follow_up_chain", &format!(r#"{{"minutes_from_now":{number}}}"#));
        assert!(told.contains("`minutes_from_now` must be a whole number of minutes, at least 1"), "{told}");
    }
    assert!(refusal("enter_fork", r#"{"idle_timeout":0}"#).contains("`idle_timeout`"));
    assert!(refusal("report_updates", r#"{"message":" \n"}"#).contains("`message` is blank"));
}

/// TL-17: a mistake is reported with its path and the correct form.
#[test]
fn invalid_input_is_explained() {
    let check = |name: &str, input: &str, expected: &str| assert_eq!(refusal(name, input), expected);
    let embed = |wrong: &str| format!("that input does not fit `discord_embed`: {wrong}");
    check("discord_embed", "{}", &embed("`title` is missing; it must be text."));
    check("discord_embed", r#"{"title":5}"#, &embed("`title` must be text, and is a number."));
    check("discord_embed", "[]", &embed("the input must be an object, and is a list."));
    check("discord_embed", "null", &embed("the input must be an object, and is null."));
    let fields = r#"{"title":"t","fields":[{"name":"a","value":"b","inline":"yes"},{"name":"c"},7]}"#;
    let wrong = "`fields[0].inline` must be true or false, and is text. `fields[1].value` is missing; it must be \
        text. `fields[2]` must be an object, and is a number.";
    check("discord_embed", fields, &embed(wrong));
    let buttons = json!({"title": "t", "buttons": vec![json!({"label": "a", "action": "b"}); 6]}).to_string();
    check("discord_embed", &buttons, &embed("`buttons` may have at most 5 items, and has 6."));
    let add = "that input does not fit `inbox_add`: ";
    check("inbox_add", r#"{"text":""}"#, &format!("{add}`text` must have at least 1 character."));
    check("inbox_add", r#"{"text":"a","txet":1}"#, &format!("{add}`txet` is not known; use `text`."));
    let status = "that input does not fit `status`: `a` is not known; leave it out.";
    check("status", r#"{"a":1}"#, status);
    assert!(refusal("status", "{").contains("it is not JSON"));
    assert!(
        refusal("follow_up_chain", r#"{"minutes_from_now":1.5}"#)
            .contains("must be a whole number, and is a number")
    );
    let told = refusal("discord_embed", &json!({"title": "t", "fields": vec![1; 50]}).to_string());
    assert!(told.ends_with("45 more like these."), "{told}");
}

/// TL-17: schema keywords that none of our tools uses yet.
#[test]
fn schema_supports_enum_and_minimum() {
    let schema = r#"{"type":"object","properties":{"a":{"enum":["x",2]},"b":{"type":"number","minimum":1}}}"#;
    let check = |input: &str, expected: Result<(), &str>| {
        assert_eq!(schema::parse(schema, input).map(drop), expected.map_err(str::to_owned), "{input}");
    };
    check(r#"{"a":"x","b":1}"#, Ok(()));
    check(r#"{"a":2,"b":1.5}"#, Ok(()));
    check(r#"{"a":"y"}"#, Err("`a` must be one of \"x\", 2."));
    check(r#"{"b":0.5}"#, Err("`b` must be at least 1, and is 0.5."));
}

/// TL-17: any input of a model gets an answer of bounded length.
#[test]
fn hostile_input_gets_a_bounded_answer() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = (0..100).fold(json!(1), |inner, _| json!({ "fields": [inner] }));
    let long = "x".repeat(10_000_000);
    let hostile = [
        deep.clone(),
        format!(r#"{{"title":{deep}}}"#),
        nested.to_string(),
        r#"{"title":1e999}"#.to_owned(),
        r#"{"minutes_from_now":123456789012345678901234567890}"#.to_owned(),
        r#"{"minutes_from_now":-0.0}"#.to_owned(),
        r#"{"message":null,"text":{},"instructions":[]}"#.to_owned(),
        format!(r#"{{"{long}":1}}"#),
        "\u{0}".to_owned(),
        "\"\\ud800\"".to_owned(),
        String::new(),
    ];
    for tool in &TOOLS {
        for input in &hostile {
            if let Err(told) = parsed_request(TurnId(1), &call(tool.spec.name, input)) {
                assert!(told.len() < 2_000, "{} answers with {} bytes", tool.spec.name, told.len());
            }
        }
    }
    let same_twice = r#"{"message":"first","message":"second"}"#;
    let read = parsed_request(TurnId(1), &call("report_updates", same_twice)).expect("it fits");
    assert!(
        matches!(read, Request::Turn(_, TurnRequest::UseContextTool(ContextTool::Report(text))) if text == "second"),
        "the last one counts"
    );
    let ContextTool::Report(kept) = context_tool("report_updates", json!({ "message": long })) else {
        panic!("no report")
    };
    assert_eq!(kept.len(), long.len());
}

/// TL-17: schemas use only keywords that are checked.
#[test]
fn schemas_use_only_checked_keywords() {
    const CHECKED: [&str; 9] = [
        "type",
        "required",
        "properties",
        "items",
        "maxItems",
        "enum",
        "minimum",
        "minLength",
        "additionalProperties",
    ];
    fn look(schema: &Value) {
        for word in schema.as_object().expect("a schema").keys() {
            assert!(CHECKED.contains(&word.as_str()) || word == "description", "`{word}` is not checked");
        }
        schema["properties"].as_object().into_iter().flatten().for_each(|(_, schema)| look(schema));
        schema.get("items").into_iter().for_each(look);
    }
    for tool in &TOOLS {
        look(&serde_json::from_str(tool.spec.schema).expect("a schema"));
    }
}

/// ST-20: the caption names the subject of a call.
#[test]
fn caption_names_the_subject_of_a_call() {
    let caption = |name: &str, input: &str| Toolbox::default().caption(&call(name, input));
    assert_eq!(caption("Read", r#"{"file_path":"/a/b/c_d.md"}"#), "Read(b/c_d.md)");
    assert_eq!(caption("Read", "{"), "Read");
    assert_eq!(caption("Read", r#"{"file_path":7}"#), "Read");
    assert_eq!(caption("inbox_add", r#"{"text":"milk"}"#), "inbox_add");
}

/// The names that external skills are compared with are those of the existing tools.
#[test]
fn skills_know_the_tool_names() {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.spec.name).collect();
    assert_eq!(names, domain::tool::pattern::OWN_TOOLS);
}

/// PM-5: destructive tools require an approval, and pure requests to the assistant do not.
#[test]
fn every_tool_has_its_class() {
    for tool in &TOOLS {
        let expected = match tool.spec.name {
            "inbox_remove" => ToolClass::Acts,
            "inbox_add" => ToolClass::Notes,
            "schedule" => ToolClass::Plans,
            "Bash" => ToolClass::Shell,
            "WebFetch" => ToolClass::Fetches,
            "WebSearch" => ToolClass::Searches,
            "Read" | "Glob" | "Grep" | "Skill" => ToolClass::Reads,
            "Task" => ToolClass::Delegates,
            "mcp" => ToolClass::Foreign,
            "Write" | "Edit" => ToolClass::Edits,
            _ => ToolClass::Own,
        };
        assert_eq!(tool.spec.class, expected, "{}", tool.spec.name);
    }
    for number in ["3", "3.0"] {
        let wanted = parsed_request(TurnId(7), &call("inbox_remove", &format!("{{\"number\":{number}}}")));
        assert_eq!(wanted, Ok(Request::Inbox(InboxCommand::Remove(InboxItemId(3)))));
    }
    assert!(refusal("inbox_remove", r#"{"number":0}"#).contains("at least 1"));
    assert!(refusal("inbox_remove", r#"{"number":"3"}"#).contains("`number` must be a whole number"));
    assert!(refusal("inbox_remove", "{}").contains("`number` is missing"));
}

/// I4: partial output of a killed command is as private as complete output, and with network it is
/// from outside; error texts of other tools are our own.
#[test]
fn failed_call_is_labelled_by_quoted_sources() {
    let toolbox = Toolbox::default();
    let label = |name: &str, input: Value, outcome: Outcome| {
        let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), input: Json(input.to_string()) };
        toolbox.label(&call, &outcome)
    };
    let files = Label::private(Realm::Files);
    let web = Label::outside(Realm::Web);
    for outcome in [Outcome::Done, Outcome::Failed] {
        let label = |name: &str, input: Value| label(name, input, outcome.clone());
        assert_eq!(label("Bash", json!({"command": "cat notes/a; sleep 200"})), files);
        assert_eq!(label("Bash", json!({"command": "curl x", "network": true})), files.join(web));
        assert!(label("mcp", json!({"tool": "mcp__a__b"})).is_tainted());
    }
    let mail = json!({"command": "ollim-bot mail unread"});
    assert_eq!(label("Bash", mail.clone(), Outcome::Done), Label::both(Realm::Mail));
    assert_eq!(label("Bash", mail, Outcome::Failed), Label::private(Realm::Mail));
    let page = json!({"url": "https://a.example"});
    assert_eq!(label("WebFetch", page.clone(), Outcome::Done), web);
    assert_eq!(label("WebFetch", page, Outcome::Failed), Label::PLAIN);
}
