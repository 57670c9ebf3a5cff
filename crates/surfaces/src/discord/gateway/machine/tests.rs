//! Tests of the state machine.

use serde_json::json;

use super::*;

const GATEWAY: &str = "wss://gateway.discord.gg";
const RESUME: &str = "wss://gateway-us-east1-b.discord.gg";

fn machine(session: Option<Session>) -> Machine {
    let mut machine = Machine::new(Token::read("a.b.c").unwrap(), session, 1);
    assert_eq!(machine.on(Input::Began, at(0)), [Output::Ask { after: at(0) }]);
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
fn greeted(machine: &mut Machine, now: Duration) -> Vec<Output> {
    machine.on(Input::Opened, now);
    machine.on(text(&json!({ "op": 10, "d": { "heartbeat_interval": 41_250 } })), now)
}

fn ready(machine: &mut Machine, now: Duration) -> Vec<Output> {
    let data = json!({ "user": { "id": "5" }, "session_id": "s1", "resume_gateway_url": RESUME });
    machine.on(text(&json!({ "op": 0, "t": "READY", "s": 1, "d": data })), now)
}

/// Returns the only frame that is sent.
fn said(outputs: &[Output]) -> Value {
    let [Output::Say(text)] = outputs else { panic!("{outputs:?}") };
    serde_json::from_str(text).unwrap()
}

fn connects(outputs: &[Output]) -> (&str, Duration) {
    let found = outputs.iter().find_map(|output| {
        let Output::Connect { url, after } = output else { return None };
        Some((url.as_str(), *after))
    });
    found.unwrap_or_else(|| panic!("{outputs:?}"))
}

/// Returns a machine whose session is ready at time 0.
fn live() -> Machine {
    let mut machine = machine(None);
    machine.on(Input::Gateway(Ok(GATEWAY.into())), at(0));
    assert_eq!(said(&greeted(&mut machine, at(0)))["op"], 2);
    ready(&mut machine, at(0));
    machine
}

/// SU-2: it subscribes only to direct messages and their reactions, which need no privileged
/// intent, and its presence is shown as online.
#[test]
fn it_asks_where_to_go_says_who_it_is_and_keeps_the_session() {
    let mut machine = machine(None);
    let outputs = machine.on(Input::Gateway(Ok(GATEWAY.into())), at(0));
    assert_eq!(connects(&outputs), ("wss://gateway.discord.gg/?v=10&encoding=json", at(0)));
    let identify = said(&greeted(&mut machine, at(0)));
    assert_eq!((&identify["op"], &identify["d"]["intents"]), (&json!(2), &json!(12288)));
    let activities = json!([{ "type": 3, "name": "your DMs" }]);
    assert_eq!(identify["d"]["presence"]["activities"], activities);
    assert_eq!(identify["d"]["presence"]["status"], "online");
    let kept = Session { seq: 1, ..session() };
    let told = [Told::Event(Event::Ready { user: crate::discord::Snowflake(5) }), Told::Keep(kept)];
    assert_eq!(ready(&mut machine, at(0)), told.map(Output::Tell));
}

#[test]
fn a_session_that_was_kept_is_taken_up_where_discord_said() {
    let mut machine = machine(Some(session()));
    let outputs = machine.on(Input::Gateway(Ok(GATEWAY.into())), at(0));
    assert_eq!(connects(&outputs).0, "wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json");
    let resume = said(&greeted(&mut machine, at(0)));
    assert_eq!((&resume["op"], &resume["d"]["seq"]), (&json!(6), &json!(7)));
}

#[test]
fn a_session_is_not_taken_up_at_a_strangers() {
    let elsewhere = Session { resume_url: "wss://discord.gg.example.com".into(), ..session() };
    let mut machine = machine(Some(elsewhere));
    let outputs = machine.on(Input::Gateway(Ok(GATEWAY.into())), at(0));
    assert_eq!(connects(&outputs).0, "wss://gateway.discord.gg/?v=10&encoding=json");
}

#[test]
fn beats_come_in_time_and_carry_the_last_number() {
    let mut machine = live();
    let first = machine.wakes().unwrap();
    assert!(first < Duration::from_millis(41_250), "the first comes after a part of the interval");
    assert_eq!(said(&machine.on(Input::TimePassed, first)), json!({ "op": 1, "d": 1 }));
    machine.on(text(&json!({ "op": 11 })), first);
    let second = machine.wakes().unwrap();
    assert_eq!(second - first, Duration::from_millis(41_250));
    assert_eq!(said(&machine.on(Input::TimePassed, second))["op"], 1);
    assert_eq!(said(&machine.on(text(&json!({ "op": 1 })), second))["op"], 1, "when asked, at once");
}

/// D1: a missing acknowledgement is noticed at the next heartbeat and does not affect the next
/// connection.
#[test]
fn a_dead_connection_is_closed_so_that_its_session_lives() {
    let mut machine = live();
    let first = machine.wakes().unwrap();
    machine.on(Input::TimePassed, first);
    let second = machine.wakes().unwrap();
    let outputs = machine.on(Input::TimePassed, second);
    assert_eq!(outputs[0], Output::Close(4000));
    connects(&outputs);
    assert_eq!(said(&greeted(&mut machine, second))["op"], 6);
    let third = machine.wakes().unwrap();
    assert_eq!(said(&machine.on(Input::TimePassed, third))["op"], 1);
}

/// D1: a new session begins only after Discord invalidated the old one.
#[test]
fn a_session_is_taken_up_after_everything_but_its_end() {
    let invalid = |again: bool| text(&json!({ "op": 9, "d": again }));
    let resumes = [Input::Dropped, Input::Closed(None), Input::Closed(Some(1001)), Input::Closed(Some(4009))];
    for input in resumes.into_iter().chain([text(&json!({ "op": 7 })), invalid(true)]) {
        let mut machine = live();
        connects(&machine.on(input.clone(), at(9)));
        assert_eq!(said(&greeted(&mut machine, at(20)))["op"], 6, "{input:?}");
    }
    for input in [Input::Closed(Some(4007)), invalid(false)] {
        let mut machine = live();
        let outputs = machine.on(input.clone(), at(9));
        assert!(outputs.contains(&Output::Tell(Told::Forget)), "{input:?}");
        assert_eq!(said(&greeted(&mut machine, at(20)))["op"], 2, "{input:?}");
    }
}

#[test]
fn two_sessions_are_never_begun_within_five_seconds() {
    let mut machine = live();
    machine.on(text(&json!({ "op": 9, "d": false })), at(1));
    assert_eq!(greeted(&mut machine, at(2)), []);
    assert_eq!(machine.wakes().unwrap().min(at(5)), machine.wakes().unwrap());
    let mut outputs = machine.on(Input::TimePassed, at(5));
    outputs.retain(|output| matches!(output, Output::Say(text) if text.contains("intents")));
    assert_eq!(outputs.len(), 1);
}

/// D1: the delay doubles with each failure and is reset by a success.
#[test]
fn failures_are_waited_for_longer_each_time() {
    let mut machine = live();
    machine.on(Input::Dropped, at(100));
    let mut waits = Vec::new();
    for _ in 0..12 {
        let outputs = machine.on(Input::Unreachable("nobody".into()), at(200));
        let (Some(Output::Connect { after, .. }) | Some(Output::Ask { after })) = outputs.last() else {
            panic!("{outputs:?}")
        };
        waits.push(after.as_secs_f64());
    }
    for (index, wait) in waits.iter().enumerate() {
        let whole = f64::from(1 << index.min(6)).min(60.0);
        assert!((whole / 2.0..=whole).contains(wait), "{waits:?}");
    }
    machine.on(Input::Gateway(Ok(GATEWAY.into())), at(300));
    greeted(&mut machine, at(300));
    machine.on(text(&json!({ "op": 0, "t": "RESUMED", "s": 2, "d": {} })), at(300));
    assert_eq!(
        connects(&machine.on(Input::Dropped, at(400))).1,
        at(0),
        "a steady connection is made again at once"
    );
}

/// D1: a session that is never accepted has expired and is dropped once.
#[test]
fn a_session_that_never_lets_us_in_is_given_up() {
    let mut machine = live();
    let forgets = |machine: &mut Machine| {
        let outputs = machine.on(Input::Unreachable("nobody".into()), at(200));
        outputs.contains(&Output::Tell(Told::Forget))
    };
    machine.on(Input::Dropped, at(100));
    let forgotten: Vec<_> = (1..30).filter(|_| forgets(&mut machine)).collect();
    assert_eq!(forgotten, [20]);
}

#[test]
fn many_sessions_in_a_day_are_begun_minutes_apart() {
    let mut machine = machine(None);
    machine.on(Input::Gateway(Ok(GATEWAY.into())), at(0));
    for number in 0..500 {
        assert_eq!(said(&greeted(&mut machine, at(number * 10)))["op"], 2, "the {number}th");
        machine.on(Input::Dropped, at(number * 10 + 1));
    }
    assert_eq!(greeted(&mut machine, at(5000)), []);
    machine.on(Input::Dropped, at(5001));
    assert_eq!(said(&greeted(&mut machine, at(4990 + 300)))["op"], 2);
}

#[test]
fn who_says_nothing_is_left() {
    let mut machine = live();
    machine.on(Input::Dropped, at(50));
    machine.on(Input::Opened, at(51));
    assert_eq!(machine.wakes(), Some(at(71)));
    assert_eq!(machine.on(Input::TimePassed, at(71))[0], Output::Close(4000));
    assert_eq!(machine.wakes(), None);
}

#[test]
fn what_cannot_be_read_is_passed_over_and_logged() {
    let mut machine = live();
    for bad in ["", "{", "[]", "{\"op\":\"0\"}", "{\"op\":10}", "{\"op\":99}"] {
        let outputs = machine.on(Input::Text(bad.into()), at(1));
        assert!(outputs.iter().all(|output| matches!(output, Output::Log(_))), "{bad}");
    }
    let outputs =
        machine.on(text(&json!({ "op": 0, "t": "MESSAGE_CREATE", "s": 9, "d": { "id": "x" } })), at(1));
    let words = "MESSAGE_CREATE from Discord has no id in `id`; it is passed over";
    let kept = Told::Keep(Session { seq: 9, ..session() });
    assert_eq!(outputs, [Output::Log(words.into()), Output::Tell(kept)]);
}

#[test]
fn it_stops_so_that_the_session_lives() {
    assert_eq!(live().on(Input::Stop, at(1)), [Output::Close(4000)]);
    assert_eq!(machine(None).on(Input::Stop, at(1)), []);
}

#[test]
fn no_token_is_printed() {
    assert!(!format!("{:?}", live()).contains("a.b.c"));
}
