//! The response formats of Google's APIs, limited to the fields in use.

use serde::Deserialize;

use super::call::Page;

/// A page of message ids.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Messages {
    #[serde(default)]
    pub messages: Vec<MessageName>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct MessageName {
    pub id: String,
}

impl Page for Messages {
    type Item = MessageName;

    fn turn(self) -> (Vec<MessageName>, Option<String>) {
        (self.messages, self.next_page_token)
    }
}

/// A message, complete or with headers only.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: String,
    pub internal_date: Option<String>,
    #[serde(default)]
    pub payload: Part,
}

/// A MIME part, possibly with nested parts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Part {
    pub mime_type: String,
    pub headers: Vec<Header>,
    pub body: PartBody,
    pub parts: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartBody {
    pub data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Labels {
    #[serde(default)]
    pub labels: Vec<Label>,
}

#[derive(Debug, Deserialize)]
pub struct Label {
    pub id: String,
    #[serde(default)]
    pub name: String,
}

/// A page of tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tasks {
    #[serde(default)]
    pub items: Vec<Task>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: String,
    #[serde(default)]
    pub title: String,
    pub notes: Option<String>,
    pub due: Option<String>,
    #[serde(default)]
    pub status: String,
}

impl Page for Tasks {
    type Item = Task;

    fn turn(self) -> (Vec<Task>, Option<String>) {
        (self.items, self.next_page_token)
    }
}

/// A page of events.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Events {
    #[serde(default)]
    pub items: Vec<Event>,
    pub next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: String,
    pub status: Option<String>,
    #[serde(default)]
    pub summary: String,
    pub description: Option<String>,
    pub location: Option<String>,
    pub html_link: Option<String>,
    pub start: Option<Edge>,
    pub end: Option<Edge>,
    #[serde(default)]
    pub attendees: Vec<Attendee>,
}

/// The start or end of an event: a date or a time.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    pub date: Option<String>,
    pub date_time: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Attendee {
    pub email: Option<String>,
}

impl Page for Events {
    type Item = Event;

    fn turn(self) -> (Vec<Event>, Option<String>) {
        (self.items, self.next_page_token)
    }
}
