//! Tests of the full screen, rendered to memory.

use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::*;
use crate::client::Shown;
use crate::terminal::glance::Glance;
use crate::terminal::keys::To;
use crate::terminal::screen::Look;
use crate::tui::view::view;

/// A full screen, and the commands so far.
struct Rig {
    state: Option<State>,
    at: Moment,
    wishes: Vec<Wish>,
}

impl Rig {
    fn new() -> Self {
        let at = Moment { now: Instant::now(), clock: "2026-11-15T14:33[Europe/Berlin]".parse().unwrap() };
        let state = Some(State::new(History::default(), at.now));
        Self { state, at, wishes: Vec::new() }
    }

    /// Returns a full screen with a short conversation and a filled day.
    fn on_a_usual_day() -> Self {
        let mut rig = Self::new();
        let due = |name: &str, words: &str| json!({ "name": name, "words": words });
        let today = json!({
            "rest": [
                due("dentist", "today 15:00 · in 27 min"),
                due("groceries and a very long name of it", "today 17:30 · in 2 h 57 min"),
                due("call mum", "today 20:00 · in 5 h 27 min"),
            ],
            "inbox": "1. buy milk", "missed": [],
            "attention": { "held": [{}, {}], "quiet_until": null, "focus": { "on": "taxes", "until": {
                "words": "today 15:20 · in 47 min" } } },
        });
        let glance = Glance { today, spent: 0.31, pings: Some("2/3".to_owned()), limit: None };
        let schedule = json!({ "jobs": [
            { "name": "mail", "open": { "state": "running" } }, { "name": "groceries", "open": null },
        ] });
        let updates = json!({ "updates": [{}] });
        let health = json!({ "brain": "offline" });
        rig.happen(Event::Looked(Box::new(Looked { glance, schedule, health, updates })));
        rig.happen(Event::Read(json!({ "messages": [
            { "by": "human", "text": "what should i do first?" },
            { "by": "assistant", "text": "shoes on, keys from the hook. you leave in 2 minutes." },
        ] })));
        rig.shown("hello", json!({ "running": [], "fork": null }));
        rig
    }

    fn happen(&mut self, event: Event) {
        let (state, wishes) = self.state.take().unwrap().update(event, &self.at);
        self.state = Some(state);
        self.wishes.extend(wishes);
    }

    fn shown(&mut self, name: &str, data: Value) {
        self.happen(Event::Shown(Shown { name: name.to_owned(), data }));
    }

    fn press(&mut self, key: Key) {
        self.happen(Event::Key(key));
    }

    fn type_in(&mut self, words: &str) {
        words.chars().for_each(|letter| self.press(Key::Letter(letter)));
    }

    fn function(&mut self, number: u8) {
        self.press(Key::Pane(keys::Pane::Function(number)));
    }

    fn page(&mut self, way: Way) {
        self.press(Key::Pane(keys::Pane::Page(way)));
    }

    fn drawn(&self, (columns, rows): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let state = self.state.as_ref().unwrap();
        terminal.draw(|frame| view(state, &self.at, Look::Plain, frame)).unwrap();
        let drawn = terminal.backend().to_string();
        drawn.lines().map(|line| format!("{}\n", line.split('"').nth(1).unwrap_or_default())).collect()
    }
}

fn check(rig: &Rig, size: (u16, u16), expected: &Expect) {
    expected.assert_eq(&rig.drawn(size));
}

#[test]
fn the_conversation_stands_beside_the_day() {
    let mut rig = Rig::on_a_usual_day();
    rig.type_in("and then?");
    check(
        &rig,
        (80, 24),
        &expect![[r#"
            ┌ main ────────────────────────────────────────────┐┌ today · sun 14:33 ───────┐
            │> what should i do first?                         ││▶15:00 dentist      27 min│
            │  shoes on, keys from the hook. you leave in 2    ││ 17:30 groceri… 2 h 57 min│
            │  minutes.                                        ││ 20:00 call mum 5 h 27 min│
            │                                                  ││inbox:                    │
            │                                                  ││1. buy milk               │
            │                                                  ││                          │
            │                                                  ││                          │
            │                                                  ││                          │
            │                                                  │└──────────────────────────┘
            │                                                  │┌ forks ───────────────────┐
            │                                                  ││⟳ mail · running          │
            │                                                  ││1 left for us: /updates   │
            │                                                  │└──────────────────────────┘
            │                                                  │┌ pings ───────────────────┐
            │                                                  ││▮▮▯ 2 of 3                │
            │                                                  ││focus until 15:20         │
            │                                                  ││held 2                    │
            │                                                  ││$0.31 today               │
            │                                                  ││offline                   │
            └──────────────────────────────────────────────────┘└──────────────────────────┘
            ┌──────────────────────────────────────────────────────────────────────────────┐
            │> and then?                                                                   │
            └ F1 help  F2 today  F3 forks  F4 pings  Esc stop ─────────────────────────────┘
        "#]],
    );
}

#[test]
fn a_small_terminal_shows_one_pane_at_a_time() {
    let mut rig = Rig::on_a_usual_day();
    check(
        &rig,
        (40, 15),
        &expect![[r#"
        ┌ main ────────────────────────────────┐
        │> what should i do first?             │
        │  shoes on, keys from the hook. you   │
        │  leave in 2 minutes.                 │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        └──────────────────────────────────────┘
        ┌──────────────────────────────────────┐
        │>                                     │
        └ F1 help  F2-F4 panes ────────────────┘
    "#]],
    );
    rig.function(2);
    check(
        &rig,
        (40, 15),
        &expect![[r#"
            ┏ today · sun 14:33 ━━━━━━━━━━━━━━━━━━━┓
            ┃▶15:00 dentist                  27 min┃
            ┃ 17:30 groceries and a ver… 2 h 57 min┃
            ┃ 20:00 call mum             5 h 27 min┃
            ┃inbox:                                ┃
            ┃1. buy milk                           ┃
            ┃                                      ┃
            ┃                                      ┃
            ┃                                      ┃
            ┃                                      ┃
            ┃                                      ┃
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
            ┌──────────────────────────────────────┐
            │>                                     │
            └ F1 help  F2-F4 panes ────────────────┘
        "#]],
    );
    rig.press(Key::Escape);
    assert!(rig.drawn((40, 15)).contains("main"));
    for size in [(1, 1), (2, 3), (9, 4), (200, 60)] {
        rig.drawn(size);
    }
}

#[test]
fn the_keys_are_told() {
    let mut rig = Rig::on_a_usual_day();
    rig.function(1);
    check(
        &rig,
        (70, 18),
        &expect![[r#"
            ┏ keys ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓┌ today · sun 14:33 ───────┐
            ┃enter       send                        ┃│▶15:00 dentist      27 min│
            ┃ctrl+j      a new line                  ┃│ 17:30 groceri… 2 h 57 min│
            ┃up, down    what you typed before       ┃└──────────────────────────┘
            ┃esc         stop the answer; back       ┃┌ forks ───────────────────┐
            ┃pgup, pgdn  scroll                      ┃│⟳ mail · running          │
            ┃F2          the day                     ┃│1 left for us: /updates   │
            ┃F3          what goes on aside          ┃└──────────────────────────┘
            ┃F4          pings and cost              ┃┌ pings ───────────────────┐
            ┃F1          this, and away again        ┃│▮▮▯ 2 of 3                │
            ┃d 1 m x     done, 10 min, move, drop:   ┃│focus until 15:20         │
            ┃            the reminder that rang last ┃│held 2                    │
            ┃y n         yes, no: what i asked last  ┃│$0.31 today               │
            ┃u           undo the last change        ┃│offline                   │
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛└──────────────────────────┘
            ┌────────────────────────────────────────────────────────────────────┐
            │>                                                                   │
            └ F1 help  F2 today  F3 forks  F4 pings  Esc stop ───────────────────┘
        "#]],
    );
    rig.function(1);
    assert!(rig.drawn((70, 18)).contains("shoes on"));
}

#[test]
fn a_reminder_rings_in_the_conversation_and_a_letter_answers_it() {
    let mut rig = Rig::on_a_usual_day();
    rig.wishes.clear();
    let rang = "2026-11-15T13:35:00Z";
    let buttons = json!([{ "label": "Done", "press": "act:rem_done:7c" }]);
    let card = |state: &str| {
        json!({
            "id": "7c", "words": "leave", "rang": rang, "state": state, "moves": "act:rem_move:7c",
            "buttons": buttons,
        })
    };
    rig.shown("card", card("open"));
    assert_eq!(rig.wishes, [Wish::Ring("⏰ 14:35 leave".to_owned()), Wish::Look]);
    rig.type_in("d");
    rig.press(Key::Enter);
    let done = Wanted::Press("act:rem_done:7c".to_owned(), String::new());
    assert_eq!(rig.wishes[2..], [Wish::Talk(done)]);
    rig.shown("card", card("done"));
    check(
        &rig,
        (40, 15),
        &expect![[r#"
            ┌ main ────────────────────────────────┐
            │> what should i do first?             │
            │  shoes on, keys from the hook. you   │
            │  leave in 2 minutes.                 │
            │⏰ 14:35 leave   [d] done  [m] move   │
            │                 [x] drop             │
            │> d                                   │
            │  done: leave   [u] undo              │
            │                                      │
            │                                      │
            │                                      │
            └──────────────────────────────────────┘
            ┌──────────────────────────────────────┐
            │>                                     │
            └ F1 help  F2-F4 panes ────────────────┘
        "#]],
    );
}

#[test]
fn an_answer_comes_word_by_word_and_what_goes_on_is_told() {
    let mut rig = Rig::on_a_usual_day();
    rig.type_in("hello");
    rig.press(Key::Enter);
    assert!(rig.wishes.contains(&Wish::Talk(Wanted::Say("hello".to_owned()))));
    rig.happen(Event::Sent);
    rig.shown("began", json!({ "turn": 7, "answers": 3 }));
    rig.shown("working", json!({ "turn": 7, "tool": "Read(notes.md)", "doing": "runs" }));
    rig.at.now += Duration::from_secs(14);
    check(
        &rig,
        (40, 15),
        &expect![[r#"
        ┌ main ────────────────────────────────┐
        │> what should i do first?             │
        │  shoes on, keys from the hook. you   │
        │  leave in 2 minutes.                 │
        │> hello                               │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        │                                      │
        └──────────────────────────────────────┘
        ┌ reading… 14 s ───────────────────────┐
        │>                                     │
        └ F1 help  F2-F4 panes ────────────────┘
    "#]],
    );
    rig.shown("progress", json!({ "turn": 8, "note": "Another turn." }));
    assert!(!rig.drawn((40, 15)).contains("Another"));
    rig.shown("progress", json!({ "turn": 7, "note": "First the notes, then the mail." }));
    let drawn = rig.drawn((40, 15));
    assert!(drawn.contains("┌ reading… 14 s · First the notes, then"), "{drawn}");
    rig.shown("delta", json!({ "turn": 7, "text": "good mor" }));
    assert!(!rig.drawn((40, 15)).contains("First the notes"));
    assert!(rig.drawn((40, 15)).contains("  good mor"));
    assert!(!rig.drawn((40, 15)).contains("reading"));
    rig.press(Key::Escape);
    assert_eq!(rig.wishes.last(), Some(&Wish::Talk(Wanted::Say("/stop".to_owned()))));
}

#[test]
fn what_was_said_long_ago_is_a_page_away() {
    let mut rig = Rig::new();
    let said = (0..40).map(|number| json!({ "by": "assistant", "text": format!("line {number}") }));
    rig.happen(Event::Read(json!({ "messages": said.collect::<Vec<_>>() })));
    assert!(rig.drawn((40, 15)).contains("line 39"));
    rig.page(Way::Earlier);
    let drawn = rig.drawn((40, 15));
    assert!(drawn.contains("line 31") && !drawn.contains("line 32"), "{drawn}");
    (0..20).for_each(|_| rig.page(Way::Earlier));
    assert!(rig.drawn((40, 15)).contains("line 0 "), "{}", rig.drawn((40, 15)));
    rig.press(Key::Escape);
    assert!(rig.drawn((40, 15)).contains("line 39"));
}

#[test]
fn a_long_line_grows_and_keeps_its_cursor_in_sight() {
    let mut rig = Rig::new();
    rig.press(Key::Pasted("one\ntwo\nthree\nfour\nfive\nsix\nseven".to_owned()));
    let drawn = rig.drawn((40, 15));
    assert!(drawn.contains("seven") && !drawn.contains("two"), "{drawn}");
    rig.press(Key::Move(To::Start));
    (0..6).for_each(|_| rig.press(Key::Recall(Way::Earlier)));
    assert!(rig.drawn((40, 15)).contains("> one"), "{}", rig.drawn((40, 15)));
}

#[test]
fn an_assistant_that_went_away_is_looked_for_and_read_again() {
    let mut rig = Rig::on_a_usual_day();
    rig.wishes.clear();
    rig.happen(Event::Gone);
    let drawn = rig.drawn((80, 24));
    assert!(drawn.contains("not running; looking for it"), "{drawn}");
    rig.at.now += LOOK * 2;
    rig.happen(Event::Woke);
    assert_eq!(rig.wishes, [], "there is nobody to ask");
    rig.happen(Event::Back);
    rig.shown("hello", json!({ "running": [], "fork": { "branch": "fork/a", "topic": "taxes" } }));
    assert_eq!(rig.wishes, [Wish::Read, Wish::Look]);
    let drawn = rig.drawn((80, 24));
    assert!(drawn.contains(" aside: taxes ") && drawn.contains("⑂ taxes"), "{drawn}");
}

#[test]
fn an_assistant_that_stands_still_is_not_called_gone() {
    let mut rig = Rig::on_a_usual_day();
    rig.happen(Event::Still);
    let drawn = rig.drawn((80, 24));
    assert!(drawn.contains("stands still; looking for it") && !drawn.contains("not running"), "{drawn}");
}

#[test]
fn things_are_looked_at_again_after_a_while() {
    let mut rig = Rig::new();
    assert_eq!(rig.state.as_ref().unwrap().wakes(rig.at.now), rig.at.now + LOOK);
    rig.at.now += LOOK;
    rig.happen(Event::Woke);
    assert_eq!(rig.wishes, [Wish::Look]);
}

#[test]
fn ctrl_c_twice_leaves() {
    let mut rig = Rig::new();
    rig.press(Key::Interrupt);
    assert!(rig.drawn((80, 24)).contains("ctrl+c once more leaves"));
    rig.press(Key::Interrupt);
    assert_eq!(rig.wishes, [Wish::Talk(Wanted::Leave)]);
}
