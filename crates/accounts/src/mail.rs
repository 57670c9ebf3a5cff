//! Mail, which is only ever read, wherever it lies.

pub(crate) mod charset;
mod html;
pub mod imap;
pub(crate) mod legible;
pub(crate) mod mime;
mod transfer;

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::Trouble;

/// A letter as it stands in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its name in the mailbox.
    pub id: String,
    /// When it arrived.
    pub at: Option<Timestamp>,
    /// Who wrote it: a name if there is one, or else the address.
    pub from: String,
    /// What about; blank, if nobody said.
    pub subject: String,
}

/// A letter that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Who wrote it, name and address.
    pub from: String,
    /// To whom.
    pub to: String,
    /// The date that stands on it.
    pub date: String,
    /// What about.
    pub subject: String,
    /// Its words, cut to what is readable; nothing, if it has none.
    pub body: Option<String>,
}

/// A folder, or a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name for machines.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// A mailbox, read-only.
pub trait Mailbox: Send + Sync {
    /// The newest `max` letters that were not read yet, newest first.
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<Heading>, Trouble>>;

    /// The newest `max` letters that `query` finds, newest first.
    fn search<'a>(&'a self, query: &'a str, max: usize) -> BoxFuture<'a, Result<Vec<Heading>, Trouble>>;

    /// Opens one, without marking it as read.
    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Letter, Trouble>>;

    /// The folders or labels.
    fn labels(&self) -> BoxFuture<'_, Result<Vec<Label>, Trouble>>;
}
