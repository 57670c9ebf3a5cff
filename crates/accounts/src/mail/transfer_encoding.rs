//! Decodes transfer encodings. Truncated and broken input is decoded as far as possible.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Decodes bytes with the transfer encoding `encoding`.
pub fn decode(bytes: &[u8], encoding: &str) -> Vec<u8> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "base64" => decode_base64(bytes),
        "quoted-printable" => decode_quoted_printable(bytes),
        _ => bytes.to_vec(),
    }
}

fn decode_base64(bytes: &[u8]) -> Vec<u8> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut letters: Vec<u8> =
        bytes.iter().copied().take_while(|byte| *byte != b'=').filter(is_letter).collect();
    // A single trailing character encodes less than a byte.
    if letters.len() % 4 == 1 {
        letters.pop();
    }
    GeneralPurpose::new(&STANDARD, lenient).decode(letters).unwrap_or_default()
}

fn decode_quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'=', [b'\r', b'\n', after @ ..]) | (b'=', [b'\n', after @ ..]) => after,
            (b'=', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                plain.push(hex_digit(*high) << 4 | hex_digit(*low));
                after
            }
            _ => {
                plain.push(*byte);
                after
            }
        };
    }
    plain
}

fn hex_digit(byte: u8) -> u8 {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_encodings_are_decoded_as_far_as_possible() {
        let check = |wrapped: &str, encoding: &str, plain: &str| {
            assert_eq!(String::from_utf8_lossy(&decode(wrapped.as_bytes(), encoding)), plain, "{wrapped}");
        };
        check("SGVsbG8g\r\ndGhlcmU=", "base64", "Hello there");
        check("SGVsbG8gdGhlcm", " BASE64 ", "Hello ther");
        check("SGVsbG8gd", "base64", "Hello ");
        check("!!SGVs*bG8=", "base64", "Hello");
        check("Gr=C3=BC=c3=9fe, =\r\ndu=", "quoted-printable", "Grüße, du=");
        check("a=\nb =ZZ", "quoted-printable", "ab =ZZ");
        check("as it is", "8bit", "as it is");
    }
}
