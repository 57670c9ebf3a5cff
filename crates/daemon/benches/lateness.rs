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

use daemon::house::Doors;
use jiff::{SignedDuration, Timestamp};
use surfaces::client::{Client, Events};
use tempfile::TempDir;
use testkit::clock::VirtualClock;
use testkit::discord::{Discord, Setup, serve};

use house::{in_memory, on_disk, open};

/// Reminders per case, and the seconds between two: Discord accepts five messages in five seconds.
const REMINDERS: usize = 20;
const APART: i64 = 2;
/// Seconds from the start to the first due time.
const FIRST: i64 = 6;
/// Longer than any reminder is late.
const PATIENCE: Duration = Duration::from_secs(60);

/// The behavior of the fake model.
#[derive(Clone, Copy)]
enum Model {
    /// No model is configured: the offline assistant answers.
    Offline,
    /// Answers one word.
    Answers,
    /// Accepts the request and never answers.
    Silent,
    /// Starts an answer, then sends only keep-alive pings.
    Pings,
    /// Sends five words per second, without end.
    Speaks,
    /// Calls a tool that needs the user's approval.
    Asks,
    /// Calls a tool that does not end: a subagent whose own request is never answered.
    Delegates,
    /// Answers the first request only.
    AnswersOnce,
    /// The port is closed.
    Dead,
}

/// Concurrent activity.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    /// An answer to the user is being generated.
    Answer,
    /// The conversation is being compacted.
    Compaction,
    /// A hundred answers are queued for Discord.
    Outbox,
}

const TROUBLES: [(&str, Model, Beside); 10] = [
    (NO_TROUBLE, Model::Answers, Beside::Nothing),
    ("no model", Model::Offline, Beside::Nothing),
    ("a dead model", Model::Dead, Beside::Answer),
    ("a silent model", Model::Silent, Beside::Answer),
    ("a stream of pings", Model::Pings, Beside::Answer),
    ("a long answer", Model::Speaks, Beside::Answer),
    ("a tool that does not end", Model::Delegates, Beside::Answer),
    ("an open approval", Model::Asks, Beside::Answer),
    ("a compaction", Model::AnswersOnce, Beside::Compaction),
    ("a full outbox", Model::Offline, Beside::Outbox),
];

const NO_TROUBLE: &str = "no trouble";

fn main() {
    let only = std::env::var("OLLIM_LATENESS").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, model, beside) in TROUBLES.into_iter().filter(|(name, ..)| name.contains(&only)) {
        runtime.block_on(measure(name, on_disk(), model, beside));
    }
    if NO_TROUBLE.contains(&only) {
        runtime.block_on(measure("no trouble in memory", in_memory(), Model::Answers, Beside::Nothing));
    }
}

async fn measure(name: &str, dir: TempDir, model: Model, beside: Beside) {
    std::fs::create_dir_all(dir.path().join("reminders")).unwrap();
    let first = Timestamp::from_second(Timestamp::now().as_second() + FIRST).unwrap();
    let dues: Vec<Timestamp> = (0..REMINDERS)
        .map(|number| first + SignedDuration::from_secs(APART * i64::try_from(number).unwrap()))
        .collect();
    dues.iter().enumerate().for_each(|(number, due)| plan(dir.path(), number, *due));
    let discord = Discord::new(Setup::default(), Arc::new(VirtualClock::new(jiff::Zoned::now())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(discord.clone(), listener).unwrap();
    let token = discord.token();
    let base = format!("{}/api/v10", server.url());
    let url = listen(model);
    let page = format!("127.0.0.1:{}", free_port());
    let mut variables = vec![
        ("DISCORD_TOKEN", token.as_str()),
        ("DISCORD_API_BASE", base.as_str()),
        ("OLLIM_HTTP", page.as_str()),
    ];
    if !matches!(model, Model::Offline) {
        variables.extend([("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", url.as_str())]);
    }
    let house = open(&dir, &variables, Doors::LocalAndPage).await;
    let connected = |discord: &Discord| (!discord.ledger().identifies.is_empty()).then_some(());
    discord.wait_for(PATIENCE, connected).await.unwrap();
    let events = house.client.events().await.unwrap();
    begin(&house.client, &discord, beside).await;
    let (shown, sent) = tokio::join!(on_the_stream(events, &dues), in_discord(&discord, &dues));
    tell(name, "page and terminal", shown);
    tell(name, "Discord", sent);
    house.close().await;
    server.stop().await;
}

async fn begin(client: &Client, discord: &Discord, beside: Beside) {
    match beside {
        Beside::Nothing => {}
        Beside::Answer => {
            client.command("/permissions default").await.unwrap();
            client.say(&"good morning".into()).await.unwrap();
        }
        Beside::Compaction => {
            let mut events = client.events().await.unwrap();
            client.say(&"good morning".into()).await.unwrap();
            while events.next().await.unwrap().unwrap().name != "ended" {}
            client.command("/compact").await.unwrap();
            while events.next().await.unwrap().unwrap().name != "compacting" {}
        }
        Beside::Outbox => {
            for number in 0..100 {
                discord.owner().types(&format!("remember: {number}"));
            }
        }
    }
}

/// Returns the delay of each reminder on the event stream.
async fn on_the_stream(mut events: Events, dues: &[Timestamp]) -> Vec<Duration> {
    let mut late = Vec::new();
    while late.len() < dues.len() {
        let shown = events.next().await.unwrap().unwrap();
        let number = shown.data["words"].as_str().and_then(|words| words.strip_prefix("mind "));
        if let Some(number) = number.filter(|_| shown.name == "card") {
            late.push(since(dues[number.parse::<usize>().unwrap()]));
        }
    }
    late
}

/// Returns the delay of each reminder in the direct messages.
async fn in_discord(discord: &Discord, dues: &[Timestamp]) -> Vec<Duration> {
    let mut late = Vec::new();
    for (number, due) in dues.iter().enumerate() {
        let words = format!("⏰ mind {number}");
        let is_there = |discord: &Discord| {
            discord.visible().iter().any(|seen| seen.content.lines().next() == Some(&words)).then_some(())
        };
        discord.wait_for(PATIENCE + Duration::from_secs(60), is_there).await.unwrap();
        late.push(since(*due));
    }
    late
}

fn since(due: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(due)).unwrap_or_default()
}

fn plan(data: &Path, number: usize, due: Timestamp) {
    let text = format!("---\nid: m{number}\nrun-at: {due}\n---\nmind {number}\n");
    std::fs::write(data.join(format!("reminders/m{number}.md")), text).unwrap();
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts the fake model on loopback. It runs until the process ends.
fn listen(model: Model) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    if matches!(model, Model::Dead) {
        return url;
    }
    let asked = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let asked = Arc::clone(&asked);
            std::thread::spawn(move || answer(socket, model, &asked));
        }
    });
    url
}

/// Answers one request and closes the connection. `asked` counts the earlier requests.
fn answer(mut socket: TcpStream, model: Model, asked: &AtomicUsize) -> std::io::Result<()> {
    let mut request = vec![0; 1 << 16];
    let read = socket.read(&mut request)?;
    if request[..read].starts_with(b"GET") {
        return socket.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
    let is_silent_later = matches!(model, Model::Delegates | Model::AnswersOnce);
    if matches!(model, Model::Silent) || (is_silent_later && !is_first) {
        std::thread::sleep(Duration::from_secs(600));
    }
    socket.write_all(format!("{HEAD}{START}").as_bytes())?;
    match model {
        Model::Pings => loop {
            socket.write_all(b"event: ping\ndata: {\"type\":\"ping\"}\n\n")?;
            std::thread::sleep(Duration::from_secs(1));
        },
        Model::Speaks => {
            socket.write_all(TEXT.as_bytes())?;
            loop {
                socket.write_all(WORD.as_bytes())?;
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Model::Asks => socket.write_all(format!("{CALL}{STOP_FOR_TOOLS}{END}").as_bytes()),
        Model::Delegates => socket.write_all(format!("{TASK}{STOP_FOR_TOOLS}{END}").as_bytes()),
        Model::Answers | Model::AnswersOnce | Model::Offline | Model::Silent | Model::Dead => {
            socket.write_all(format!("{TEXT}{WORD}{STOP}{END}").as_bytes())
        }
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
const CALL: &str = concat!(
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",",
    "\"name\":\"inbox_remove\",\"input\":{\"number\":1}}}\n\n"
);
const TASK: &str = concat!(
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

fn tell(trouble: &str, surface: &str, mut late: Vec<Duration>) {
    late.sort_unstable();
    let part = |of_100: usize| late[(late.len() - 1) * of_100 / 100].as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "reminder during {trouble}, {surface}, median: {} ns", part(50)).unwrap();
    // With so few samples, the maximum serves as the 99th percentile.
    writeln!(out, "reminder during {trouble}, {surface}, p99: {} ns", late.last().unwrap().as_nanos())
        .unwrap();
}
