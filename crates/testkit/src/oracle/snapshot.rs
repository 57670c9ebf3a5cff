//! A snapshot of a data directory, read row by row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};
use serde_json::Value;

/// The rows of a data directory.
#[derive(Debug, Default)]
pub struct DataSnapshot {
    pub root: PathBuf,
    pub entries: BTreeMap<i64, Entry>,
    pub heads: Vec<Head>,
    pub moves: Vec<Move>,
    pub messages: Vec<Message>,
    pub turns: Vec<Turn>,
    pub call_decisions: CallDecisions,
    pub pending_updates: Vec<PendingUpdate>,
    pub background: BackgroundState,
    /// The number of pending changes to the session files.
    pub pending_file_changes: usize,
}

/// Forks, background runs and scheduled jobs.
#[derive(Debug, Default)]
pub struct BackgroundState {
    /// The branch of the open fork.
    pub forks: Vec<String>,
    /// The branches of active background runs.
    pub runs: Vec<String>,
    /// The entries that runs showed to the user.
    pub sent: Vec<i64>,
    /// Messages with a known run, and its session.
    pub origins: Vec<(i64, String)>,
    pub schedule: ScheduleState,
}

/// Scheduled jobs and the ping budget.
#[derive(Debug, Default)]
pub struct ScheduleState {
    /// Occurrences, sorted by job and time.
    pub occurrences: Vec<Occurrence>,
    /// Messages of the program, by branch.
    pub program_messages: Vec<(String, String)>,
    pub charges: Vec<Charge>,
    /// The remaining pings, and the capacity of the budget.
    pub available: f64,
    pub capacity: f64,
}

/// One occurrence of a job.
#[derive(Debug)]
pub struct Occurrence {
    pub source: String,
    pub due: i64,
    pub tries: i64,
    pub stage: String,
    pub branch: Option<String>,
    pub reason: String,
    pub last: Option<i64>,
    pub count: Option<i64>,
}

impl Occurrence {
    /// Returns a readable name.
    pub fn name(&self) -> String {
        format!("{} at {}", self.source, self.due)
    }
}

/// A charge for an entry that a branch showed.
#[derive(Debug)]
pub struct Charge {
    pub entry: i64,
    pub before: f64,
    pub after: f64,
    pub branch: String,
}

#[derive(Debug)]
pub struct Entry {
    pub parent: Option<i64>,
    pub depth: i64,
    pub at: i64,
    pub kind: String,
    pub body: Value,
}

#[derive(Debug)]
pub struct Head {
    pub branch: String,
    pub entry: Option<i64>,
    pub session: String,
}

#[derive(Debug)]
pub struct Move {
    pub branch: String,
    pub why: String,
    pub to: Option<String>,
}

#[derive(Debug)]
pub struct Message {
    pub id: i64,
    pub text: String,
    pub entry: Option<i64>,
    /// Set for messages of the program.
    pub from_program: bool,
}

#[derive(Debug)]
pub struct PendingUpdate {
    pub id: i64,
    pub text: String,
    /// Set if the text may contain text from outside.
    pub tainted: bool,
    pub read: Option<i64>,
    pub shown_as: String,
    pub entry: Option<i64>,
}

#[derive(Debug)]
pub struct Turn {
    pub id: i64,
    pub branch: String,
    pub message: i64,
    pub attempts: i64,
    pub closed: Option<i64>,
    pub ending: Option<String>,
}

/// Decisions about calls, and approvals.
#[derive(Debug, Default)]
pub struct CallDecisions {
    pub decisions: Vec<Decision>,
    pub approvals: Vec<Approval>,
}

#[derive(Debug)]
pub struct Decision {
    pub turn: i64,
    pub at: i64,
    pub call: String,
    pub tool: String,
    pub input: String,
    pub rule: String,
}

#[derive(Debug)]
pub struct Approval {
    pub id: i64,
    pub turn: i64,
    pub call: String,
    pub tool: String,
    pub input: String,
    /// Set if the turn continued without an answer.
    pub late: bool,
    pub outcome: Option<String>,
    /// The call that used the grant.
    pub used_by: Option<String>,
}

impl DataSnapshot {
    /// Reads the directory at `root`, which is empty before the first start.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let database = root.join("state/journal.db");
        if !database.exists() {
            return Ok(Self { root: root.to_owned(), ..Self::default() });
        }
        // Uses a copy, because even a reader creates files next to the original.
        let copy = tempfile::tempdir()?;
        for end in ["", "-wal"] {
            let from = root.join(format!("state/journal.db{end}"));
            if from.exists() {
                std::fs::copy(&from, copy.path().join(format!("journal.db{end}")))?;
            }
        }
        let rows = Rows(Connection::open(copy.path().join("journal.db"))?);
        Ok(Self {
            root: root.to_owned(),
            entries: rows.query("SELECT id, parent, depth, at, kind, body FROM entries", read_entry)?,
            heads: rows.query("SELECT branch, entry, session FROM heads", read_head)?,
            moves: rows.query("SELECT branch, why, to_session FROM moves ORDER BY id", read_move)?,
            messages: rows
                .query("SELECT id, text, entry, surface = 'house' FROM messages ORDER BY id", read_message)?,
            turns: rows.query(
                "SELECT id, branch, message, attempts, closed, ending FROM turns ORDER BY id",
                read_turn,
            )?,
            call_decisions: rows.call_decisions()?,
            pending_updates: rows.query(
                "SELECT id, text, read, coalesce(told, ''), entry, source, label FROM reports ORDER BY id",
                read_update,
            )?,
            background: read_background(&rows)?,
            pending_file_changes: rows
                .query("SELECT id FROM file_changes", |row| row.get::<_, i64>(0))
                .map(|ids: Vec<_>| ids.len())?,
        })
    }

    /// Returns the ids on the path to `entry`, oldest first.
    pub fn path(&self, entry: Option<i64>) -> Vec<i64> {
        let mut path = Vec::new();
        let mut next = entry;
        // A cycle among parents is reported by another rule; here it must only not cause an endless
        // loop.
        while let Some(id) = next.filter(|_| path.len() <= self.entries.len()) {
            path.push(id);
            next = self.entries.get(&id).and_then(|entry| entry.parent);
        }
        path.reverse();
        path
    }

    /// Returns the entries without children.
    pub fn leaves(&self) -> impl Iterator<Item = i64> {
        let parents: std::collections::BTreeSet<i64> =
            self.entries.values().filter_map(|entry| entry.parent).collect();
        self.entries.keys().copied().filter(move |id| !parents.contains(id))
    }

    /// Returns the head of `main`.
    pub fn main(&self) -> Option<&Head> {
        self.heads.iter().find(|head| head.branch == "main")
    }
}

impl Entry {
    /// Returns the ids of the entry's calls.
    pub fn calls(&self) -> Vec<String> {
        let blocks = self.body["blocks"].as_array().cloned().unwrap_or_default();
        blocks.iter().filter_map(|block| block["call"]["id"].as_str()).map(str::to_owned).collect()
    }

    /// Returns the results of the entry.
    pub fn results(&self) -> &[Value] {
        self.body["results"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

struct Rows(Connection);

impl Rows {
    fn call_decisions(&self) -> rusqlite::Result<CallDecisions> {
        let decisions = "SELECT at, call, tool, input, rule, turn FROM decisions ORDER BY id";
        let approvals = "SELECT id, call, tool, input, late, how, used, turn FROM approvals ORDER BY id";
        Ok(CallDecisions {
            decisions: self.query(decisions, read_decision)?,
            approvals: self.query(approvals, read_approval)?,
        })
    }

    fn query<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<C> {
        self.0.prepare(sql)?.query_map([], read)?.collect()
    }
}

fn read_background(rows: &Rows) -> rusqlite::Result<BackgroundState> {
    let origin = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    Ok(BackgroundState {
        forks: rows.query("SELECT branch FROM forks", |row| row.get(0))?,
        runs: rows.query("SELECT branch FROM runs", |row| row.get(0))?,
        sent: rows.query("SELECT entry FROM sent", |row| row.get(0))?,
        // Under Discord's message ids, which are stored as receipts for our own messages.
        origins: rows.query(
            "SELECT receipts.message, session FROM origins JOIN posts ON posts.entry = origins.message AND work = 'new' \
             JOIN receipts ON receipts.key = posts.key UNION SELECT message, session FROM origins \
             WHERE message NOT IN (SELECT id FROM entries)",
            origin,
        )?,
        schedule: read_schedule(rows)?,
    })
}

fn read_schedule(rows: &Rows) -> rusqlite::Result<ScheduleState> {
    let message_by_branch = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let charge = |row: &Row<'_>| {
        Ok(Charge { entry: row.get(0)?, before: row.get(1)?, after: row.get(2)?, branch: row.get(3)? })
    };
    let pings: Vec<Option<String>> = rows.query("SELECT pings FROM attention", |row| row.get(0))?;
    let pings = pings.into_iter().flatten().next();
    let pings: Value = pings.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    Ok(ScheduleState {
        occurrences: rows.query(
            "SELECT source, due, tries, stage, branch, coalesce(why, ''), last, count FROM occurrences ORDER BY source, due",
            read_occurrence,
        )?,
        program_messages: rows.query(
            "SELECT branch, text FROM messages WHERE surface = 'house' AND branch IS NOT NULL ORDER BY id DESC",
            message_by_branch,
        )?,
        charges: rows.query(
            "SELECT charges.entry, before, after, coalesce(sent.branch, '') FROM charges LEFT JOIN sent \
             ON sent.entry = charges.entry",
            charge,
        )?,
        available: pings["available"].as_f64().unwrap_or(5.0),
        capacity: pings["capacity"].as_f64().unwrap_or(5.0),
    })
}

fn read_occurrence(row: &Row<'_>) -> rusqlite::Result<Occurrence> {
    Ok(Occurrence {
        source: row.get(0)?,
        due: row.get(1)?,
        tries: row.get(2)?,
        stage: row.get(3)?,
        branch: row.get(4)?,
        reason: row.get(5)?,
        last: row.get(6)?,
        count: row.get(7)?,
    })
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<(i64, Entry)> {
    let body: String = row.get(5)?;
    let body = serde_json::from_str(&body).unwrap_or(Value::Null);
    let entry = Entry { parent: row.get(1)?, depth: row.get(2)?, at: row.get(3)?, kind: row.get(4)?, body };
    Ok((row.get(0)?, entry))
}

fn read_head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head { branch: row.get(0)?, entry: row.get(1)?, session: row.get(2)? })
}

fn read_move(row: &Row<'_>) -> rusqlite::Result<Move> {
    Ok(Move { branch: row.get(0)?, why: row.get(1)?, to: row.get(2)? })
}

fn read_message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message { id: row.get(0)?, text: row.get(1)?, entry: row.get(2)?, from_program: row.get(3)? })
}

fn read_update(row: &Row<'_>) -> rusqlite::Result<PendingUpdate> {
    let read = row.get(2)?;
    let shown_as = row.get(3)?;
    let entry = row.get(4)?;
    let label: String = row.get(6)?;
    let tainted = !label.ends_with(';');
    Ok(PendingUpdate { id: row.get(0)?, text: row.get(1)?, tainted, read, shown_as, entry })
}

fn read_turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        id: row.get(0)?,
        branch: row.get(1)?,
        message: row.get(2)?,
        attempts: row.get(3)?,
        closed: row.get(4)?,
        ending: row.get(5)?,
    })
}

fn read_decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    let tool = row.get(2)?;
    let input = row.get(3)?;
    let rule = row.get(4)?;
    Ok(Decision { turn: row.get(5)?, at: row.get(0)?, call: row.get(1)?, tool, input, rule })
}

fn read_approval(row: &Row<'_>) -> rusqlite::Result<Approval> {
    Ok(Approval {
        id: row.get(0)?,
        turn: row.get(7)?,
        call: row.get(1)?,
        tool: row.get(2)?,
        input: row.get(3)?,
        late: row.get::<_, Option<i64>>(4)?.is_some(),
        outcome: row.get(5)?,
        used_by: row.get(6)?,
    })
}
