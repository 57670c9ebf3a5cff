//! Rows of the schedule: watermarks of plans, occurrences, routine sessions, pending job file
//! changes and the ping budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{ItemOrigin, OwnItem, PlanOrigin, Plans};
use domain::conversation::{EntryId, SessionId};
use domain::cost::Source;
use domain::occurrence::{End, Key, Occurrence, Stage};
use domain::ping_budget::{PingBudget, Used};
use domain::record::{Charge, FileWork, MessageId, PlanChange, Removal, Stand};
use domain::schedule::{Accounted, ItemId, Lateness, Moment, Rest};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use super::read::{branch_in, label_in, session_in, source_in, time_in, unread};
use super::{Database, deliveries, replanned};
use crate::files::items::Item as _;

/// A pending change of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Its row id.
    pub id: i64,
    pub work: Work,
    /// The job whose file is changed.
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Write the file with this text.
    Write(String),
    /// Remove the file if its text is this; the second value is the file where it was last seen.
    Remove(String, Option<String>),
    /// Set this key to this value, or remove the key.
    Set(String, Option<String>),
}

/// Days for which finished occurrences are retained, counted back from the newest one.
const KEPT_DAYS: i64 = 90;

pub(super) const OCCURRENCE: &str =
    "source, due, name, words, late, tries, since, stage, branch, message, next, why, last, count";

impl Database {
    /// Loads the state of the schedule, before the job files are read.
    pub(super) fn plans(&self) -> rusqlite::Result<Plans> {
        let mut plans = Plans::default();
        let mut known = self.connection.prepare("SELECT source, rule, until FROM plans")?;
        let mut rows = known.query([])?;
        while let Some(row) = rows.next()? {
            let accounted = Accounted { rule: row.get(1)?, until: time_in(row, 2)? };
            plans.known.insert_mut(source_in(row, 0)?, accounted);
        }
        let mut origins = self.connection.prepare("SELECT source, label, words, origin FROM plan_origins")?;
        let mut rows = origins.query([])?;
        while let Some(row) = rows.next()? {
            let origin = PlanOrigin { label: label_in(row, 1)?, words: row.get(2)?, from: row.get(3)? };
            plans.origins.insert_mut(source_in(row, 0)?, origin);
        }
        let mut items = self.connection.prepare("SELECT item, label, origin, words, at FROM item_origins")?;
        let mut rows = items.query([])?;
        while let Some(row) = rows.next()? {
            let item: OwnItem = row.get::<_, String>(0)?.parse().map_err(|error| unread(0, error))?;
            let label = label_in(row, 1)?;
            let origin = ItemOrigin { label, from: row.get(2)?, words: row.get(3)?, at: time_in(row, 4)? };
            plans.items.insert_mut(item, origin);
        }
        for occurrence in self.open_occurrences()? {
            plans.open.insert_mut(occurrence.key.clone(), occurrence);
        }
        plans.sessions = self.routine_sessions()?;
        plans.agenda.set_rest(self.rest()?, &TimeZone::UTC);
        let undo: Option<Option<String>> =
            self.connection.query_row("SELECT undo FROM attention", [], |row| row.get(0)).optional()?;
        plans.changes = Arc::new(undo.flatten().as_deref().and_then(replanned::read).unwrap_or_default());
        Ok(plans)
    }

    fn open_occurrences(&self) -> rusqlite::Result<Vec<Occurrence>> {
        let sql = format!(
            "SELECT {OCCURRENCE} FROM occurrences WHERE stage IN ('running', 'asked', 'again', 'queued')"
        );
        self.connection.prepare(&sql)?.query_map([], occurrence)?.collect()
    }

    /// The newest occurrences, of one source if given, newest first.
    pub fn occurrences(&self, of: Option<&Source>, limit: u32) -> rusqlite::Result<Vec<Occurrence>> {
        let of = of.map(ToString::to_string);
        let sql = format!(
            "SELECT {OCCURRENCE} FROM occurrences WHERE ?1 IS NULL OR source = ?1 ORDER BY since DESC, due DESC LIMIT ?2"
        );
        self.connection.prepare(&sql)?.query_map(params![of, limit], occurrence)?.collect()
    }

    /// Removes occurrences long before `now`; the newest one of each job stays. A clock that is or
    /// was ahead does not make all others old, because the earlier of `now` and the newest time
    /// counts.
    pub fn forget_old_times(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let sql = "DELETE FROM occurrences WHERE since < min(?2, (SELECT max(since) FROM occurrences)) - ?1 AND stage NOT IN \
                   ('running', 'asked', 'again', 'queued') AND due < (SELECT max(due) FROM occurrences AS newest WHERE \
                   newest.source = occurrences.source)";
        let origins = "DELETE FROM plan_origins WHERE at < ?2 - ?1 AND source NOT IN (SELECT source FROM plans) AND source \
                       NOT IN (SELECT source FROM occurrences)";
        let row = [KEPT_DAYS * 86_400 * 1_000_000, now.as_microsecond()];
        self.change(|transaction| {
            transaction.execute(sql, row)?;
            transaction.execute(origins, row).map(drop)
        })
    }

    /// The current sessions of persistent routines.
    pub fn routine_sessions(&self) -> rusqlite::Result<BTreeMap<ItemId, Stand>> {
        let sql = "SELECT routine, session, entry, coalesce(label, 'chat;report') FROM routine_sessions \
                   LEFT JOIN entries ON entries.id = entry";
        let stand = |row: &Row<'_>| {
            let id = ItemId::parse(&row.get::<_, String>(0)?).map_err(|error| unread(0, error))?;
            let session = session_in(row, 1)?;
            let entry = row.get(2).map(EntryId)?;
            Ok((id, Stand { session, entry, label: label_in(row, 3)? }))
        };
        self.connection.prepare(sql)?.query_map([], stand)?.collect()
    }

    /// The session that the file of `routine` named when it was last written.
    pub fn filed_session(&self, routine: &ItemId) -> rusqlite::Result<Option<SessionId>> {
        let sql = "SELECT filed FROM routine_sessions WHERE routine = ?";
        let filed: Option<Option<String>> =
            self.connection.query_row(sql, [routine.as_str()], |row| row.get(0)).optional()?;
        Ok(filed.flatten().as_deref().and_then(SessionId::read))
    }

    /// Records that the file of `routine` names this session.
    pub fn session_filed(&mut self, routine: &ItemId, session: &SessionId) -> rusqlite::Result<()> {
        let sql = "UPDATE routine_sessions SET filed = ? WHERE routine = ?";
        let row = [session.as_str(), routine.as_str()];
        self.change(|transaction| transaction.execute(sql, row).map(drop))
    }

    /// Forgets what the session files of routines and the files of `notes` contained, so that a
    /// missing file is written again instead of being taken for a removed one.
    pub fn forget_files(&mut self, notes: &[&str]) -> rusqlite::Result<()> {
        self.change(|transaction| {
            transaction.execute("UPDATE routine_sessions SET filed = NULL", [])?;
            for note in notes {
                transaction.execute("DELETE FROM keepsakes WHERE name = ?", [note])?;
            }
            Ok(())
        })
    }

    pub fn forget_session(&mut self, routine: &ItemId) -> rusqlite::Result<()> {
        let sql = "DELETE FROM routine_sessions WHERE routine = ?";
        self.change(|transaction| transaction.execute(sql, [routine.as_str()]).map(drop))
    }

    /// The pending changes of job files, oldest first.
    pub fn job_files(&self) -> rusqlite::Result<Vec<JobFile>> {
        let sql = "SELECT id, work, source, text, key FROM job_files ORDER BY id";
        let file = |row: &Row<'_>| {
            let (work, text, key): (String, Option<String>, Option<String>) =
                (row.get(1)?, row.get(3)?, row.get(4)?);
            let work = match (work.as_str(), text, key) {
                ("write", Some(text), _) => Work::Write(text),
                ("remove", Some(was), file) => Work::Remove(was, file),
                ("set", value, Some(key)) => Work::Set(key, value),
                (other, _, _) => return Err(unread(1, format!("no file is changed by `{other}`"))),
            };
            Ok(JobFile { id: row.get(0)?, work, source: source_in(row, 2)? })
        };
        self.connection.prepare_cached(sql)?.query_map([], file)?.collect()
    }

    /// Removes a change that was made.
    pub fn job_file_done(&mut self, id: i64) -> rusqlite::Result<()> {
        let sql = "DELETE FROM job_files WHERE id = ?";
        self.change(|transaction| transaction.execute(sql, [id]).map(drop))
    }

    /// The ping budget. `None` before it was first used.
    pub fn pings(&self) -> rusqlite::Result<Option<PingBudget>> {
        let sql = "SELECT pings FROM attention";
        let text: Option<Option<String>> = self.connection.query_row(sql, [], |row| row.get(0)).optional()?;
        text.flatten()
            .map(|text| read_pings(&text).ok_or_else(|| unread(0, "no budget of pings")))
            .transpose()
    }

    /// Returns whether all recurring jobs are paused, and until when.
    pub fn rest(&self) -> rusqlite::Result<Rest> {
        let sql = "SELECT rest FROM attention";
        let text: Option<Option<String>> = self.connection.query_row(sql, [], |row| row.get(0)).optional()?;
        match text.flatten().as_deref() {
            None => Ok(Rest::Never),
            Some("for now") => Ok(Rest::ForNow),
            Some(time) => {
                Moment::parse(time, &TimeZone::UTC).map(Rest::Until).map_err(|error| unread(0, error))
            }
        }
    }
}

/// Value of `why` for an open occurrence whose reminder was already shown.
const SHOWN: &str = "shown";

pub(super) fn occurrence(row: &Row<'_>) -> rusqlite::Result<Occurrence> {
    let why = || -> rusqlite::Result<String> { Ok(row.get::<_, Option<String>>(11)?.unwrap_or_default()) };
    let stage: String = row.get(7)?;
    let stage = match stage.as_str() {
        "running" => Stage::Running(branch_in(row, 8)?),
        "asked" => Stage::Asked(MessageId(row.get(9)?)),
        "again" => Stage::Again(time_in(row, 10)?),
        "queued" => Stage::Queued,
        "done" => Stage::Ended(End::Done(why()?)),
        "failed" => Stage::Ended(End::Failed(why()?)),
        "missed" => Stage::Ended(End::Missed { last: time_in(row, 12)?, count: row.get(13)?, why: why()? }),
        "skipped" => Stage::Ended(End::Skipped(why()?)),
        "cancelled" => Stage::Ended(End::Cancelled(why()?)),
        other => return Err(unread(7, format!("no occurrence stands at `{other}`"))),
    };
    Ok(Occurrence {
        key: Key { source: source_in(row, 0)?, due: time_in(row, 1)? },
        name: row.get(2)?,
        words: row.get(3)?,
        lateness: if row.get(4)? { Lateness::Late } else { Lateness::OnTime },
        tries: row.get(5)?,
        since: time_in(row, 6)?,
        shown: !matches!(stage, Stage::Ended(_)) && why()? == SHOWN,
        stage,
    })
}

pub fn write(transaction: &Transaction<'_>, change: &PlanChange) -> rusqlite::Result<()> {
    match change {
        PlanChange::Accounted(source, accounted) => {
            let sql = "INSERT OR REPLACE INTO plans (source, rule, until) VALUES (?, ?, ?)";
            let row = params![source.to_string(), accounted.rule, accounted.until.as_microsecond()];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::Forgotten(source) => {
            let sql = "DELETE FROM plans WHERE source = ?";
            transaction.prepare_cached(sql)?.execute([source.to_string()]).map(drop)
        }
        PlanChange::Occurred(occurrence) => occurred(transaction, occurrence),
        PlanChange::Written(source, PlanOrigin { label, words, from }, at) => {
            let sql = "INSERT OR REPLACE INTO plan_origins (source, at, label, words, origin) VALUES (?, ?, ?, ?, ?)";
            let row = params![source.to_string(), at.as_microsecond(), label.to_string(), words, from];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::Marked(item, Some(ItemOrigin { label, from, words, at })) => {
            let sql =
                "INSERT OR REPLACE INTO item_origins (item, at, label, origin, words) VALUES (?, ?, ?, ?, ?)";
            let row = params![item.to_string(), at.as_microsecond(), label.to_string(), from, words];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::Marked(item, None) => {
            let sql = "DELETE FROM item_origins WHERE item = ?";
            transaction.prepare_cached(sql)?.execute([item.to_string()]).map(drop)
        }
        PlanChange::Session(routine, Some(stand)) => {
            let sql = "INSERT INTO routine_sessions (routine, session, entry) VALUES (?, ?, ?) ON CONFLICT (routine) \
                       DO UPDATE SET session = excluded.session, entry = excluded.entry";
            let row = params![routine.as_str(), stand.session.as_str(), stand.entry.0];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::Session(routine, None) => {
            let sql = "DELETE FROM routine_sessions WHERE routine = ?";
            transaction.prepare_cached(sql)?.execute([routine.as_str()]).map(drop)
        }
        PlanChange::File(work) => file(transaction, work),
        PlanChange::Delivery(change) => deliveries::write(transaction, change),
        PlanChange::Changes(changes) => {
            let sql = "INSERT INTO attention (one, undo) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET undo = excluded.undo";
            transaction.prepare_cached(sql)?.execute([replanned::spell(changes)]).map(drop)
        }
        PlanChange::Rest(rest) => {
            let rest = match rest {
                Rest::Never => None,
                Rest::Until(moment) => Some(moment.to_string()),
                Rest::ForNow => Some("for now".to_owned()),
            };
            let sql = "INSERT INTO attention (one, rest) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET rest = excluded.rest";
            transaction.prepare_cached(sql)?.execute([rest]).map(drop)
        }
    }
}

pub fn write_pings(transaction: &Transaction<'_>, budget: &PingBudget) -> rusqlite::Result<()> {
    let sql = "INSERT INTO attention (one, pings) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET pings = excluded.pings";
    transaction.prepare_cached(sql)?.execute([spell_pings(budget)]).map(drop)
}

pub fn write_charge(transaction: &Transaction<'_>, charge: &Charge) -> rusqlite::Result<()> {
    let sql = "INSERT INTO charges (entry, before, after) VALUES (?, ?, ?)";
    let row = params![charge.entry.0, charge.before, charge.after];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn occurred(transaction: &Transaction<'_>, occurrence: &Occurrence) -> rusqlite::Result<()> {
    let sql = "INSERT INTO occurrences (source, due, name, words, late, tries, began, since, stage, branch, message, next, \
               why, last, count) VALUES (:source, :due, :name, :words, :late, :tries, :since, :since, :stage, :branch, \
               :message, :next, :why, :last, :count) ON CONFLICT (source, due) DO UPDATE SET name = :name, words = :words, late = :late, tries = :tries, \
               since = :since, stage = :stage, branch = coalesce(:branch, branch), message = coalesce(:message, message), \
               next = :next, why = :why, last = :last, count = :count";
    let mut branch = None;
    let mut message = None;
    let mut next = None;
    let mut missed = None;
    let mut why = occurrence.shown.then_some(SHOWN);
    // A routine's text is in its file and need not be stored with each occurrence.
    let words = match (&occurrence.key.source, &occurrence.stage) {
        (Source::Routine(_), Stage::Ended(_)) => "",
        (_, _) => occurrence.words.as_str(),
    };
    let stage = match &occurrence.stage {
        Stage::Running(on) => {
            branch = Some(on.to_string());
            "running"
        }
        Stage::Asked(with) => {
            message = Some(with.0);
            "asked"
        }
        Stage::Again(at) => {
            next = Some(at.as_microsecond());
            "again"
        }
        Stage::Queued => "queued",
        Stage::Ended(end) => {
            why = Some(end.why());
            if let End::Missed { last, count, .. } = end {
                missed = Some((last.as_microsecond(), *count));
            }
            end.as_str()
        }
    };
    transaction.prepare_cached(sql)?.execute(named_params! {
        ":source": occurrence.key.source.to_string(),
        ":due": occurrence.key.due.as_microsecond(),
        ":name": occurrence.name,
        ":words": words,
        ":late": occurrence.lateness == Lateness::Late,
        ":tries": occurrence.tries,
        ":since": occurrence.since.as_microsecond(),
        ":stage": stage,
        ":branch": branch,
        ":message": message,
        ":next": next,
        ":why": why,
        ":last": missed.map(|(last, _)| last),
        ":count": missed.map(|(_, count)| count),
    })?;
    Ok(())
}

fn file(transaction: &Transaction<'_>, work: &FileWork) -> rusqlite::Result<()> {
    use domain::schedule::What::{Reminder, Routine};
    let (kind, source, text, key) = match work {
        FileWork::Write(what) => match &**what {
            Routine(routine) => {
                ("write", Source::Routine(routine.id.to_string()), Some(routine.to_text()), None)
            }
            Reminder(reminder) => {
                ("write", Source::Reminder(reminder.id.to_string()), Some(reminder.to_text()), None)
            }
        },
        FileWork::Remove(Removal { source, file, was }) => {
            ("remove", source.clone(), Some(was.clone()), Some(file.as_str()))
        }
        FileWork::Set(source, key, value) => ("set", source.clone(), value.clone(), Some(*key)),
    };
    let sql = "INSERT INTO job_files (work, source, text, key) VALUES (?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(params![kind, source.to_string(), text, key]).map(drop)
}

fn spell_pings(budget: &PingBudget) -> String {
    serde_json::json!({
        "capacity": budget.capacity,
        "available": budget.available,
        "refill": budget.refill_minutes,
        "reckoned": budget.reckoned.as_microsecond(),
        "used": [budget.used.day.to_string(), budget.used.count],
        "critical": [budget.critical.day.to_string(), budget.critical.count],
    })
    .to_string()
}

fn read_pings(text: &str) -> Option<PingBudget> {
    let spelled: serde_json::Value = serde_json::from_str(text).ok()?;
    let number = |key: &str| u32::try_from(spelled[key].as_u64()?).ok();
    let used = |key: &str| {
        let count = u32::try_from(spelled[key][1].as_u64()?).ok()?;
        Some(Used { day: spelled[key][0].as_str()?.parse().ok()?, count })
    };
    Some(PingBudget {
        capacity: number("capacity")?,
        available: spelled["available"].as_f64()?,
        refill_minutes: number("refill")?,
        reckoned: Timestamp::from_microsecond(spelled["reckoned"].as_i64()?).ok()?,
        used: used("used")?,
        critical: used("critical")?,
    })
}
