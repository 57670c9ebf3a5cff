//! Tests of the state machine.

use serde_json::json;

use super::*;

const GATEWAY: &str = "wss://gateway.discord.gg";
const RESUME: &str = "wss://gateway-us-east1-b.discord.gg";

fn machine(session: Option<Session>) -> Machine {
    let mut machine = Machine::new(Token::parse("a.b.c").unwrap(), session, 1);
    assert_eq!(machine.on(Input::Start, at(0)), [Output::Locate { after: at(0) }]);
    machine
}

fn session() -> Session {
    Session { id: "s1".into(), seq: 7, resume_url: RESUME.into() }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn text(value: &Value) -> Input {
    Input::Text(value.to_string())
}

/// Connects and receives the first frame at `now`. Returns the outputs.
fn connect_and_greet(machine: &mut Machine, now: Duration) -> Vec<Output> {
    machine.on(Input::Opened, now);
    machine.on(text(&json!({ "op": 10, "d": { "heartbeat_interval": 41_250 } })), now)
}

fn ready(machine: &mut Machine, now: Duration) -> Vec<Output> {
    let data = json!({ "user": { "id": "5" }, "session_id": "s1", "resume_gateway_url": RESUME });
    machine.on(text(&json!({ "op": 0, "t": "READY", "s": 1, "d": data })), now)
}

/// Returns the only frame that is sent.
fn only_frame(outputs: &[Output]) -> Value {
    let [Output::Send(text)] = outputs else { panic!("{outputs:?}") };
    serde_json::from_str(text).unwrap()
}

fn connection(outputs: &[Output]) -> (&str, Duration) {
    let found = outputs.iter().find_map(|output| {
        let Output::Connect { url, after } = output else { return None };
        Some((url.as_str(), *after))
    });
    found.unwrap_or_else(|| panic!("{outputs:?}"))
}

/// Returns a machine whose session is ready at time 0.
fn ready_machine() -> Machine {
    let mut machine = machine(None);
    machine.on(Input::Located(Ok(GATEWAY.into())), at(0));
    assert_eq!(only_frame(&connect_and_greet(&mut machine, at(0)))["op"], 2);
    ready(&mut machine, at(0));
    machine
}

/// SU-2: it subscribes only to direct messages and their reactions, which need no privileged
/// intent, and its presence is shown as online.
#[test]
fn it_locates_the_gateway_identifies_and_saves_the_session() {
    let mut machine = machine(None);
    let outputs = machine.on(Input::Located(Ok(GATEWAY.into())), at(0));
    assert_eq!(connection(&outputs), ("wss://gateway.discord.gg/?v=10&encoding=json", at(0)));
    let identify = only_frame(&connect_and_greet(&mut machine, at(0)));
    assert_eq!((&identify["op"], &identify["d"]["intents"]), (&json!(2), &json!(12288)));
    let activities = json!([{ "type": 3, "name": "your DMs" }]);
    assert_eq!(identify["d"]["presence"]["activities"], activities);
    assert_eq!(identify["d"]["presence"]["status"], "online");
    let kept = Session { seq: 1, ..session() };
    let told = [
        GatewayUpdate::Event(Event::Ready { user: crate::discord::Snowflake(5) }),
        GatewayUpdate::SaveSession(kept),
    ];
    assert_eq!(ready(&mut machine, at(0)), told.map(Output::Update));
}

#[test]
fn a_saved_session_is_resumed_at_its_resume_address() {
    let mut machine = machine(Some(session()));
    let outputs = machine.on(Input::Located(Ok(GATEWAY.into())), at(0));
    assert_eq!(connection(&outputs).0, "wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json");
    let resume = only_frame(&connect_and_greet(&mut machine, at(0)));
    assert_eq!((&resume["op"], &resume["d"]["seq"]), (&json!(6), &json!(7)));
}

#[test]
fn a_session_is_not_resumed_at_a_foreign_address() {
    let elsewhere = Session { resume_url: "wss://discord.gg.example.com".into(), ..session() };
    let mut machine = machine(Some(elsewhere));
    let outputs = machine.on(Input::Located(Ok(GATEWAY.into())), at(0));
    assert_eq!(connection(&outputs).0, "wss://gateway.discord.gg/?v=10&encoding=json");
}

#[test]
fn heartbeats_are_sent_in_time_with_the_last_sequence_number() {
    let mut machine = ready_machine();
    let first = machine.next_wake().unwrap();
    assert!(first < Duration::from_millis(41_250), "the first comes after a part of the interval");
    assert_eq!(only_frame(&machine.on(Input::TimePassed, first)), json!({ "op": 1, "d": 1 }));
    machine.on(text(&json!({ "op": 11 })), first);
    let second = machine.next_wake().unwrap();
    assert_eq!(second - first, Duration::from_millis(41_250));
    assert_eq!(only_frame(&machine.on(Input::TimePassed, second))["op"], 1);
    assert_eq!(only_frame(&machine.on(text(&json!({ "op": 1 })), second))["op"], 1, "when asked, at once");
}

/// D1: a missing acknowledgement is noticed at the next heartbeat and does not affect the next
/// connection.
#[test]
fn a_dead_connection_is_closed_resumably() {
    let mut machine = ready_machine();
    let first = machine.next_wake().unwrap();
    machine.on(Input::TimePassed, first);
    let second = machine.next_wake().unwrap();
    let outputs = machine.on(Input::TimePassed, second);
    assert_eq!(outputs[0], Output::Close(4000));
    connection(&outputs);
    assert_eq!(only_frame(&connect_and_greet(&mut machine, second))["op"], 6);
    let third = machine.next_wake().unwrap();
    assert_eq!(only_frame(&machine.on(Input::TimePassed, third))["op"], 1);
}

/// D1: a new session begins only after Discord invalidated the old one.
#[test]
fn a_session_is_resumed_unless_discord_invalidated_it() {
    let invalid = |again: bool| text(&json!({ "op": 9, "d": again }));
    let resumes = [Input::Lost, Input::Closed(None), Input::Closed(Some(1001)), Input::Closed(Some(4009))];
    for input in resumes.into_iter().chain([text(&json!({ "op": 7 })), invalid(true)]) {
        let mut machine = ready_machine();
        connection(&machine.on(input.clone(), at(9)));
        assert_eq!(only_frame(&connect_and_greet(&mut machine, at(20)))["op"], 6, "{input:?}");
    }
    for input in [Input::Closed(Some(4007)), invalid(false)] {
        let mut machine = ready_machine();
        let outputs = machine.on(input.clone(), at(9));
        assert!(outputs.contains(&Output::Update(GatewayUpdate::DropSession)), "{input:?}");
        assert_eq!(only_frame(&connect_and_greet(&mut machine, at(20)))["op"], 2, "{input:?}");
    }
}

#[test]
fn new_sessions_begin_at_least_five_seconds_apart() {
    let mut machine = ready_machine();
    machine.on(text(&json!({ "op": 9, "d": false })), at(1));
    assert_eq!(connect_and_greet(&mut machine, at(2)), []);
    assert_eq!(machine.next_wake().unwrap().min(at(5)), machine.next_wake().unwrap());
    let mut outputs = machine.on(Input::TimePassed, at(5));
    outputs.retain(|output| matches!(output, Output::Send(text) if text.contains("intents")));
    assert_eq!(outputs.len(), 1);
}

/// D1: the delay doubles with each failure and is reset by a success.
#[test]
fn the_delay_doubles_with_each_failure() {
    let mut machine = ready_machine();
    machine.on(Input::Lost, at(100));
    let mut waits = Vec::new();
    for _ in 0..12 {
        let outputs = machine.on(Input::Unreachable("nobody".into()), at(200));
        let (Some(Output::Connect { after, .. }) | Some(Output::Locate { after })) = outputs.last() else {
            panic!("{outputs:?}")
        };
        waits.push(after.as_secs_f64());
    }
    for (index, wait) in waits.iter().enumerate() {
        let whole = f64::from(1 << index.min(6)).min(60.0);
        assert!((whole / 2.0..=whole).contains(wait), "{waits:?}");
    }
    machine.on(Input::Located(Ok(GATEWAY.into())), at(300));
    connect_and_greet(&mut machine, at(300));
    machine.on(text(&json!({ "op": 0, "t": "RESUMED", "s": 2, "d": {} })), at(300));
    assert_eq!(
        connection(&machine.on(Input::Lost, at(400))).1,
        at(0),
        "a steady connection is made again at once"
    );
}

/// D1: a session that is never accepted has expired and is dropped once.
#[test]
fn a_session_that_is_never_accepted_is_dropped_once() {
    let mut machine = ready_machine();
    let forgets = |machine: &mut Machine| {
        let outputs = machine.on(Input::Unreachable("nobody".into()), at(200));
        outputs.contains(&Output::Update(GatewayUpdate::DropSession))
    };
    machine.on(Input::Lost, at(100));
    let forgotten: Vec<_> = (1..30).filter(|_| forgets(&mut machine)).collect();
    assert_eq!(forgotten, [20]);
}

#[test]
fn many_sessions_in_a_day_are_begun_minutes_apart() {
    let mut machine = machine(None);
    machine.on(Input::Located(Ok(GATEWAY.into())), at(0));
    for number in 0..500 {
        assert_eq!(only_frame(&connect_and_greet(&mut machine, at(number * 10)))["op"], 2, "the {number}th");
        machine.on(Input::Lost, at(number * 10 + 1));
    }
    assert_eq!(connect_and_greet(&mut machine, at(5000)), []);
    machine.on(Input::Lost, at(5001));
    assert_eq!(only_frame(&connect_and_greet(&mut machine, at(4990 + 300)))["op"], 2);
}

#[test]
fn a_silent_connection_is_closed() {
    let mut machine = ready_machine();
    machine.on(Input::Lost, at(50));
    machine.on(Input::Opened, at(51));
    assert_eq!(machine.next_wake(), Some(at(71)));
    assert_eq!(machine.on(Input::TimePassed, at(71))[0], Output::Close(4000));
    assert_eq!(machine.next_wake(), None);
}

#[test]
fn unreadable_frames_are_logged_and_skipped() {
    let mut machine = ready_machine();
    for bad in ["", "{", "[]", "{\"op\":\"0\"}", "{\"op\":10}", "{\"op\":99}"] {
        let outputs = machine.on(Input::Text(bad.into()), at(1));
        assert!(outputs.iter().all(|output| matches!(output, Output::Log(_))), "{bad}");
    }
    let outputs =
        machine.on(text(&json!({ "op": 0, "t": "MESSAGE_CREATE", "s": 9, "d": { "id": "x" } })), at(1));
    let words = "MESSAGE_CREATE from Discord has no id in `id`; it is passed over";
    let kept = GatewayUpdate::SaveSession(Session { seq: 9, ..session() });
    assert_eq!(outputs, [Output::Log(words.into()), Output::Update(kept)]);
}

#[test]
fn stopping_keeps_the_session_resumable() {
    assert_eq!(ready_machine().on(Input::Stop, at(1)), [Output::Close(4000)]);
    assert_eq!(machine(None).on(Input::Stop, at(1)), []);
}

#[test]
fn no_token_is_printed() {
    assert!(!format!("{:?}", ready_machine()).contains("a.b.c"));
}
