//! Serves the page with a fake assistant behind it, for trying it in a browser.
//!
//! `cargo run -p surfaces --example page [PORT] [HISTORY.json]`; commands are read from standard input: `link`,
//! `down`, `up`, `hold`, `go`, `notice TEXT`, `quit`. After `hold` no answer comes to its end until `go`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a demonstration may stop, and it speaks to a terminal"
)]

#[path = "../tests/playing/mod.rs"]
mod playing;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::assistant::Shown;
use engine::desk::Desk;
use engine::ports::{Clock, Surface};
use jiff::Zoned;
use playing::{House, Ledger, Shelf, Well};
use surfaces::stage::Stage;
use surfaces::web::devices::Fleeting;
use surfaces::web::{App, Limits, Ports, door};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

struct Wall(Instant);

impl Clock for Wall {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    fn boot(&self) -> Duration {
        self.0.elapsed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(door::PORT, |port| port.parse().unwrap());
    let history = arguments
        .next()
        .map_or_else(Vec::new, |file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap());
    let (desk, pile) = Desk::new();
    let journal = Arc::new(Ledger::default());
    let stage = Arc::new(Stage::default());
    let clock: Arc<dyn Clock> = Arc::new(Wall(Instant::now()));
    let pace = Duration::from_millis(20);
    let house = Arc::new(House {
        journal: journal.clone(),
        stage: stage.clone(),
        clock: clock.clone(),
        desk: desk.clone(),
        pace,
        held: watch::Sender::new(false),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(playing::play(house.clone(), pile, history));
    let opened = door::bind(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
    let vitals = Arc::new(Well(watch::Sender::new(opened.page())));
    let shelf = Arc::new(Shelf::new(desk.clone()));
    let ports = Ports {
        calendar: shelf.clone(),
        job_files: shelf,
        desk,
        archive: journal.clone(),
        history: journal.clone(),
        journal,
        stage: stage.clone(),
        vitals,
        devices: Arc::new(Fleeting::default()),
        clock,
    };
    let app = App::new(ports, Limits::HOUSE);
    obey(app, opened, &house).await;
    tasks.shutdown().await;
}

async fn obey(app: App, opened: door::PortDoor, house: &House) {
    let address = opened.address();
    let page = opened.page();
    let mut stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(door::serve_tcp(opened, app.clone(), stop.clone()));
    println!("{}", app.pairing().link(&page).unwrap());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("link", _) => println!("{}", app.pairing().link(&page).unwrap()),
            ("notice", text) => house.stage.show(&Shown::Notice(text.to_owned())),
            (order @ ("hold" | "go"), _) => {
                house.held.send_replace(order == "hold");
                println!("{order}");
            }
            ("down", _) => {
                stop.cancel();
                while serving.join_next().await.is_some() {}
                println!("down");
            }
            ("up", _) => {
                stop = CancellationToken::new();
                let again = door::bind(address).await.unwrap();
                serving.spawn(door::serve_tcp(again, app.clone(), stop.clone()));
                println!("up");
            }
            ("quit", _) => break,
            _ => println!("link, down, up, hold, go, notice TEXT or quit"),
        }
    }
    stop.cancel();
    while serving.join_next().await.is_some() {}
}
