//! Tests of keys and events in a chat.

use serde_json::json;

use super::*;

struct Rig {
    talk: Talk,
    at: Moment,
}

impl Rig {
    fn new() -> Self {
        let clock = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        Self { talk: Talk::new(History::default()), at: Moment { now: Instant::now(), clock } }
    }

    fn hear(&mut self, name: &str, data: serde_json::Value) -> Heard {
        self.talk.hear(&Shown { name: name.to_owned(), data }, &self.at)
    }

    fn type_in(&mut self, words: &str) -> Vec<Wish> {
        let key = |letter| if letter == '\n' { Key::Enter } else { Key::Letter(letter) };
        words.chars().flat_map(|letter| self.talk.key(&key(letter), &self.at)).collect()
    }

    fn wait(&mut self, time: Duration) -> Vec<Wish> {
        self.at.now += time;
        self.talk.woke(&self.at)
    }

    fn ring(&mut self) -> Heard {
        let rang = "2026-11-15T13:35:00Z";
        self.hear(
            "card",
            json!({
                "id": "7c", "words": "leave", "rang": rang, "state": "open", "moves": "act:rem_move:7c",
                "buttons": [{ "label": "Done", "press": "act:rem_done:7c" }],
            }),
        )
    }
}

fn entered(line: &str) -> Wish {
    Wish::Entered("> ".to_owned(), line.to_owned())
}

#[test]
fn a_letter_answers_the_reminder_if_nothing_follows_it() {
    let mut rig = Rig::new();
    assert!(rig.ring().rings.is_some());
    assert_eq!(rig.type_in("d"), []);
    assert_eq!(rig.wait(LONE - Duration::from_millis(1)), []);
    let done = Wish::Press("act:rem_done:7c".to_owned(), String::new());
    assert_eq!(rig.wait(Duration::from_millis(1)), [entered("d"), done.clone()]);
    assert_eq!(rig.type_in("d\n"), [entered("d"), done], "enter does not wait");
}

#[test]
fn a_word_that_begins_with_such_a_letter_is_a_word() {
    let mut rig = Rig::new();
    rig.ring();
    assert_eq!(rig.type_in("do"), []);
    assert_eq!(rig.wait(LONE * 2), []);
    let said = [entered("dont"), Wish::Keep, Wish::Say("dont".to_owned())];
    assert_eq!(rig.type_in("nt\n"), said);
    rig.wait(Duration::from_secs(600));
    assert_eq!(rig.type_in("d\n")[2], Wish::Say("d".to_owned()), "ten minutes later it is a word too");
}

#[test]
fn moving_asks_when_and_dropping_does_not() {
    let mut rig = Rig::new();
    rig.ring();
    let button = "act:rem_move:7c".to_owned();
    assert_eq!(rig.type_in("x\n")[1], Wish::Press(button.clone(), "drop it".to_owned()));
    assert_eq!(rig.type_in("m\n"), [entered("m")]);
    assert_eq!(rig.talk.prompt(), "move leave to when? ");
    let asked = Wish::Entered("move leave to when? ".to_owned(), "tomorrow 9".to_owned());
    assert_eq!(rig.type_in("tomorrow 9\n"), [asked, Wish::Press(button, "tomorrow 9".to_owned())]);
    assert_eq!(rig.talk.prompt(), "> ");
    rig.type_in("m\n");
    assert_eq!(rig.talk.key(&Key::Escape, &rig.at), [Wish::Tell(NOT_MOVED)]);
}

#[test]
fn ctrl_c_clears_the_line_and_leaves_the_second_time() {
    let mut rig = Rig::new();
    rig.type_in("buy mi");
    let cleared = rig.talk.key(&Key::Interrupt, &rig.at);
    assert_eq!(cleared, [entered("buy mi ^C"), Wish::Tell(ONCE_MORE)]);
    assert_eq!(rig.type_in("x"), []);
    assert_eq!(rig.talk.key(&Key::Leave, &rig.at), [], "there is something on the line");
    rig.talk.key(&Key::Interrupt, &rig.at);
    assert_eq!(rig.talk.key(&Key::Interrupt, &rig.at), [Wish::Leave]);
}

#[test]
fn esc_stops_an_answer_that_comes_and_nothing_else() {
    let mut rig = Rig::new();
    assert_eq!(rig.talk.key(&Key::Escape, &rig.at), []);
    rig.talk.sent(rig.at.now);
    assert_eq!(rig.talk.key(&Key::Escape, &rig.at), [Wish::Say("/stop".to_owned())]);
    rig.hear("began", json!({ "turn": 7, "answers": 3 }));
    rig.hear("ended", json!({ "turn": 7, "how": "interrupted" }));
    assert_eq!(rig.talk.key(&Key::Escape, &rig.at), []);
}

#[test]
fn what_was_planned_can_be_taken_back_with_a_letter() {
    let mut rig = Rig::new();
    assert_eq!(rig.type_in("u\n")[2], Wish::Say("u".to_owned()));
    rig.hear("said", json!({ "entry": { "by": "assistant", "text": "✓ tue 10:00 · dentist" } }));
    assert_eq!(rig.type_in("u\n"), [entered("u"), Wish::Undo]);
}

#[test]
fn what_nobody_waited_for_rings_once() {
    let mut rig = Rig::new();
    let results = json!([{ "words": "two mails" }]);
    let sent = json!({ "entry": { "id": 17, "by": "tools", "from": "routine:mail", "results": results } });
    assert_eq!(rig.hear("sent", sent).rings.as_deref(), Some("two mails"));
    let mut answered = |words: &str| {
        if !words.is_empty() {
            rig.talk.telling().expect(words);
        }
        rig.hear("said", json!({ "entry": { "by": "human", "text": words, "images": 0 } }));
        rig.hear("began", json!({ "turn": 7, "answers": 3 }));
        rig.hear("said", json!({ "entry": { "by": "assistant", "text": "one thing today." } }));
        rig.hear("ended", json!({ "turn": 7, "how": "finished" })).rings
    };
    assert_eq!(answered("").as_deref(), Some("one thing today."));
    assert_eq!(answered("good morning"), None);
}

#[test]
fn the_end_of_long_work_rings() {
    let mut rig = Rig::new();
    rig.hear("began", json!({ "turn": 7, "answers": 3 }));
    rig.at.now += Duration::from_secs(61);
    assert!(rig.talk.status(rig.at.now).is_some());
    let ended = rig.hear("ended", json!({ "turn": 7, "how": "finished" }));
    assert_eq!(ended.rings.as_deref(), Some(""));
}
