//! Reads a response body up to a limit and decompresses it.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

pub struct Body {
    pub bytes: Vec<u8>,
    pub whole: Whole,
}

/// The completeness of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Yes,
    Cut,
}

/// Reads at most `max` bytes of the decompressed body of `response`.
pub async fn read(mut response: Response, most: usize) -> Result<Body, String> {
    let packing = response.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let mut bytes = Vec::new();
    let mut whole = Whole::Yes;
    while let Some(chunk) = response.chunk().await.map_err(|error| wire::reason(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > most {
            (whole, bytes) = (Whole::Cut, bytes.into_iter().take(most).collect());
            break;
        }
    }
    match packing.as_deref() {
        None | Some(b"" | b"identity") => Ok(Body { bytes, whole }),
        Some(b"gzip" | b"x-gzip") => unpacked(&bytes, most, whole),
        Some(_) => Err("it comes packed in a way that i cannot unpack".to_owned()),
    }
}

/// Decompresses at most `max` bytes, so a decompression bomb is harmless.
fn unpacked(packed: &[u8], most: usize, whole: Whole) -> Result<Body, String> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(packed).take(most as u64 + 1).read_to_end(&mut bytes);
    if read.is_err() && (bytes.is_empty() || whole == Whole::Yes) {
        return Err("it comes packed, and cannot be unpacked".to_owned());
    }
    let whole = if bytes.len() > most { Whole::Cut } else { whole };
    bytes.truncate(most);
    Ok(Body { bytes, whole })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_bomb_is_unpacked_only_as_far_as_can_be_borne() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        (0..20).for_each(|_| bomb.write_all(&[b'x'; 1_000_000]).unwrap());
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 1_000_000);
        let body = unpacked(&bomb, 5_000, Whole::Yes).unwrap();
        assert_eq!((body.bytes.len(), body.whole), (5_000, Whole::Cut));
        assert!(unpacked(b"no gzip at all", 100, Whole::Yes).is_err());
    }
}
