//! Writes records as rows: all records of one decision in one transaction.

use domain::conversation::{Branch, Entry, Head, Move, SessionId, Text};
use domain::inbox::InboxItem;
use domain::label::Label;
use domain::permission::Decision;
use domain::record::{
    Address, InboxChange, Message, MessageChange, MessageId, Record, ReplyTo, SessionChange, StateChange,
    TurnChange, TurnClosed, TurnOpened,
};
use domain::run::RunMode;
use domain::turn::{TurnEnding, TurnId};
use jiff::Timestamp;
use rusqlite::{Transaction, named_params, params};

use super::spending::insert_call;
use super::{Database, approvals, attention, body, cards, forks, outbox, plans, sent};

/// A pending change of the session files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFileChange {
    /// Its row id.
    pub id: i64,
    pub change: SessionChange,
}

impl Database {
    /// Writes all of `records` in one transaction. Returns the resulting file changes.
    pub fn write(&mut self, records: &[Record]) -> rusqlite::Result<Vec<SessionFileChange>> {
        self.write_with_note(records, None)
    }

    /// Like `write`, and stores a key-value pair in the same transaction.
    pub fn write_with_note(
        &mut self,
        records: &[Record],
        note: Option<(&str, String)>,
    ) -> rusqlite::Result<Vec<SessionFileChange>> {
        self.transact(|transaction| {
            if let Some((name, value)) = note {
                let sql = "INSERT OR REPLACE INTO keepsakes (name, value) VALUES (?, ?)";
                transaction.prepare_cached(sql)?.execute([name, &value])?;
            }
            let mut changes = Vec::new();
            for record in records {
                changes.extend(write_record(transaction, record)?);
            }
            Ok(changes)
        })
    }

    /// Removes file changes that were applied.
    pub fn remove_file_changes(&mut self, changes: &[SessionFileChange]) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            for change in changes {
                transaction.prepare_cached("DELETE FROM file_changes WHERE id = ?")?.execute([change.id])?;
            }
            Ok(())
        })
    }
}

fn write_record(
    transaction: &Transaction<'_>,
    record: &Record,
) -> rusqlite::Result<Option<SessionFileChange>> {
    match record {
        Record::EntryAppended(branch, entry) => insert_entry(transaction, branch, entry)?,
        Record::BranchMoved(moved) => write_move(transaction, moved)?,
        Record::Message(change) => write_message(transaction, change)?,
        Record::Turn(change) => write_turn(transaction, change)?,
        Record::Update(change) => forks::write_update(transaction, change)?,
        Record::Fork(change) => forks::write_fork(transaction, change)?,
        Record::Approval(change) => approvals::write(transaction, change)?,
        Record::Plan(change) => plans::write(transaction, change)?,
        Record::State(StateChange::PingBudget(budget)) => plans::write_ping_budget(transaction, budget)?,
        Record::State(StateChange::PingCharged(charge)) => plans::write_charge(transaction, charge)?,
        // Stored in the settings file.
        Record::State(StateChange::SettingChanged(..)) => {}
        Record::CallSpent(spent) => insert_call(transaction, spent)?,
        Record::Inbox(InboxChange::Added(kept)) => insert_inbox_item(transaction, kept)?,
        Record::Inbox(InboxChange::Removed(kept, at)) => {
            let sql = "UPDATE inbox SET removed = ? WHERE id = ?";
            transaction.prepare_cached(sql)?.execute(params![at.as_microsecond(), kept.0])?;
        }
        Record::Session(change) => return insert_file_change(transaction, change).map(Some),
    }
    Ok(None)
}

fn insert_entry(transaction: &Transaction<'_>, branch: &Branch, entry: &Entry) -> rusqlite::Result<()> {
    let (kind, body) = body::write(&entry.content).map_err(encode_error)?;
    let sql = "INSERT INTO entries (id, parent, depth, at, kind, body, own, label) VALUES (:id, :parent, \
               coalesce((SELECT depth + 1 FROM entries WHERE id = :parent), 1), :at, :kind, :body, :own, :label)";
    transaction.prepare_cached(sql)?.execute(named_params! {
        ":id": entry.id.0,
        ":parent": entry.parent.map(|parent| parent.0),
        ":at": entry.at.as_microsecond(),
        ":kind": kind,
        ":body": body,
        ":own": entry.own_label.to_string(),
        ":label": entry.label.to_string(),
    })?;
    let text = entry.content.text();
    // An empty text is not indexed.
    if !text.is_empty() {
        let sql = "INSERT INTO words (rowid, text) VALUES (?, ?)";
        transaction.prepare_cached(sql)?.execute(params![entry.id.0, text])?;
    }
    let sql = "UPDATE heads SET entry = ? WHERE branch = ?";
    transaction.prepare_cached(sql)?.execute(params![entry.id.0, branch.to_string()])?;
    Ok(())
}

fn write_move(transaction: &Transaction<'_>, moved: &Move) -> rusqlite::Result<()> {
    let branch = moved.branch.to_string();
    let entry = |head: &Option<Head>| head.as_ref().and_then(|head| head.entry).map(|entry| entry.0);
    let session = |head: &Option<Head>| head.as_ref().map(|head| head.session.to_string());
    let sql = "INSERT INTO moves (at, branch, why, from_entry, from_session, to_entry, to_session) \
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(params![
        moved.at.as_microsecond(),
        branch,
        moved.reason.as_str(),
        entry(&moved.from),
        session(&moved.from),
        entry(&moved.to),
        session(&moved.to),
    ])?;
    match &moved.to {
        Some(head) => {
            let sql = "INSERT OR REPLACE INTO heads (branch, entry, session) VALUES (?, ?, ?)";
            let entry = head.entry.map(|entry| entry.0);
            transaction.prepare_cached(sql)?.execute(params![branch, entry, head.session.as_str()])?;
        }
        None => {
            transaction.prepare_cached("DELETE FROM heads WHERE branch = ?")?.execute([branch])?;
        }
    }
    Ok(())
}

fn write_message(transaction: &Transaction<'_>, change: &MessageChange) -> rusqlite::Result<()> {
    match change {
        MessageChange::Received(message) => insert_message(transaction, message),
        MessageChange::Taken(message, entry) => {
            let sql = "UPDATE messages SET entry = ?, images = '[]' WHERE id = ?";
            transaction.prepare_cached(sql)?.execute(params![entry.0, message.0]).map(drop)
        }
        MessageChange::Dropped(message) => {
            transaction.prepare_cached("DELETE FROM messages WHERE id = ?")?.execute([message.0]).map(drop)
        }
        MessageChange::Sent(change) => sent::write_sent(transaction, change),
        MessageChange::Outbox(change) => outbox::write(transaction, change),
        MessageChange::Card(card, post) => cards::write(transaction, card, post),
        MessageChange::Attention(change) => attention::write(transaction, change),
    }
}

fn write_turn(transaction: &Transaction<'_>, change: &TurnChange) -> rusqlite::Result<()> {
    match change {
        TurnChange::Opened(turn) => open_turn(transaction, turn),
        TurnChange::Closed(turn) => close_turn(transaction, turn),
        TurnChange::CallDecided(turn, decision, at) => insert_decision(transaction, *turn, decision, *at),
        TurnChange::Blocked(turn) => {
            let sql = "UPDATE turns SET attempts = 0 WHERE id = ?";
            transaction.prepare_cached(sql)?.execute([turn.0]).map(drop)
        }
    }
}

fn insert_message(transaction: &Transaction<'_>, message: &Message) -> rusqlite::Result<()> {
    let sql = "INSERT INTO messages (id, at, surface, text, images, branch, about, quoted, inquiry, mark, label) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let at = message.at.as_microsecond();
    let images = body::write_images(&message.images).map_err(encode_error)?;
    let id = message.id.0;
    let surface = message.surface.as_str();
    let text = &message.text;
    let (branch, about, quoted, inquiry) = match &message.address {
        Address::UserBranch => (None, None, None, None),
        Address::Branch(branch) => (Some(branch.to_string()), None, None, None),
        Address::Reply(ReplyTo { sent_id: to, quote: words }) => (None, Some(to.0), Some(words), None),
        Address::Button(on, inquiry) => (None, Some(on.0), None, Some(&inquiry.0)),
    };
    let mark = message.external_id.map(|mark| mark.0);
    let label = (message.label != Label::PLAIN).then(|| message.label.to_string());
    let row = params![id, at, surface, text, images, branch, about, quoted, inquiry, mark, label];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

/// Opening a turn again counts another attempt.
fn open_turn(transaction: &Transaction<'_>, turn: &TurnOpened) -> rusqlite::Result<()> {
    let sql = "INSERT INTO turns (id, branch, message, opened, attempts) VALUES (?, ?, ?, ?, 1) \
               ON CONFLICT (id) DO UPDATE SET attempts = attempts + 1";
    let MessageId(message) = turn.message;
    let row = params![turn.turn.0, turn.branch.to_string(), message, turn.at.as_microsecond()];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn close_turn(transaction: &Transaction<'_>, turn: &TurnClosed) -> rusqlite::Result<()> {
    let (ending, reason) = match &turn.ending {
        TurnEnding::Finished => ("finished", None),
        TurnEnding::Interrupted => ("interrupted", None),
        TurnEnding::Failed(failure) => ("failed", Some(failure.to_string())),
    };
    let sql = "UPDATE turns SET closed = :at, ending = :ending, reason = :reason, input = :input, \
               cache_read = :cache_read, cache_write = :cache_write, cache_write_1h = :cache_write_1h, \
               output = :output WHERE id = :id";
    let row = named_params! {
        ":id": turn.turn.0,
        ":at": turn.at.as_microsecond(),
        ":ending": ending,
        ":reason": reason,
        ":input": turn.usage.input,
        ":cache_read": turn.usage.cache_read,
        ":cache_write": turn.usage.cache_write,
        ":cache_write_1h": turn.usage.cache_write_1h,
        ":output": turn.usage.output,
    };
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn insert_decision(
    transaction: &Transaction<'_>,
    turn: TurnId,
    decision: &Decision,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO decisions (turn, at, call, tool, input, rule, label) VALUES (?, ?, ?, ?, ?, ?, ?)";
    let call = &decision.call;
    let rule = decision.rule.id();
    let knows = decision.label.to_string();
    let row = params![turn.0, at.as_microsecond(), call.id, call.name, call.input.0, rule, knows];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn insert_inbox_item(transaction: &Transaction<'_>, kept: &InboxItem) -> rusqlite::Result<()> {
    // An item that was taken out can be put back.
    let sql =
        "INSERT INTO inbox (id, at, text) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET removed = NULL";
    transaction
        .prepare_cached(sql)?
        .execute(params![kept.id.0, kept.at.as_microsecond(), kept.text])
        .map(drop)
}

fn insert_file_change(
    transaction: &Transaction<'_>,
    change: &SessionChange,
) -> rusqlite::Result<SessionFileChange> {
    let (kind, session, parent, at) = match change {
        SessionChange::Saved(session, at) => ("saved", session, None, at),
        SessionChange::Swapped { to, from, at } => ("swapped", to, from.as_ref(), at),
        SessionChange::Cleared(session, at) => ("cleared", session, None, at),
        SessionChange::Forked { fork, from, at } => ("forked", fork, from.as_ref(), at),
        SessionChange::RunEnded { run, from, mode: kind, at } => {
            let kind = match kind {
                RunMode::Forked => "ran forked",
                RunMode::Isolated => "ran isolated",
                RunMode::Persistent => "ran persistent",
            };
            (kind, run, from.as_ref(), at)
        }
    };
    let sql = "INSERT INTO file_changes (at, kind, session, parent) VALUES (?, ?, ?, ?)";
    let row = params![at.as_microsecond(), kind, session.as_str(), parent.map(SessionId::as_str)];
    transaction.prepare_cached(sql)?.execute(row)?;
    Ok(SessionFileChange { id: transaction.last_insert_rowid(), change: change.clone() })
}

pub(super) fn encode_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
