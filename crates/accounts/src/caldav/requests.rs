//! The request bodies for a CalDAV server.

use jiff::Timestamp;
use quick_xml::escape::escape;
use reqwest::Method;

use super::client::DavRequest;

const XML_CONTENT_TYPE: &str = "application/xml; charset=utf-8";

/// The component type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Event,
    Todo,
}

impl ObjectKind {
    /// The iCalendar name.
    pub(super) fn component_name(self) -> &'static str {
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
pub(super) enum ObjectFilter<'a> {
    All(ObjectKind),
    /// Events within a time range.
    Between(Timestamp, Timestamp),
    /// The object with this UID.
    ByUid(ObjectKind, &'a str),
}

/// The requested part of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Full,
    /// Only its URL.
    HrefOnly,
}

fn method(name: &[u8]) -> Method {
    Method::from_bytes(name).unwrap_or_default()
}

/// Requests the properties of a resource, and of its members if `depth` is `1`.
pub(super) fn propfind(depth: &'static str) -> DavRequest {
    let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
        <D:propfind xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:prop>\
        <D:resourcetype/><D:displayname/><D:current-user-principal/><C:calendar-home-set/>\
        <C:supported-calendar-component-set/></D:prop></D:propfind>";
    DavRequest {
        method: method(b"PROPFIND"),
        depth: Some(depth),
        body: Some((XML_CONTENT_TYPE, body.into())),
        precondition: None,
    }
}

/// Requests the matching objects.
pub(super) fn calendar_query(filter: &ObjectFilter<'_>, depth: Detail) -> DavRequest {
    let kind = match filter {
        ObjectFilter::All(kind) | ObjectFilter::ByUid(kind, _) => kind.component_name(),
        ObjectFilter::Between(..) => ObjectKind::Event.component_name(),
    };
    let filter = match filter {
        ObjectFilter::All(_) => String::new(),
        ObjectFilter::Between(from, until) => {
            let stamp = |at: &Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
            format!("<C:time-range start=\"{}\" end=\"{}\"/>", stamp(from), stamp(until))
        }
        ObjectFilter::ByUid(_, uid) => {
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
    DavRequest {
        method: method(b"REPORT"),
        depth: Some("1"),
        body: Some((XML_CONTENT_TYPE, body.into())),
        precondition: None,
    }
}

/// Requests the objects at these URLs.
pub(super) fn multiget(hrefs: &[String]) -> DavRequest {
    let hrefs: String = hrefs.iter().map(|place| format!("<D:href>{}</D:href>", escape(place))).collect();
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <C:calendar-multiget xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">{}{hrefs}\
         </C:calendar-multiget>",
        properties(Detail::Full)
    );
    DavRequest {
        method: method(b"REPORT"),
        depth: Some("1"),
        body: Some((XML_CONTENT_TYPE, body.into())),
        precondition: None,
    }
}

fn properties(depth: Detail) -> &'static str {
    match depth {
        Detail::Full => "<D:prop><D:getetag/><C:calendar-data/></D:prop>",
        Detail::HrefOnly => "<D:prop><D:getetag/></D:prop>",
    }
}
