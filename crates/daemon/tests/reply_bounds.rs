//! Limits of a model reply on the real program: memory, the stored entry and the next request.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testkit::process::{Program, RunningProgram};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Maximum memory for replies, in bytes. The release binary needs less than 20 MB without them, so
/// it stays below 60 MB, which `cargo xtask bench` measures; the test binary is larger.
const MAX_GROWTH: u64 = 40_000_000;

/// Maximum bytes of a reply with the default limit of 32,000 tokens.
const MAX_REPLY: usize = 32_000 * 16;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

const END: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

/// A response of the Messages API: `start`, `again` repeated `times` times or until the connection
/// is closed, and `end`.
#[derive(Clone)]
struct RepeatedResponse {
    start: String,
    again: String,
    times: usize,
    end: &'static str,
}

impl RepeatedResponse {
    /// Creates a response with one content block and repeated deltas.
    fn block(block: &str, delta: &str, times: usize) -> Self {
        let start = format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{\"input_tokens\":9}}}}}}\n\n\
             data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{{block}}}}}\n\n"
        );
        let again =
            format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{{delta}}}}}\n\n");
        Self { start, again, times, end: END }
    }

    fn text(piece: &str, times: usize) -> Self {
        Self::block(r#""type":"text","text":"""#, &format!(r#""type":"text_delta","text":"{piece}""#), times)
    }
}

/// Delays a reply after its first part. While it is closed, single pieces are sent at intervals.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, open: bool) {
        *lock(&self.open) = open;
        self.changed.notify_all();
    }

    /// Waits briefly, and returns whether the gate is open.
    fn is_open(&self) -> bool {
        let moment = Duration::from_millis(20);
        let waited = self.changed.wait_timeout_while(lock(&self.open), moment, |open| !*open);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A Messages API server on threads, which records the size of each reply request.
struct Server {
    url: String,
    gate: Arc<Gate>,
    flood: Arc<Mutex<RepeatedResponse>>,
    requests: Arc<Mutex<Vec<usize>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let flood = Arc::new(Mutex::new(RepeatedResponse::text("ok", 1)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let gate = Arc::new(Gate { open: Mutex::new(true), changed: Condvar::new() });
        let response = Arc::clone(&flood);
        let sizes = Arc::clone(&requests);
        let reply_gate = Arc::clone(&gate);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let response = Arc::clone(&response);
                let sizes = Arc::clone(&sizes);
                let reply_gate = Arc::clone(&reply_gate);
                // A client that disconnects early ends its response.
                std::thread::spawn(move || drop(serve(socket, &response, &sizes, &reply_gate)));
            }
        });
        Self { url, gate, flood, requests }
    }

    fn respond_with(&self, flood: RepeatedResponse) {
        *lock(&self.flood) = flood;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    mut socket: TcpStream,
    flood: &Mutex<RepeatedResponse>,
    requests: &Mutex<Vec<usize>>,
    gate: &Gate,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut first = String::new();
    let mut length = 0;
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
    if !first.starts_with("POST /v1/messages ") {
        let none = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        return socket.write_all(none.as_bytes());
    }
    lock(requests).push(usize::try_from(length).unwrap_or(usize::MAX));
    let RepeatedResponse { start, again, times, end } = lock(flood).clone();
    socket.write_all(HEAD.as_bytes())?;
    socket.write_all(start.as_bytes())?;
    let batch = again.repeat((64 * 1024 / again.len().max(1)).clamp(1, times.max(1)));
    let per_batch = batch.len() / again.len().max(1);
    socket.write_all(batch.as_bytes())?;
    while !gate.is_open() {
        socket.write_all(again.as_bytes())?;
    }
    for _ in 1..times / per_batch {
        socket.write_all(batch.as_bytes())?;
    }
    for _ in 0..times % per_batch {
        socket.write_all(again.as_bytes())?;
    }
    socket.write_all(end.as_bytes())
}

/// Returns the peak memory of the program in bytes.
fn peak_memory(running: &RunningProgram) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a number");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}

/// Returns the newest answer on main.
fn newest_answer(running: &RunningProgram) -> String {
    let messages = running.get("/api/messages").expect("a conversation");
    let messages = messages["messages"].as_array().expect("entries");
    let newest = messages.iter().rev().find(|entry| entry["by"] == "assistant");
    newest.and_then(|entry| entry["text"].as_str()).unwrap_or_default().to_owned()
}

fn program_for(server: &Server) -> Program {
    let mut program = Program::new(BINARY);
    program.set_env("ANTHROPIC_API_KEY", "sk-test").set_env("ANTHROPIC_BASE_URL", &server.url);
    program.set_env("OLLIM_MODEL", "anthropic:claude-test-1");
    program
}

/// A reminder that becomes due during an endless reply, or one of 5 MB, is shown before the reply
/// ends.
#[test]
#[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
fn reminder_is_shown_during_an_endless_reply() {
    for (name, times) in [("endless words", usize::MAX), ("5 MB of words", 5_000_000 / 9)] {
        let server = Server::start();
        let program = program_for(&server);
        std::fs::create_dir_all(program.data().join("reminders")).expect("a folder");
        let running = program.start();
        server.respond_with(RepeatedResponse::text("word and ", times));
        server.gate.set(false);
        let mut events = running.events().expect("its events");
        let due = Timestamp::now() + SignedDuration::from_secs(2);
        let reminder = format!("---\nid: oven\nrun-at: {due}\n---\nmind the oven\n");
        std::fs::write(program.data().join("reminders/oven.md"), reminder).expect("a file");
        let message = running.send_message("tell me everything").expect("a message");
        let shown = events.find(|event| {
            assert!(event.name != "ended", "{name}: the reply ended first: {event:?}");
            event.name == "card" && event.data["words"] == "mind the oven"
        });
        println!("{name}: the reminder came {:?} after it was due", Timestamp::now().duration_since(due));
        assert!(shown.is_some(), "{name}");
        server.gate.set(true);
        let ended = events.wait_for_end(message).expect("an end");
        assert!(ended.data.to_string().contains("larger than 500 KB"), "{name}: {}", ended.data);
    }
}

/// Endless text, 5 MB of text, endless thinking, endless tool arguments, an event of 3 MB and an
/// endless line are each cut at the limit and reported; the next request and the memory of the
/// program stay small.
#[test]
fn endless_reply_uses_bounded_memory() {
    let server = Server::start();
    let program = program_for(&server);
    let running = program.start();
    let idle = peak_memory(&running);
    let endless = usize::MAX;
    let thinking = r#""type":"thinking","thinking":"","signature":"""#;
    let call = r#""type":"tool_use","id":"toolu_1","name":"inbox_add","input":{}"#;
    let chunk = "abcdefgh ".repeat(100);
    let line = RepeatedResponse { start: "data: ".to_owned(), again: chunk.clone(), times: endless, end: "" };
    let floods = [
        ("endless words", RepeatedResponse::text("word and ", endless), "larger than 500 KB"),
        ("5 MB of words", RepeatedResponse::text("word and ", 5_000_000 / 9), "larger than 500 KB"),
        ("an event of 3 MB", RepeatedResponse::text(&"word ".repeat(600_000), 1), "larger than 500 KB"),
        (
            "endless thinking",
            RepeatedResponse::block(
                thinking,
                &format!(r#""type":"thinking_delta","thinking":"{chunk}""#),
                endless,
            ),
            "larger than 500 KB",
        ),
        (
            "endless arguments",
            RepeatedResponse::block(
                call,
                &format!(r#""type":"input_json_delta","partial_json":"{chunk}""#),
                endless,
            ),
            "larger than 500 KB",
        ),
        ("a line without an end", line, "an event is longer than 4 MB"),
    ];
    let mut peaks = format!("idle: {idle}\n");
    for (name, flood, expected) in floods {
        server.respond_with(flood);
        let ended = running.send_and_wait("tell me everything").expect("an end");
        assert!(ended.data.to_string().contains(expected), "{name}: {}", ended.data);
        let answer = newest_answer(&running);
        assert!(answer.len() <= MAX_REPLY, "{name}: {} bytes are shown", answer.len());
        server.respond_with(RepeatedResponse::text("ok", 1));
        lock(&server.requests).clear();
        running.send_and_wait("and now?").expect("an end");
        let requests = lock(&server.requests).clone();
        assert!(requests.iter().all(|bytes| *bytes < 4 * MAX_REPLY), "{name}: {requests:?}");
        peaks += &format!("{name}: {}\n", peak_memory(&running));
        // A new conversation keeps the context window from filling up.
        running.command("/clear").expect("a new conversation");
    }
    let peak = peak_memory(&running);
    println!("{peaks}memory at most: {peak}");
    assert!(peak < idle + MAX_GROWTH, "{peaks}");
}
