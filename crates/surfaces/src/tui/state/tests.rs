//! Tests of the full screen, rendered to memory.

use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::*;
use crate::client::StreamEvent;
use crate::terminal::keys::Motion;
use crate::terminal::screen::TextStyle;
use crate::terminal::status_line::StatusLine;
use crate::tui::view::draw;

/// A full screen, and the commands so far.
struct TestScreen {
    state: Option<State>,
    at: Moment,
    commands: Vec<Command>,
}

impl TestScreen {
    fn new() -> Self {
        let at = Moment { now: Instant::now(), clock: "2026-11-15T14:33[Europe/Berlin]".parse().unwrap() };
        let state = Some(State::new(History::default(), at.now));
        Self { state, at, commands: Vec::new() }
    }

    /// Returns a full screen with a short conversation and a filled day.
    fn with_filled_day() -> Self {
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
        let glance = StatusLine { today, spent: 0.31, pings: Some("2/3".to_owned()), limit: None };
        let schedule = json!({ "jobs": [
            { "name": "mail", "open": { "state": "running" } }, { "name": "groceries", "open": null },
        ] });
        let updates = json!({ "updates": [{}] });
        let health = json!({ "brain": "offline" });
        rig.dispatch(Event::OverviewRead(Box::new(Overview {
            status_line: glance,
            schedule,
            health,
            updates,
        })));
        rig.dispatch(Event::MessagesRead(json!({ "messages": [
            { "by": "human", "text": "what should i do first?" },
            { "by": "assistant", "text": "shoes on, keys from the hook. you leave in 2 minutes." },
        ] })));
        rig.stream_event("hello", json!({ "running": [], "fork": null }));
        rig
    }

    fn dispatch(&mut self, event: Event) {
        let (state, wishes) = self.state.take().unwrap().update(event, &self.at);
        self.state = Some(state);
        self.commands.extend(wishes);
    }

    fn stream_event(&mut self, name: &str, data: Value) {
        self.dispatch(Event::Stream(StreamEvent { name: name.to_owned(), data }));
    }

    fn press(&mut self, key: Key) {
        self.dispatch(Event::Key(key));
    }

    fn type_in(&mut self, words: &str) {
        words.chars().for_each(|letter| self.press(Key::Char(letter)));
    }

    fn function(&mut self, number: u8) {
        self.press(Key::Pane(keys::PaneKey::Function(number)));
    }

    fn page(&mut self, way: Direction) {
        self.press(Key::Pane(keys::PaneKey::Page(way)));
    }

    fn draw(&self, (columns, rows): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let state = self.state.as_ref().unwrap();
        terminal.draw(|frame| draw(state, &self.at, TextStyle::Plain, frame)).unwrap();
        let drawn = terminal.backend().to_string();
        drawn.lines().map(|line| format!("{}\n", line.split('"').nth(1).unwrap_or_default())).collect()
    }
}

fn check(rig: &TestScreen, size: (u16, u16), expected: &Expect) {
    expected.assert_eq(&rig.draw(size));
}

#[test]
fn the_conversation_is_shown_next_to_the_day() {
    let mut rig = TestScreen::with_filled_day();
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
    let mut rig = TestScreen::with_filled_day();
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
    assert!(rig.draw((40, 15)).contains("main"));
    for size in [(1, 1), (2, 3), (9, 4), (200, 60)] {
        rig.draw(size);
    }
}

#[test]
fn the_help_shows_the_keys() {
    let mut rig = TestScreen::with_filled_day();
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
    assert!(rig.draw((70, 18)).contains("shoes on"));
}

#[test]
fn a_reminder_rings_in_the_conversation_and_a_letter_answers_it() {
    let mut rig = TestScreen::with_filled_day();
    rig.commands.clear();
    let rang = "2026-11-15T13:35:00Z";
    let buttons = json!([{ "label": "Done", "press": "act:rem_done:7c" }]);
    let card = |state: &str| {
        json!({
            "id": "7c", "words": "leave", "rang": rang, "state": state, "moves": "act:rem_move:7c",
            "buttons": buttons,
        })
    };
    rig.stream_event("card", card("open"));
    assert_eq!(rig.commands, [Command::Bell("⏰ 14:35 leave".to_owned()), Command::FetchOverview]);
    rig.type_in("d");
    rig.press(Key::Enter);
    let done = Wanted::Press("act:rem_done:7c".to_owned(), String::new());
    assert_eq!(rig.commands[2..], [Command::Chat(done)]);
    rig.stream_event("card", card("done"));
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
fn an_answer_is_streamed_and_running_work_is_shown() {
    let mut rig = TestScreen::with_filled_day();
    rig.type_in("hello");
    rig.press(Key::Enter);
    assert!(rig.commands.contains(&Command::Chat(Wanted::Submit("hello".to_owned()))));
    rig.dispatch(Event::Sent);
    rig.stream_event("began", json!({ "turn": 7, "answers": 3 }));
    rig.stream_event("working", json!({ "turn": 7, "tool": "Read(notes.md)", "doing": "runs" }));
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
    rig.stream_event("progress", json!({ "turn": 8, "note": "Another turn." }));
    assert!(!rig.draw((40, 15)).contains("Another"));
    rig.stream_event("progress", json!({ "turn": 7, "note": "First the notes, then the mail." }));
    let drawn = rig.draw((40, 15));
    assert!(drawn.contains("┌ reading… 14 s · First the notes, then"), "{drawn}");
    rig.stream_event("delta", json!({ "turn": 7, "text": "good mor" }));
    assert!(!rig.draw((40, 15)).contains("First the notes"));
    assert!(rig.draw((40, 15)).contains("  good mor"));
    assert!(!rig.draw((40, 15)).contains("reading"));
    rig.press(Key::Escape);
    assert_eq!(rig.commands.last(), Some(&Command::Chat(Wanted::Submit("/stop".to_owned()))));
}

#[test]
fn older_messages_are_reached_by_page_up() {
    let mut rig = TestScreen::new();
    let said = (0..40).map(|number| json!({ "by": "assistant", "text": format!("line {number}") }));
    rig.dispatch(Event::MessagesRead(json!({ "messages": said.collect::<Vec<_>>() })));
    assert!(rig.draw((40, 15)).contains("line 39"));
    rig.page(Direction::Earlier);
    let drawn = rig.draw((40, 15));
    assert!(drawn.contains("line 31") && !drawn.contains("line 32"), "{drawn}");
    (0..20).for_each(|_| rig.page(Direction::Earlier));
    assert!(rig.draw((40, 15)).contains("line 0 "), "{}", rig.draw((40, 15)));
    rig.press(Key::Escape);
    assert!(rig.draw((40, 15)).contains("line 39"));
}

#[test]
fn a_long_input_grows_and_keeps_its_cursor_visible() {
    let mut rig = TestScreen::new();
    rig.press(Key::Pasted("one\ntwo\nthree\nfour\nfive\nsix\nseven".to_owned()));
    let drawn = rig.draw((40, 15));
    assert!(drawn.contains("seven") && !drawn.contains("two"), "{drawn}");
    rig.press(Key::Move(Motion::Start));
    (0..6).for_each(|_| rig.press(Key::Recall(Direction::Earlier)));
    assert!(rig.draw((40, 15)).contains("> one"), "{}", rig.draw((40, 15)));
}

#[test]
fn messages_are_read_again_after_reconnecting() {
    let mut rig = TestScreen::with_filled_day();
    rig.commands.clear();
    rig.dispatch(Event::Closed);
    let drawn = rig.draw((80, 24));
    assert!(drawn.contains("not running; looking for it"), "{drawn}");
    rig.at.now += FETCH_INTERVAL * 2;
    rig.dispatch(Event::Woke);
    assert_eq!(rig.commands, [], "there is nobody to ask");
    rig.dispatch(Event::Reconnected);
    rig.stream_event("hello", json!({ "running": [], "fork": { "branch": "fork/a", "topic": "taxes" } }));
    assert_eq!(rig.commands, [Command::FetchMessages, Command::FetchOverview]);
    let drawn = rig.draw((80, 24));
    assert!(drawn.contains(" aside: taxes ") && drawn.contains("⑂ taxes"), "{drawn}");
}

#[test]
fn a_hung_daemon_is_not_shown_as_stopped() {
    let mut rig = TestScreen::with_filled_day();
    rig.dispatch(Event::Unresponsive);
    let drawn = rig.draw((80, 24));
    assert!(drawn.contains("stands still; looking for it") && !drawn.contains("not running"), "{drawn}");
}

#[test]
fn the_overview_is_fetched_periodically() {
    let mut rig = TestScreen::new();
    assert_eq!(rig.state.as_ref().unwrap().next_wake(rig.at.now), rig.at.now + FETCH_INTERVAL);
    rig.at.now += FETCH_INTERVAL;
    rig.dispatch(Event::Woke);
    assert_eq!(rig.commands, [Command::FetchOverview]);
}

#[test]
fn ctrl_c_twice_quits() {
    let mut rig = TestScreen::new();
    rig.press(Key::Interrupt);
    assert!(rig.draw((80, 24)).contains("ctrl+c once more leaves"));
    rig.press(Key::Interrupt);
    assert_eq!(rig.commands, [Command::Chat(Wanted::Quit)]);
}
