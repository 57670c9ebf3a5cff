//! Decodes text in its declared or actual character set.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decodes `bytes` with the declared character set `label`.
///
/// Valid UTF-8 is taken as UTF-8 whatever the declaration, since hardly anything else looks like
/// it. Character sets with escape sequences are the exception, because all their bytes are ASCII.
pub fn decode(bytes: &[u8], label: Option<&str>) -> String {
    let claimed = label.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    let escapes = bytes.contains(&0x1b);
    match (std::str::from_utf8(bytes), claimed) {
        (Ok(text), _) if !escapes => text.to_owned(),
        (Ok(text), None) => text.to_owned(),
        (_, Some(claimed)) if claimed != UTF_8 => claimed.decode(bytes).0.into_owned(),
        (Ok(text), Some(_)) => text.to_owned(),
        // Undeclared text that is not UTF-8 is usually Windows-1252.
        (Err(_), Some(_)) => String::from_utf8_lossy(bytes).into_owned(),
        (Err(_), None) => WINDOWS_1252.decode(bytes).0.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_despite_a_wrong_label() {
        let check = |bytes: &[u8], label: Option<&str>, text: &str| assert_eq!(decode(bytes, label), text);
        check("Grüße".as_bytes(), Some("utf-8"), "Grüße");
        check("Grüße".as_bytes(), Some("iso-8859-1"), "Grüße");
        check("Grüße".as_bytes(), None, "Grüße");
        check(b"Gr\xfc\xdfe", Some("ISO-8859-1"), "Grüße");
        check(b"Gr\xfc\xdfe", None, "Grüße");
        check(b"Gr\xfc\xdfe", Some("no-such-set"), "Grüße");
        check(b"Gr\xfc\xdfe", Some("utf-8"), "Gr\u{fffd}\u{fffd}e");
        check(b"\x1b$B$3$s\x1b(B", Some("iso-2022-jp"), "こん");
        check(b"\x93quoted\x94", Some("windows-1252"), "“quoted”");
    }
}
