//! What a server sends: as much as can be borne, unpacked.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

/// What was sent, and whether that was all.
pub struct Body {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub whole: Whole,
}

/// Whether something is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// It is.
    Yes,
    /// Its end was left out.
    Cut,
}

/// Reads what `response` sends, `most` bytes of it, also if they come packed.
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

/// Unpacks no more than `most` bytes, however many there are.
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
