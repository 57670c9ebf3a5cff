//! Converts the body of a page to readable text.

use std::collections::BTreeMap;

use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::plain_text::strip_invisible;

/// The maximum nesting and number of elements for extracting the main part.
const MAX_DEPTH: usize = 256;
const MAX_ELEMENTS: usize = 50_000;
/// The maximum size and number of character references for it: the extractor joins them one by one
/// in quadratic time.
const MAX_BYTES: usize = 2 * 1024 * 1024;
const MAX_CHARACTER_REFERENCES: usize = 10_000;
/// The number of bytes at the start of a page in which its encoding may be declared.
const ENCODING_SEARCH_BYTES: usize = 2_048;

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    Html,
    /// Plain text.
    Text,
}

/// Returns the format for `content_type`, or for the bytes without one. Fails if it is not
/// readable.
pub fn format_of(content_type: &str, bytes: &[u8]) -> Result<PageFormat, String> {
    let named = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let looks_like_a_page = || bytes.trim_ascii_start().first() == Some(&b'<');
    match named.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(PageFormat::Html),
        "application/pdf" => Err("it is a PDF, which i cannot read".to_owned()),
        "" if bytes.contains(&0) => Err("it is not text".to_owned()),
        "" if looks_like_a_page() => Ok(PageFormat::Html),
        "" => Ok(PageFormat::Text),
        text if text.starts_with("text/") => Ok(PageFormat::Text),
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/toml" => Ok(PageFormat::Text),
        other if other.ends_with("+json") || other.ends_with("+xml") => Ok(PageFormat::Text),
        other if other.starts_with("image/") => Err("it is a picture, and i read only text".to_owned()),
        _ => Err("it is something else than text, and i read only that".to_owned()),
    }
}

/// Decodes `bytes` with the encoding named by the byte order mark, the server or the page.
pub fn decode(content_type: &str, bytes: &[u8]) -> String {
    let named = |text: &str| {
        let (_, rest) = text.split_once("charset=")?;
        let label = rest.trim_start_matches(['"', '\'']).split(['"', '\'', ';', ' ', '>', '/']).next()?;
        Encoding::for_label(label.as_bytes())
    };
    let beginning =
        String::from_utf8_lossy(&bytes[..bytes.len().min(ENCODING_SEARCH_BYTES)]).to_ascii_lowercase();
    let guess = || if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let encoding =
        named(&content_type.to_ascii_lowercase()).or_else(|| named(&beginning)).unwrap_or_else(guess);
    // A byte order mark takes precedence over the named encoding.
    encoding.decode(bytes).0.into_owned()
}

/// Returns the main part of a page, or else all its text.
pub fn readable_text(html: &str, url: &str) -> String {
    let main = if is_within_limits(html) { extract_main_part(html, url) } else { None };
    strip_invisible(&main.unwrap_or_else(|| strip_tags(html))).trim().to_owned()
}

fn extract_main_part(html: &str, url: &str) -> Option<String> {
    let config =
        Config { text_mode: TextMode::Markdown, max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    let article = Readability::new(html, Some(url), Some(config)).ok()?.parse().ok()?;
    let text = article.text_content.trim();
    (!text.is_empty()).then(|| format!("# {}\n\n{text}", article.title.trim()))
}

/// Returns whether the extractor, which recurses into nested elements, can handle this page.
fn is_within_limits(html: &str) -> bool {
    if html.len() > MAX_BYTES || html.matches('&').nth(MAX_CHARACTER_REFERENCES).is_some() {
        return false;
    }
    // Inside SVG and MathML, end tags are never implied.
    let lower = html.to_ascii_lowercase();
    let nests_all = lower.contains("<svg") || lower.contains("<math");
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut depth = 0_usize;
    let mut all = 0_usize;
    for (at, _) in lower.match_indices('<') {
        let rest = &lower[at + 1..];
        let (closing, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        all += usize::from(!closing);
        if all > MAX_ELEMENTS {
            return false;
        }
        if name.is_empty()
            || VOID_ELEMENTS.contains(&name)
            || (!nests_all && OPTIONAL_END_ELEMENTS.contains(&name))
        {
            continue;
        }
        let count = open.entry(name).or_default();
        match closing {
            true if *count > 0 => (*count, depth) = (*count - 1, depth - 1),
            true => {}
            false => (*count, depth) = (*count + 1, depth + 1),
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
    true
}

/// Elements without content, and elements whose end tag is optional.
const VOID_ELEMENTS: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    "param",
];
const OPTIONAL_END_ELEMENTS: [&str; 12] =
    ["p", "li", "dd", "dt", "option", "optgroup", "tr", "td", "th", "tbody", "thead", "tfoot"];

/// Returns all text of a page, without tags, scripts and styles.
pub fn strip_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let hidden = ["script", "style", "noscript", "template", "head"].into_iter().find(|name| {
            let tag = rest.get(1..=name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
            tag && rest[1 + name.len()..].starts_with([' ', '>', '\n', '\t', '/'])
        });
        let end = match hidden {
            Some(name) => tag_end(rest, &format!("</{name}")),
            None if rest.starts_with("<!--") => rest.find("-->").map(|end| end + 2),
            None => rest.find('>'),
        };
        text.push(if rest.starts_with("<b>") || rest.starts_with("</b>") { ' ' } else { '\n' });
        rest = end.map_or("", |end| rest.get(end + 1..).unwrap_or_default());
    }
    text.push_str(rest);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(unescape);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the end of the first tag that begins with `tag`.
fn tag_end(text: &str, tag: &str) -> Option<usize> {
    let begin =
        text.as_bytes().windows(tag.len()).position(|part| part.eq_ignore_ascii_case(tag.as_bytes()))?;
    text[begin..].find('>').map(|end| begin + end)
}

fn unescape(line: &str) -> String {
    [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(line.to_owned(), |line, (escaped, plain)| line.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_part_is_extracted_without_hidden_text() {
        let words = "Tea is best with water that has just boiled. ".repeat(20);
        let html = format!(
            "<html><head><title>Tea</title><script>steal()</script></head><body><nav><a href=/x>Menu</a></nav><article>\
             <h2>How to</h2><p>{words}</p><p>So\u{200b}me <b>bold</b> words &amp; a <a href=\"/more\">link</a>. {words}</p>\
             </article></body></html>"
        );
        let text = readable_text(&html, "https://example.org/tea");
        assert!(text.starts_with("# Tea\n\n"), "{text}");
        assert!(text.contains("Some **bold** words & a [link](https://example.org/more)"), "{text}");
        assert!(!text.contains("steal") && !text.contains("Menu"), "{text}");
    }

    #[test]
    fn page_without_a_main_part_is_read_completely() {
        let text = readable_text(
            "<p>Hello <i>you</i><style>p{}</style><!-- <p>no --></p><SCRIPT>x<y</SCRIPT>&lt;3",
            "https://a.org",
        );
        assert!(text.contains("Hello") && text.contains("you") && text.contains("<3"), "{text}");
        assert!(!text.contains("p{}") && !text.contains("no") && !text.contains("x<y"), "{text}");
        assert_eq!(readable_text("", "https://a.org"), "");
    }

    #[test]
    fn encoding_is_declared_or_detected() {
        let check =
            |kind: &str, bytes: &[u8], expected: &str| assert_eq!(decode(kind, bytes), expected, "{kind}");
        check("text/html; charset=ISO-8859-1", b"caf\xe9", "café");
        check(
            "text/html",
            b"<meta charset=\"windows-1251\">\xef\xf0\xe8",
            "<meta charset=\"windows-1251\">при",
        );
        check("text/html; charset=\"Shift_JIS\"", b"\x93\xfa\x96{", "日本");
        check("text/plain", "naïve".as_bytes(), "naïve");
        check("text/plain", b"na\xefve", "naïve");
        check("text/plain", b"\xff\xfea\0b\0", "ab");
        check("text/plain; charset=nonsense", "ü".as_bytes(), "ü");
    }

    #[test]
    fn non_text_formats_are_refused() {
        assert_eq!(format_of("Text/HTML; charset=x", b""), Ok(PageFormat::Html));
        assert_eq!(format_of("application/ld+json", b""), Ok(PageFormat::Text));
        assert_eq!(format_of("", b"  <html>"), Ok(PageFormat::Html));
        assert_eq!(format_of("", b"words"), Ok(PageFormat::Text));
        assert!(format_of("application/pdf", b"").unwrap_err().contains("PDF"));
        assert!(format_of("image/png", b"").unwrap_err().contains("a picture"));
        assert!(format_of("", b"\0").is_err());
    }

    /// Pages that are made to crash the parser.
    #[test]
    fn hostile_pages_are_read_within_limits() {
        let many = |part: &str, count: usize| part.repeat(count);
        for html in [
            many("<div>", 200_000),
            many("<b><p>", 100_000),
            many("<div></span>", 200_000),
            format!("<svg>{}", many("<td>", 200_000)),
            many("<table><tr><td>", 50_000),
            many("<p>x", 200_000),
            many("<a href=x>", 100_000),
            many("<", 500_000),
            many("<!--", 200_000),
            many("<script>", 50_000),
            many("&amp;", 200_000),
            format!("<div>{}deep{}", many("<div>", MAX_DEPTH - 2), many("</div>", MAX_DEPTH - 2)),
            format!("<{}>", many("a", 1_000_000)),
        ] {
            let text = readable_text(&html, "https://a.org");
            assert!(text.len() <= 2 * html.len() + 100, "{} of {}", text.len(), html.len());
        }
    }
}
