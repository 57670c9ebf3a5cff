//! systemd and the program: hanging, killed and restarted processes.

use rustix::process::{Signal, kill_process};
use serde_json::json;
use testkit::model_server::{Gate, ScriptedReply};
use testkit::process::{BackgroundModelServer, Program, free_port, stderr};

use crate::rig::{FakeSystemd, fresh_program, parse_json, run};

fn set_up_machine() -> (Program, FakeSystemd) {
    let mut program = fresh_program();
    let systemd = FakeSystemd::for_program(&mut program);
    run(&program, &["setup", "model", "--model", "offline", "--no-input"]);
    let page = format!("[page]\naddress = \"127.0.0.1:{}\"\n", free_port());
    std::fs::write(program.data().join("settings.toml"), page).unwrap();
    (program, systemd)
}

fn notices(program: &Program) -> String {
    parse_json(&run(program, &["status", "--json"]))["notices"].to_string()
}

/// H2: a frozen process is restarted by the watchdog, and reports that once.
#[test]
fn frozen_process_is_restarted_and_reports_it() {
    let (program, systemd) = set_up_machine();
    systemd.set_watchdog(3_000_000);
    let done = run(&program, &["service", "install"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    systemd.wait_until("a sign of life", |it| it.read("heard").contains("WATCHDOG=1"));
    kill_process(systemd.pid().unwrap(), Signal::STOP).unwrap();
    systemd.wait_until("another life", |it| it.read("restarts").trim() == "1" && it.has("ready"));
    assert!(notices(&program).contains("ended without being asked to"), "{}", notices(&program));
    assert_eq!(run(&program, &["service", "restart"]).status.code(), Some(0));
    assert!(!notices(&program).contains("without being asked"), "{}", notices(&program));
}

/// H2: a blocked event loop ends the process by itself, and the next start reports it.
#[test]
fn blocked_event_loop_ends_the_process() {
    let (mut program, systemd) = set_up_machine();
    let stalling = std::path::Path::new(crate::rig::BINARY).with_file_name("examples").join("stalling");
    assert!(stalling.exists(), "build it first: cargo build -p ollim-bot --examples");
    program.replace_binary(stalling);
    systemd.set_watchdog(3_000_000);
    let done = run(&program, &["service", "install"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    std::fs::write(program.home().join("stall"), "").unwrap();
    // Writes to the disk hang now, and block the event loop.
    let mut stuck = program.command(&["config", "fork_idle_timeout", "20"]);
    let mut stuck =
        stuck.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    systemd.wait_until("its end", |it| it.read("restarts").trim() == "1");
    std::fs::remove_file(program.home().join("stall")).unwrap();
    let _ = stuck.kill();
    let _ = stuck.wait();
    systemd.wait_until("another life", |it| it.has("ready"));
    assert!(notices(&program).contains("i stood still for too long"), "{}", notices(&program));
    assert!(systemd.read("journal").contains("The loop stands still"), "{}", systemd.read("journal"));
}

/// H2, UP-9: `/restart` is not reported to systemd as a stop: the process id stays the same, and
/// systemd does not kill it.
#[test]
fn requested_restart_is_no_stop_for_systemd() {
    let (program, systemd) = set_up_machine();
    let done = run(&program, &["service", "install"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let before = systemd.pid();
    let output = run(&program, &["chat", "--once", "/restart"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let again = |it: &FakeSystemd| it.read("heard").matches("READY=1").count() > 1 && it.has("ready");
    systemd.wait_until("another start", again);
    assert_eq!((systemd.read("restarts").as_str(), systemd.pid()), ("", before), "{}", systemd.read("heard"));
    assert!(!systemd.read("heard").contains("STOPPING=1"), "{}", systemd.read("heard"));
    assert_eq!(run(&program, &["service", "stop"]).status.code(), Some(0));
    assert!(systemd.read("heard").contains("STOPPING=1"), "an end is told: {}", systemd.read("heard"));
}

/// H3: on SIGTERM during an answer and a run it ends in time, and the next start continues both.
#[test]
fn sigterm_ends_in_time_and_work_continues_later() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(crate::rig::BINARY, &model_server);
    let routines = program.data().join("routines");
    std::fs::create_dir_all(&routines).unwrap();
    let text = "---\nid: mail\ncron: 0 9 1 1 *\nbackground: true\n---\nTriage.\n";
    std::fs::write(routines.join("mail.md"), text).unwrap();
    let gate = Gate::new();
    model_server.model().script([
        ScriptedReply::text("never heard").waiting_at_start(&gate),
        ScriptedReply::text("nor this").waiting_at_start(&gate),
    ]);
    let running = program.start();
    let message = running.send_message("hello").unwrap();
    let mut job = program.command(&["routine", "run", "mail"]);
    let mut job =
        job.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    testkit::process::block_on(async {
        while model_server.requests().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    running.signal(Signal::TERM);
    let ended = testkit::process::block_on(async {
        let end = tokio::task::spawn_blocking(move || running.terminate());
        tokio::time::timeout(testkit::TEST_TIMEOUT, end).await
    });
    let (status, _) = ended.expect("it ends while a model is silent").expect("an end");
    assert!(status.success(), "{status}");
    let _ = job.kill();
    let _ = job.wait();
    drop(gate);
    let running = program.start();
    let mut output = running.get("/api/messages").unwrap();
    testkit::process::block_on(async {
        while output["messages"].as_array().map_or(0, Vec::len) < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            output = running.get("/api/messages").unwrap();
        }
    });
    assert_eq!(message, 1);
    let why = parse_json(&program.run(&["why", "routine:mail", "--json"]));
    assert!(!why.to_string().contains("\"lost\""), "{why}");
    running.terminate();
    let doctor_errors: serde_json::Value = json!(stderr(&program.run(&["doctor"])));
    assert_eq!(doctor_errors, json!(""));
}
