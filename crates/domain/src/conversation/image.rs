//! Pictures of the user, in base64.

/// The most bytes of one picture.
pub const IMAGE_BYTES: usize = 20 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The base64 text.
    pub data: String,
}

/// The error for data that is not a supported picture. The user must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The format is not supported.
    #[error("that is no picture i can see. jpeg, png, gif and webp work.")]
    UnknownFormat,
    #[error("that picture is larger than {} MB. make it smaller, and show it again.", IMAGE_BYTES / 1024 / 1024)]
    TooLarge,
}

impl Image {
    /// AT-1: Creates a picture from base64. The first bytes decide its media type.
    pub fn from_base64(data: String) -> Result<Self, ImageError> {
        if data.len() / 4 * 3 > IMAGE_BYTES {
            return Err(ImageError::TooLarge);
        }
        let digits = data.trim_end_matches('=');
        if !digits.bytes().all(|byte| base64_value(byte).is_some()) {
            return Err(ImageError::UnknownFormat);
        }
        let media_type = media_type(&first_bytes(&data)).ok_or(ImageError::UnknownFormat)?;
        Ok(Self { media_type: media_type.to_owned(), data })
    }
}

fn media_type(first: &[u8]) -> Option<&'static str> {
    match first {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Decodes the first twelve bytes, or as many as there are.
fn first_bytes(base64: &str) -> Vec<u8> {
    let digits: Vec<u32> = base64.bytes().take(16).map_while(base64_value).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - four.len()));
        let [_, bytes @ ..] = bits.to_be_bytes();
        bytes.into_iter().take(four.len().saturating_sub(1))
    });
    bytes.collect()
}

fn base64_value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AT-1: The first bytes decide the media type.
    #[test]
    fn first_bytes_decide_the_media_type() {
        let check = |base64: &str, expected: Result<&str, ImageError>| {
            let read = Image::from_base64(base64.to_owned()).map(|image| image.media_type);
            assert_eq!(read.as_deref(), expected.as_ref().map(|text| *text), "{base64}");
        };
        check("/9j/4AAQSkZJRg==", Ok("image/jpeg"));
        check("iVBORw0KGgoAAAAN", Ok("image/png"));
        check("R0lGODlhAQABAAAA", Ok("image/gif"));
        check("UklGRiQAAABXRUJQVlA4", Ok("image/webp"));
        check("UklGRiQAAABXQVZF", Err(ImageError::UnknownFormat));
        check("aGVsbG8gd29ybGQ=", Err(ImageError::UnknownFormat));
        check("not base64 at all!", Err(ImageError::UnknownFormat));
        check("/9j/ 4AAQ", Err(ImageError::UnknownFormat));
        check("", Err(ImageError::UnknownFormat));
    }

    /// AT-3: A picture that is too large is refused with this reason.
    #[test]
    fn oversized_picture_is_refused() {
        let large = "/9j/".to_owned() + &"A".repeat(IMAGE_BYTES / 3 * 4);
        assert_eq!(Image::from_base64(large), Err(ImageError::TooLarge));
    }
}
