//! Rejects TCP requests that other origins cause. Every page in a browser can send requests to a
//! local port, so a request must name our host exactly, must not come from another origin, and a
//! POST must carry a header that other origins cannot set.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use super::api_error::ApiError;

/// Header required for POST requests. Other origins cannot set it without a CORS preflight.
pub const CUSTOM_HEADER: HeaderName = HeaderName::from_static("x-ollim");

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The parts of a request that are checked.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
}

impl RequestHead<'_> {
    /// Checks a request to the page on `port`.
    pub fn check(&self, port: u16) -> Result<(), ApiError> {
        let host = self.host(port)?;
        self.origin(host)?;
        self.fetch_site()?;
        match *self.method {
            Method::GET | Method::HEAD => Ok(()),
            Method::POST => self.custom_header(),
            _ => Err(ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                format!("{} is not used here; use GET or POST.", self.method),
            )),
        }
    }

    fn host(&self, port: u16) -> Result<&str, ApiError> {
        let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        let named = self.single_header(&header::HOST).and_then(|host| host.to_str().ok());
        let found = named.filter(|host| ours.iter().any(|our| our == host));
        // An absolute request target would override the header.
        match (found, self.uri.authority()) {
            (Some(host), None) => Ok(host),
            (Some(_), Some(_)) | (None, _) => Err(ApiError::new(
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                format!("this is not the name of this page: open http://127.0.0.1:{port}/ instead."),
            )),
        }
    }

    fn origin(&self, host: &str) -> Result<(), ApiError> {
        if !self.headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let own = format!("http://{host}");
        match self.single_header(&header::ORIGIN) {
            Some(origin) if origin.as_bytes() == own.as_bytes() => Ok(()),
            Some(_) | None => Err(foreign_origin(&format!("only the page at {own} may ask this."))),
        }
    }

    fn fetch_site(&self) -> Result<(), ApiError> {
        if !self.headers.contains_key(SEC_FETCH_SITE) {
            return Ok(());
        }
        match self.single_header(&SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
            Some(b"same-origin") => Ok(()),
            Some(b"none") if self.is_navigation() => Ok(()),
            Some(_) | None => Err(foreign_origin(
                "another site sent you here. type the address into the address bar, or run `ollim-bot open`.",
            )),
        }
    }

    fn is_navigation(&self) -> bool {
        let reads = matches!(*self.method, Method::GET | Method::HEAD);
        let navigates = match self.headers.get_all(SEC_FETCH_MODE).iter().count() {
            0 => true,
            _ => self.single_header(&SEC_FETCH_MODE).is_some_and(|mode| mode.as_bytes() == b"navigate"),
        };
        reads && navigates
    }

    fn custom_header(&self) -> Result<(), ApiError> {
        if self.single_header(&CUSTOM_HEADER).is_none_or(|value| value.as_bytes() != b"1") {
            return Err(foreign_origin("a POST needs the header `x-ollim: 1`."));
        }
        if !self.is_json() {
            let message = "a POST needs the header `content-type: application/json` and a JSON body.";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", message));
        }
        Ok(())
    }

    fn is_json(&self) -> bool {
        let kind = self.single_header(&header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.and_then(|kind| kind.split(';').next())
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    }

    /// Returns the value of a header that occurs exactly once.
    fn single_header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }
}

fn foreign_origin(message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "foreign", message)
}
