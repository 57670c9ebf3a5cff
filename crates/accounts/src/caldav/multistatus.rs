//! Parses the multistatus responses of a CalDAV server.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::charset::decoded;

/// The maximum nesting of a response.
const DEEPEST: usize = 32;

/// One `response` element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(super) href: String,
    pub(super) said: Said,
}

/// The properties of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) etag: Option<String>,
    /// The iCalendar data.
    pub(super) data: Option<String>,
    /// The display name.
    pub(super) name: Option<String>,
    pub(super) kind: Resource,
    /// The supported components; empty if all are.
    pub(super) takes: Vec<String>,
    /// The URL of the current user's principal.
    pub(super) principal: Option<String>,
    /// The URL of the calendar home.
    pub(super) home: Option<String>,
}

/// The type of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resource {
    #[default]
    Other,
    Calendar,
}

/// Parses a response, or returns `None` if it is not a multistatus.
pub(crate) fn read(body: &[u8]) -> Option<Vec<Thing>> {
    let text = decoded(body);
    let mut reader = Reader::from_str(&text);
    let mut listener = Listener::default();
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => listener.open(&tag)?,
            Event::Empty(tag) => {
                listener.open(&tag)?;
                listener.close();
            }
            Event::End(_) => listener.close(),
            Event::Text(text) => listener.text.push_str(&text.xml10_content()),
            Event::CData(text) => listener.text.push_str(&text.xml10_content()),
            Event::GeneralRef(named) => match named.resolve_char_ref() {
                Ok(Some(letter)) => listener.text.push(letter),
                // Custom entities are not resolved.
                Ok(None) | Err(_) => listener
                    .text
                    .push_str(resolve_predefined_entity(&named.xml10_content()).unwrap_or_default()),
            },
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    (listener.path.is_empty() && listener.seen).then_some(listener.things)
}

/// The state of the event parser.
#[derive(Default)]
struct Listener {
    path: Vec<String>,
    text: String,
    things: Vec<Thing>,
    thing: Thing,
    /// The properties of the current `propstat`, which count if its status is a success.
    part: Said,
    status: String,
    /// The root is a multistatus.
    seen: bool,
}

impl Listener {
    fn open(&mut self, tag: &BytesStart<'_>) -> Option<()> {
        let name = tag.local_name().as_ref().to_owned();
        self.text.clear();
        match name.as_str() {
            "multistatus" if self.path.is_empty() => self.seen = true,
            "response" => self.thing = Thing::default(),
            "propstat" => (self.part, self.status) = (Said::default(), String::new()),
            "calendar" if self.is_in("resourcetype") => self.part.kind = Resource::Calendar,
            "comp" if self.is_in("supported-calendar-component-set") => {
                let taken = tag.try_get_attribute("name").ok()??;
                self.part.takes.push(taken.value.to_ascii_uppercase());
            }
            _ => {}
        }
        self.path.push(name);
        (self.path.len() <= DEEPEST).then_some(())
    }

    fn close(&mut self) {
        let Some(name) = self.path.pop() else { return };
        let text = std::mem::take(&mut self.text);
        let said = || Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match name.as_str() {
            "href" if self.is_in("current-user-principal") => self.part.principal = said(),
            "href" if self.is_in("calendar-home-set") => self.part.home = self.part.home.take().or_else(said),
            "href" if self.is_in("response") => self.thing.href = said().unwrap_or_default(),
            "getetag" => self.part.etag = said(),
            "displayname" => self.part.name = said(),
            "calendar-data" => self.part.data = Some(text),
            "status" if self.is_in("propstat") => self.status = text,
            // A missing status counts as a success.
            "propstat" if self.status.is_empty() || self.status.contains(" 2") => {
                self.thing.said.take(&mut self.part)
            }
            "response" => self.things.push(std::mem::take(&mut self.thing)),
            _ => {}
        }
    }

    fn is_in(&self, name: &str) -> bool {
        self.path.last().is_some_and(|last| last == name)
    }
}

impl Said {
    /// Merges the properties of another `propstat`.
    fn take(&mut self, part: &mut Self) {
        let part = std::mem::take(part);
        self.etag = part.etag.or(self.etag.take());
        self.data = part.data.or(self.data.take());
        self.name = part.name.or(self.name.take());
        self.principal = part.principal.or(self.principal.take());
        self.home = part.home.or(self.home.take());
        self.takes.extend(part.takes);
        if part.kind == Resource::Calendar {
            self.kind = Resource::Calendar;
        }
    }
}
