//! Sample mail messages.

/// A message with these headers and this body.
pub fn message(headers: &str, body: &str) -> Vec<u8> {
    let text = format!("{headers}\n\n{body}");
    text.replace('\n', "\r\n").into_bytes()
}

pub fn plain(from: &str, subject: &str, body: &str) -> Vec<u8> {
    message(
        &format!(
            "From: {from}\nTo: ann@example.org\nDate: Mon, 16 Nov 2026 08:00:00 +0100\nSubject: {subject}"
        ),
        body,
    )
}

/// Nested parts, with an attachment first and the text last.
pub fn nested() -> Vec<u8> {
    let head = "From: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>\nsubject: =?iso-8859-1?B?R3L832U=?=\n\
                MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=out";
    message(
        head,
        "--out\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nnot this\n\
         --out\nContent-Type: multipart/alternative; boundary=in\n\n\
         --in\nContent-Type: text/html\n\n<b>nor this</b>\n\
         --in\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nR3LDvMOfZSwgZHUh\n\
         --in--\n--out\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0=\n--out--",
    )
}

/// HTML only.
pub fn html() -> Vec<u8> {
    let head = "From: news@example.org\nSubject: News\nContent-Type: text/html; charset=utf-8";
    message(
        head,
        "<style>p { color: red }</style><p>Hello&nbsp;<b>you</b></p><img src=http://tracker.example/x>",
    )
}

/// Broken headers, parts and character sets.
pub fn broken() -> Vec<u8> {
    let head = "From: \u{1b}[31m<evil@example.org>\nSubject: a\u{202e}b =?utf-8?B?!!!?=\n\
                Content-Type: multipart/mixed; boundary=never";
    message(head, "--never\nContent-Type: text/plain; charset=no-such-set\n\nstill\u{7} here")
}

/// Fifty megabytes with the text first.
pub fn huge() -> Vec<u8> {
    let mut bytes = message(
        "From: big@example.org\nSubject: huge\nContent-Type: multipart/mixed; boundary=b",
        "--b\nContent-Type: text/plain\n\nthe words come first\n--b\nContent-Type: application/zip\n\
         Content-Transfer-Encoding: base64\n\n",
    );
    let line = [b'A'; 76];
    while bytes.len() < 50 * 1024 * 1024 {
        bytes.extend_from_slice(&line);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
