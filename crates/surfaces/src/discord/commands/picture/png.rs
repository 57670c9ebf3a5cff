//! PNG encoder for images with four colours and long runs.

use bytes::Bytes;

/// Colours 0 to 3: background, lines, text, now.
const PALETTE: [u8; 12] = [0x1e, 0x1f, 0x22, 0x4e, 0x50, 0x58, 0xdb, 0xde, 0xe1, 0xf2, 0x5f, 0x5c];
/// Run lengths that are encoded, longest first.
const RUN_CODES: [RunCode; 6] = [
    RunCode { length: 258, code: (0xc5, 8), extra: 0 },
    RunCode { length: 131, code: (0xc1, 8), extra: 5 },
    RunCode { length: 67, code: (21, 7), extra: 4 },
    RunCode { length: 35, code: (17, 7), extra: 3 },
    RunCode { length: 11, code: (9, 7), extra: 1 },
    RunCode { length: 3, code: (1, 7), extra: 0 },
];

/// A run length, its deflate code, and the number of extra bits, which are written as zero.
struct RunCode {
    length: usize,
    code: (u16, u8),
    extra: u8,
}

/// Encodes `dots`, the palette indexes row by row.
pub(super) fn encode((width, height): (usize, usize), dots: &[u8]) -> Bytes {
    let number = |size: usize| u32::try_from(size).unwrap_or(0).to_be_bytes();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    // Two bits per dot, with a palette.
    let head = [&number(width)[..], &number(height), &[2, 3, 0, 0, 0]].concat();
    write_chunk(&mut file, b"IHDR", &head);
    write_chunk(&mut file, b"PLTE", &PALETTE);
    write_chunk(&mut file, b"IDAT", &zlib(&filter_rows(width, dots)));
    write_chunk(&mut file, b"IEND", &[]);
    file.into()
}

/// Applies the PNG filter "up": each row is the difference to the one above it.
fn filter_rows(width: usize, dots: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut above = vec![0; width.div_ceil(4)];
    for row in dots.chunks(width) {
        let four =
            |dots: &[u8]| (0..4).fold(0, |byte, at| byte << 2 | dots.get(at).copied().unwrap_or(0) & 3);
        let row: Vec<u8> = row.chunks(4).map(four).collect();
        all.push(2);
        all.extend(row.iter().zip(&above).map(|(byte, above)| byte.wrapping_sub(*above)));
        above = row;
    }
    all
}

fn write_chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend(u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
    let body = [&kind[..], data].concat();
    file.extend(&body);
    file.extend(crc32(&body).to_be_bytes());
}

fn crc32(data: &[u8]) -> u32 {
    let bit = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

fn adler32(data: &[u8]) -> u32 {
    let (low, high) = data.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// Compresses `data` into one zlib block with fixed Huffman codes, using run-length matches only.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut bits = BitWriter { bytes: vec![0x78, 0x01], last: 0, used: 0 };
    // Final block with fixed codes.
    bits.push(0b011, 3);
    let mut rest = data;
    while let Some(byte) = rest.first() {
        bits.push_literal(*byte);
        let mut repeats = rest[1..].iter().take_while(|next| *next == byte).count();
        rest = &rest[1..];
        while let Some(run) = RUN_CODES.iter().find(|run| run.length <= repeats) {
            bits.push_code(run.code.0, run.code.1);
            bits.push(0, run.extra);
            // Distance one.
            bits.push_code(0, 5);
            repeats -= run.length;
            rest = &rest[run.length..];
        }
    }
    bits.push_code(0, 7);
    let mut packed = bits.finish();
    packed.extend(adler32(data).to_be_bytes());
    packed
}

/// Writes bits into bytes, the lowest bit first.
struct BitWriter {
    bytes: Vec<u8>,
    last: u8,
    used: u8,
}

impl BitWriter {
    fn push(&mut self, value: u16, count: u8) {
        for at in 0..count {
            self.last |= u8::from(value >> at & 1 == 1) << self.used;
            self.used += 1;
            if self.used == 8 {
                self.bytes.push(self.last);
                (self.last, self.used) = (0, 0);
            }
        }
    }

    /// Writes a Huffman code, whose highest bit comes first.
    fn push_code(&mut self, code: u16, count: u8) {
        for at in (0..count).rev() {
            self.push(code >> at & 1, 1);
        }
    }

    fn push_literal(&mut self, byte: u8) {
        match byte {
            0..=143 => self.push_code(0x30 + u16::from(byte), 8),
            144..=255 => self.push_code(0x190 + u16::from(byte - 144), 9),
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.used > 0 {
            self.bytes.push(self.last);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_known_values() {
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    /// The expected bytes were verified with another decoder.
    #[test]
    fn a_run_is_compressed() {
        assert_eq!(zlib(b"a"), [0x78, 0x01, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62]);
        let zeros = zlib(&vec![0; 100_000]);
        assert!(zeros.len() < 1_000, "{}", zeros.len());
        // Each run length once: 258 + 131 + 67 + 35 + 11 + 3, and the byte itself.
        let each = [0x78, 1, 0x63, 0x18, 5, 0x83, 0, 0x50, 1, 0x10, 1, 0x90, 0, 0x10, 0, 0, 1, 0xfa, 0, 1];
        assert_eq!(zlib(&[0; 506]), each);
    }

    #[test]
    fn a_row_equal_to_the_one_above_is_zero() {
        let dots = [[1, 2, 3, 0, 1], [1, 2, 3, 0, 1]].concat();
        assert_eq!(filter_rows(5, &dots), [2, 0b0110_1100, 0b0100_0000, 2, 0, 0]);
    }
}
