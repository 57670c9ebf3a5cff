//! The terminal UI of the real program in a real terminal, inspected with tmux.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use testkit::kill::{Backstage, Pane, Program};
use testkit::model_server::{Act, Gate};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
/// Large enough that nothing scrolls away in these tests.
const SIZE: (u16, u16) = (100, 40);

fn last_line(screen: &str) -> &str {
    screen.lines().last().unwrap_or_default()
}

/// Without a model, a user gets answers, and at exit a note about reminders.
#[test]
fn the_first_minute() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.shows("try:");
    pane.until("a prompt", |screen| last_line(screen) == ">");
    pane.says("call the dentist tomorrow at 10");
    let screen = pane.shows("[u] undo");
    assert!(screen.contains("✓ ") && screen.contains("call the dentist   [u] undo"), "{screen}");
    pane.press(&["u"]);
    pane.shows("taken back: call the dentist");
    pane.says("plan my trip to lisbon");
    pane.shows("safe in the inbox");
    pane.press(&["C-c"]);
    pane.shows("ctrl+c once more leaves");
    pane.press(&["C-c"]);
    let screen = pane.shows("ended with 0");
    assert!(screen.contains("reminders stop with me"), "{screen}");

    let history = program.data().join("state/terminal_history");
    let mode = std::fs::metadata(&history).expect("a history").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(history).expect("a history");
    assert_eq!(kept, "call the dentist tomorrow at 10\nplan my trip to lisbon\n");
}

/// The typed line survives a due reminder, which is then answered with single keys.
#[test]
fn a_reminder_rings_while_somebody_types() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.until("a prompt", |screen| last_line(screen) == ">");
    pane.says("stretch in 2 seconds");
    pane.shows("✓ ");
    pane.types("buy mi");
    let screen = pane.until("the reminder", |screen| screen.contains("⏰"));
    assert!(screen.contains(" stretch   [d] done  [1] 10 min  [s] smaller  [m] move  [x] drop"), "{screen}");
    let screen = pane.until("the line", |screen| last_line(screen) == "> buy mi");
    assert_eq!(screen.matches("buy mi").count(), 1, "{screen}");
    pane.press(&["C-u"]);
    pane.press(&["d"]);
    pane.shows("  done: stretch   [u] undo");
    pane.press(&["u"]);
    pane.shows("  taken back: stretch   [d] done");
    pane.press(&["m"]);
    pane.shows("move stretch to when?");
    pane.says("tomorrow 9");
    let screen = pane.shows("  moved: stretch · ");
    assert!(screen.contains(" 09:00 · in "), "{screen}");
}

/// Tab completion, history, and multi-line input.
#[test]
fn the_line_is_edited_like_in_a_shell() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.until("a prompt", |screen| last_line(screen) == ">");
    pane.types("/sta");
    pane.press(&["Tab"]);
    pane.until("the whole command", |screen| last_line(screen).starts_with("> /status"));
    pane.press(&["Enter"]);
    pane.shows("inbox: 0.");
    pane.press(&["Up"]);
    pane.until("the line of before", |screen| last_line(screen).starts_with("> /status"));
    pane.press(&["C-u"]);
    pane.types("remember: one");
    pane.press(&["C-j"]);
    pane.types("two");
    pane.until("two lines", |screen| screen.ends_with("> remember: one\n  two"));
    pane.press(&["Enter"]);
    pane.shows("kept as 1");
    pane.says("wibble the frobnicator friday at 9");
    pane.shows("wibble the frobnicator   [u] undo");
    pane.types("cancel wib");
    pane.press(&["Tab"]);
    pane.until("the name", |screen| last_line(screen).starts_with("> cancel wibble the frobnicator"));
}

/// A status line is shown until text arrives. Esc stops the answer.
#[test]
fn a_slow_answer_is_told_and_can_be_stopped() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let pane = Pane::open(&program, &[], SIZE);
    pane.until("a prompt", |screen| last_line(screen) == ">");
    let gate = Gate::new();
    backstage.model().script([Act::says("never heard").held_back(&gate), Act::says("here i am")]);
    pane.says("think long");
    pane.until("what goes on", |screen| last_line(screen).starts_with("  thinking… "));
    pane.press(&["Escape"]);
    let screen = pane.until("a prompt", |screen| last_line(screen) == ">");
    assert!(!screen.contains("thinking…") && screen.contains("(stopped.)"), "{screen}");
    pane.says("are you there?");
    pane.shows("  here i am");
}

/// A dumb terminal gets plain lines without control codes.
#[test]
fn a_dumb_terminal_is_not_commanded() {
    let mut program = Program::offline(BINARY);
    program.set("TERM", "dumb");
    let pane = Pane::open(&program, &[], SIZE);
    pane.shows("try:");
    let written = pane.record();
    pane.says("stretch in 2 seconds");
    pane.shows("[d] done");
    pane.says("d");
    pane.shows("done: stretch");
    pane.press(&["C-d"]);
    pane.shows("ended with 0");
    let written = std::fs::read(written).expect("what was written");
    assert!(!written.contains(&0x1b) && !written.contains(&0x07), "{}", String::from_utf8_lossy(&written));
}

/// The full screen adapts to any size, restores the terminal, and reconnects to a restarted daemon.
#[test]
fn the_full_screen_in_any_size() {
    let program = Program::offline(BINARY);
    let running = program.start();
    let pane = Pane::open(&program, &["tui"], SIZE);
    pane.until("all panes", |screen| {
        [" main ", " today ", " forks ", " pings "].iter().all(|it| screen.contains(it))
    });
    pane.says("call the dentist tomorrow at 10");
    pane.shows("[u] undo");
    pane.resize(40, 15);
    pane.until("one pane", |screen| screen.contains(" main ") && !screen.contains(" forks "));
    pane.press(&["F2"]);
    pane.until("the day", |screen| screen.contains(" today ") && !screen.contains(" main "));
    pane.resize(100, 40);
    pane.until("all panes", |screen| screen.contains(" main ") && screen.contains(" forks "));
    running.kill();
    pane.shows("not running; looking for it");
    let running = program.start();
    pane.until("it is found", |screen| !screen.contains("looking for it"));
    pane.shows("call the dentist");
    pane.press(&["C-c", "C-c"]);
    let screen = pane.shows("ended with 0");
    assert!(screen.contains("reminders go on.") && !screen.contains("F1 help"), "{screen}");
    running.terminate();
}

/// A signal that ends the program restores the terminal.
#[test]
fn a_signal_gives_the_terminal_back() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &["tui"], SIZE);
    pane.shows("F1 help");
    let pid = std::fs::read_to_string(program.data().join("state/bot.pid")).expect("a pid");
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::TERM).expect("somebody to signal");
    let screen = pane.shows("ended with 0");
    assert!(!screen.contains("F1 help"), "{screen}");
    pane.types("echo");
    pane.shows("echo");
}
