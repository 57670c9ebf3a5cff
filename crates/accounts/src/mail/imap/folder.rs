//! Folders: their names on the wire, which know no letters but the plainest, and their names for people.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::tokens::Token;
use crate::mail::{Label, legible};

/// The most characters of a name for people.
const NAME: usize = 200;

const LETTERS: GeneralPurpose = GeneralPurpose::new(
    &IMAP_MUTF7,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// A folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its name on the wire.
    pub name: String,
    marks: Vec<String>,
}

impl Folder {
    /// The one where letters arrive.
    pub fn inbox() -> Self {
        Self::named("INBOX".to_owned())
    }

    /// The one with this name on the wire.
    pub fn named(name: String) -> Self {
        let inbox = name.eq_ignore_ascii_case("INBOX");
        Self { name: if inbox { "INBOX".to_owned() } else { name }, marks: Vec::new() }
    }

    /// What a list says: `(\HasNoChildren) "/" "INBOX"`. Nothing, if it cannot be opened.
    pub fn listed(words: &[Token]) -> Option<Self> {
        let [Token::List(marks), _, name] = words else { return None };
        let marks: Vec<String> = marks.iter().filter_map(Token::text).collect();
        let name = name.text().filter(|name| !name.is_empty() && name.bytes().all(|byte| byte >= 0x20))?;
        let folder = Self { marks, ..Self::named(name) };
        (!folder.has("\\Noselect") && !folder.has("\\NonExistent")).then_some(folder)
    }

    /// Whether it has a mark.
    pub fn has(&self, mark: &str) -> bool {
        self.marks.iter().any(|own| own.eq_ignore_ascii_case(mark))
    }

    /// Whether a human who says `name` means it.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || decoded(&self.name).to_lowercase() == name.to_lowercase()
    }

    /// It, for a list.
    pub fn label(&self) -> Label {
        Label { id: legible::line(&self.name, NAME), name: legible::line(&decoded(&self.name), NAME) }
    }
}

/// A name for people. What is no proper name stays as it is.
fn decoded(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let Some((letters, after)) = after.split_once('-') else { return name.to_owned() };
        match letters {
            "" => plain.push('&'),
            letters => match utf16(letters) {
                Some(text) => plain.push_str(&text),
                None => return name.to_owned(),
            },
        }
        rest = after;
    }
    plain + rest
}

fn utf16(letters: &str) -> Option<String> {
    let bytes = LETTERS.decode(letters).ok()?;
    let units: Vec<u16> =
        bytes.chunks(2).map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte))).collect();
    (bytes.len() % 2 == 0).then(|| String::from_utf16(&units).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_the_wire_is_read_for_people() {
        let check = |wire: &str, name: &str| assert_eq!(decoded(wire), name);
        check("INBOX", "INBOX");
        check("Gel&APY-scht", "Gelöscht");
        check("&U,BTFw-/~peter", "台北/~peter");
        check("A&-B", "A&B");
        check("broken&", "broken&");
        check("broken&!!-", "broken&!!-");
        assert!(Folder::named("Gel&APY-scht".to_owned()).is_called("gelöscht"));
        assert_eq!(Folder::named("inbox".to_owned()), Folder::inbox());
    }
}
