//! A mailbox over IMAP. Folders are opened with EXAMINE and messages are fetched with PEEK, so
//! nothing is ever changed.

pub(crate) mod connection;
mod date;
mod folder;
mod message_id;
mod query;
mod session;
mod settings;
pub(crate) mod tokens;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::{MailMessage, Mailbox, MailboxLabel, MessageSummary};
use crate::AccountError;
use folder::Folder;
use message_id::MessageId;
use query::SearchQuery;
use session::ImapSession;
pub use settings::{ImapServer, ImapSettings, InvalidServerUrl, TransportSecurity};

/// The timeout of one operation.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of searched folders.
const MAX_FOLDERS: usize = 40;

#[derive(Clone, Debug)]
pub struct ImapMailbox {
    settings: ImapSettings,
}

impl ImapMailbox {
    /// Creates a mailbox client, without a connection.
    pub fn new(settings: ImapSettings) -> Self {
        Self { settings }
    }

    /// Applies the timeout to `operation`.
    async fn with_timeout<T>(
        &self,
        operation: impl Future<Output = Result<T, AccountError>>,
    ) -> Result<T, AccountError> {
        match timeout(OPERATION_TIMEOUT, operation).await {
            Ok(answer) => answer,
            Err(_) => Err(AccountError::Unavailable(format!(
                "the mailbox at {} takes longer than {} s to answer. try again later.",
                self.settings.server.host,
                OPERATION_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn search_folders(
        &self,
        query: &SearchQuery,
        max: usize,
    ) -> Result<Vec<MessageSummary>, AccountError> {
        let mut session = ImapSession::open(&self.settings).await?;
        let folders = match &query.folder {
            Some(name) => vec![session.find_folder(name).await?],
            None => searchable_folders(session.list_folders().await?),
        };
        let mut found = Vec::new();
        for folder in folders.iter().take(MAX_FOLDERS) {
            found.extend(session.search(folder, &query.keys, max).await?);
        }
        session.close().await;
        Ok(newest(found, max))
    }
}

impl Mailbox for ImapMailbox {
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<MessageSummary>, AccountError>> {
        self.with_timeout(async move {
            let mut session = ImapSession::open(&self.settings).await?;
            let found = session.search(&Folder::inbox(), &SearchQuery::unread().keys, max).await?;
            session.close().await;
            Ok(newest(found, max))
        })
        .boxed()
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<MessageSummary>, AccountError>> {
        async move {
            let query = SearchQuery::parse(query)?;
            self.with_timeout(self.search_folders(&query, max)).await
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<MailMessage, AccountError>> {
        async move {
            let id = MessageId::parse(id)?;
            self.with_timeout(async {
                let mut session = ImapSession::open(&self.settings).await?;
                let raw = session.fetch_message(&id).await?;
                session.close().await;
                Ok(super::mime::parse_message(&raw))
            })
            .await
        }
        .boxed()
    }

    fn labels(&self) -> BoxFuture<'_, Result<Vec<MailboxLabel>, AccountError>> {
        self.with_timeout(async move {
            let mut session = ImapSession::open(&self.settings).await?;
            let folders = session.list_folders().await?;
            session.close().await;
            Ok(folders.iter().map(Folder::to_label).collect())
        })
        .boxed()
    }
}

/// Selects the folder with all messages, or else all folders except trash and junk.
fn searchable_folders(folders: Vec<Folder>) -> Vec<Folder> {
    match folders.iter().find(|folder| folder.has_attribute("\\All")) {
        Some(all) => vec![all.clone()],
        None => folders
            .into_iter()
            .filter(|folder| !folder.has_attribute("\\Trash") && !folder.has_attribute("\\Junk"))
            .collect(),
    }
}

fn newest(mut found: Vec<MessageSummary>, max: usize) -> Vec<MessageSummary> {
    found.sort_by_key(|heading| std::cmp::Reverse(heading.at));
    found.truncate(max);
    found
}
