//! The program with a clock that starts at SHIFTED_TO; each SIGUSR1 advances it by SHIFTED_BY
//! seconds (default 20).
//! It aborts at the disk operation number given in CRASH_AT. Only for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use daemon::app::{Application, Mode};
use daemon::settings::{Environment, Settings};
use engine::ports::Clock;
use jiff::{SignedDuration, Zoned};
use testkit::disk::AbortingDisk;
use tokio::signal::unix::{SignalKind, signal};

/// A clock that starts at a given time and runs at normal speed.
struct ShiftedClock {
    from: Zoned,
    since: Instant,
    seconds_ahead: AtomicI64,
}

impl Clock for ShiftedClock {
    fn now(&self) -> Zoned {
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::ZERO);
        let ahead = SignedDuration::from_secs(self.seconds_ahead.load(Ordering::Relaxed));
        self.from.saturating_add(passed.saturating_add(ahead))
    }

    fn since_boot(&self) -> Duration {
        self.since.elapsed()
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program for tests, which wait for its first line of output"
)]
fn main() {
    let environment = Environment::new(|name| std::env::var(name).ok());
    let settings = Settings::read(&environment).expect("settings");
    wire::install_crypto_provider();
    let point = std::env::var("CRASH_AT").ok().and_then(|point| point.parse().ok());
    let step_seconds =
        std::env::var("SHIFTED_BY").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(20);
    let disk = Arc::new(AbortingDisk::new(point.unwrap_or(usize::MAX)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let from = std::env::var("SHIFTED_TO").expect("SHIFTED_TO").parse().expect("a time with a zone");
        let clock = Arc::new(ShiftedClock { from, since: Instant::now(), seconds_ahead: AtomicI64::new(0) });
        let mut advance_signal = signal(SignalKind::user_defined1()).expect("signals");
        let opened = Application::open_with_clock(clock.clone(), &settings, Vec::new(), disk, Mode::Full).await;
        let mut app = opened.map_err(|failed| failed.to_string()).expect("a house");
        println!("ready");
        let mut stop_signal = signal(SignalKind::terminate()).expect("signals");
        loop {
            tokio::select! {
                () = app.task_ended() => break,
                _ = stop_signal.recv() => break,
                _ = advance_signal.recv() => drop(clock.seconds_ahead.fetch_add(step_seconds, Ordering::Relaxed)),
            }
        }
        app.close().await;
    });
}
