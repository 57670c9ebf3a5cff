//! Serves the page with a fake assistant, to try it in a browser.
//!
//! `cargo run -p surfaces --example page [DEFAULT_PORT] [HISTORY.json]`; commands are read from
//! standard input: `link`, `down`, `up`, `hold`, `go`, `notice TEXT`, `quit`. Between `hold` and
//! `go` no answer is completed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a demonstration may panic, and it prints to a terminal"
)]

#[path = "../tests/playing/mod.rs"]
mod playing;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::assistant::Update;
use engine::handle::AssistantHandle;
use engine::ports::{Clock, Surface};
use jiff::Zoned;
use playing::{FakeAssistant, FakeHealth, FakeJobFiles, InMemoryJournal};
use surfaces::event_hub::EventHub;
use surfaces::web::devices::InMemoryDevices;
use surfaces::web::{App, WebLimits, WebPorts, listener};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

struct SystemClock(Instant);

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    fn since_boot(&self) -> Duration {
        self.0.elapsed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(listener::DEFAULT_PORT, |port| port.parse().unwrap());
    let history = arguments
        .next()
        .map_or_else(Vec::new, |file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap());
    let (desk, rx) = AssistantHandle::new();
    let journal = Arc::new(InMemoryJournal::default());
    let event_hub = Arc::new(EventHub::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock(Instant::now()));
    let pace = Duration::from_millis(20);
    let fake = Arc::new(FakeAssistant {
        journal: journal.clone(),
        event_hub: event_hub.clone(),
        clock: clock.clone(),
        assistant: desk.clone(),
        word_delay: pace,
        paused: watch::Sender::new(false),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(playing::run(fake.clone(), rx, history));
    let opened = listener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
    let vitals = Arc::new(FakeHealth(watch::Sender::new(opened.page_url())));
    let job_files = Arc::new(FakeJobFiles::new(desk.clone()));
    let ports = WebPorts {
        calendar: job_files.clone(),
        job_files,
        assistant: desk,
        archive: journal.clone(),
        history: journal.clone(),
        journal,
        event_hub: event_hub.clone(),
        health_source: vitals,
        devices: Arc::new(InMemoryDevices::default()),
        clock,
    };
    let app = App::new(ports, WebLimits::DEFAULT);
    run_commands(app, opened, &fake).await;
    tasks.shutdown().await;
}

async fn run_commands(app: App, opened: listener::PortListener, fake: &FakeAssistant) {
    let address = opened.address();
    let page = opened.page_url();
    let mut stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(listener::serve_tcp(opened, app.clone(), stop.clone()));
    println!("{}", app.pairing().create_link(&page).unwrap());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("link", _) => println!("{}", app.pairing().create_link(&page).unwrap()),
            ("notice", text) => fake.event_hub.show(&Update::Notice(text.to_owned())),
            (order @ ("hold" | "go"), _) => {
                fake.paused.send_replace(order == "hold");
                println!("{order}");
            }
            ("down", _) => {
                stop.cancel();
                while serving.join_next().await.is_some() {}
                println!("down");
            }
            ("up", _) => {
                stop = CancellationToken::new();
                let again = listener::bind(address).await.unwrap();
                serving.spawn(listener::serve_tcp(again, app.clone(), stop.clone()));
                println!("up");
            }
            ("quit", _) => break,
            _ => println!("link, down, up, hold, go, notice TEXT or quit"),
        }
    }
    stop.cancel();
    while serving.join_next().await.is_some() {}
}
