//! Rows of `approvals`.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::approval::{
    Approval, ApprovalId, ApprovalOutcome, Approvals, ClosedApproval, Consent, Grant, MAX_CLOSED,
    OPEN_DURATION, Scope, StandingApproval, Waiter,
};
use domain::conversation::Json;
use domain::record::{ApprovalChange, SurfaceName};
use domain::tool::ToolCall;
use domain::turn::TurnId;
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use super::Database;
use super::read::{branch_in, invalid_column, label_in, time_in};

/// Approved cards whose calls have not reported a result yet.
const APPROVED_CARDS: &str = "card = 1 AND how IN ('allowed', 'always allowed') AND spent IS NULL";

impl Database {
    /// Loads the approvals that still matter.
    pub(super) fn approvals(&self) -> rusqlite::Result<Approvals> {
        let next = "SELECT coalesce(max(id), 0) + 1 FROM approvals";
        let next = self.connection.query_row(next, [], |row| row.get(0)).map(ApprovalId)?;
        let consent = Consent { standing: self.standing()?, grants: self.grants()? };
        let open = self.open_approvals("how IS NULL")?;
        let carried = self.open_approvals(APPROVED_CARDS)?;
        Ok(Approvals { open, closed: self.closed_approvals()?, consent, interrupted: carried, next_id: next })
    }

    fn open_approvals(&self, which: &str) -> rusqlite::Result<Vec<Approval>> {
        let sql = format!(
            "SELECT id, call, tool, input, at, turn, branch, late, card, coalesce(step, id), \
             coalesce(label, 'chat;report') FROM approvals WHERE {which} ORDER BY id"
        );
        let approval = |row: &Row<'_>| {
            let waits = match (row.get::<_, Option<i64>>(8)?, row.get::<_, Option<i64>>(7)?) {
                (Some(_), _) => Waiter::Card,
                (None, Some(_)) => Waiter::Detached,
                (None, None) => Waiter::Turn,
            };
            let at = time_in(row, 4)?;
            let turn = TurnId(row.get(5)?);
            let branch = branch_in(row, 6)?;
            let id = ApprovalId(row.get(0)?);
            let step = ApprovalId(row.get(9)?);
            let knows = label_in(row, 10)?;
            Ok(Approval { id, step, at, turn, branch, call: call(row)?, label: knows, waiter: waits })
        };
        self.connection.prepare(&sql)?.query_map([], approval)?.collect()
    }

    fn grants(&self) -> rusqlite::Result<Vec<Grant>> {
        let sql = "SELECT id, call, tool, input, closed FROM approvals \
                   WHERE late = 1 AND spent IS NULL AND how IN ('allowed', 'always allowed') ORDER BY id";
        let grant = |row: &Row<'_>| {
            let until = time_in(row, 4)?.saturating_add(OPEN_DURATION).unwrap_or(Timestamp::MAX);
            Ok(Grant { id: ApprovalId(row.get(0)?), call: call(row)?, expires_at: until })
        };
        self.connection.prepare(sql)?.query_map([], grant)?.collect()
    }

    fn standing(&self) -> rusqlite::Result<Vec<StandingApproval>> {
        let sql = "SELECT id, call, tool, input, stands, stands_until FROM approvals \
                   WHERE stands IS NOT NULL AND withdrawn IS NULL ORDER BY id";
        let standing = |row: &Row<'_>| {
            let id = ApprovalId(row.get(0)?);
            let call = call(row)?;
            let covers = row.get::<_, String>(4)?;
            let scope = match covers.split_once(' ') {
                None if covers == "exactly" => Scope::exactly(&call.input),
                Some(("file", path)) => Scope::File(path.to_owned()),
                Some(("site", site)) => Scope::Site(site.to_owned()),
                _ => return Err(invalid_column(4, format!("no yes covers `{covers}`"))),
            };
            Ok(StandingApproval { id, tool: call.name, scope, expires_at: time_in(row, 5)? })
        };
        self.connection.prepare(sql)?.query_map([], standing)?.collect()
    }

    /// The most recently closed approvals, oldest first.
    fn closed_approvals(&self) -> rusqlite::Result<Arc<VecDeque<ClosedApproval>>> {
        let sql = format!(
            "SELECT id, call, tool, input, turn, how, surface, closed FROM approvals WHERE how IS NOT NULL \
             ORDER BY id DESC LIMIT {MAX_CLOSED}"
        );
        let closed = |row: &Row<'_>| {
            let (how, by): (String, String) = (row.get(5)?, row.get(6)?);
            let how = ApprovalOutcome::from_name(&how)
                .ok_or_else(|| invalid_column(5, format!("nothing is closed as `{how}`")))?;
            let id = ApprovalId(row.get(0)?);
            let turn = TurnId(row.get(4)?);
            let call = call(row)?;
            Ok(ClosedApproval {
                id,
                turn,
                call,
                outcome: how,
                surface: SurfaceName::from_name(&by),
                at: time_in(row, 7)?,
            })
        };
        let mut newest: VecDeque<ClosedApproval> =
            self.connection.prepare(&sql)?.query_map([], closed)?.collect::<Result<_, _>>()?;
        newest.make_contiguous().reverse();
        Ok(Arc::new(newest))
    }
}

/// Reads a call from columns 1 to 3: its id at the model, its tool and its input.
fn call(row: &Row<'_>) -> rusqlite::Result<ToolCall> {
    Ok(ToolCall { id: row.get(1)?, name: row.get(2)?, input: Json(row.get(3)?) })
}

pub fn write(transaction: &Transaction<'_>, change: &ApprovalChange) -> rusqlite::Result<()> {
    let execute =
        |sql: &str, row: &[&dyn rusqlite::ToSql]| transaction.prepare_cached(sql)?.execute(row).map(drop);
    match change {
        ApprovalChange::Asked(asked) => execute(
            "INSERT INTO approvals (id, at, turn, branch, call, tool, input, card, step, label) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                asked.id.0,
                asked.at.as_microsecond(),
                asked.turn.0,
                asked.branch.to_string(),
                asked.call.id,
                asked.call.name,
                asked.call.input.0,
                (asked.waiter == Waiter::Card).then_some(1),
                asked.step.0,
                asked.label.to_string(),
            ],
        ),
        ApprovalChange::Detached(id) => execute("UPDATE approvals SET late = 1 WHERE id = ?", params![id.0]),
        ApprovalChange::Closed(closed) => {
            let how = closed.outcome.as_str();
            let by = closed.surface.as_str();
            let at = closed.at.as_microsecond();
            let sql = "UPDATE approvals SET how = ?, surface = ?, closed = ? WHERE id = ? AND how IS NULL";
            execute(sql, params![how, by, at, closed.id.0])
        }
        ApprovalChange::GrantSpent(id, used, at) => {
            let sql = "UPDATE approvals SET spent = ?, used = ? WHERE id = ? AND spent IS NULL";
            execute(sql, params![at.as_microsecond(), used, id.0])
        }
        ApprovalChange::StandingAdded(standing) => {
            let covers = match &standing.scope {
                Scope::Exactly(_) => "exactly".to_owned(),
                Scope::File(path) => format!("file {path}"),
                Scope::Site(site) => format!("site {site}"),
            };
            let sql = "UPDATE approvals SET stands = ?, stands_until = ? WHERE id = ?";
            execute(sql, params![covers, standing.expires_at.as_microsecond(), standing.id.0])
        }
        ApprovalChange::StandingEnded(id, at) => {
            let sql = "UPDATE approvals SET withdrawn = ? WHERE id = ? AND withdrawn IS NULL";
            execute(sql, params![at.as_microsecond(), id.0])
        }
    }
}
