//! The request bodies for a CalDAV server.

use jiff::Timestamp;
use quick_xml::escape::escape;
use reqwest::Method;

use super::door::Ask;

const XML: &str = "application/xml; charset=utf-8";

/// The component type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Event,
    Todo,
}

impl Kind {
    /// The iCalendar name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Event => "VEVENT",
            Self::Todo => "VTODO",
        }
    }

    /// The name in texts.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Event => "events",
            Self::Todo => "tasks",
        }
    }
}

/// The objects to query.
#[derive(Clone, Debug)]
pub(super) enum Wanted<'a> {
    All(Kind),
    /// Events within a time range.
    Between(Timestamp, Timestamp),
    /// The object with this UID.
    Called(Kind, &'a str),
}

/// The requested part of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Whole,
    /// Only its URL.
    Names,
}

fn method(name: &[u8]) -> Method {
    Method::from_bytes(name).unwrap_or_default()
}

/// Requests the properties of a resource, and of its members if `depth` is `1`.
pub(super) fn look(depth: &'static str) -> Ask {
    let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
        <D:propfind xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:prop>\
        <D:resourcetype/><D:displayname/><D:current-user-principal/><C:calendar-home-set/>\
        <C:supported-calendar-component-set/></D:prop></D:propfind>";
    Ask { method: method(b"PROPFIND"), depth: Some(depth), body: Some((XML, body.into())), only: None }
}

/// Requests the matching objects.
pub(super) fn query(wanted: &Wanted<'_>, depth: Depth) -> Ask {
    let kind = match wanted {
        Wanted::All(kind) | Wanted::Called(kind, _) => kind.name(),
        Wanted::Between(..) => Kind::Event.name(),
    };
    let filter = match wanted {
        Wanted::All(_) => String::new(),
        Wanted::Between(from, until) => {
            let stamp = |at: &Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
            format!("<C:time-range start=\"{}\" end=\"{}\"/>", stamp(from), stamp(until))
        }
        Wanted::Called(_, uid) => {
            let uid: String = uid.chars().filter(|c| !c.is_control()).collect();
            let text = format!("<C:text-match collation=\"i;octet\">{}</C:text-match>", escape(&uid));
            format!("<C:prop-filter name=\"UID\">{text}</C:prop-filter>")
        }
    };
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <C:calendar-query xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">{}\
         <C:filter><C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"{kind}\">{filter}</C:comp-filter>\
         </C:comp-filter></C:filter></C:calendar-query>",
        properties(depth)
    );
    Ask { method: method(b"REPORT"), depth: Some("1"), body: Some((XML, body.into())), only: None }
}

/// Requests the objects at these URLs.
pub(super) fn multiget(places: &[String]) -> Ask {
    let places: String = places.iter().map(|place| format!("<D:href>{}</D:href>", escape(place))).collect();
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <C:calendar-multiget xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">{}{places}\
         </C:calendar-multiget>",
        properties(Depth::Whole)
    );
    Ask { method: method(b"REPORT"), depth: Some("1"), body: Some((XML, body.into())), only: None }
}

fn properties(depth: Depth) -> &'static str {
    match depth {
        Depth::Whole => "<D:prop><D:getetag/><C:calendar-data/></D:prop>",
        Depth::Names => "<D:prop><D:getetag/></D:prop>",
    }
}
