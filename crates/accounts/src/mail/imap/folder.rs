//! Folders with their protocol names (modified UTF-7) and display names.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::tokens::Token;
use crate::mail::{MailboxLabel, sanitized_text};

/// The maximum number of characters of a display name.
const MAX_NAME_CHARS: usize = 200;

const MODIFIED_BASE64: GeneralPurpose = GeneralPurpose::new(
    &IMAP_MUTF7,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The protocol name.
    pub name: String,
    attributes: Vec<String>,
}

impl Folder {
    pub fn inbox() -> Self {
        Self::from_name("INBOX".to_owned())
    }

    /// Creates a folder with this protocol name.
    pub fn from_name(name: String) -> Self {
        let inbox = name.eq_ignore_ascii_case("INBOX");
        Self { name: if inbox { "INBOX".to_owned() } else { name }, attributes: Vec::new() }
    }

    /// Parses a LIST response such as `(\HasNoChildren) "/" "INBOX"`. Returns `None` if it cannot
    /// be selected.
    pub fn from_list(words: &[Token]) -> Option<Self> {
        let [Token::List(marks), _, name] = words else { return None };
        let marks: Vec<String> = marks.iter().filter_map(Token::text).collect();
        let name = name.text().filter(|name| !name.is_empty() && name.bytes().all(|byte| byte >= 0x20))?;
        let folder = Self { attributes: marks, ..Self::from_name(name) };
        (!folder.has_attribute("\\Noselect") && !folder.has_attribute("\\NonExistent")).then_some(folder)
    }

    /// Returns whether the folder has this attribute.
    pub fn has_attribute(&self, mark: &str) -> bool {
        self.attributes.iter().any(|own| own.eq_ignore_ascii_case(mark))
    }

    /// Returns whether a folder name typed by the user means this folder.
    pub fn matches_name(&self, name: &str) -> bool {
        self.name == name || decode_name(&self.name).to_lowercase() == name.to_lowercase()
    }

    pub fn to_label(&self) -> MailboxLabel {
        MailboxLabel {
            id: sanitized_text::single_line(&self.name, MAX_NAME_CHARS),
            name: sanitized_text::single_line(&decode_name(&self.name), MAX_NAME_CHARS),
        }
    }
}

/// Decodes a name for display. An invalid one is returned as it is.
fn decode_name(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let Some((letters, after)) = after.split_once('-') else { return name.to_owned() };
        match letters {
            "" => plain.push('&'),
            letters => match decode_utf16(letters) {
                Some(text) => plain.push_str(&text),
                None => return name.to_owned(),
            },
        }
        rest = after;
    }
    plain + rest
}

fn decode_utf16(letters: &str) -> Option<String> {
    let bytes = MODIFIED_BASE64.decode(letters).ok()?;
    let units: Vec<u16> =
        bytes.chunks(2).map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte))).collect();
    (bytes.len() % 2 == 0).then(|| String::from_utf16(&units).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_name_is_decoded_for_display() {
        let check = |wire: &str, name: &str| assert_eq!(decode_name(wire), name);
        check("INBOX", "INBOX");
        check("Gel&APY-scht", "Gelöscht");
        check("&U,BTFw-/~peter", "台北/~peter");
        check("A&-B", "A&B");
        check("broken&", "broken&");
        check("broken&!!-", "broken&!!-");
        assert!(Folder::from_name("Gel&APY-scht".to_owned()).matches_name("gelöscht"));
        assert_eq!(Folder::from_name("inbox".to_owned()), Folder::inbox());
    }
}
