//! Tests of keys and events in a chat.

use serde_json::json;

use super::*;

struct TestChat {
    talk: ChatState,
    at: Moment,
}

impl TestChat {
    fn new() -> Self {
        let clock = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        Self { talk: ChatState::new(History::default()), at: Moment { now: Instant::now(), clock } }
    }

    fn event(&mut self, name: &str, data: serde_json::Value) -> EventOutput {
        self.talk.on_event(&StreamEvent { name: name.to_owned(), data }, &self.at)
    }

    fn type_in(&mut self, words: &str) -> Vec<ChatCommand> {
        let key = |letter| if letter == '\n' { Key::Enter } else { Key::Char(letter) };
        words.chars().flat_map(|letter| self.talk.on_key(&key(letter), &self.at)).collect()
    }

    fn wait(&mut self, time: Duration) -> Vec<ChatCommand> {
        self.at.now += time;
        self.talk.on_wake(&self.at)
    }

    fn ring_reminder(&mut self) -> EventOutput {
        let rang = "2026-11-15T13:35:00Z";
        self.event(
            "card",
            json!({
                "id": "7c", "words": "leave", "rang": rang, "state": "open", "moves": "act:rem_move:7c",
                "buttons": [{ "label": "Done", "press": "act:rem_done:7c" }],
            }),
        )
    }
}

fn entered(line: &str) -> ChatCommand {
    ChatCommand::CommitLine("> ".to_owned(), line.to_owned())
}

#[test]
fn a_lone_letter_answers_the_reminder() {
    let mut rig = TestChat::new();
    assert!(rig.ring_reminder().alert.is_some());
    assert_eq!(rig.type_in("d"), []);
    assert_eq!(rig.wait(LONE_LETTER_DELAY - Duration::from_millis(1)), []);
    let done = ChatCommand::Press("act:rem_done:7c".to_owned(), String::new());
    assert_eq!(rig.wait(Duration::from_millis(1)), [entered("d"), done.clone()]);
    assert_eq!(rig.type_in("d\n"), [entered("d"), done], "enter does not wait");
}

#[test]
fn a_word_that_begins_with_a_shortcut_is_a_message() {
    let mut rig = TestChat::new();
    rig.ring_reminder();
    assert_eq!(rig.type_in("do"), []);
    assert_eq!(rig.wait(LONE_LETTER_DELAY * 2), []);
    let said = [entered("dont"), ChatCommand::SaveHistory, ChatCommand::Submit("dont".to_owned())];
    assert_eq!(rig.type_in("nt\n"), said);
    rig.wait(Duration::from_secs(600));
    assert_eq!(
        rig.type_in("d\n")[2],
        ChatCommand::Submit("d".to_owned()),
        "ten minutes later it is a word too"
    );
}

#[test]
fn moving_asks_when_and_dropping_does_not() {
    let mut rig = TestChat::new();
    rig.ring_reminder();
    let button = "act:rem_move:7c".to_owned();
    assert_eq!(rig.type_in("x\n")[1], ChatCommand::Press(button.clone(), "drop it".to_owned()));
    assert_eq!(rig.type_in("m\n"), [entered("m")]);
    assert_eq!(rig.talk.prompt(), "move leave to when? ");
    let asked = ChatCommand::CommitLine("move leave to when? ".to_owned(), "tomorrow 9".to_owned());
    assert_eq!(rig.type_in("tomorrow 9\n"), [asked, ChatCommand::Press(button, "tomorrow 9".to_owned())]);
    assert_eq!(rig.talk.prompt(), "> ");
    rig.type_in("m\n");
    assert_eq!(rig.talk.on_key(&Key::Escape, &rig.at), [ChatCommand::Show(MOVE_CANCELLED)]);
}

#[test]
fn ctrl_c_clears_the_line_and_quits_the_second_time() {
    let mut rig = TestChat::new();
    rig.type_in("buy mi");
    let cleared = rig.talk.on_key(&Key::Interrupt, &rig.at);
    assert_eq!(cleared, [entered("buy mi ^C"), ChatCommand::Show(QUIT_HINT)]);
    assert_eq!(rig.type_in("x"), []);
    assert_eq!(rig.talk.on_key(&Key::EndOfInput, &rig.at), [], "there is something on the line");
    rig.talk.on_key(&Key::Interrupt, &rig.at);
    assert_eq!(rig.talk.on_key(&Key::Interrupt, &rig.at), [ChatCommand::Quit]);
}

#[test]
fn esc_stops_only_a_running_answer() {
    let mut rig = TestChat::new();
    assert_eq!(rig.talk.on_key(&Key::Escape, &rig.at), []);
    rig.talk.on_sent(rig.at.now);
    assert_eq!(rig.talk.on_key(&Key::Escape, &rig.at), [ChatCommand::Submit("/stop".to_owned())]);
    rig.event("began", json!({ "turn": 7, "answers": 3 }));
    rig.event("ended", json!({ "turn": 7, "how": "interrupted" }));
    assert_eq!(rig.talk.on_key(&Key::Escape, &rig.at), []);
}

#[test]
fn a_plan_can_be_undone_with_a_shortcut() {
    let mut rig = TestChat::new();
    assert_eq!(rig.type_in("u\n")[2], ChatCommand::Submit("u".to_owned()));
    rig.event("said", json!({ "entry": { "by": "assistant", "text": "✓ tue 10:00 · dentist" } }));
    assert_eq!(rig.type_in("u\n"), [entered("u"), ChatCommand::Undo]);
}

#[test]
fn an_unprompted_message_rings_once() {
    let mut rig = TestChat::new();
    let results = json!([{ "words": "two mails" }]);
    let sent = json!({ "entry": { "id": 17, "by": "tools", "from": "routine:mail", "results": results } });
    assert_eq!(rig.event("sent", sent).alert.as_deref(), Some("two mails"));
    let mut answered = |words: &str| {
        if !words.is_empty() {
            rig.talk.transcript().expect_echo(words);
        }
        rig.event("said", json!({ "entry": { "by": "human", "text": words, "images": 0 } }));
        rig.event("began", json!({ "turn": 7, "answers": 3 }));
        rig.event("said", json!({ "entry": { "by": "assistant", "text": "one thing today." } }));
        rig.event("ended", json!({ "turn": 7, "how": "finished" })).alert
    };
    assert_eq!(answered("").as_deref(), Some("one thing today."));
    assert_eq!(answered("good morning"), None);
}

#[test]
fn the_end_of_long_work_rings() {
    let mut rig = TestChat::new();
    rig.event("began", json!({ "turn": 7, "answers": 3 }));
    rig.at.now += Duration::from_secs(61);
    assert!(rig.talk.status(rig.at.now).is_some());
    let ended = rig.event("ended", json!({ "turn": 7, "how": "finished" }));
    assert_eq!(ended.alert.as_deref(), Some(""));
}
