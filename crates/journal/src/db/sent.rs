//! Rows of `sent`, `origins`, `inquiries` and `put_away`: messages sent by runs, their buttons, and
//! dismissed ones.

use domain::conversation::{Entry, EntryId, SessionId};
use domain::cost::CostSource;
use domain::outbox::OutboxKey;
use domain::record::SentChange;
use domain::sent_messages::{
    MessageOrigin, RETENTION, RunEnd, SentId, SentMessages, StoredPrompt, StoredPromptId,
};
use engine::ports::SideMessages;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Database;
use super::read::{label_in, session_in, source_in, time_in};

/// The most messages of runs that are read at once; the newest are returned.
const SENT_LIMIT: usize = 200;

impl Database {
    /// Loads the origins and inquiries.
    pub(super) fn load_sent(&self) -> rusqlite::Result<SentMessages> {
        Ok(SentMessages::new(self.origins()?, self.inquiries()?))
    }

    /// The origins of sent messages, oldest first.
    pub fn origins(&self) -> rusqlite::Result<Vec<MessageOrigin>> {
        let sql = "SELECT message, session, origins.parent, origins.at, source, root, entry, coalesce(label, 'chat;report') \
             FROM origins LEFT JOIN entries ON entries.id = entry ORDER BY origins.at, message";
        self.connection.prepare(sql)?.query_map([], read_origin)?.collect()
    }

    /// The Discord messages of runs, ordered by their Discord ids. A message that was split has
    /// several ids; one that was not posted to Discord is left out.
    pub fn fork_messages(&self) -> rusqlite::Result<Vec<MessageOrigin>> {
        let sql = "SELECT receipts.message AS id, session, origins.parent, origins.at, source, root, origins.entry, \
             coalesce(label, 'chat;report') FROM origins JOIN posts ON posts.entry = origins.message AND work = 'new' \
             JOIN receipts ON receipts.key = posts.key LEFT JOIN entries ON entries.id = origins.entry \
             UNION SELECT message, session, origins.parent, origins.at, source, root, entry, coalesce(label, 'chat;report') \
             FROM origins LEFT JOIN entries ON entries.id = entry WHERE message NOT IN (SELECT id FROM entries) \
             ORDER BY id";
        self.connection.prepare_cached(sql)?.query_map([], read_origin)?.collect()
    }

    /// Returns whether the message with this outbox key was sent by a run.
    pub fn is_from_run(&self, key: &OutboxKey) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM posts JOIN origins ON origins.message = posts.entry WHERE posts.key = ?";
        self.connection.prepare_cached(sql)?.exists([&key.0])
    }

    /// Removes origins that are older than seven days.
    pub fn prune_origins(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        self.transact(|transaction| prune(transaction, "origins", now))
    }

    /// The inquiries of buttons that were not pressed.
    pub fn inquiries(&self) -> rusqlite::Result<Vec<StoredPrompt>> {
        let sql = "SELECT id, prompt, at, label FROM inquiries WHERE asked IS NULL ORDER BY id";
        self.connection.prepare(sql)?.query_map([], read_inquiry)?.collect()
    }

    /// Imports inquiries written by another program. Existing ones are not changed.
    pub fn import_inquiries(&mut self, inquiries: &[StoredPrompt]) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            for inquiry in inquiries {
                insert_inquiry(transaction, inquiry, "INSERT OR IGNORE")?;
            }
            Ok(())
        })
    }

    /// The id under which the Discord message `message` is stored. `None` if the number is that of
    /// an entry and not of a sent message.
    pub fn sent_id(&self, message: SentId) -> rusqlite::Result<Option<SentId>> {
        if let Some((_, sent)) = self.find_outbox_message(message.0)? {
            return Ok(Some(sent.unwrap_or(message)));
        }
        let is_entry =
            self.connection.prepare_cached("SELECT 1 FROM entries WHERE id = ?")?.exists([message.0])?;
        Ok((!is_entry).then_some(message))
    }

    /// The origin of the message `id`, if it is known.
    pub fn origin(&self, id: SentId) -> rusqlite::Result<Option<MessageOrigin>> {
        let sql = "SELECT message, session, origins.parent, origins.at, source, root, entry, coalesce(label, 'chat;report') \
             FROM origins LEFT JOIN entries ON entries.id = entry WHERE message = ?";
        self.connection.prepare_cached(sql)?.query_row([id.0], read_origin).optional()
    }

    /// The last entry of the run with `session`, if that session is known.
    pub fn run_end(&self, session: &SessionId) -> rusqlite::Result<Option<RunEnd>> {
        let sql = "SELECT message, session, origins.parent, origins.at, source, root, entry, coalesce(label, 'chat;report') \
             FROM origins JOIN entries ON entries.id = entry WHERE session = ? ORDER BY origins.at DESC LIMIT 1";
        let sent =
            self.connection.prepare_cached(sql)?.query_row([session.as_str()], read_origin).optional()?;
        if let Some(MessageOrigin { end: Some(end), .. }) = sent {
            return Ok(Some(end));
        }
        let Some(head) = self.session_head(session)? else { return Ok(None) };
        let routines = self.routine_sessions()?;
        let routine = routines.iter().find(|(_, stand)| stand.session == *session);
        let source = routine.map_or(CostSource::Fork, |(id, _)| CostSource::Routine(id.to_string()));
        Ok(head.entry.map(|entry| RunEnd { source, root: None, entry, label: head.label }))
    }

    /// The messages sent by runs and the dismissed messages between `from` and `before`.
    pub fn side_messages(&self, from: EntryId, before: Option<EntryId>) -> rusqlite::Result<SideMessages> {
        let before = before.map_or(i64::MAX as u64, |before| before.0);
        let sql = "SELECT entry, source FROM sent WHERE entry >= ? AND entry < ? \
                   AND entry NOT IN (SELECT message FROM put_away) ORDER BY entry DESC LIMIT ?";
        let sent = |row: &Row<'_>| Ok((source_in(row, 1)?, self.entry(EntryId(row.get(0)?))?));
        let row = params![from.0, before, SENT_LIMIT];
        let mut sent: Vec<(CostSource, Entry)> =
            self.connection.prepare_cached(sql)?.query_map(row, sent)?.collect::<Result<_, _>>()?;
        sent.reverse();
        let sql = "SELECT message FROM put_away WHERE message >= ? AND message < ?";
        let away = |row: &Row<'_>| row.get(0).map(SentId);
        let mut put_away = self.connection.prepare_cached(sql)?;
        let put_away = put_away.query_map(params![from.0, before], away)?.collect::<Result<_, _>>()?;
        Ok(SideMessages { sent, put_away })
    }
}

fn read_origin(row: &Row<'_>) -> rusqlite::Result<MessageOrigin> {
    let end = match row.get::<_, Option<u64>>(6)?.map(EntryId) {
        Some(entry) => {
            let root = row.get::<_, Option<u64>>(5)?.map(EntryId);
            Some(RunEnd { source: source_in(row, 4)?, root, entry, label: label_in(row, 7)? })
        }
        None => None,
    };
    Ok(MessageOrigin {
        id: SentId(row.get(0)?),
        session: session_in(row, 1)?,
        parent: row.get::<_, Option<String>>(2)?.as_deref().and_then(SessionId::parse),
        at: time_in(row, 3)?,
        end,
    })
}

fn read_inquiry(row: &Row<'_>) -> rusqlite::Result<StoredPrompt> {
    Ok(StoredPrompt {
        id: StoredPromptId(row.get(0)?),
        prompt: row.get(1)?,
        at: time_in(row, 2)?,
        label: label_in(row, 3)?,
    })
}

pub fn write_sent(transaction: &Transaction<'_>, change: &SentChange) -> rusqlite::Result<()> {
    match change {
        SentChange::RunShowed(showed) => {
            let sql = "INSERT OR REPLACE INTO sent (entry, branch, source) VALUES (?, ?, ?)";
            let row = params![showed.entry.0, showed.branch.to_string(), showed.source.to_string()];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        SentChange::OriginsKept(origins, now) => {
            if let Some(newest) = origins.last() {
                // A record of another program may be dated in the future.
                prune(transaction, "origins", newest.at.min(*now))?;
            }
            origins.iter().try_for_each(|origin| insert_origin(transaction, origin))
        }
        SentChange::Pruned(now) => prune(transaction, "origins", *now),
        SentChange::Removed(ids) => {
            let mut remove = transaction.prepare_cached("DELETE FROM origins WHERE message = ?")?;
            ids.iter().try_for_each(|id| remove.execute([id.0]).map(drop))
        }
        SentChange::ButtonRegistered(inquiry) => {
            prune(transaction, "inquiries", inquiry.at)?;
            insert_inquiry(transaction, inquiry, "INSERT OR REPLACE")
        }
        SentChange::ButtonUsed(id) => {
            let sql = "UPDATE inquiries SET asked = 1 WHERE id = ?";
            transaction.prepare_cached(sql)?.execute([&id.0]).map(drop)
        }
        SentChange::MessageHidden(message) => {
            let sql = "INSERT OR IGNORE INTO put_away (message) VALUES (?)";
            transaction.prepare_cached(sql)?.execute([message.0]).map(drop)
        }
    }
}

/// MT-8, XB-9: expired rows are removed when a new one is added.
fn prune(transaction: &Transaction<'_>, table: &str, now: Timestamp) -> rusqlite::Result<()> {
    let oldest = now.saturating_sub(RETENTION).unwrap_or(Timestamp::MIN).as_microsecond();
    transaction.prepare_cached(&format!("DELETE FROM {table} WHERE at <= ?"))?.execute([oldest]).map(drop)
}

fn insert_origin(transaction: &Transaction<'_>, origin: &MessageOrigin) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO origins (message, session, parent, at, source, root, entry) \
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    let end = origin.end.as_ref();
    let row = params![
        origin.id.0,
        origin.session.as_str(),
        origin.parent.as_ref().map(SessionId::as_str),
        origin.at.as_microsecond(),
        end.map(|end| end.source.to_string()),
        end.and_then(|end| end.root).map(|root| root.0),
        end.map(|end| end.entry.0),
    ];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn insert_inquiry(transaction: &Transaction<'_>, inquiry: &StoredPrompt, how: &str) -> rusqlite::Result<()> {
    let sql = format!("{how} INTO inquiries (id, prompt, at, label) VALUES (?, ?, ?, ?)");
    let row = params![inquiry.id.0, inquiry.prompt, inquiry.at.as_microsecond(), inquiry.label.to_string()];
    transaction.prepare_cached(&sql)?.execute(row).map(drop)
}
