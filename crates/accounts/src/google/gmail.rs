//! Gmail, read-only as permitted by the requested scope.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use jiff::Timestamp;

use super::addresses::below;
use super::call::{Ask, checked};
use super::wire::{Header, Labels, Message, MessageName, Messages, Part};
use super::{Google, Service};
use crate::Trouble;
use crate::mail::mime::{Body, Envelope, words};
use crate::mail::{Heading, Label, Letter, Mailbox, charset, legible};

/// The number of concurrent requests for messages.
const AT_ONCE: usize = 8;
/// The maximum page size of Gmail.
const PAGE: usize = 500;
/// The maximum number of characters of a label's name.
const NAME: usize = 200;

impl Mailbox for Google {
    fn unread(&self, max: usize) -> BoxFuture<'_, Result<Vec<Heading>, Trouble>> {
        self.search("is:unread", max)
    }

    fn search<'a>(&'a self, query: &'a str, max: usize) -> BoxFuture<'a, Result<Vec<Heading>, Trouble>> {
        async move {
            let ask = Ask::get(Service::Mail, below(&self.addresses.gmail, &["messages"]), "messages");
            let page = max.clamp(1, PAGE).to_string();
            let ask = ask.with(&[("q", query), ("maxResults", &page)]);
            let names = self.listed::<Messages>(&ask, max).await?;
            let headings = stream::iter(names).map(|name| self.heading(name)).buffered(AT_ONCE);
            headings.try_filter_map(|heading| async { Ok(heading) }).try_collect().await
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Letter, Trouble>> {
        async move {
            let message: Message = self.asked(&self.message(id)?.with(&[("format", "full")])).await?;
            Ok(envelope(&message.payload).letter(body(&message.payload)))
        }
        .boxed()
    }

    fn labels(&self) -> BoxFuture<'_, Result<Vec<Label>, Trouble>> {
        async move {
            let ask = Ask::get(Service::Mail, below(&self.addresses.gmail, &["labels"]), "labels");
            let found: Labels = self.asked(&ask).await?;
            let line = |text: &str| legible::line(text, NAME);
            Ok(found
                .labels
                .iter()
                .map(|label| Label { id: line(&label.id), name: line(&label.name) })
                .collect())
        }
        .boxed()
    }
}

impl Google {
    /// Returns the heading of a listed message, or `None` if it was deleted meanwhile.
    async fn heading(&self, MessageName { id }: MessageName) -> Result<Option<Heading>, Trouble> {
        let headers = [("format", "metadata"), ("metadataHeaders", "From"), ("metadataHeaders", "Subject")];
        let message: Message = match self.asked(&self.message(&id)?.with(&headers)).await {
            Err(Trouble::Missing(_)) => return Ok(None),
            other => other?,
        };
        let at = message.internal_date.and_then(|date| Timestamp::from_millisecond(date.parse().ok()?).ok());
        Ok(Some(envelope(&message.payload).heading(message.id, at)))
    }

    fn message(&self, id: &str) -> Result<Ask, Trouble> {
        let address = below(&self.addresses.gmail, &["messages", checked(id, "message")?]);
        Ok(Ask::get(Service::Mail, address, format!("message `{id}`")))
    }
}

fn envelope(payload: &Part) -> Envelope {
    Envelope::new(|name| header(&payload.headers, name).map(words))
}

fn header<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value.as_str())
}

/// Returns the first plain text part, depth first, or else the first HTML part. Attachments have no
/// data here.
fn body(payload: &Part) -> Option<Body> {
    find(payload, "text/plain").map(Body::Plain).or_else(|| find(payload, "text/html").map(Body::Html))
}

fn find(part: &Part, kind: &str) -> Option<String> {
    let own = part.mime_type.eq_ignore_ascii_case(kind).then(|| written(part)).flatten();
    own.or_else(|| part.parts.iter().find_map(|part| find(part, kind)))
}

fn written(part: &Part) -> Option<String> {
    let disposition = header(&part.headers, "Content-Disposition").unwrap_or_default();
    if disposition.trim_start().to_ascii_lowercase().starts_with("attachment") {
        return None;
    }
    let data = part.body.data.as_ref()?.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD.decode(data).ok()?;
    let text = charset::read(&bytes, label(part));
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the declared character set of a part.
fn label(part: &Part) -> Option<&str> {
    let kind = header(&part.headers, "Content-Type")?;
    let (_, value) = kind
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"'))
}
