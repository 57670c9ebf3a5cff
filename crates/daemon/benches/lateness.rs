//! Lateness: delay between the due time of a reminder and its display, under faults and load.
//!
//! Application, page, socket and clock are real; Discord and the model are fakes on real sockets.
//! Page and terminal read the same event stream, which is measured at its reader.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]
#![expect(
    clippy::disallowed_methods,
    reason = "like an editor, the bench writes files directly, and it needs the real clock"
)]

#[path = "turn/house.rs"]
mod house;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use daemon::app::Mode;
use jiff::{SignedDuration, Timestamp};
use surfaces::client::{Client, EventStream};
use tempfile::TempDir;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{FakeDiscord, Setup, serve};

use house::{disk_dir, memory_dir, open_app};

/// Reminders per case, and the seconds between two: Discord accepts five messages in five seconds.
const REMINDERS: usize = 20;
const INTERVAL_SECONDS: i64 = 2;
/// Seconds from the start to the first due time.
const FIRST_DUE_SECONDS: i64 = 6;
/// Longer than any reminder is late.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The behavior of the fake model.
#[derive(Clone, Copy)]
enum ModelBehavior {
    /// No model is configured: the offline assistant answers.
    Offline,
    /// Answers one word.
    Answers,
    /// Accepts the request and never answers.
    Silent,
    /// Starts an answer, then sends only keep-alive pings.
    Pings,
    /// Sends five words per second, without end.
    Streams,
    /// Calls a tool that needs the user's approval.
    CallsGatedTool,
    /// Calls a tool that does not end: a subagent whose own request is never answered.
    CallsSubagent,
    /// Answers the first request only.
    AnswersOnce,
    /// The port is closed.
    Closed,
}

/// Concurrent activity.
#[derive(Clone, Copy)]
enum Activity {
    None,
    /// An answer to the user is being generated.
    Answer,
    /// The conversation is being compacted.
    Compaction,
    /// A hundred answers are queued for Discord.
    Outbox,
}

const CASES: [(&str, ModelBehavior, Activity); 10] = [
    (BASELINE, ModelBehavior::Answers, Activity::None),
    ("no model", ModelBehavior::Offline, Activity::None),
    ("a dead model", ModelBehavior::Closed, Activity::Answer),
    ("a silent model", ModelBehavior::Silent, Activity::Answer),
    ("a stream of pings", ModelBehavior::Pings, Activity::Answer),
    ("a long answer", ModelBehavior::Streams, Activity::Answer),
    ("a tool that does not end", ModelBehavior::CallsSubagent, Activity::Answer),
    ("an open approval", ModelBehavior::CallsGatedTool, Activity::Answer),
    ("a compaction", ModelBehavior::AnswersOnce, Activity::Compaction),
    ("a full outbox", ModelBehavior::Offline, Activity::Outbox),
];

const BASELINE: &str = "no trouble";

fn main() {
    let only = std::env::var("OLLIM_LATENESS").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, model, activity) in CASES.into_iter().filter(|(name, ..)| name.contains(&only)) {
        runtime.block_on(measure(name, disk_dir(), model, activity));
    }
    if BASELINE.contains(&only) {
        runtime.block_on(measure(
            "no trouble in memory",
            memory_dir(),
            ModelBehavior::Answers,
            Activity::None,
        ));
    }
}

async fn measure(name: &str, dir: TempDir, model: ModelBehavior, activity: Activity) {
    std::fs::create_dir_all(dir.path().join("reminders")).unwrap();
    let first = Timestamp::from_second(Timestamp::now().as_second() + FIRST_DUE_SECONDS).unwrap();
    let dues: Vec<Timestamp> = (0..REMINDERS)
        .map(|number| first + SignedDuration::from_secs(INTERVAL_SECONDS * i64::try_from(number).unwrap()))
        .collect();
    dues.iter().enumerate().for_each(|(number, due)| write_reminder(dir.path(), number, *due));
    let discord = FakeDiscord::new(Setup::default(), Arc::new(VirtualClock::new(jiff::Zoned::now())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(discord.clone(), listener).unwrap();
    let token = discord.token();
    let base = format!("{}/api/v10", server.url());
    let url = start_model(model);
    let page = format!("127.0.0.1:{}", free_port());
    let mut variables = vec![
        ("DISCORD_TOKEN", token.as_str()),
        ("DISCORD_API_BASE", base.as_str()),
        ("OLLIM_HTTP", page.as_str()),
    ];
    if !matches!(model, ModelBehavior::Offline) {
        variables.extend([("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", url.as_str())]);
    }
    let app = open_app(&dir, &variables, Mode::Full).await;
    let connected = |discord: &FakeDiscord| (!discord.log().identifies.is_empty()).then_some(());
    discord.wait_for(TIMEOUT, connected).await.unwrap();
    let events = app.client.events().await.unwrap();
    start_activity(&app.client, &discord, activity).await;
    let (shown, sent) = tokio::join!(stream_delays(events, &dues), discord_delays(&discord, &dues));
    report(name, "page and terminal", shown);
    report(name, "Discord", sent);
    app.close().await;
    server.stop().await;
}

async fn start_activity(client: &Client, discord: &FakeDiscord, activity: Activity) {
    match activity {
        Activity::None => {}
        Activity::Answer => {
            client.execute("/permissions default").await.unwrap();
            client.say(&"good morning".into()).await.unwrap();
        }
        Activity::Compaction => {
            let mut events = client.events().await.unwrap();
            client.say(&"good morning".into()).await.unwrap();
            while events.next().await.unwrap().unwrap().name != "ended" {}
            client.execute("/compact").await.unwrap();
            while events.next().await.unwrap().unwrap().name != "compacting" {}
        }
        Activity::Outbox => {
            for number in 0..100 {
                discord.owner().send_text(&format!("remember: {number}"));
            }
        }
    }
}

/// Returns the delay of each reminder on the event stream.
async fn stream_delays(mut events: EventStream, dues: &[Timestamp]) -> Vec<Duration> {
    let mut delays = Vec::new();
    while delays.len() < dues.len() {
        let event = events.next().await.unwrap().unwrap();
        let number = event.data["words"].as_str().and_then(|words| words.strip_prefix("mind "));
        if let Some(number) = number.filter(|_| event.name == "card") {
            delays.push(delay_since(dues[number.parse::<usize>().unwrap()]));
        }
    }
    delays
}

/// Returns the delay of each reminder in the direct messages.
async fn discord_delays(discord: &FakeDiscord, dues: &[Timestamp]) -> Vec<Duration> {
    let mut delays = Vec::new();
    for (number, due) in dues.iter().enumerate() {
        let words = format!("⏰ mind {number}");
        let is_visible = |discord: &FakeDiscord| {
            discord.visible().iter().any(|seen| seen.content.lines().next() == Some(&words)).then_some(())
        };
        discord.wait_for(TIMEOUT + Duration::from_secs(60), is_visible).await.unwrap();
        delays.push(delay_since(*due));
    }
    delays
}

fn delay_since(due: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(due)).unwrap_or_default()
}

fn write_reminder(data: &Path, number: usize, due: Timestamp) {
    let text = format!("---\nid: m{number}\nrun-at: {due}\n---\nmind {number}\n");
    std::fs::write(data.join(format!("reminders/m{number}.md")), text).unwrap();
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts the fake model on loopback. It runs until the process ends.
fn start_model(model: ModelBehavior) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    if matches!(model, ModelBehavior::Closed) {
        return url;
    }
    let requests = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let requests = Arc::clone(&requests);
            std::thread::spawn(move || answer(socket, model, &requests));
        }
    });
    url
}

/// Answers one request and closes the connection.
fn answer(
    mut socket: TcpStream,
    model: ModelBehavior,
    earlier_requests: &AtomicUsize,
) -> std::io::Result<()> {
    let mut request = vec![0; 1 << 16];
    let read = socket.read(&mut request)?;
    if request[..read].starts_with(b"GET") {
        return socket.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    let is_first = earlier_requests.fetch_add(1, Ordering::SeqCst) == 0;
    let is_silent_later = matches!(model, ModelBehavior::CallsSubagent | ModelBehavior::AnswersOnce);
    if matches!(model, ModelBehavior::Silent) || (is_silent_later && !is_first) {
        std::thread::sleep(Duration::from_secs(600));
    }
    socket.write_all(format!("{HEAD}{START}").as_bytes())?;
    match model {
        ModelBehavior::Pings => loop {
            socket.write_all(b"event: ping\ndata: {\"type\":\"ping\"}\n\n")?;
            std::thread::sleep(Duration::from_secs(1));
        },
        ModelBehavior::Streams => {
            socket.write_all(TEXT.as_bytes())?;
            loop {
                socket.write_all(WORD.as_bytes())?;
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        ModelBehavior::CallsGatedTool => {
            socket.write_all(format!("{GATED_TOOL_CALL}{STOP_FOR_TOOLS}{END}").as_bytes())
        }
        ModelBehavior::CallsSubagent => {
            socket.write_all(format!("{SUBAGENT_CALL}{STOP_FOR_TOOLS}{END}").as_bytes())
        }
        ModelBehavior::Answers
        | ModelBehavior::AnswersOnce
        | ModelBehavior::Offline
        | ModelBehavior::Silent
        | ModelBehavior::Closed => socket.write_all(format!("{TEXT}{WORD}{STOP}{END}").as_bytes()),
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const START: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",",
    "\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,",
    "\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
);
const TEXT: &str = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const WORD: &str = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"now \"}}\n\n";
const GATED_TOOL_CALL: &str = concat!(
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",",
    "\"name\":\"inbox_remove\",\"input\":{\"number\":1}}}\n\n"
);
const SUBAGENT_CALL: &str = concat!(
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",",
    "\"name\":\"Task\",\"input\":{\"subagent_type\":\"guide\",\"prompt\":\"How do reminders work?\"}}}\n\n"
);
const STOP: &str = concat!(
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n"
);
const STOP_FOR_TOOLS: &str = concat!(
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":1}}\n\n"
);
const END: &str = "data: {\"type\":\"message_stop\"}\n\n";

fn report(case: &str, surface: &str, mut delays: Vec<Duration>) {
    delays.sort_unstable();
    let percentile = |of_100: usize| delays[(delays.len() - 1) * of_100 / 100].as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "reminder during {case}, {surface}, median: {} ns", percentile(50)).unwrap();
    // With so few samples, the maximum serves as the 99th percentile.
    writeln!(out, "reminder during {case}, {surface}, p99: {} ns", delays.last().unwrap().as_nanos())
        .unwrap();
}
