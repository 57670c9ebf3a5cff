//! The response formats of Google's APIs, limited to the fields in use.

use serde::Deserialize;

use super::api_request::ListPage;

/// A page of message ids.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageList {
    #[serde(default)]
    pub messages: Vec<MessageRef>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct MessageRef {
    pub id: String,
}

impl ListPage for MessageList {
    type Item = MessageRef;

    fn into_parts(self) -> (Vec<MessageRef>, Option<String>) {
        (self.messages, self.next_page_token)
    }
}

/// A message, complete or with headers only.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GmailMessage {
    pub id: String,
    pub internal_date: Option<String>,
    #[serde(default)]
    pub payload: MessagePart,
}

/// A MIME part, possibly with nested parts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessagePart {
    pub mime_type: String,
    pub headers: Vec<Header>,
    pub body: MessagePartBody,
    pub parts: Vec<MessagePart>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessagePartBody {
    pub data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct LabelList {
    #[serde(default)]
    pub labels: Vec<GmailLabel>,
}

#[derive(Debug, Deserialize)]
pub struct GmailLabel {
    pub id: String,
    #[serde(default)]
    pub name: String,
}

/// A page of tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskListPage {
    #[serde(default)]
    pub items: Vec<GoogleTask>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoogleTask {
    pub id: String,
    #[serde(default)]
    pub title: String,
    pub notes: Option<String>,
    pub due: Option<String>,
    #[serde(default)]
    pub status: String,
}

impl ListPage for TaskListPage {
    type Item = GoogleTask;

    fn into_parts(self) -> (Vec<GoogleTask>, Option<String>) {
        (self.items, self.next_page_token)
    }
}

/// A page of events.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventListPage {
    #[serde(default)]
    pub items: Vec<GoogleEvent>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoogleEvent {
    pub id: String,
    pub status: Option<String>,
    #[serde(default)]
    pub summary: String,
    pub description: Option<String>,
    pub location: Option<String>,
    pub html_link: Option<String>,
    pub start: Option<EventBoundary>,
    pub end: Option<EventBoundary>,
    #[serde(default)]
    pub attendees: Vec<Attendee>,
}

/// The start or end of an event: a date or a time.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventBoundary {
    pub date: Option<String>,
    pub date_time: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Attendee {
    pub email: Option<String>,
}

impl ListPage for EventListPage {
    type Item = GoogleEvent;

    fn into_parts(self) -> (Vec<GoogleEvent>, Option<String>) {
        (self.items, self.next_page_token)
    }
}
