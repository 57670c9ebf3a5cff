//! Gmail, read-only as permitted by the requested scope.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use jiff::Timestamp;

use super::api_request::{GoogleRequest, validate_id};
use super::endpoints::append_path;
use super::responses::{GmailMessage, Header, LabelList, MessageList, MessagePart, MessageRef};
use super::{Google, Service};
use crate::AccountError;
use crate::mail::mime::{Envelope, MessageBody, decode_words};
use crate::mail::{MailMessage, Mailbox, MailboxLabel, MessageSummary, charset, sanitized_text};

/// The number of concurrent requests for messages.
const CONCURRENT_REQUESTS: usize = 8;
/// The maximum page size of Gmail.
const MAX_PAGE_SIZE: usize = 500;
/// The maximum number of characters of a label's name.
const MAX_LABEL_CHARS: usize = 200;

impl Mailbox for Google {
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<MessageSummary>, AccountError>> {
        self.search("is:unread", max)
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<MessageSummary>, AccountError>> {
        async move {
            let ask = GoogleRequest::get(
                Service::Mail,
                append_path(&self.endpoints.gmail, &["messages"]),
                "messages",
            );
            let page = max.clamp(1, MAX_PAGE_SIZE).to_string();
            let ask = ask.with_query(&[("q", query), ("maxResults", &page)]);
            let names = self.list_all::<MessageList>(&ask, max).await?;
            let headings =
                stream::iter(names).map(|name| self.fetch_heading(name)).buffered(CONCURRENT_REQUESTS);
            headings.try_filter_map(|heading| async { Ok(heading) }).try_collect().await
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<MailMessage, AccountError>> {
        async move {
            let message: GmailMessage =
                self.fetch(&self.message_request(id)?.with_query(&[("format", "full")])).await?;
            Ok(envelope(&message.payload).to_message(body(&message.payload)))
        }
        .boxed()
    }

    fn labels(&self) -> BoxFuture<'_, Result<Vec<MailboxLabel>, AccountError>> {
        async move {
            let ask =
                GoogleRequest::get(Service::Mail, append_path(&self.endpoints.gmail, &["labels"]), "labels");
            let found: LabelList = self.fetch(&ask).await?;
            let line = |text: &str| sanitized_text::single_line(text, MAX_LABEL_CHARS);
            Ok(found
                .labels
                .iter()
                .map(|label| MailboxLabel { id: line(&label.id), name: line(&label.name) })
                .collect())
        }
        .boxed()
    }
}

impl Google {
    /// Returns the heading of a listed message, or `None` if it was deleted meanwhile.
    async fn fetch_heading(
        &self,
        MessageRef { id }: MessageRef,
    ) -> Result<Option<MessageSummary>, AccountError> {
        let headers = [("format", "metadata"), ("metadataHeaders", "From"), ("metadataHeaders", "Subject")];
        let message: GmailMessage = match self.fetch(&self.message_request(&id)?.with_query(&headers)).await {
            Err(AccountError::NotFound(_)) => return Ok(None),
            other => other?,
        };
        let at = message.internal_date.and_then(|date| Timestamp::from_millisecond(date.parse().ok()?).ok());
        Ok(Some(envelope(&message.payload).to_summary(message.id, at)))
    }

    fn message_request(&self, id: &str) -> Result<GoogleRequest, AccountError> {
        let address = append_path(&self.endpoints.gmail, &["messages", validate_id(id, "message")?]);
        Ok(GoogleRequest::get(Service::Mail, address, format!("message `{id}`")))
    }
}

fn envelope(payload: &MessagePart) -> Envelope {
    Envelope::new(|name| header(&payload.headers, name).map(decode_words))
}

fn header<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value.as_str())
}

/// Returns the first plain text part, depth first, or else the first HTML part. Attachments have no
/// data here.
fn body(payload: &MessagePart) -> Option<MessageBody> {
    find_text(payload, "text/plain")
        .map(MessageBody::Plain)
        .or_else(|| find_text(payload, "text/html").map(MessageBody::Html))
}

fn find_text(part: &MessagePart, kind: &str) -> Option<String> {
    let own = part.mime_type.eq_ignore_ascii_case(kind).then(|| part_text(part)).flatten();
    own.or_else(|| part.parts.iter().find_map(|part| find_text(part, kind)))
}

fn part_text(part: &MessagePart) -> Option<String> {
    let disposition = header(&part.headers, "Content-Disposition").unwrap_or_default();
    if disposition.trim_start().to_ascii_lowercase().starts_with("attachment") {
        return None;
    }
    let data = part.body.data.as_ref()?.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD.decode(data).ok()?;
    let text = charset::decode(&bytes, charset_label(part));
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the declared character set of a part.
fn charset_label(part: &MessagePart) -> Option<&str> {
    let kind = header(&part.headers, "Content-Type")?;
    let (_, value) = kind
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"'))
}
