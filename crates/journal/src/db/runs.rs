//! Rows of `runs`: active background runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::context_tool::Urgency;
use domain::conversation::{Branch, EntryId, MoveReason, SessionId};
use domain::effort::Effort;
use domain::place::{BackgroundPlace, ChainPosition};
use domain::run::{Run, RunMode, RunProgress, UserActivity, Wording};
use domain::schedule::{
    ModelName, PingPermission, ReportMode, ReportPolicy, RunOptions, ThinkingOverride, ToolRule,
};
use domain::sent_messages::SentId;
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use super::Database;
use super::read::{branch_in, invalid_column, source_in, time_or_none};

impl Database {
    /// The active runs, each with what it has sent.
    pub(super) fn runs(&self) -> rusqlite::Result<BTreeMap<Branch, Arc<Run>>> {
        let sql = "SELECT branch, source, kind, depth, most, allowed, denied, root, parent, name, due, model, thinking, \
                   reporting, pings, busy, pinged, critical, untold, reports, refusals, compact, effort FROM runs";
        let run = |row: &Row<'_>| {
            let run = read_run(row)?;
            let sent = self.sent_by_run(&run.branch)?;
            Ok((run.branch.clone(), Arc::new(Run { sent_messages: sent, ..run })))
        };
        self.connection.prepare(sql)?.query_map([], run)?.collect()
    }

    fn sent_by_run(&self, branch: &Branch) -> rusqlite::Result<Vec<SentId>> {
        let sql = "SELECT entry FROM sent WHERE branch = ? ORDER BY entry";
        let sent = |row: &Row<'_>| row.get(0).map(SentId);
        self.connection.prepare_cached(sql)?.query_map([branch.to_string()], sent)?.collect()
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let (depth, max): (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
    let follow =
        depth.zip(max).map_or(ChainPosition::NotInChain, |(depth, max)| ChainPosition::Check { depth, max });
    let kind: String = row.get(2)?;
    let aside = match RunMode::from_name(&kind) {
        Some(RunMode::Forked) => BackgroundPlace::Forked(follow),
        Some(RunMode::Isolated) => BackgroundPlace::Isolated(follow),
        Some(RunMode::Persistent) => BackgroundPlace::Persistent,
        None => return Err(invalid_column(2, format!("no run stands on `{kind}`"))),
    };
    let tools = ToolRule::from_lists(read_list(row, 5)?, read_list(row, 6)?)
        .map_err(|error| invalid_column(5, error))?;
    Ok(Run {
        branch: branch_in(row, 0)?,
        source: source_in(row, 1)?,
        name: row.get(9)?,
        due: time_or_none(row, 10)?,
        place: aside,
        terms: RunOptions { tools, ..read_terms(row)? },
        root: row.get::<_, Option<u64>>(7)?.map(EntryId),
        parent: row.get::<_, Option<String>>(8)?.as_deref().and_then(SessionId::parse),
        sent_messages: Vec::new(),
        progress: read_progress(row)?,
    })
}

fn read_terms(row: &Row<'_>) -> rusqlite::Result<RunOptions> {
    let reporting =
        ReportMode::parse(&row.get::<_, String>(13)?).map_err(|error| invalid_column(13, error))?;
    let pings = if row.get(14)? { PingPermission::Allowed } else { PingPermission::Never };
    let thinking = thinking_from_number(row.get(12)?);
    let effort = row.get::<_, Option<String>>(22)?;
    let effort =
        effort.map(|effort| effort.parse().map_err(|error| invalid_column(22, error))).transpose()?;
    let model = row.get::<_, Option<String>>(11)?.as_deref().and_then(ModelName::parse);
    Ok(RunOptions {
        model,
        thinking,
        effort,
        report_policy: ReportPolicy { reporting, pings },
        tools: ToolRule::SameAsMain,
    })
}

/// Older versions know two numbers: 0, and 1 for everything else.
fn thinking_number(thinking: ThinkingOverride) -> i64 {
    match thinking {
        ThinkingOverride::Off => 0,
        ThinkingOverride::Inherit => 1,
        ThinkingOverride::On => 2,
    }
}

fn thinking_from_number(number: i64) -> ThinkingOverride {
    match number {
        0 => ThinkingOverride::Off,
        1 => ThinkingOverride::Inherit,
        _ => ThinkingOverride::On,
    }
}

fn read_progress(row: &Row<'_>) -> rusqlite::Result<RunProgress> {
    let times = |urgency: Urgency, count: usize| std::iter::repeat_n(urgency, count);
    let (pinged, critical): (usize, usize) = (row.get(16)?, row.get(17)?);
    Ok(RunProgress {
        requester: None,
        user_activity: if row.get(15)? { UserActivity::Talking } else { UserActivity::Idle },
        pending_pings: Vec::new(),
        pings: times(Urgency::Normal, pinged).chain(times(Urgency::Critical, critical)).collect(),
        unreported: row.get(18)?,
        report_count: row.get(19)?,
        stop_refusals: row.get(20)?,
        wording: Wording::default(),
        compaction_instructions: row.get(21)?,
    })
}

fn read_list(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Vec<String>>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| invalid_column(index, error))).transpose()
}

/// Inserts a run that began, and stores its source with the branch's first move.
pub fn insert(transaction: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
    let (depth, most) = match run.place {
        BackgroundPlace::Forked(ChainPosition::Check { depth, max })
        | BackgroundPlace::Isolated(ChainPosition::Check { depth, max }) => (Some(depth), Some(max)),
        BackgroundPlace::Forked(ChainPosition::NotInChain)
        | BackgroundPlace::Isolated(ChainPosition::NotInChain)
        | BackgroundPlace::Persistent => (None, None),
    };
    let json = |list: &[String]| serde_json::Value::from(list.to_vec()).to_string();
    let sql = "INSERT INTO runs (branch, source, kind, depth, most, allowed, denied, root, parent, name, due, model, \
               thinking, reporting, pings, busy, effort) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let terms = &run.terms;
    let row = params![
        run.branch.to_string(),
        run.source.to_string(),
        RunMode::of(run.place).as_str(),
        depth,
        most,
        terms.tools.allowed().map(json),
        terms.tools.denied().map(json),
        run.root.map(|root| root.0),
        run.parent.as_ref().map(SessionId::as_str),
        run.name,
        run.due.map(Timestamp::as_microsecond),
        terms.model.as_ref().map(ModelName::as_str),
        thinking_number(terms.thinking),
        terms.report_policy.reporting.as_str(),
        terms.report_policy.pings == PingPermission::Allowed,
        run.progress.user_activity == UserActivity::Talking,
        terms.effort.map(Effort::as_str),
    ];
    transaction.prepare_cached(sql)?.execute(row)?;
    let sql = "UPDATE moves SET label = ? WHERE branch = ? AND why IN (?, ?) AND label IS NULL";
    let forked = MoveReason::Forked.as_str();
    let created = MoveReason::Created.as_str();
    let row = params![run.source.to_string(), run.branch.to_string(), forked, created];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

pub fn update_progress(
    transaction: &Transaction<'_>,
    branch: &Branch,
    doings: &RunProgress,
) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET pinged = ?, critical = ?, untold = ?, reports = ?, refusals = ?, compact = ? \
               WHERE branch = ?";
    let sent = |wanted: Urgency| doings.pings.iter().filter(|urgency| **urgency == wanted).count();
    let row = params![
        sent(Urgency::Normal),
        sent(Urgency::Critical),
        doings.unreported,
        doings.report_count,
        doings.stop_refusals,
        doings.compaction_instructions,
        branch.to_string(),
    ];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

pub fn delete(transaction: &Transaction<'_>, branch: &Branch) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM runs WHERE branch = ?")?.execute([branch.to_string()]).map(drop)
}
