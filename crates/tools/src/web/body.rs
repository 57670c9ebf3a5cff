//! Reads a response body up to a limit and decompresses it.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

pub struct Body {
    pub bytes: Vec<u8>,
    pub completeness: Completeness,
}

/// The completeness of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    Complete,
    Truncated,
}

/// Reads at most `max` bytes of the decompressed body of `response`.
pub async fn read(mut response: Response, max: usize) -> Result<Body, String> {
    let encoding =
        response.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let mut bytes = Vec::new();
    let mut completeness = Completeness::Complete;
    while let Some(chunk) = response.chunk().await.map_err(|error| wire::root_cause(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > max {
            (completeness, bytes) = (Completeness::Truncated, bytes.into_iter().take(max).collect());
            break;
        }
    }
    match encoding.as_deref() {
        None | Some(b"" | b"identity") => Ok(Body { bytes, completeness }),
        Some(b"gzip" | b"x-gzip") => decompress(&bytes, max, completeness),
        Some(_) => Err("it comes packed in a way that i cannot unpack".to_owned()),
    }
}

/// Decompresses at most `max` bytes, so a decompression bomb is harmless.
fn decompress(compressed: &[u8], max: usize, completeness: Completeness) -> Result<Body, String> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(compressed).take(max as u64 + 1).read_to_end(&mut bytes);
    if read.is_err() && (bytes.is_empty() || completeness == Completeness::Complete) {
        return Err("it comes packed, and cannot be unpacked".to_owned());
    }
    let completeness = if bytes.len() > max { Completeness::Truncated } else { completeness };
    bytes.truncate(max);
    Ok(Body { bytes, completeness })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn decompression_bomb_is_truncated() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        (0..20).for_each(|_| bomb.write_all(&[b'x'; 1_000_000]).unwrap());
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 1_000_000);
        let body = decompress(&bomb, 5_000, Completeness::Complete).unwrap();
        assert_eq!((body.bytes.len(), body.completeness), (5_000, Completeness::Truncated));
        assert!(decompress(b"no gzip at all", 100, Completeness::Complete).is_err());
    }
}
