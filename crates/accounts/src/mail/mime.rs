//! Parses raw mail messages: decoded headers and the readable part of the body.
//!
//! Every input yields a message; a broken one may have no text.

use mail_parser::parsers::MessageStream;
use mail_parser::{HeaderForm, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use super::html::html_to_text;
use super::{MailMessage, MessageSummary, charset, sanitized_text, transfer_encoding};

/// The maximum number of characters of a body.
const MAX_BODY_CHARS: usize = 3_000;
/// The maximum number of characters of a header in a full message; it may have thousands of
/// recipients.
const MAX_HEADER_CHARS: usize = 1_000;
/// The maximum number of characters of a header in a list.
const MAX_LISTED_CHARS: usize = 200;
/// The maximum nesting of messages and parts.
const MAX_DEPTH: usize = 16;

/// The headers of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    pub from: String,
    pub to: String,
    pub date: String,
    pub subject: String,
}

impl Envelope {
    /// Creates an envelope from the header values that `value` returns.
    pub fn new(value: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| value(name).unwrap_or_default();
        Self { from: value("From"), to: value("To"), date: value("Date"), subject: value("Subject") }
    }

    pub fn to_summary(&self, id: String, at: Option<jiff::Timestamp>) -> MessageSummary {
        let subject = sanitized_text::single_line(&self.subject, MAX_LISTED_CHARS);
        MessageSummary {
            id,
            at,
            from: sanitized_text::single_line(&sender_name(&self.from), MAX_LISTED_CHARS),
            subject,
        }
    }

    /// Combines the headers with a body.
    pub fn to_message(&self, body: Option<MessageBody>) -> MailMessage {
        let line = |text: &str| sanitized_text::single_line(text, MAX_HEADER_CHARS);
        MailMessage {
            from: line(&self.from),
            to: line(&self.to),
            date: line(&self.date),
            subject: line(&self.subject),
            body: body.and_then(MessageBody::into_text),
        }
    }
}

/// The readable body of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageBody {
    Plain(String),
    Html(String),
}

impl MessageBody {
    /// Returns whether the body has no visible text.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Plain(text) => sanitized_text::multi_line(text).trim().is_empty(),
            Self::Html(html) => sanitized_text::multi_line(&html_to_text(html)).trim().is_empty(),
        }
    }

    /// Returns the truncated text.
    fn into_text(self) -> Option<String> {
        let text = match self {
            Self::Plain(text) => sanitized_text::multi_line(&text),
            Self::Html(html) => sanitized_text::multi_line(&html_to_text(&html)),
        };
        let text = text.trim();
        match text.char_indices().nth(MAX_BODY_CHARS) {
            _ if text.is_empty() => None,
            Some((end, _)) => Some(format!("{}\n... (truncated)", &text[..end])),
            None => Some(text.to_owned()),
        }
    }
}

/// Returns the name before `<` without quotes, or else the address.
fn sender_name(from: &str) -> String {
    let (name, address) = from.split_once('<').unwrap_or((from, ""));
    let name = name.trim().trim_matches(['"', '\'']).trim();
    if name.is_empty() {
        address.split('>').next().unwrap_or_default().trim().to_owned()
    } else {
        name.to_owned()
    }
}

/// Decodes the encoded words of a header value.
pub fn decode_words(value: &str) -> String {
    let value = format!("{}\n", value.replace(['\r', '\n'], " "));
    header_text(MessageStream::new(value.as_bytes()).parse_unstructured())
}

fn header_text(value: HeaderValue<'_>) -> String {
    value.into_text().unwrap_or_default().into_owned()
}

/// Parses the headers of a message; `raw` may be truncated.
pub fn parse_envelope(raw: &[u8]) -> Envelope {
    let Some(message) = MessageParser::default().parse_headers(raw) else { return Envelope::default() };
    envelope_of(&message)
}

fn envelope_of(message: &Message<'_>) -> Envelope {
    Envelope::new(|name| message.header_as(name, HeaderForm::Text).into_iter().next().map(header_text))
}

/// Parses a message; `raw` may be truncated.
pub fn parse_message(raw: &[u8]) -> MailMessage {
    match MessageParser::default().parse(raw) {
        Some(message) => envelope_of(&message).to_message(readable_body(&message)),
        None => Envelope::default().to_message(None),
    }
}

/// Returns the first plain text part that is not an attachment, or else the first HTML part, or
/// else those of a nested message.
fn readable_body(message: &Message<'_>) -> Option<MessageBody> {
    let mut found = BodyParts::default();
    found.collect(message, 0, MAX_DEPTH);
    found.plain.or(found.html).or(found.nested)
}

#[derive(Default)]
struct BodyParts {
    plain: Option<MessageBody>,
    html: Option<MessageBody>,
    nested: Option<MessageBody>,
}

impl BodyParts {
    fn collect(&mut self, message: &Message<'_>, part: u32, depth: usize) {
        let Some(found) = message.part(part).filter(|_| depth > 0) else { return };
        match &found.body {
            PartType::Multipart(parts) => {
                for part in parts {
                    self.collect(message, *part, depth - 1);
                }
            }
            PartType::Message(inner) => {
                if self.nested.is_none() {
                    self.nested = nested_body(inner, depth - 1);
                }
            }
            PartType::Text(_) if !is_attachment(found) => {
                set_if_visible(&mut self.plain, || MessageBody::Plain(decode_part(message, found)));
            }
            PartType::Html(_) if !is_attachment(found) => {
                set_if_visible(&mut self.html, || MessageBody::Html(decode_part(message, found)));
            }
            PartType::Text(_) | PartType::Html(_) | PartType::Binary(_) | PartType::InlineBinary(_) => {}
        }
    }
}

fn nested_body(message: &Message<'_>, depth: usize) -> Option<MessageBody> {
    let mut found = BodyParts::default();
    found.collect(message, 0, depth);
    found.plain.or(found.html).or(found.nested)
}

/// Keeps the first body with visible text.
fn set_if_visible(place: &mut Option<MessageBody>, body: impl FnOnce() -> MessageBody) {
    if place.is_none() {
        *place = Some(body()).filter(|body| !body.is_blank());
    }
}

/// Decodes the raw bytes of a part, including truncated ones and those with a wrong character set.
fn decode_part(message: &Message<'_>, part: &MessagePart<'_>) -> String {
    let bytes = message.raw_message.get(part.offset_body as usize..part.offset_end as usize);
    let encoding = part.content_transfer_encoding().unwrap_or_default();
    let label = part.content_type().and_then(|kind| kind.attribute("charset"));
    charset::decode(&transfer_encoding::decode(bytes.unwrap_or_default(), encoding), label)
}

/// Calendars, signatures and other text types are not message text.
fn is_attachment(part: &MessagePart<'_>) -> bool {
    let kind = part.content_type().and_then(|kind| kind.subtype());
    let other = kind.is_some_and(|kind| !["plain", "html"].iter().any(|own| own.eq_ignore_ascii_case(kind)));
    other || part.content_disposition().is_some_and(mail_parser::ContentType::is_attachment)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn check(raw: &str, expected: &expect_test::Expect) {
        let letter = parse_message(raw.replace('\n', "\r\n").as_bytes());
        let MailMessage { from, to, date, subject, body } = letter;
        expected.assert_eq(&format!("{from} | {to} | {date} | {subject}\n{}", body.unwrap_or_default()));
    }

    /// GO-23, GO-25: header names are case-insensitive; the first text, depth first, is the body.
    #[test]
    fn first_text_of_nested_parts_is_the_body() {
        check(
            "fROM: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>\nTO: a@example.org,\n b@example.org\n\
             date: Mon, 16 Nov 2026 08:00:00 +0100\nSUBJECT: =?iso-8859-1?B?R3L832U=?=\n\
             MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=out\n\n\
             --out\nContent-Type: text/plain; name=notes.txt\n\
             Content-Disposition: attachment; filename=notes.txt\n\nnot this\n\
             --out\nContent-Type: multipart/alternative; boundary=in\n\n\
             --in\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n\
             Gr=C3=BC=C3=9Fe!\n--in\nContent-Type: text/html\n\n<b>nor this</b>\n--in--\n--out--\n",
            &expect![[r#"
                Jürgen <j@example.org> | a@example.org, b@example.org | Mon, 16 Nov 2026 08:00:00 +0100 | Grüße
                Grüße!"#]],
        );
    }

    /// GO-23: without plain text the HTML is converted, without styles and tags.
    #[test]
    fn html_body_is_converted_to_text() {
        check(
            "Subject: s\nContent-Type: text/html; charset=utf-8\n\n\
             <style>p{}</style><p>Hello&nbsp;<b>you</b></p><img src='http://tracker.example/x.png'>",
            &expect![[r#"
                 |  |  | s
                Hello you"#]],
        );
    }

    #[test]
    fn blank_text_falls_back_to_html_and_forwarded_messages() {
        check(
            "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n \n\
             --b\nContent-Type: text/html\n\n<p>words</p>\n--b--\n",
            &expect![[r#"
                 |  |  | 
                words"#]],
        );
        check(
            "Subject: Fwd\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\
             Content-Type: message/rfc822\n\nSubject: inner\n\nwhat was forwarded\n--b--\n",
            &expect![[r#"
                 |  |  | Fwd
                what was forwarded"#]],
        );
    }

    #[test]
    fn broken_messages_are_parsed_as_far_as_possible() {
        check(
            "Subject: cut\nContent-Type: multipart/mixed; boundary=never\n\n--never\n\
             Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nSGVsbG8gdGhlc",
            &expect![[r#"
                 |  |  | cut
                Hello the"#]],
        );
        check(
            "Subject: =?utf-8?B?bad=?= =?no-such?Q?x?=\nContent-Type: text/plain; charset=no-such-set\n\nstill here",
            &expect![[r#"
                 |  |  | m�x
                still here"#]],
        );
        assert_eq!(parse_message(b""), Envelope::default().to_message(None));
        let unfinished = "--b\r\nContent-Type: message/rfc822\r\n\r\n".repeat(2);
        parse_message(
            format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{unfinished}\r\n--b--\r\n").as_bytes(),
        );
    }

    #[test]
    fn wrong_character_set_is_corrected() {
        let raw = b"Content-Type: text/plain; charset=us-ascii\r\n\r\nGr\xfc\xdfe".to_vec();
        assert_eq!(parse_message(&raw).body.as_deref(), Some("Grüße"));
        let raw = "Content-Type: text/plain; charset=iso-8859-1\r\n\r\nGrüße".as_bytes().to_vec();
        assert_eq!(parse_message(&raw).body.as_deref(), Some("Grüße"));
    }

    /// GO-23: the body has at most three thousand characters, followed by a notice.
    #[test]
    fn long_body_is_truncated() {
        let body = parse_message(format!("\r\n{}", "ü".repeat(3_001)).as_bytes()).body.unwrap();
        assert_eq!(body, format!("{}\n... (truncated)", "ü".repeat(3_000)));
        let body = parse_message(format!("\r\n{}", "ü".repeat(3_000)).as_bytes()).body.unwrap();
        assert_eq!(body, "ü".repeat(3_000));
    }

    /// GO-22: the sender is the name without quotes, or the address.
    #[test]
    fn sender_is_a_name_or_an_address() {
        let check = |from: &str, sender_is: &str| assert_eq!(sender_name(from), sender_is);
        check("\"Ann Bell\" <ann@example.org>", "Ann Bell");
        check("Ann <ann@example.org>", "Ann");
        check("<ann@example.org>", "ann@example.org");
        check("ann@example.org", "ann@example.org");
        check("\"\" <ann@example.org>", "ann@example.org");
        check("", "");
    }

    proptest! {
        /// Any input is parsed, and the result is bounded and without control characters.
        #[test]
        fn arbitrary_message_is_parsed(raw in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let MailMessage { subject, body, .. } = parse_message(&raw);
            prop_assert!(subject.chars().count() <= MAX_HEADER_CHARS + 1);
            prop_assert!(!subject.contains(char::is_control));
            let body = body.unwrap_or_default();
            prop_assert!(body.chars().count() <= MAX_BODY_CHARS + 20);
            prop_assert!(!body.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }

        #[test]
        fn arbitrary_multipart_is_parsed(parts in proptest::collection::vec("(--b(--)?|Content-Type: (text/(plain|html)|multipart/mixed; boundary=b|message/rfc822)|Content-Transfer-Encoding: (base64|quoted-printable)|[ -~]{0,20})?\r\n", 0..40)) {
            parse_message(format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{}", parts.concat()).as_bytes());
        }
    }
}
