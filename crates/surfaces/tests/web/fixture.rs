//! Test fixture: a served page and raw requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::handle::AssistantHandle;
use engine::ports::Clock;
use jiff::Zoned;
use serde_json::Value;
use surfaces::event_hub::EventHub;
use surfaces::web::devices::{Device, DeviceStore, InMemoryDevices};
use surfaces::web::secret::Secret;
use surfaces::web::{App, WebLimits, WebPorts, assets, listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::playing::{FakeAssistant, FakeHealth, FakeJobFiles, InMemoryJournal, run};

/// All API paths for GET.
pub const READS: [&str; 18] = [
    "/api/messages",
    "/api/sessions",
    "/api/schedule",
    "/api/schedule/past?job=routine:mail",
    "/api/schedule/file?file=routines/mail.md",
    "/api/today",
    "/api/calendar",
    "/api/context",
    "/api/schedule/versions?file=routines/mail.md",
    "/api/schedule/version?file=routines/mail.md&id=0000000",
    "/api/pings",
    "/api/search?words=mail",
    "/api/delivery",
    "/api/cost",
    "/api/updates",
    "/api/health",
    "/api/devices",
    "/api/events",
];
/// All API paths for POST.
pub const WRITES: [&str; 18] = [
    "/api/pair",
    "/api/pairings",
    "/api/messages",
    "/api/buttons",
    "/api/stop",
    "/api/devices/remove",
    "/api/schedule/run",
    "/api/schedule/words",
    "/api/schedule/pause",
    "/api/schedule/resume",
    "/api/schedule/file",
    "/api/schedule/check",
    "/api/reading",
    "/api/capture",
    "/api/undo",
    "/api/inbox",
    "/api/updates/read",
    "/api/pings/dislike",
];

/// Returns all methods and paths.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    let files = assets::addresses().map(|address| ("GET", address));
    let reads = READS.into_iter().map(|address| ("GET", address));
    files.chain(reads).chain(WRITES.into_iter().map(|address| ("POST", address))).collect()
}

/// A clock set by the test.
pub struct FakeClock(pub watch::Sender<Duration>);

impl Clock for FakeClock {
    fn now(&self) -> Zoned {
        let start: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        start + *self.0.borrow()
    }

    fn since_boot(&self) -> Duration {
        *self.0.borrow()
    }
}

/// A served page with one paired browser.
pub struct Fixture {
    pub port: u16,
    pub app: App,
    pub clock: Arc<FakeClock>,
    pub journal: Arc<InMemoryJournal>,
    pub devices: Arc<InMemoryDevices>,
    pub job_files: Arc<FakeJobFiles>,
    pub credential: String,
    pub home: tempfile::TempDir,
    pub stop: CancellationToken,
    /// Tasks of the listeners, and of the fake assistant.
    tasks: (JoinSet<()>, JoinSet<()>),
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with_limits(WebLimits::DEFAULT).await
    }

    pub async fn with_limits(limits: WebLimits) -> Self {
        let clock = Arc::new(FakeClock(watch::Sender::new(Duration::from_secs(1000))));
        let (desk, rx) = AssistantHandle::new();
        let journal = Arc::new(InMemoryJournal::default());
        let event_hub = Arc::new(EventHub::default());
        let opened = listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let port = opened.address().port();
        let devices = Arc::new(InMemoryDevices::default());
        let credential = pair_device(&devices, &clock).await;
        let job_files = Arc::new(FakeJobFiles::new(desk.clone()));
        let ports = WebPorts {
            assistant: desk.clone(),
            journal: journal.clone(),
            archive: journal.clone(),
            history: journal.clone(),
            event_hub: event_hub.clone(),
            health_source: Arc::new(FakeHealth(watch::Sender::new(opened.page_url()))),
            devices: devices.clone(),
            calendar: job_files.clone(),
            job_files: job_files.clone(),
            clock: clock.clone(),
        };
        let app = App::new(ports, limits);
        let word_delay = Duration::ZERO;
        let paused = watch::Sender::new(false);
        let fake = FakeAssistant {
            journal: journal.clone(),
            event_hub,
            clock: clock.clone(),
            assistant: desk,
            word_delay,
            paused,
        };
        let home = tempfile::tempdir().unwrap();
        let file = listener::bind_file(home.path(), "ollim.sock").unwrap();
        let stop = CancellationToken::new();
        let mut doors = JoinSet::new();
        let mut rest = JoinSet::new();
        rest.spawn(run(Arc::new(fake), rx, Vec::new()));
        doors.spawn(listener::serve_tcp(opened, app.clone(), stop.clone()));
        doors.spawn(listener::serve_unix(file, app.clone(), stop.clone()));
        Self { port, app, clock, journal, devices, job_files, credential, home, stop, tasks: (doors, rest) }
    }

    /// Creates a request as our page sends it.
    pub fn paired_request(&self, method: &str, address: &str, body: &str) -> RawRequest {
        self.unpaired_request(method, address, body)
            .with_header("cookie", &format!("ollim-{}={}", self.port, self.credential))
    }

    /// Creates a request from an unpaired browser.
    pub fn unpaired_request(&self, method: &str, address: &str, body: &str) -> RawRequest {
        let raw = RawRequest::new(method, address).with_header("host", &format!("127.0.0.1:{}", self.port));
        match method {
            "POST" => raw.json(body),
            _ => raw,
        }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends `raw` on a new connection.
    pub async fn send(&self, raw: &RawRequest) -> RawResponse {
        let mut stream = self.connect().await;
        stream.write_all(raw.text().as_bytes()).await.unwrap();
        read_response(&mut stream).await
    }

    /// Sends `raw` through the socket file.
    pub async fn send_by_file(&self, raw: &RawRequest) -> RawResponse {
        let mut stream = listener::connect_file(self.home.path(), "ollim.sock").await.unwrap();
        stream.write_all(raw.text().as_bytes()).await.unwrap();
        read_response(&mut stream).await
    }

    pub async fn pair(&self, code: &str) -> RawResponse {
        self.send(&self.unpaired_request("POST", "/api/pair", &format!("{{\"code\":\"{code}\"}}"))).await
    }

    /// Waits until both listeners are closed.
    pub async fn wait_for_end(&mut self) {
        while self.tasks.0.join_next().await.is_some() {}
    }

    pub fn advance_clock(&self, time: Duration) {
        self.clock.0.send_modify(|now| *now += time);
    }
}

async fn pair_device(devices: &InMemoryDevices, clock: &FakeClock) -> String {
    let secret = Secret::generate().unwrap();
    let digest = secret.digest();
    let label = "the rig".to_owned();
    let device = Device { id: digest.short(), label, credential: digest, paired: clock.now().timestamp() };
    devices.add(device).await.unwrap();
    secret.reveal().to_owned()
}

/// A raw HTTP request.
#[derive(Clone)]
pub struct RawRequest {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl RawRequest {
    pub fn new(method: &str, address: &str) -> Self {
        Self { line: format!("{method} {address} HTTP/1.1"), headers: Vec::new(), body: String::new() }
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub fn json(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        let length = body.len().to_string();
        self.with_header("x-ollim", "1")
            .with_header("content-type", "application/json")
            .with_header("content-length", &length)
    }

    pub fn text(&self) -> String {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        format!("{}\r\n{}connection: close\r\n\r\n{}", self.line, headers.collect::<String>(), self.body)
    }
}

#[derive(Debug)]
pub struct RawResponse {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl RawResponse {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// Returns the message of an error response.
    pub fn error_message(&self) -> String {
        let json = self.json();
        assert_eq!(json["ok"], Value::Bool(false), "{self:?}");
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// Reads a response to its end, or the first event of an event stream.
pub async fn read_response(stream: &mut (impl AsyncReadExt + Unpin)) -> RawResponse {
    let mut bytes = Vec::new();
    let mut buffer = [0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
        let text = String::from_utf8_lossy(&bytes);
        if text.contains("text/event-stream") && text.contains("event: hello") {
            break;
        }
    }
    parse_response(&String::from_utf8_lossy(&bytes))
}

fn parse_response(text: &str) -> RawResponse {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return RawResponse { status: 0, headers: BTreeMap::new(), body: text.to_owned() };
    };
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    RawResponse { status, headers, body: body.to_owned() }
}
