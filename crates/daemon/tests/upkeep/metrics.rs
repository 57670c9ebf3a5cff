//! Metrics: correct values, protected by a token, without message text.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::Value;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, stderr};

use crate::rig::{BINARY, mode, run};

/// Requests the metrics. Returns status line and body.
fn get_metrics(page: &str, headers: &str) -> (String, String) {
    let host = page.strip_prefix("http://").expect("an address").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).expect("a line");
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("a question");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

fn page_address(running: &testkit::process::RunningProgram) -> String {
    running.get("/api/health").unwrap()["page"].as_str().expect("a page").to_owned()
}

/// Metrics are off by default; when on, they need the token, and requests from other sites are
/// refused.
#[test]
fn metrics_need_the_token() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    let running = program.start();
    assert_eq!(get_metrics(&page_address(&running), "").0, "HTTP/1.1 404 Not Found");
    running.terminate();
    program.set_env("OLLIM_METRICS", "on");
    let running = program.start();
    model_server.model().script([ScriptedReply::text("canary words")]);
    running.send_and_wait("hello").unwrap();
    let page = page_address(&running);
    let file = program.data().join("state/metrics.token");
    let token = std::fs::read_to_string(&file).unwrap();
    assert_eq!((mode(&file), token.trim().len()), (0o600, 64));
    assert_eq!(get_metrics(&page, "").0, "HTTP/1.1 401 Unauthorized");
    assert_eq!(get_metrics(&page, "authorization: Bearer guess\r\n").0, "HTTP/1.1 401 Unauthorized");
    let bearer = format!("authorization: Bearer {}\r\n", token.trim());
    assert_eq!(
        get_metrics(&page, &format!("{bearer}origin: https://evil.example\r\n")).0,
        "HTTP/1.1 403 Forbidden"
    );
    let (status, numbers) = get_metrics(&page, &bearer);
    assert_eq!(status, "HTTP/1.1 200 OK");
    for line in [
        "ollim_turns_total{ending=\"finished\"} 1",
        "attended=\"waited\"} 1",
        "ollim_posts{state=\"waiting\"} 0",
    ] {
        assert!(numbers.contains(line), "{line}: {numbers}");
    }
    assert!(
        numbers.contains("# TYPE ollim_turns_total counter") && numbers.contains("ollim_resident_bytes ")
    );
    assert!(!numbers.contains("canary") && !numbers.contains("hello"), "{numbers}");
    running.terminate();
    program.set_env("OLLIM_METRICS", "yes");
    let wrong = run(&program, &["chat", "--once", "hello"]);
    assert!(
        stderr(&wrong).contains("OLLIM_METRICS: it cannot be `yes`. use on or off."),
        "{}",
        stderr(&wrong)
    );
}

/// The same metrics are sent to an OpenTelemetry collector.
#[test]
fn metrics_are_sent_to_a_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sent, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            let mut length = 0;
            let _ = reader.read_line(&mut first);
            loop {
                let mut line = String::new();
                let _ = reader.read_line(&mut line);
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap_or(0);
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let _ = reader
                .get_mut()
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
            let _ = sent.send((first, body));
        }
    });
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_OTLP_URL", &format!("http://{address}"));
    let running = program.start();
    let (first, body) = received.recv_timeout(testkit::TEST_TIMEOUT).expect("numbers");
    assert!(first.starts_with("POST /v1/metrics "), "{first}");
    let value: Value = serde_json::from_slice(&body).expect("a document");
    let metrics = value["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].to_string();
    assert!(metrics.contains("ollim_up_seconds") && metrics.contains("ollim_posts"), "{metrics}");
    running.terminate();
}
