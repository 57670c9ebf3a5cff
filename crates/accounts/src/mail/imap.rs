//! A mailbox over IMAP. Folders are opened with EXAMINE and messages are fetched with PEEK, so
//! nothing is ever changed.

mod date;
mod folder;
mod id;
pub(crate) mod line;
mod query;
mod session;
mod settings;
pub(crate) mod tokens;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::{Heading, Label, Letter, Mailbox};
use crate::Trouble;
use folder::Folder;
use id::Id;
use query::Query;
use session::Session;
pub use settings::{BadAddress, Security, Server, Settings};

/// The timeout of one operation.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of searched folders.
const FOLDERS: usize = 40;

#[derive(Clone, Debug)]
pub struct Imap {
    settings: Settings,
}

impl Imap {
    /// Creates a mailbox client, without a connection.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Applies the timeout to `operation`.
    async fn ask<T>(&self, question: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        match timeout(PATIENCE, question).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble::Away(format!(
                "the mailbox at {} takes longer than {} s to answer. try again later.",
                self.settings.server.host,
                PATIENCE.as_secs()
            ))),
        }
    }

    async fn found(&self, query: &Query, max: usize) -> Result<Vec<Heading>, Trouble> {
        let mut session = Session::open(&self.settings).await?;
        let folders = match &query.folder {
            Some(name) => vec![session.folder(name).await?],
            None => worth_searching(session.folders().await?),
        };
        let mut found = Vec::new();
        for folder in folders.iter().take(FOLDERS) {
            found.extend(session.search(folder, &query.keys, max).await?);
        }
        session.close().await;
        Ok(newest(found, max))
    }
}

impl Mailbox for Imap {
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<Heading>, Trouble>> {
        self.ask(async move {
            let mut session = Session::open(&self.settings).await?;
            let found = session.search(&Folder::inbox(), &Query::unread().keys, max).await?;
            session.close().await;
            Ok(newest(found, max))
        })
        .boxed()
    }

    fn search<'a>(&'a self, query: &'a str, max: usize) -> BoxFuture<'a, Result<Vec<Heading>, Trouble>> {
        async move {
            let query = Query::read(query)?;
            self.ask(self.found(&query, max)).await
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Letter, Trouble>> {
        async move {
            let id = Id::read(id)?;
            self.ask(async {
                let mut session = Session::open(&self.settings).await?;
                let raw = session.letter(&id).await?;
                session.close().await;
                Ok(super::mime::letter(&raw))
            })
            .await
        }
        .boxed()
    }

    fn labels(&self) -> BoxFuture<'_, Result<Vec<Label>, Trouble>> {
        self.ask(async move {
            let mut session = Session::open(&self.settings).await?;
            let folders = session.folders().await?;
            session.close().await;
            Ok(folders.iter().map(Folder::label).collect())
        })
        .boxed()
    }
}

/// Selects the folder with all messages, or else all folders except trash and junk.
fn worth_searching(folders: Vec<Folder>) -> Vec<Folder> {
    match folders.iter().find(|folder| folder.has("\\All")) {
        Some(all) => vec![all.clone()],
        None => {
            folders.into_iter().filter(|folder| !folder.has("\\Trash") && !folder.has("\\Junk")).collect()
        }
    }
}

fn newest(mut found: Vec<Heading>, max: usize) -> Vec<Heading> {
    found.sort_by_key(|heading| std::cmp::Reverse(heading.at));
    found.truncate(max);
    found
}
