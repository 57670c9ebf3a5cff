//! Rows of `runs`: active background runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::conversation::{Branch, EntryId, SessionId, Why};
use domain::effort::Effort;
use domain::place::{Aside, Follow};
use domain::run::{Busy, Doings, Kind, Run, Wording};
use domain::schedule::{ModelName, Pings, Reporting, Terms, Thinking, ToolRule, Voice};
use domain::sent::SentId;
use domain::wish::Urgency;
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use super::Database;
use super::read::{branch_in, source_in, time_or_none, unread};

impl Database {
    /// The active runs, each with what it has sent.
    pub(super) fn runs(&self) -> rusqlite::Result<BTreeMap<Branch, Arc<Run>>> {
        let sql = "SELECT branch, source, kind, depth, most, allowed, denied, root, parent, name, due, model, thinking, \
                   reporting, pings, busy, pinged, critical, untold, reports, refusals, compact, effort FROM runs";
        let run = |row: &Row<'_>| {
            let run = run(row)?;
            let sent = self.sent_by(&run.branch)?;
            Ok((run.branch.clone(), Arc::new(Run { sent, ..run })))
        };
        self.connection.prepare(sql)?.query_map([], run)?.collect()
    }

    fn sent_by(&self, branch: &Branch) -> rusqlite::Result<Vec<SentId>> {
        let sql = "SELECT entry FROM sent WHERE branch = ? ORDER BY entry";
        let sent = |row: &Row<'_>| row.get(0).map(SentId);
        self.connection.prepare_cached(sql)?.query_map([branch.to_string()], sent)?.collect()
    }
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let (depth, max): (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
    let follow = depth.zip(max).map_or(Follow::Alone, |(depth, max)| Follow::Check { depth, max });
    let kind: String = row.get(2)?;
    let aside = match Kind::named(&kind) {
        Some(Kind::Forked) => Aside::Forked(follow),
        Some(Kind::Isolated) => Aside::Isolated(follow),
        Some(Kind::Persistent) => Aside::Persistent,
        None => return Err(unread(2, format!("no run stands on `{kind}`"))),
    };
    let tools = ToolRule::read(list(row, 5)?, list(row, 6)?).map_err(|error| unread(5, error))?;
    Ok(Run {
        branch: branch_in(row, 0)?,
        source: source_in(row, 1)?,
        name: row.get(9)?,
        due: time_or_none(row, 10)?,
        aside,
        terms: Terms { tools, ..terms(row)? },
        root: row.get::<_, Option<u64>>(7)?.map(EntryId),
        parent: row.get::<_, Option<String>>(8)?.as_deref().and_then(SessionId::read),
        sent: Vec::new(),
        doings: doings(row)?,
    })
}

fn terms(row: &Row<'_>) -> rusqlite::Result<Terms> {
    let reporting = Reporting::parse(&row.get::<_, String>(13)?).map_err(|error| unread(13, error))?;
    let pings = if row.get(14)? { Pings::Allowed } else { Pings::Never };
    let thinking = thinking_of(row.get(12)?);
    let effort = row.get::<_, Option<String>>(22)?;
    let effort = effort.map(|effort| effort.parse().map_err(|error| unread(22, error))).transpose()?;
    let model = row.get::<_, Option<String>>(11)?.as_deref().and_then(ModelName::read);
    Ok(Terms { model, thinking, effort, voice: Voice { reporting, pings }, tools: ToolRule::Usual })
}

/// Older versions know two numbers: 0, and 1 for everything else.
fn thinking_number(thinking: Thinking) -> i64 {
    match thinking {
        Thinking::Off => 0,
        Thinking::Inherit => 1,
        Thinking::On => 2,
    }
}

fn thinking_of(number: i64) -> Thinking {
    match number {
        0 => Thinking::Off,
        1 => Thinking::Inherit,
        _ => Thinking::On,
    }
}

fn doings(row: &Row<'_>) -> rusqlite::Result<Doings> {
    let times = |urgency: Urgency, count: usize| std::iter::repeat_n(urgency, count);
    let (pinged, critical): (usize, usize) = (row.get(16)?, row.get(17)?);
    Ok(Doings {
        asker: None,
        busy: if row.get(15)? { Busy::Talking } else { Busy::No },
        asked: Vec::new(),
        pings: times(Urgency::Normal, pinged).chain(times(Urgency::Critical, critical)).collect(),
        untold: row.get(18)?,
        reports: row.get(19)?,
        refusals: row.get(20)?,
        wording: Wording::default(),
        compact: row.get(21)?,
    })
}

fn list(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Vec<String>>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| unread(index, error))).transpose()
}

/// Inserts a run that began, and stores its source with the branch's first move.
pub fn begin(transaction: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
    let (depth, most) = match run.aside {
        Aside::Forked(Follow::Check { depth, max }) | Aside::Isolated(Follow::Check { depth, max }) => {
            (Some(depth), Some(max))
        }
        Aside::Forked(Follow::Alone) | Aside::Isolated(Follow::Alone) | Aside::Persistent => (None, None),
    };
    let json = |list: &[String]| serde_json::Value::from(list.to_vec()).to_string();
    let sql = "INSERT INTO runs (branch, source, kind, depth, most, allowed, denied, root, parent, name, due, model, \
               thinking, reporting, pings, busy, effort) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let terms = &run.terms;
    let row = params![
        run.branch.to_string(),
        run.source.to_string(),
        Kind::of(run.aside).as_str(),
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
        terms.voice.reporting.as_str(),
        terms.voice.pings == Pings::Allowed,
        run.doings.busy == Busy::Talking,
        terms.effort.map(Effort::as_str),
    ];
    transaction.prepare_cached(sql)?.execute(row)?;
    let sql = "UPDATE moves SET label = ? WHERE branch = ? AND why IN (?, ?) AND label IS NULL";
    let forked = Why::Forked.as_str();
    let created = Why::Created.as_str();
    let row = params![run.source.to_string(), run.branch.to_string(), forked, created];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

pub fn doing(transaction: &Transaction<'_>, branch: &Branch, doings: &Doings) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET pinged = ?, critical = ?, untold = ?, reports = ?, refusals = ?, compact = ? \
               WHERE branch = ?";
    let sent = |wanted: Urgency| doings.pings.iter().filter(|urgency| **urgency == wanted).count();
    let row = params![
        sent(Urgency::Normal),
        sent(Urgency::Critical),
        doings.untold,
        doings.reports,
        doings.refusals,
        doings.compact,
        branch.to_string(),
    ];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

pub fn end(transaction: &Transaction<'_>, branch: &Branch) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM runs WHERE branch = ?")?.execute([branch.to_string()]).map(drop)
}
