//! Rows of `spending`, the ledger of model calls.

use std::collections::BTreeMap;

use domain::conversation::{Branch, Usage};
use domain::cost::{
    Account, Attendance, BudgetLimit, CallCost, CostReport, LedgerEntry, Micros, ModelCall, SpendingByDay,
};
use domain::turn::TurnId;
use jiff::{SignedDuration, Timestamp, Zoned};
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use super::Database;
use super::read::{branch_in, invalid_column, time_in};

/// The columns of a call.
pub(super) const SPENDING_COLUMNS: &str = "at, branch, turn, source, attended, model, input, cache_read, cache_write, output, micros, \
     cache_write_1h";

/// The period for which daily totals are loaded at a start: covers today and yesterday in every time zone.
const DAYS_LOADED: SignedDuration = SignedDuration::from_hours(72);

impl Database {
    /// Calls `each` with every call since `since`, oldest first.
    pub fn for_each_call_since(
        &self,
        since: Timestamp,
        mut each: impl FnMut(LedgerEntry),
    ) -> rusqlite::Result<()> {
        let sql = format!("SELECT {SPENDING_COLUMNS} FROM spending WHERE at >= ? ORDER BY at, id");
        let mut rows = self.connection.prepare(&sql)?;
        for row in rows.query_map([since.as_microsecond()], read_call)? {
            each(row?);
        }
        Ok(())
    }

    /// The spending report for the last `days` until `now`.
    pub fn spending_report(
        &self,
        now: &Zoned,
        days: u16,
        limit: BudgetLimit,
    ) -> rusqlite::Result<CostReport> {
        let mut report = CostReport::new(now, days, limit);
        let zone = now.time_zone();
        let since = report.first_day().to_zoned(zone.clone()).map_err(|error| invalid_column(0, error))?;
        self.for_each_call_since(since.timestamp(), |spent| {
            report.add(&spent, zone.to_datetime(spent.at).date());
        })?;
        Ok(report)
    }

    /// C4: the unattended usage on the day of `now` and the days around it, back from the newest
    /// row. If the clock is set later, its new day is included.
    pub fn unattended_days(&self, now: &Zoned) -> rusqlite::Result<SpendingByDay> {
        let newest = "SELECT at FROM spending ORDER BY id DESC LIMIT 1";
        let newest = self.connection.query_row(newest, [], |row| time_in(row, 0)).optional()?;
        let since = newest.map_or(now.timestamp(), |newest| newest.min(now.timestamp()));
        let since = since.checked_sub(DAYS_LOADED).unwrap_or(Timestamp::MIN);
        let sql = "SELECT at, coalesce(micros, 0), input + cache_write + output FROM spending \
                   WHERE at >= ? AND attended = ?";
        let mut rows = self.connection.prepare(sql)?;
        let used = |row: &Row<'_>| {
            Ok((time_in(row, 0)?, CallCost { cost: Micros(row.get(1)?), tokens: row.get(2)? }))
        };
        let mut days = SpendingByDay::default();
        for row in rows.query_map(params![since.as_microsecond(), Attendance::Unattended.as_str()], used)? {
            let (at, used) = row?;
            days.set(days.get(now.time_zone().to_datetime(at).date()).plus(used));
        }
        Ok(days)
    }

    /// The context size in tokens of the newest call on each of `branches`. Leaves out a branch
    /// that moved since then, because its size is unknown.
    pub(super) fn context_tokens<'a>(
        &self,
        branches: impl Iterator<Item = &'a Branch>,
    ) -> rusqlite::Result<BTreeMap<Branch, u64>> {
        let sql = "SELECT input + cache_read + cache_write + output FROM spending \
                   WHERE branch = :branch AND source NOT IN ('compaction', 'search') AND input + cache_read + cache_write + output > 0 \
                   AND at >= coalesce((SELECT max(at) FROM moves WHERE moves.branch = :branch), 0) \
                   ORDER BY id DESC LIMIT 1";
        let mut newest = self.connection.prepare(sql)?;
        let mut filled = BTreeMap::new();
        for branch in branches {
            let held = newest.query_row(named_params! { ":branch": branch.to_string() }, |row| row.get(0));
            filled.extend(held.optional()?.map(|held| (branch.clone(), held)));
        }
        Ok(filled)
    }
}

pub fn insert_call(transaction: &Transaction<'_>, spent: &LedgerEntry) -> rusqlite::Result<()> {
    let sql = "INSERT INTO spending (at, branch, turn, source, attended, model, input, cache_read, cache_write, \
               output, micros, cache_write_1h) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let LedgerEntry { at, branch, turn, account, call: ModelCall { model, usage }, cost } = spent;
    let row = params![
        at.as_microsecond(),
        branch.to_string(),
        turn.0,
        account.source.to_string(),
        account.attended.as_str(),
        model,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        cost.map(|cost| cost.0),
        usage.cache_write_1h,
    ];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

pub(super) fn read_call(row: &Row<'_>) -> rusqlite::Result<LedgerEntry> {
    let source = row.get::<_, String>(3)?.parse().map_err(|error| invalid_column(3, error))?;
    let attended = row.get::<_, String>(4)?;
    let attended = if attended == "waited" { Attendance::Attended } else { Attendance::Unattended };
    let usage = Usage {
        input: row.get(6)?,
        cache_read: row.get(7)?,
        cache_write: row.get(8)?,
        cache_write_1h: row.get(11)?,
        output: row.get(9)?,
    };
    Ok(LedgerEntry {
        at: time_in(row, 0)?,
        branch: branch_in(row, 1)?,
        turn: TurnId(row.get(2)?),
        account: Account { source, attended },
        call: ModelCall { model: row.get(5)?, usage },
        cost: row.get::<_, Option<u64>>(10)?.map(Micros),
    })
}
