//! Parses the multistatus responses of a CalDAV server.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::charset::decode;

/// The maximum nesting of a response.
const MAX_DEPTH: usize = 32;

/// One `response` element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseItem {
    pub(super) href: String,
    pub(super) properties: Properties,
}

/// The properties of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties {
    pub(super) etag: Option<String>,
    /// The iCalendar data.
    pub(super) data: Option<String>,
    /// The display name.
    pub(super) name: Option<String>,
    pub(super) kind: ResourceType,
    /// The supported components; empty if all are.
    pub(super) components: Vec<String>,
    /// The URL of the current user's principal.
    pub(super) principal: Option<String>,
    /// The URL of the calendar home.
    pub(super) calendar_home: Option<String>,
}

/// The type of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ResourceType {
    #[default]
    Other,
    Calendar,
}

/// Parses a response, or returns `None` if it is not a multistatus.
pub(crate) fn parse(body: &[u8]) -> Option<Vec<ResponseItem>> {
    let text = decode(body);
    let mut reader = Reader::from_str(&text);
    let mut parser = Parser::default();
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => parser.open(&tag)?,
            Event::Empty(tag) => {
                parser.open(&tag)?;
                parser.close();
            }
            Event::End(_) => parser.close(),
            Event::Text(text) => parser.text.push_str(&text.xml10_content()),
            Event::CData(text) => parser.text.push_str(&text.xml10_content()),
            Event::GeneralRef(named) => match named.resolve_char_ref() {
                Ok(Some(letter)) => parser.text.push(letter),
                // Custom entities are not resolved.
                Ok(None) | Err(_) => parser
                    .text
                    .push_str(resolve_predefined_entity(&named.xml10_content()).unwrap_or_default()),
            },
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    (parser.path.is_empty() && parser.is_multistatus).then_some(parser.items)
}

/// The state of the event parser.
#[derive(Default)]
struct Parser {
    path: Vec<String>,
    text: String,
    items: Vec<ResponseItem>,
    item: ResponseItem,
    /// The properties of the current `propstat`, which count if its status is a success.
    propstat: Properties,
    status: String,
    /// The root is a multistatus.
    is_multistatus: bool,
}

impl Parser {
    fn open(&mut self, tag: &BytesStart<'_>) -> Option<()> {
        let name = tag.local_name().as_ref().to_owned();
        self.text.clear();
        match name.as_str() {
            "multistatus" if self.path.is_empty() => self.is_multistatus = true,
            "response" => self.item = ResponseItem::default(),
            "propstat" => (self.propstat, self.status) = (Properties::default(), String::new()),
            "calendar" if self.is_in("resourcetype") => self.propstat.kind = ResourceType::Calendar,
            "comp" if self.is_in("supported-calendar-component-set") => {
                let taken = tag.try_get_attribute("name").ok()??;
                self.propstat.components.push(taken.value.to_ascii_uppercase());
            }
            _ => {}
        }
        self.path.push(name);
        (self.path.len() <= MAX_DEPTH).then_some(())
    }

    fn close(&mut self) {
        let Some(name) = self.path.pop() else { return };
        let text = std::mem::take(&mut self.text);
        let said = || Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match name.as_str() {
            "href" if self.is_in("current-user-principal") => self.propstat.principal = said(),
            "href" if self.is_in("calendar-home-set") => {
                self.propstat.calendar_home = self.propstat.calendar_home.take().or_else(said)
            }
            "href" if self.is_in("response") => self.item.href = said().unwrap_or_default(),
            "getetag" => self.propstat.etag = said(),
            "displayname" => self.propstat.name = said(),
            "calendar-data" => self.propstat.data = Some(text),
            "status" if self.is_in("propstat") => self.status = text,
            // A missing status counts as a success.
            "propstat" if self.status.is_empty() || self.status.contains(" 2") => {
                self.item.properties.merge(&mut self.propstat)
            }
            "response" => self.items.push(std::mem::take(&mut self.item)),
            _ => {}
        }
    }

    fn is_in(&self, name: &str) -> bool {
        self.path.last().is_some_and(|last| last == name)
    }
}

impl Properties {
    /// Merges the properties of another `propstat`.
    fn merge(&mut self, part: &mut Self) {
        let part = std::mem::take(part);
        self.etag = part.etag.or(self.etag.take());
        self.data = part.data.or(self.data.take());
        self.name = part.name.or(self.name.take());
        self.principal = part.principal.or(self.principal.take());
        self.calendar_home = part.calendar_home.or(self.calendar_home.take());
        self.components.extend(part.components);
        if part.kind == ResourceType::Calendar {
            self.kind = ResourceType::Calendar;
        }
    }
}
