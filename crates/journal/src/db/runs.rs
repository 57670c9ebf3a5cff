//! Background runs that go on, as rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::conversation::{Branch, EntryId, SessionId, Why};
use domain::place::{Aside, Follow};
use domain::run::{Kind, Run};
use domain::schedule::ToolRule;
use domain::sent::SentId;
use rusqlite::{Row, Transaction, params};

use super::Database;
use super::read::{branch_in, source_in, unread};

impl Database {
    /// The runs that go on, each with what it has shown.
    pub(super) fn runs(&self) -> rusqlite::Result<BTreeMap<Branch, Arc<Run>>> {
        let sql = "SELECT branch, source, kind, depth, most, allowed, denied, root, parent FROM runs";
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
        aside,
        tools,
        root: row.get::<_, Option<u64>>(7)?.map(EntryId),
        parent: row.get::<_, Option<String>>(8)?.as_deref().and_then(SessionId::read),
        sent: Vec::new(),
    })
}

fn list(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Vec<String>>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| unread(index, error))).transpose()
}

/// A run began; the tree tells whose it is.
pub fn begin(transaction: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
    let (depth, most) = match run.aside {
        Aside::Forked(Follow::Check { depth, max }) | Aside::Isolated(Follow::Check { depth, max }) => {
            (Some(depth), Some(max))
        }
        Aside::Forked(Follow::Alone) | Aside::Isolated(Follow::Alone) | Aside::Persistent => (None, None),
    };
    let json = |list: &[String]| serde_json::Value::from(list.to_vec()).to_string();
    let sql = "INSERT INTO runs (branch, source, kind, depth, most, allowed, denied, root, parent) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let row = params![
        run.branch.to_string(),
        run.source.to_string(),
        Kind::of(run.aside).as_str(),
        depth,
        most,
        run.tools.allowed().map(json),
        run.tools.denied().map(json),
        run.root.map(|root| root.0),
        run.parent.as_ref().map(SessionId::as_str),
    ];
    transaction.prepare_cached(sql)?.execute(row)?;
    let sql = "UPDATE moves SET label = ? WHERE branch = ? AND why IN (?, ?) AND label IS NULL";
    let (forked, created) = (Why::Forked.as_str(), Why::Created.as_str());
    let row = params![run.source.to_string(), run.branch.to_string(), forked, created];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

/// A run ended.
pub fn end(transaction: &Transaction<'_>, branch: &Branch) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM runs WHERE branch = ?")?.execute([branch.to_string()]).map(drop)
}
