//! The interface of a read-only mailbox.

pub(crate) mod charset;
mod html;
pub mod imap;
pub(crate) mod mime;
pub(crate) mod sanitized_text;
mod transfer_encoding;

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::AccountError;

/// A message in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSummary {
    /// The id in the mailbox.
    pub id: String,
    /// The time of arrival.
    pub at: Option<Timestamp>,
    /// The sender's name, or else the address.
    pub from: String,
    /// May be blank.
    pub subject: String,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailMessage {
    /// The sender's name and address.
    pub from: String,
    pub to: String,
    /// The `Date` header.
    pub date: String,
    pub subject: String,
    /// The text, truncated, if there is any.
    pub body: Option<String>,
}

/// A folder or label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailboxLabel {
    pub id: String,
    /// The display name.
    pub name: String,
}

/// A mailbox, read-only.
pub trait Mailbox: Send + Sync {
    /// Returns the newest `max` unread messages, newest first.
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<MessageSummary>, AccountError>>;

    /// Returns the newest `max` messages that match `query`, newest first.
    fn search<'a>(
        &'a self,
        query: &'a str,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<MessageSummary>, AccountError>>;

    /// Reads a message without marking it as read.
    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<MailMessage, AccountError>>;

    /// Lists the folders or labels.
    fn labels(&self) -> BoxFuture<'_, Result<Vec<MailboxLabel>, AccountError>>;
}
