//! A data directory as it looks after years: made in seconds, for what measures.
//!
//! The journal makes its tables and files; the rows are then counted out by SQLite itself, in one transaction.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use domain::conversation::{Branch, Head, Move, SessionId, Why};
use domain::record::{Record, SessionChange};
use engine::ports::Journal as _;
use jiff::{Timestamp, tz::TimeZone};
use journal::disk::RealDisk;
use journal::{Opened, Paths, Place};
use rusqlite::Connection;

/// When the life began: 2024-01-01, one entry a minute.
const BEGAN: Timestamp = Timestamp::constant(1_704_067_200, 0);

/// Opens the data directory in `root` as the program would.
pub fn open(root: &Path) -> anyhow::Result<Opened> {
    let place = Place {
        paths: Paths::new(root),
        disk: Arc::new(RealDisk),
        zone: TimeZone::UTC,
        now: BEGAN,
        pid: std::process::id(),
    };
    Ok(journal::open(place)?)
}

/// Makes the data directory `root` in which `entries` things were said on main, the human and the assistant
/// in turn, with a summary at every 10,000th and a background fork at every 100th.
pub fn lay_out(root: &Path, entries: u64) -> anyhow::Result<()> {
    let session = SessionId::read("00000000-0000-4000-8000-000000000000").context("a session")?;
    let created = Move {
        branch: Branch::Main,
        at: BEGAN,
        why: Why::Created,
        from: None,
        to: Some(Head { entry: None, session: session.clone(), label: domain::label::Label::PLAIN }),
    };
    let records = vec![Record::Moved(created), Record::Session(SessionChange::Saved(session, BEGAN))];
    let journal = open(root)?.journal;
    wait(journal.write(records))?.map_err(|error| anyhow!("{error}"))?;
    drop(journal);
    fill(&Paths::new(root).database(), entries)
}

fn wait<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().build()?.block_on(future))
}

fn fill(database: &Path, entries: u64) -> anyhow::Result<()> {
    let connection = Connection::open(database)?;
    // Nobody minds if a power cut takes a fixture.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")?;
    let script = include_str!("long_life.sql");
    connection.execute_batch(&script.replace("{entries}", &entries.to_string()))?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
    // The counter and the mark tell how far the journal reached before these rows came. A journal with neither is taken as it is.
    connection.execute("DELETE FROM keepsakes WHERE name = 'commits'", [])?;
    std::fs::remove_file(database.with_file_name("journal.mark"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_takes_a_long_life_for_its_own() {
        let dir = tempfile::tempdir().unwrap();
        lay_out(dir.path(), 1000).unwrap();

        let Opened { journal, memory, notices } = open(dir.path()).unwrap();
        assert_eq!(notices, Vec::<String>::new());
        assert_eq!((memory.messages.next.0, memory.turns.next.0), (501, 501));
        assert!(memory.turns.unfinished.is_empty() && memory.messages.waiting.is_empty());
        let head = memory.conversation.head(&Branch::Main).and_then(|head| head.entry).unwrap();
        let path = wait(journal.path(head)).unwrap().unwrap();
        assert_eq!(path.len(), 1000);
        assert_eq!(wait(journal.lineage(u32::MAX)).unwrap().unwrap().lines.len(), 21);
    }
}
