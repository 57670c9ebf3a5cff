//! Jitter: delay between the due time and the start of a job while a thousand other jobs run.
//!
//! Application and clock are real. The model accepts every request and answers none, so that every
//! job runs until the end of the measurement.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]
#![expect(
    clippy::disallowed_methods,
    reason = "like an editor, the bench writes files directly, and it needs the real clock"
)]

#[path = "turn/house.rs"]
mod house;

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use daemon::app::Mode;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use tempfile::TempDir;

use house::{disk_dir, memory_dir, open_app};

/// Jobs with the same due time that keep running.
const CONCURRENT: usize = 900;
/// Jobs due afterwards: `PER_SECOND` in each of `SECONDS` seconds. All jobs together reach the
/// concurrency limit.
const SECONDS: usize = 10;
const PER_SECOND: usize = 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (dir, place) in [(memory_dir(), "in memory"), (disk_dir(), "with the disk")] {
        runtime.block_on(measure(&dir, place));
    }
}

/// Plans the jobs, waits for their due times, and reads the start times from the journal.
async fn measure(dir: &TempDir, place: &str) {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", model.local_addr().unwrap());
    let first = Timestamp::from_second(Timestamp::now().as_second() + 4).unwrap();
    std::fs::create_dir_all(dir.path().join("reminders")).unwrap();
    (0..CONCURRENT).for_each(|n| write_reminder(dir.path(), &format!("crowd{n}"), first));
    for second in 0..SECONDS {
        let due = first + SignedDuration::from_secs(2 + i64::try_from(second).unwrap());
        (0..PER_SECOND).for_each(|n| write_reminder(dir.path(), &format!("later{second}-{n}"), due));
    }
    let app =
        open_app(dir, &[("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", &url)], Mode::Local).await;
    let job_count = CONCURRENT + SECONDS * PER_SECOND;
    let delays = loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let delays = lateness_of(dir.path(), "%");
        if delays.len() == job_count {
            break delays;
        }
    };
    print_line(&format!("the last of {CONCURRENT} fires at once {place}: {} ns", maximum(&delays)));
    report(
        &format!("fire jitter under {job_count} runs {place}"),
        &lateness_of(dir.path(), "reminder:later%"),
    );
    app.close().await;
}

fn write_reminder(data: &Path, id: &str, due: Timestamp) {
    let text = format!("---\nid: {id}\nrun-at: {due}\nbackground: true\nisolated: true\n---\nlook at {id}\n");
    std::fs::write(data.join(format!("reminders/{id}.md")), text).unwrap();
}

/// Returns the delays in microseconds of the jobs whose source matches `pattern`, in ascending
/// order.
fn lateness_of(data: &Path, pattern: &str) -> Vec<u64> {
    let database = Connection::open(data.join("state/journal.db")).unwrap();
    let mut rows = database
        .prepare("SELECT began - due FROM occurrences WHERE source LIKE ?1 AND tries > 0 ORDER BY 1")
        .unwrap();
    let rows = rows.query_map([pattern], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn maximum(delays: &[u64]) -> u64 {
    delays.last().copied().unwrap_or_default() * 1000
}

fn report(name: &str, delays: &[u64]) {
    let percentile = |of_100: usize| delays[(delays.len() - 1) * of_100 / 100] * 1000;
    print_line(&format!("{name}, median: {} ns", percentile(50)));
    print_line(&format!("{name}, p99: {} ns", percentile(99)));
}

fn print_line(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
}
