//! Rows of the schedule: watermarks of plans, occurrences, routine sessions, pending job file
//! changes and the ping budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{ItemOrigin, OwnItem, PlanOrigin, Plans};
use domain::conversation::{EntryId, SessionId};
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState};
use domain::ping_budget::{DailyCount, PingBudget};
use domain::record::{JobFileEdit, JobFileRemoval, MessageId, PingCharge, PlanChange, SessionHead};
use domain::schedule::{ItemId, Lateness, Moment, PauseState, Watermark};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use super::read::{branch_in, invalid_column, label_in, session_in, source_in, time_in};
use super::{Database, deliveries, undo_log};
use crate::files::items::Item as _;

/// A pending change of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFileChange {
    /// Its row id.
    pub id: i64,
    pub action: JobFileAction,
    /// The job whose file is changed.
    pub source: CostSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFileAction {
    /// Write the file with this text.
    Write(String),
    /// Remove the file if its text is this; the second value is the file where it was last seen.
    Remove(String, Option<String>),
    /// Set this key to this value, or remove the key.
    Set(String, Option<String>),
}

/// Days for which finished occurrences are retained, counted back from the newest one.
const RETENTION_DAYS: i64 = 90;

pub(super) const OCCURRENCE_COLUMNS: &str =
    "source, due, name, words, late, tries, since, stage, branch, message, next, why, last, count";

impl Database {
    /// Loads the state of the schedule, before the job files are read.
    pub(super) fn plans(&self) -> rusqlite::Result<Plans> {
        let mut plans = Plans::default();
        let mut known = self.connection.prepare("SELECT source, rule, until FROM plans")?;
        let mut rows = known.query([])?;
        while let Some(row) = rows.next()? {
            let accounted = Watermark { rule: row.get(1)?, until: time_in(row, 2)? };
            plans.known_watermarks.insert_mut(source_in(row, 0)?, accounted);
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
            let item: OwnItem = row.get::<_, String>(0)?.parse().map_err(|error| invalid_column(0, error))?;
            let label = label_in(row, 1)?;
            let origin = ItemOrigin { label, from: row.get(2)?, words: row.get(3)?, at: time_in(row, 4)? };
            plans.items.insert_mut(item, origin);
        }
        for occurrence in self.open_occurrences()? {
            plans.open.insert_mut(occurrence.key.clone(), occurrence);
        }
        plans.sessions = self.routine_sessions()?;
        plans.agenda.set_pause(self.pause_state()?, &TimeZone::UTC);
        let undo: Option<Option<String>> =
            self.connection.query_row("SELECT undo FROM attention", [], |row| row.get(0)).optional()?;
        plans.changes = Arc::new(undo.flatten().as_deref().and_then(undo_log::decode).unwrap_or_default());
        Ok(plans)
    }

    fn open_occurrences(&self) -> rusqlite::Result<Vec<Occurrence>> {
        let sql = format!(
            "SELECT {OCCURRENCE_COLUMNS} FROM occurrences WHERE stage IN ('running', 'asked', 'again', 'queued')"
        );
        self.connection.prepare(&sql)?.query_map([], read_occurrence)?.collect()
    }

    /// The newest occurrences, of one source if given, newest first.
    pub fn occurrences(&self, of: Option<&CostSource>, limit: u32) -> rusqlite::Result<Vec<Occurrence>> {
        let of = of.map(ToString::to_string);
        let sql = format!(
            "SELECT {OCCURRENCE_COLUMNS} FROM occurrences WHERE ?1 IS NULL OR source = ?1 ORDER BY since DESC, due DESC LIMIT ?2"
        );
        self.connection.prepare(&sql)?.query_map(params![of, limit], read_occurrence)?.collect()
    }

    /// Removes occurrences long before `now`; the newest one of each job stays. A clock that is or
    /// was ahead does not make all others old, because the earlier of `now` and the newest time
    /// counts.
    pub fn prune_occurrences(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let sql = "DELETE FROM occurrences WHERE since < min(?2, (SELECT max(since) FROM occurrences)) - ?1 AND stage NOT IN \
                   ('running', 'asked', 'again', 'queued') AND due < (SELECT max(due) FROM occurrences AS newest WHERE \
                   newest.source = occurrences.source)";
        let origins = "DELETE FROM plan_origins WHERE at < ?2 - ?1 AND source NOT IN (SELECT source FROM plans) AND source \
                       NOT IN (SELECT source FROM occurrences)";
        let row = [RETENTION_DAYS * 86_400 * 1_000_000, now.as_microsecond()];
        self.transact(|transaction| {
            transaction.execute(sql, row)?;
            transaction.execute(origins, row).map(drop)
        })
    }

    /// The current sessions of persistent routines.
    pub fn routine_sessions(&self) -> rusqlite::Result<BTreeMap<ItemId, SessionHead>> {
        let sql = "SELECT routine, session, entry, coalesce(label, 'chat;report') FROM routine_sessions \
                   LEFT JOIN entries ON entries.id = entry";
        let stand = |row: &Row<'_>| {
            let id = ItemId::parse(&row.get::<_, String>(0)?).map_err(|error| invalid_column(0, error))?;
            let session = session_in(row, 1)?;
            let entry = row.get(2).map(EntryId)?;
            Ok((id, SessionHead { session, entry, label: label_in(row, 3)? }))
        };
        self.connection.prepare(sql)?.query_map([], stand)?.collect()
    }

    /// The session that the file of `routine` named when it was last written.
    pub fn written_session(&self, routine: &ItemId) -> rusqlite::Result<Option<SessionId>> {
        let sql = "SELECT filed FROM routine_sessions WHERE routine = ?";
        let filed: Option<Option<String>> =
            self.connection.query_row(sql, [routine.as_str()], |row| row.get(0)).optional()?;
        Ok(filed.flatten().as_deref().and_then(SessionId::parse))
    }

    /// Records that the file of `routine` names this session.
    pub fn set_written_session(&mut self, routine: &ItemId, session: &SessionId) -> rusqlite::Result<()> {
        let sql = "UPDATE routine_sessions SET filed = ? WHERE routine = ?";
        let row = [session.as_str(), routine.as_str()];
        self.transact(|transaction| transaction.execute(sql, row).map(drop))
    }

    /// Forgets what the session files of routines and the files of `notes` contained, so that a
    /// missing file is written again instead of being taken for a removed one.
    pub fn forget_written_files(&mut self, notes: &[&str]) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            transaction.execute("UPDATE routine_sessions SET filed = NULL", [])?;
            for note in notes {
                transaction.execute("DELETE FROM keepsakes WHERE name = ?", [note])?;
            }
            Ok(())
        })
    }

    pub fn remove_routine_session(&mut self, routine: &ItemId) -> rusqlite::Result<()> {
        let sql = "DELETE FROM routine_sessions WHERE routine = ?";
        self.transact(|transaction| transaction.execute(sql, [routine.as_str()]).map(drop))
    }

    /// The pending changes of job files, oldest first.
    pub fn pending_job_file_changes(&self) -> rusqlite::Result<Vec<JobFileChange>> {
        let sql = "SELECT id, work, source, text, key FROM job_files ORDER BY id";
        let file = |row: &Row<'_>| {
            let (work, text, key): (String, Option<String>, Option<String>) =
                (row.get(1)?, row.get(3)?, row.get(4)?);
            let work = match (work.as_str(), text, key) {
                ("write", Some(text), _) => JobFileAction::Write(text),
                ("remove", Some(was), file) => JobFileAction::Remove(was, file),
                ("set", value, Some(key)) => JobFileAction::Set(key, value),
                (other, _, _) => return Err(invalid_column(1, format!("no file is changed by `{other}`"))),
            };
            Ok(JobFileChange { id: row.get(0)?, action: work, source: source_in(row, 2)? })
        };
        self.connection.prepare_cached(sql)?.query_map([], file)?.collect()
    }

    /// Removes a change that was made.
    pub fn remove_job_file_change(&mut self, id: i64) -> rusqlite::Result<()> {
        let sql = "DELETE FROM job_files WHERE id = ?";
        self.transact(|transaction| transaction.execute(sql, [id]).map(drop))
    }

    /// The ping budget. `None` before it was first used.
    pub fn ping_budget(&self) -> rusqlite::Result<Option<PingBudget>> {
        let sql = "SELECT pings FROM attention";
        let text: Option<Option<String>> = self.connection.query_row(sql, [], |row| row.get(0)).optional()?;
        text.flatten()
            .map(|text| decode_ping_budget(&text).ok_or_else(|| invalid_column(0, "no budget of pings")))
            .transpose()
    }

    /// Returns whether all recurring jobs are paused, and until when.
    pub fn pause_state(&self) -> rusqlite::Result<PauseState> {
        let sql = "SELECT rest FROM attention";
        let text: Option<Option<String>> = self.connection.query_row(sql, [], |row| row.get(0)).optional()?;
        match text.flatten().as_deref() {
            None => Ok(PauseState::Active),
            Some("for now") => Ok(PauseState::Indefinite),
            Some(time) => Moment::parse(time, &TimeZone::UTC)
                .map(PauseState::Until)
                .map_err(|error| invalid_column(0, error)),
        }
    }
}

/// Value of `why` for an open occurrence whose reminder was already shown.
const SHOWN: &str = "shown";

pub(super) fn read_occurrence(row: &Row<'_>) -> rusqlite::Result<Occurrence> {
    let why = || -> rusqlite::Result<String> { Ok(row.get::<_, Option<String>>(11)?.unwrap_or_default()) };
    let stage: String = row.get(7)?;
    let stage = match stage.as_str() {
        "running" => OccurrenceState::Running(branch_in(row, 8)?),
        "asked" => OccurrenceState::SentToMain(MessageId(row.get(9)?)),
        "again" => OccurrenceState::Retrying(time_in(row, 10)?),
        "queued" => OccurrenceState::Queued,
        "done" => OccurrenceState::Ended(OccurrenceEnd::Done(why()?)),
        "failed" => OccurrenceState::Ended(OccurrenceEnd::Failed(why()?)),
        "missed" => OccurrenceState::Ended(OccurrenceEnd::Missed {
            last: time_in(row, 12)?,
            count: row.get(13)?,
            reason: why()?,
        }),
        "skipped" => OccurrenceState::Ended(OccurrenceEnd::Skipped(why()?)),
        "cancelled" => OccurrenceState::Ended(OccurrenceEnd::Cancelled(why()?)),
        other => return Err(invalid_column(7, format!("no occurrence stands at `{other}`"))),
    };
    Ok(Occurrence {
        key: OccurrenceKey { source: source_in(row, 0)?, due: time_in(row, 1)? },
        name: row.get(2)?,
        prompt: row.get(3)?,
        lateness: if row.get(4)? { Lateness::Late } else { Lateness::OnTime },
        tries: row.get(5)?,
        since: time_in(row, 6)?,
        shown_verbatim: !matches!(stage, OccurrenceState::Ended(_)) && why()? == SHOWN,
        state: stage,
    })
}

pub fn write(transaction: &Transaction<'_>, change: &PlanChange) -> rusqlite::Result<()> {
    match change {
        PlanChange::Watermark(source, accounted) => {
            let sql = "INSERT OR REPLACE INTO plans (source, rule, until) VALUES (?, ?, ?)";
            let row = params![source.to_string(), accounted.rule, accounted.until.as_microsecond()];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::Forgotten(source) => {
            let sql = "DELETE FROM plans WHERE source = ?";
            transaction.prepare_cached(sql)?.execute([source.to_string()]).map(drop)
        }
        PlanChange::Occurrence(occurrence) => write_occurrence(transaction, occurrence),
        PlanChange::PromptOrigin(source, PlanOrigin { label, words, from }, at) => {
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
        PlanChange::SessionHead(routine, Some(stand)) => {
            let sql = "INSERT INTO routine_sessions (routine, session, entry) VALUES (?, ?, ?) ON CONFLICT (routine) \
                       DO UPDATE SET session = excluded.session, entry = excluded.entry";
            let row = params![routine.as_str(), stand.session.as_str(), stand.entry.0];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        PlanChange::SessionHead(routine, None) => {
            let sql = "DELETE FROM routine_sessions WHERE routine = ?";
            transaction.prepare_cached(sql)?.execute([routine.as_str()]).map(drop)
        }
        PlanChange::JobFile(work) => write_job_file_change(transaction, work),
        PlanChange::Delivery(change) => deliveries::write(transaction, change),
        PlanChange::UndoLog(changes) => {
            let sql = "INSERT INTO attention (one, undo) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET undo = excluded.undo";
            transaction.prepare_cached(sql)?.execute([undo_log::encode(changes)]).map(drop)
        }
        PlanChange::AllPaused(rest) => {
            let rest = match rest {
                PauseState::Active => None,
                PauseState::Until(moment) => Some(moment.to_string()),
                PauseState::Indefinite => Some("for now".to_owned()),
            };
            let sql = "INSERT INTO attention (one, rest) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET rest = excluded.rest";
            transaction.prepare_cached(sql)?.execute([rest]).map(drop)
        }
    }
}

pub fn write_ping_budget(transaction: &Transaction<'_>, budget: &PingBudget) -> rusqlite::Result<()> {
    let sql = "INSERT INTO attention (one, pings) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET pings = excluded.pings";
    transaction.prepare_cached(sql)?.execute([encode_ping_budget(budget)]).map(drop)
}

pub fn write_charge(transaction: &Transaction<'_>, charge: &PingCharge) -> rusqlite::Result<()> {
    let sql = "INSERT INTO charges (entry, before, after) VALUES (?, ?, ?)";
    let row = params![charge.entry.0, charge.before, charge.after];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn write_occurrence(transaction: &Transaction<'_>, occurrence: &Occurrence) -> rusqlite::Result<()> {
    let sql = "INSERT INTO occurrences (source, due, name, words, late, tries, began, since, stage, branch, message, next, \
               why, last, count) VALUES (:source, :due, :name, :words, :late, :tries, :since, :since, :stage, :branch, \
               :message, :next, :why, :last, :count) ON CONFLICT (source, due) DO UPDATE SET name = :name, words = :words, late = :late, tries = :tries, \
               since = :since, stage = :stage, branch = coalesce(:branch, branch), message = coalesce(:message, message), \
               next = :next, why = :why, last = :last, count = :count";
    let mut branch = None;
    let mut message = None;
    let mut next = None;
    let mut missed = None;
    let mut why = occurrence.shown_verbatim.then_some(SHOWN);
    // A routine's text is in its file and need not be stored with each occurrence.
    let words = match (&occurrence.key.source, &occurrence.state) {
        (CostSource::Routine(_), OccurrenceState::Ended(_)) => "",
        (_, _) => occurrence.prompt.as_str(),
    };
    let stage = match &occurrence.state {
        OccurrenceState::Running(on) => {
            branch = Some(on.to_string());
            "running"
        }
        OccurrenceState::SentToMain(with) => {
            message = Some(with.0);
            "asked"
        }
        OccurrenceState::Retrying(at) => {
            next = Some(at.as_microsecond());
            "again"
        }
        OccurrenceState::Queued => "queued",
        OccurrenceState::Ended(end) => {
            why = Some(end.note());
            if let OccurrenceEnd::Missed { last, count, .. } = end {
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

fn write_job_file_change(transaction: &Transaction<'_>, work: &JobFileEdit) -> rusqlite::Result<()> {
    use domain::schedule::JobSpec::{Reminder, Routine};
    let (kind, source, text, key) = match work {
        JobFileEdit::Write(what) => match &**what {
            Routine(routine) => {
                ("write", CostSource::Routine(routine.id.to_string()), Some(routine.to_text()), None)
            }
            Reminder(reminder) => {
                ("write", CostSource::Reminder(reminder.id.to_string()), Some(reminder.to_text()), None)
            }
        },
        JobFileEdit::Remove(JobFileRemoval { source, file, old_content: was }) => {
            ("remove", source.clone(), Some(was.clone()), Some(file.as_str()))
        }
        JobFileEdit::SetKey(source, key, value) => ("set", source.clone(), value.clone(), Some(*key)),
    };
    let sql = "INSERT INTO job_files (work, source, text, key) VALUES (?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(params![kind, source.to_string(), text, key]).map(drop)
}

fn encode_ping_budget(budget: &PingBudget) -> String {
    serde_json::json!({
        "capacity": budget.capacity,
        "available": budget.available,
        "refill": budget.refill_minutes,
        "reckoned": budget.updated_at.as_microsecond(),
        "used": [budget.used.day.to_string(), budget.used.count],
        "critical": [budget.critical.day.to_string(), budget.critical.count],
    })
    .to_string()
}

fn decode_ping_budget(text: &str) -> Option<PingBudget> {
    let spelled: serde_json::Value = serde_json::from_str(text).ok()?;
    let number = |key: &str| u32::try_from(spelled[key].as_u64()?).ok();
    let used = |key: &str| {
        let count = u32::try_from(spelled[key][1].as_u64()?).ok()?;
        Some(DailyCount { day: spelled[key][0].as_str()?.parse().ok()?, count })
    };
    Some(PingBudget {
        capacity: number("capacity")?,
        available: spelled["available"].as_f64()?,
        refill_minutes: number("refill")?,
        updated_at: Timestamp::from_microsecond(spelled["reckoned"].as_i64()?).ok()?,
        used: used("used")?,
        critical: used("critical")?,
    })
}
