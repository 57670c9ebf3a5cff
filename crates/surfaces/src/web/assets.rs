//! The static files of the page, compiled in. They contain no user data.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::App;
use super::api_error::ApiError;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Path, content type and content of each file.
const FILES: [(&str, &str, &str); 39] = [
    ("/", HTML, include_str!("../../page/index.html")),
    ("/page.css", CSS, include_str!("../../page/page.css")),
    ("/sessions.css", CSS, include_str!("../../page/sessions.css")),
    ("/schedule.css", CSS, include_str!("../../page/schedule.css")),
    ("/views.css", CSS, include_str!("../../page/views.css")),
    ("/icon.svg", SVG, include_str!("../../page/icon.svg")),
    ("/page.js", SCRIPT, include_str!("../../page/page.js")),
    ("/views.js", SCRIPT, include_str!("../../page/views.js")),
    ("/assistant.js", SCRIPT, include_str!("../../page/assistant.js")),
    ("/kit.js", SCRIPT, include_str!("../../page/kit.js")),
    ("/capture.js", SCRIPT, include_str!("../../page/capture.js")),
    ("/today.js", SCRIPT, include_str!("../../page/today.js")),
    ("/dayplot.js", SCRIPT, include_str!("../../page/dayplot.js")),
    ("/pings.js", SCRIPT, include_str!("../../page/pings.js")),
    ("/plots.js", SCRIPT, include_str!("../../page/plots.js")),
    ("/cost.js", SCRIPT, include_str!("../../page/cost.js")),
    ("/limit.js", SCRIPT, include_str!("../../page/limit.js")),
    ("/updates.js", SCRIPT, include_str!("../../page/updates.js")),
    ("/drag.js", SCRIPT, include_str!("../../page/drag.js")),
    ("/files.js", SCRIPT, include_str!("../../page/files.js")),
    ("/past.js", SCRIPT, include_str!("../../page/past.js")),
    ("/ring.js", SCRIPT, include_str!("../../page/ring.js")),
    ("/week.js", SCRIPT, include_str!("../../page/week.js")),
    ("/search.js", SCRIPT, include_str!("../../page/search.js")),
    ("/health.js", SCRIPT, include_str!("../../page/health.js")),
    ("/notices.js", SCRIPT, include_str!("../../page/notices.js")),
    ("/tabs.js", SCRIPT, include_str!("../../page/tabs.js")),
    ("/chat.js", SCRIPT, include_str!("../../page/chat.js")),
    ("/asks.js", SCRIPT, include_str!("../../page/asks.js")),
    ("/bubbles.js", SCRIPT, include_str!("../../page/bubbles.js")),
    ("/days.js", SCRIPT, include_str!("../../page/days.js")),
    ("/composer.js", SCRIPT, include_str!("../../page/composer.js")),
    ("/markdown.js", SCRIPT, include_str!("../../page/markdown.js")),
    ("/schedule.js", SCRIPT, include_str!("../../page/schedule.js")),
    ("/strip.js", SCRIPT, include_str!("../../page/strip.js")),
    ("/editor.js", SCRIPT, include_str!("../../page/editor.js")),
    ("/sessions.js", SCRIPT, include_str!("../../page/sessions.js")),
    ("/tree.js", SCRIPT, include_str!("../../page/tree.js")),
    ("/marks.js", SCRIPT, include_str!("../../page/marks.js")),
];

/// Returns the paths of all files.
pub fn addresses() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(address, ..)| *address)
}

/// Returns a route for each file.
pub(super) fn routes() -> Router<App> {
    FILES.iter().fold(Router::new(), |router, (address, kind, text)| {
        let file = Arc::new(File { kind, text, compressed: OnceLock::new() });
        router.route(address, get(async move |headers: HeaderMap| file.answer(&headers)))
    })
}

struct File {
    kind: &'static str,
    text: &'static str,
    /// The compressed content, created on first use.
    compressed: OnceLock<Bytes>,
}

impl File {
    fn answer(&self, headers: &HeaderMap) -> Response {
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        let vary = (header::VARY, HeaderValue::from_static("accept-encoding"));
        if !accepts_gzip(headers) {
            return ([kind, vary], self.text).into_response();
        }
        let packed = self.compressed.get_or_init(|| gzip(self.text)).clone();
        ([kind, vary, (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))], packed).into_response()
    }
}

/// Returns true if the client accepts gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut parts = lines.flat_map(|line| line.split(',')).map(str::trim);
    parts.any(|part| part == "gzip" || part.starts_with("gzip;") && !part.ends_with("q=0"))
}

fn gzip(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail; an invalid file would be rejected by the browser.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default().into()
}

/// Response for unknown paths.
pub(super) async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not-found", "there is nothing at this address; the page is at `/`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compressed_page_has_at_most_150_kb() {
        let bytes: usize = FILES.iter().map(|(.., text)| gzip(text).len()).sum();
        assert!(bytes <= 150 * 1024, "the page's files have {bytes} bytes on their way");
    }

    #[test]
    fn the_page_has_no_inline_or_external_code() {
        let (.., shell) = FILES[0];
        for bad in ["<style", "style=", "<script>", "onclick", "onload", "http://", "https://", "//cdn"] {
            assert!(!shell.contains(bad), "the shell contains {bad}");
        }
    }
}
