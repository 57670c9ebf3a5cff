//! Implements the port `Outbox`.

use domain::outbox::OutboxKey;
use domain::record::PingCharge;
use engine::ports::{Outbox, PendingPost, PostOutcome, PostedAs, Queue, ReadError, Receipt, WriteError};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::{Journal, closed_error, write_error};

impl Outbox for Journal {
    fn pending(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<PendingPost>, ReadError>> {
        self.read(move |reader| reader.database.waiting_messages_in(queue, limit))
    }

    fn receipts(&self, key: OutboxKey) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.read(move |reader| reader.database.receipts(&key))
    }

    fn receipts_of_kind(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.read(move |reader| reader.database.receipts_with_prefix(kind))
    }

    fn unposted_receipts(&self) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.read(|reader| reader.database.orphaned_receipts())
    }

    fn save_receipt(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), WriteError>> {
        let written = self.writer.run(move |writer| {
            writer.database.save_receipt(&receipt, at)?;
            writer.edit_check.on_journal_changed();
            writer.sent.on_receipt(&receipt.key, &mut writer.database);
            Ok(())
        });
        Box::pin(async {
            written.await.ok_or_else(closed_error)?.map_err(|error: rusqlite::Error| write_error(&error))
        })
    }

    fn delete_receipt(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), WriteError>> {
        let written = self.writer.run(move |writer| {
            writer.database.delete_receipt(&receipt)?;
            writer.edit_check.on_journal_changed();
            writer.sent.on_receipt(&receipt.key, &mut writer.database);
            Ok(())
        });
        Box::pin(async {
            written.await.ok_or_else(closed_error)?.map_err(|error: rusqlite::Error| write_error(&error))
        })
    }

    fn settle(&self, id: u64, how: PostOutcome) -> BoxFuture<'_, Result<Option<PingCharge>, WriteError>> {
        let settled = self.writer.run(move |writer| writer.database.settle_outbox_message(id, &how));
        Box::pin(async { settled.await.ok_or_else(closed_error)?.map_err(|error| write_error(&error)) })
    }

    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, ReadError>> {
        self.read(move |reader| reader.database.find_outbox_message(message))
    }

    fn kv_get(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, ReadError>> {
        self.read(move |reader| reader.database.get_kv(name))
    }

    fn kv_set(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(self.update_database(move |database| database.set_kv(name, &value)))
    }

    fn prune(&self, now: Timestamp) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(self.update_database(move |database| database.prune_outbox(now)))
    }
}
