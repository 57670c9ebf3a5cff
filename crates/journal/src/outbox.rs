//! Implements the port `Outbox`.

use domain::post::PostKey;
use domain::record::Charge;
use engine::ports::{Outbox, Outgoing, PostedAs, Queue, Receipt, Settled, Unreadable, Unwritten};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::{Journal, closed, unwritten};

impl Outbox for Journal {
    fn waiting(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<Outgoing>, Unreadable>> {
        self.read(move |reader| reader.database.posts(queue, limit))
    }

    fn receipts(&self, key: PostKey) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.read(move |reader| reader.database.receipts(&key))
    }

    fn receipts_of(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.read(move |reader| reader.database.receipts_of(kind))
    }

    fn unfinished(&self) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.read(|reader| reader.database.unfinished_posts())
    }

    fn became(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>> {
        let written = self.writer.ask(move |writer| {
            writer.database.became(&receipt, at)?;
            writer.look.journal_changed();
            writer.sent.posted(&receipt.key, &mut writer.database);
            Ok(())
        });
        Box::pin(async {
            written.await.ok_or_else(closed)?.map_err(|error: rusqlite::Error| unwritten(&error))
        })
    }

    fn is_gone(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), Unwritten>> {
        let written = self.writer.ask(move |writer| {
            writer.database.is_gone(&receipt)?;
            writer.look.journal_changed();
            writer.sent.posted(&receipt.key, &mut writer.database);
            Ok(())
        });
        Box::pin(async {
            written.await.ok_or_else(closed)?.map_err(|error: rusqlite::Error| unwritten(&error))
        })
    }

    fn settle(&self, id: u64, how: Settled) -> BoxFuture<'_, Result<Option<Charge>, Unwritten>> {
        let settled = self.writer.ask(move |writer| writer.database.settle_post(id, &how));
        Box::pin(async { settled.await.ok_or_else(closed)?.map_err(|error| unwritten(&error)) })
    }

    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, Unreadable>> {
        self.read(move |reader| reader.database.posted_as(message))
    }

    fn keepsake(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, Unreadable>> {
        self.read(move |reader| reader.database.keepsake(name))
    }

    fn keep(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), Unwritten>> {
        Box::pin(self.change(move |database| database.keep(name, &value)))
    }

    fn forget(&self, now: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>> {
        Box::pin(self.change(move |database| database.forget_posts(now)))
    }
}
