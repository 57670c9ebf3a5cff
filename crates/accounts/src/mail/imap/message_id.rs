//! Message ids: UID and UIDVALIDITY with the folder.

use std::fmt;

use super::folder::Folder;
use crate::AccountError;

/// A message id: `1731780000.42`, or `1731780000.42.Archive%2F2025` for folders other than the
/// inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageId {
    /// The UIDVALIDITY of the folder.
    pub validity: u32,
    /// The UID.
    pub uid: u32,
    pub folder: Folder,
}

impl MessageId {
    pub fn parse(text: &str) -> Result<Self, AccountError> {
        let wrong = || {
            AccountError::InvalidRequest(
                "that is not the id of a message. ids stand first in a list of them.".to_owned(),
            )
        };
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).filter(|number| *number > 0);
        let validity = number();
        let uid = number();
        let folder = match parts.next() {
            None => Some(Folder::inbox()),
            Some(name) => percent_decode(name).map(Folder::from_name),
        };
        match (validity, uid, folder) {
            (Some(validity), Some(uid), Some(folder)) => Ok(Self { validity, uid, folder }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.validity, self.uid)?;
        if self.folder.name == Folder::inbox().name {
            return Ok(());
        }
        f.write_str(".")?;
        for byte in self.folder.name.bytes() {
            if byte.is_ascii_alphanumeric() || b"_-".contains(&byte) {
                write!(f, "{}", char::from(byte))?
            } else {
                write!(f, "%{byte:02X}")?
            }
        }
        Ok(())
    }
}

fn percent_decode(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'%' => {
                let hex = std::str::from_utf8(after.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(hex, 16).ok()?);
                &after[2..]
            }
            _ => {
                bytes.push(*byte);
                after
            }
        };
    }
    let plain = bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    String::from_utf8(bytes).ok().filter(|name| plain && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_round_trips() {
        let check = |folder: &str, text: &str| {
            let id = MessageId { validity: 17, uid: 42, folder: Folder::from_name(folder.to_owned()) };
            assert_eq!(id.to_string(), text);
            assert_eq!(MessageId::parse(text).unwrap(), id);
        };
        check("INBOX", "17.42");
        check("Archive/2025", "17.42.Archive%2F2025");
        check("A \"b\" 100%", "17.42.A%20%22b%22%20100%25");
        check("&ANw-ber.uns", "17.42.%26ANw-ber%2Euns");
        for bad in
            ["", "17", "17.", "a.b", "0.1", "1.0", "17.42.", "17.42.%0D%0AX", "17.42.%4", "-1.2", "18c2f0"]
        {
            assert!(MessageId::parse(bad).is_err(), "{bad}");
        }
    }
}
