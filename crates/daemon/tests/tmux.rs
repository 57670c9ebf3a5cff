//! The terminal UI of the real program in a real terminal, inspected with tmux.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use testkit::model_server::{Gate, ScriptedReply};
use testkit::process::{BackgroundModelServer, Pane, Program};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
/// Large enough that nothing scrolls away in these tests.
const SIZE: (u16, u16) = (100, 40);

fn last_line(screen: &str) -> &str {
    screen.lines().last().unwrap_or_default()
}

/// Without a model, a user gets answers, and at exit a note about reminders.
#[test]
fn first_minute_without_a_model() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.wait_for_text("try:");
    pane.wait_until("a prompt", |screen| last_line(screen) == ">");
    pane.type_line("call the dentist tomorrow at 10");
    let screen = pane.wait_for_text("[u] undo");
    assert!(screen.contains("✓ ") && screen.contains("call the dentist   [u] undo"), "{screen}");
    pane.press(&["u"]);
    pane.wait_for_text("taken back: call the dentist");
    pane.type_line("plan my trip to lisbon");
    pane.wait_for_text("safe in the inbox");
    pane.press(&["C-c"]);
    pane.wait_for_text("ctrl+c once more leaves");
    pane.press(&["C-c"]);
    let screen = pane.wait_for_text("ended with 0");
    assert!(screen.contains("reminders stop with me"), "{screen}");

    let history = program.data().join("state/terminal_history");
    let mode = std::fs::metadata(&history).expect("a history").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let stored = std::fs::read_to_string(history).expect("a history");
    assert_eq!(stored, "call the dentist tomorrow at 10\nplan my trip to lisbon\n");
}

/// The typed line survives a due reminder, which is then answered with single keys.
#[test]
fn reminder_is_shown_while_the_user_types() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.wait_until("a prompt", |screen| last_line(screen) == ">");
    pane.type_line("stretch in 2 seconds");
    pane.wait_for_text("✓ ");
    pane.type_text("buy mi");
    let screen = pane.wait_until("the reminder", |screen| screen.contains("⏰"));
    assert!(screen.contains(" stretch   [d] done  [1] 10 min  [s] smaller  [m] move  [x] drop"), "{screen}");
    let screen = pane.wait_until("the line", |screen| last_line(screen) == "> buy mi");
    assert_eq!(screen.matches("buy mi").count(), 1, "{screen}");
    pane.press(&["C-u"]);
    pane.press(&["d"]);
    pane.wait_for_text("  done: stretch   [u] undo");
    pane.press(&["u"]);
    pane.wait_for_text("  taken back: stretch   [d] done");
    pane.press(&["m"]);
    pane.wait_for_text("move stretch to when?");
    pane.type_line("tomorrow 9");
    let screen = pane.wait_for_text("  moved: stretch · ");
    assert!(screen.contains(" 09:00 · in "), "{screen}");
}

/// Tab completion, history, and multi-line input.
#[test]
fn line_editing_works_like_in_a_shell() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &[], SIZE);
    pane.wait_until("a prompt", |screen| last_line(screen) == ">");
    pane.type_text("/sta");
    pane.press(&["Tab"]);
    pane.wait_until("the whole command", |screen| last_line(screen).starts_with("> /status"));
    pane.press(&["Enter"]);
    pane.wait_for_text("inbox: 0.");
    pane.press(&["Up"]);
    pane.wait_until("the line of before", |screen| last_line(screen).starts_with("> /status"));
    pane.press(&["C-u"]);
    pane.type_text("remember: one");
    pane.press(&["C-j"]);
    pane.type_text("two");
    pane.wait_until("two lines", |screen| screen.ends_with("> remember: one\n  two"));
    pane.press(&["Enter"]);
    pane.wait_for_text("kept as 1");
    pane.type_line("wibble the frobnicator friday at 9");
    pane.wait_for_text("wibble the frobnicator   [u] undo");
    pane.type_text("cancel wib");
    pane.press(&["Tab"]);
    pane.wait_until("the name", |screen| last_line(screen).starts_with("> cancel wibble the frobnicator"));
}

/// A status line is shown until text arrives. Esc stops the answer.
#[test]
fn slow_answer_shows_a_status_and_can_be_stopped() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let pane = Pane::open(&program, &[], SIZE);
    pane.wait_until("a prompt", |screen| last_line(screen) == ">");
    let gate = Gate::new();
    model_server.model().script([
        ScriptedReply::text("never heard").waiting_at_start(&gate),
        ScriptedReply::text("here i am"),
    ]);
    pane.type_line("think long");
    pane.wait_until("what goes on", |screen| last_line(screen).starts_with("  thinking… "));
    pane.press(&["Escape"]);
    let screen = pane.wait_until("a prompt", |screen| last_line(screen) == ">");
    assert!(!screen.contains("thinking…") && screen.contains("(stopped.)"), "{screen}");
    pane.type_line("are you there?");
    pane.wait_for_text("  here i am");
}

/// A dumb terminal gets plain lines without control codes.
#[test]
fn dumb_terminal_gets_no_control_codes() {
    let mut program = Program::offline(BINARY);
    program.set_env("TERM", "dumb");
    let pane = Pane::open(&program, &[], SIZE);
    pane.wait_for_text("try:");
    let written = pane.record_output();
    pane.type_line("stretch in 2 seconds");
    pane.wait_for_text("[d] done");
    pane.type_line("d");
    pane.wait_for_text("done: stretch");
    pane.press(&["C-d"]);
    pane.wait_for_text("ended with 0");
    let written = std::fs::read(written).expect("what was written");
    assert!(!written.contains(&0x1b) && !written.contains(&0x07), "{}", String::from_utf8_lossy(&written));
}

/// The full screen adapts to any size, restores the terminal, and reconnects to a restarted daemon.
#[test]
fn full_screen_adapts_to_any_size() {
    let program = Program::offline(BINARY);
    let running = program.start();
    let pane = Pane::open(&program, &["tui"], SIZE);
    pane.wait_until("all panes", |screen| {
        [" main ", " today ", " forks ", " pings "].iter().all(|title| screen.contains(title))
    });
    pane.type_line("call the dentist tomorrow at 10");
    pane.wait_for_text("[u] undo");
    pane.resize(40, 15);
    pane.wait_until("one pane", |screen| screen.contains(" main ") && !screen.contains(" forks "));
    pane.press(&["F2"]);
    pane.wait_until("the day", |screen| screen.contains(" today ") && !screen.contains(" main "));
    pane.resize(100, 40);
    pane.wait_until("all panes", |screen| screen.contains(" main ") && screen.contains(" forks "));
    running.kill();
    pane.wait_for_text("not running; looking for it");
    let running = program.start();
    pane.wait_until("it is found", |screen| !screen.contains("looking for it"));
    pane.wait_for_text("call the dentist");
    pane.press(&["C-c", "C-c"]);
    let screen = pane.wait_for_text("ended with 0");
    assert!(screen.contains("reminders go on.") && !screen.contains("F1 help"), "{screen}");
    running.terminate();
}

/// A signal that ends the program restores the terminal.
#[test]
fn signal_restores_the_terminal() {
    let program = Program::offline(BINARY);
    let pane = Pane::open(&program, &["tui"], SIZE);
    pane.wait_for_text("F1 help");
    let pid = std::fs::read_to_string(program.data().join("state/bot.pid")).expect("a pid");
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::TERM).expect("somebody to signal");
    let screen = pane.wait_for_text("ended with 0");
    assert!(!screen.contains("F1 help"), "{screen}");
    pane.type_text("echo");
    pane.wait_for_text("echo");
}
