//! The shell: the page's own files, compiled in. There is nothing of the human's in them.

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::App;
use super::refusal::Refusal;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Each file: where it is, what it is, and what is in it.
const FILES: [(&str, &str, &str); 25] = [
    ("/", HTML, include_str!("../../page/index.html")),
    ("/page.css", CSS, include_str!("../../page/page.css")),
    ("/sessions.css", CSS, include_str!("../../page/sessions.css")),
    ("/schedule.css", CSS, include_str!("../../page/schedule.css")),
    ("/views.css", CSS, include_str!("../../page/views.css")),
    ("/icon.svg", PICTURE, include_str!("../../page/icon.svg")),
    ("/page.js", SCRIPT, include_str!("../../page/page.js")),
    ("/views.js", SCRIPT, include_str!("../../page/views.js")),
    ("/assistant.js", SCRIPT, include_str!("../../page/assistant.js")),
    ("/kit.js", SCRIPT, include_str!("../../page/kit.js")),
    ("/capture.js", SCRIPT, include_str!("../../page/capture.js")),
    ("/today.js", SCRIPT, include_str!("../../page/today.js")),
    ("/dayplot.js", SCRIPT, include_str!("../../page/dayplot.js")),
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

/// The addresses of the page's own files.
pub fn addresses() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(address, ..)| *address)
}

/// The files, each at its address.
pub(super) fn routes() -> Router<App> {
    FILES.iter().fold(Router::new(), |router, (address, kind, text)| {
        router.route(address, get(async || file(kind, text)))
    })
}

/// The answer for an address where nothing is.
pub(super) async fn nothing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "not-found", "there is nothing at this address; the page is at `/`.")
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = FILES.iter().map(|(.., text)| text.len()).sum();
        assert!(bytes < 150 * 1024, "the page's files have {bytes} bytes");
    }

    #[test]
    fn the_shell_has_nothing_inline_and_nothing_from_elsewhere() {
        let (.., shell) = FILES[0];
        for bad in ["<style", "style=", "<script>", "onclick", "onload", "http://", "https://", "//cdn"] {
            assert!(!shell.contains(bad), "the shell contains {bad}");
        }
    }
}
