//! Reads SQLite's write-ahead log without SQLite, for recovery.
//!
//! SQLite stops at the first frame with a wrong checksum and drops the rest. This module reads all
//! frames: it repairs a single flipped bit where the checksum identifies it, and skips a damaged
//! frame whose page is written again later.
//!
//! Format, see <https://www.sqlite.org/fileformat2.html#walformat>: a header of 32 bytes, then
//! frames, each with a header of 24 bytes (page number, database size after a commit, two salts,
//! two checksums) and a page. A frame's checksum covers the first 8 bytes of its header and its
//! page, and continues from the checksum of the frame before it.

use std::collections::BTreeSet;

/// Sizes of the file header and of a frame header.
const HEADER_SIZE: usize = 32;
const FRAME_HEADER_SIZE: usize = 24;

/// Magic number of a WAL with big-endian checksums. The little-endian one ends in 2.
const BIG_ENDIAN_MAGIC: u32 = 0x377f_0683;

/// The page size that is tried if the header is damaged.
const DEFAULT_PAGE_SIZE: usize = 4096;

/// The frames of a WAL, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wal {
    page_size: usize,
    frames: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    /// Page number, from 1 on.
    page: u32,
    /// Number of pages of the database after this frame, if it ends a transaction; otherwise 0.
    pages_after_commit: u32,
    data: Vec<u8>,
    is_intact: bool,
}

/// Byte order of the checksummed words.
#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

/// A stored checksum.
type Checksum = [u32; 2];

/// One interpretation of the header.
#[derive(Clone, Copy)]
struct HeaderGuess {
    page_size: usize,
    order: ByteOrder,
    salt: [u32; 2],
    seed: Checksum,
}

impl Wal {
    /// Reads the bytes of a WAL. Frames of an earlier generation behind the newest ones are left
    /// out.
    pub fn read(bytes: &[u8]) -> Self {
        if bytes.len() < HEADER_SIZE + FRAME_HEADER_SIZE {
            return Self::default();
        }
        // A damaged header does not spoil the frames: the interpretation that fits most frames is
        // used.
        let mut best = Self::default();
        for reading in header_guesses(bytes) {
            let wal = Self::read_as(bytes, reading);
            if wal.intact_count() > best.intact_count() {
                best = wal;
            }
            if best.intact_count() > 0 && best.intact_count() == best.frames.len() {
                break;
            }
        }
        best
    }

    fn read_as(bytes: &[u8], reading: HeaderGuess) -> Self {
        let HeaderGuess { page_size, order, salt, mut seed } = reading;
        let mut frames = Vec::new();
        let mut raws = bytes[HEADER_SIZE..].chunks_exact(FRAME_HEADER_SIZE + page_size).peekable();
        while let Some(raw) = raws.next() {
            let checked = check_frame(raw, raws.peek().copied(), salt, seed, order);
            seed = match &checked {
                FrameCheck::Intact { sum, .. } => *sum,
                FrameCheck::Damaged { .. } => stored_sum(raw),
            };
            frames.push(Frame::new(checked));
        }
        // The rest after the last intact frame is of an earlier generation or unrecoverable.
        let end = frames.iter().rposition(|frame| frame.is_intact).map_or(0, |last| last + 1);
        frames.truncate(end);
        Self { page_size, frames }
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn intact_count(&self) -> usize {
        self.frames.iter().filter(|frame| frame.is_intact).count()
    }

    /// `base` with the first transaction of the WAL. `None` if that is damaged.
    pub fn with_first_transaction(&self, base: &[u8]) -> Option<Vec<u8>> {
        let first = self.frames.iter().position(|frame| frame.pages_after_commit > 0 || !frame.is_intact)?;
        let is_whole = self.frames[first].is_intact;
        if is_whole { self.apply(base, first + 1) } else { None }
    }

    /// `base` with all transactions up to the newest one after which every page is known. `None` if
    /// there is none. A damaged frame does no harm if its page is written again later.
    pub fn with_intact_transactions(&self, base: &[u8]) -> Option<Vec<u8>> {
        let ends = |(at, frame): (usize, &Frame)| {
            (frame.is_intact && frame.pages_after_commit > 0).then_some(at + 1)
        };
        let count = self
            .frames
            .iter()
            .enumerate()
            .rev()
            .filter_map(ends)
            .find(|count| self.is_recoverable(*count))?;
        self.apply(base, count)
    }

    /// Returns whether all pages that the first `count` frames write are known.
    fn is_recoverable(&self, count: usize) -> bool {
        let mut later = BTreeSet::new();
        self.frames[..count].iter().rev().all(|frame| {
            if frame.is_intact {
                later.insert(frame.page);
            }
            frame.is_intact || (frame.page > 0 && later.contains(&frame.page))
        })
    }

    /// `base` with the first `count` frames, the last of which ends a transaction.
    fn apply(&self, base: &[u8], count: usize) -> Option<Vec<u8>> {
        let frames = &self.frames[..count];
        let pages = usize::try_from(frames.last()?.pages_after_commit).ok()?;
        let mut whole = base.to_vec();
        whole.resize(pages * self.page_size, 0);
        for frame in frames.iter().filter(|frame| frame.is_intact) {
            let start = (frame.page as usize).checked_sub(1)? * self.page_size;
            // A page beyond the end was truncated by a later transaction.
            if let Some(place) = whole.get_mut(start..start + self.page_size) {
                place.copy_from_slice(&frame.data);
            }
        }
        Some(whole)
    }
}

/// The possible interpretations of a header, the literal one first.
fn header_guesses(bytes: &[u8]) -> Vec<HeaderGuess> {
    let magic = read_u32(bytes, 0);
    let believed = usize::try_from(read_u32(bytes, 8)).unwrap_or_default();
    let orders = if magic == BIG_ENDIAN_MAGIC {
        [ByteOrder::Big, ByteOrder::Little]
    } else {
        [ByteOrder::Little, ByteOrder::Big]
    };
    let is_size = |size: &usize| size.is_power_of_two() && (512..=65_536).contains(size);
    let mut sizes: Vec<usize> = [believed, DEFAULT_PAGE_SIZE].into_iter().filter(is_size).collect();
    sizes.dedup();
    let mut salts =
        vec![[read_u32(bytes, 16), read_u32(bytes, 20)], [read_u32(bytes, 40), read_u32(bytes, 44)]];
    salts.dedup();
    let stored = [read_u32(bytes, 24), read_u32(bytes, 28)];
    let mut readings = Vec::new();
    for order in orders {
        let mut seeds = vec![stored, checksum([0, 0], &bytes[..24], order)];
        seeds.dedup();
        for page_size in &sizes {
            for salt in &salts {
                let each = seeds.iter().map(|seed| HeaderGuess {
                    page_size: *page_size,
                    order,
                    salt: *salt,
                    seed: *seed,
                });
                readings.extend(each);
            }
        }
    }
    readings
}

/// Result of checking a frame.
enum FrameCheck {
    /// Intact or repaired.
    Intact { raw: Vec<u8>, sum: Checksum },
    /// Damaged. The page number is known unless it may be damaged itself.
    Damaged { page: Option<u32> },
}

impl Frame {
    fn new(checked: FrameCheck) -> Self {
        match checked {
            FrameCheck::Intact { raw, .. } => {
                let data = raw[FRAME_HEADER_SIZE..].to_vec();
                Self { page: read_u32(&raw, 0), pages_after_commit: read_u32(&raw, 4), data, is_intact: true }
            }
            FrameCheck::Damaged { page } => Self {
                page: page.unwrap_or_default(),
                pages_after_commit: 0,
                data: Vec::new(),
                is_intact: false,
            },
        }
    }
}

/// Checks a frame and repairs a single flipped bit.
fn check_frame(
    raw: &[u8],
    next: Option<&[u8]>,
    salt: [u32; 2],
    seed: Checksum,
    order: ByteOrder,
) -> FrameCheck {
    let stored = stored_sum(raw);
    let covered = checksummed_bytes(raw);
    let found = checksum(seed, &covered, order);
    let salted = hamming_distance([read_u32(raw, 8), read_u32(raw, 12)], salt);
    let wrong = hamming_distance(found, stored);
    if wrong == 0 && salted <= 1 {
        return FrameCheck::Intact { raw: raw.to_vec(), sum: found };
    }
    if salted > 0 {
        // If the salt is damaged, the page number next to it may be damaged too.
        return FrameCheck::Damaged { page: None };
    }
    let flips = single_bit_fixes(&covered, found, stored, order);
    let goes_on = |seed| {
        next.is_some_and(|next| checksum(seed, &self::checksummed_bytes(next), order) == stored_sum(next))
    };
    // The flipped bit is in the checksum, not in the page: the next frame continues from the right
    // checksum.
    if wrong == 1 && (flips.is_empty() || goes_on(found)) {
        return FrameCheck::Intact { raw: raw.to_vec(), sum: found };
    }
    if let [bit] = flips[..]
        && (wrong > 1 || goes_on(stored))
    {
        let mut raw = raw.to_vec();
        let at = bit / 8;
        raw[if at < 8 { at } else { at - 8 + FRAME_HEADER_SIZE }] ^= 1 << (bit % 8);
        return FrameCheck::Intact { raw, sum: stored };
    }
    let in_header = flips.iter().any(|bit| *bit < 64);
    FrameCheck::Damaged { page: (!in_header).then(|| read_u32(raw, 0)) }
}

fn stored_sum(raw: &[u8]) -> Checksum {
    [read_u32(raw, 16), read_u32(raw, 20)]
}

/// The bytes of a frame that its checksum covers.
fn checksummed_bytes(raw: &[u8]) -> Vec<u8> {
    [&raw[..8], &raw[FRAME_HEADER_SIZE..]].concat()
}

fn hamming_distance(one: [u32; 2], other: [u32; 2]) -> u32 {
    (one[0] ^ other[0]).count_ones() + (one[1] ^ other[1]).count_ones()
}

/// The bits of `covered` each of which, if flipped, turns the checksum `found` into `stored`. The
/// checksum is linear: a change of a word changes it by a multiple that depends only on how many
/// words follow. For the highest bits of a word several candidates may fit.
fn single_bit_fixes(covered: &[u8], found: Checksum, stored: Checksum, order: ByteOrder) -> Vec<usize> {
    let wanted = [stored[0].wrapping_sub(found[0]), stored[1].wrapping_sub(found[1])];
    let mut flips = Vec::new();
    // The change of the checksum if the first or the second word of a pair changes by one.
    let mut effects: [Checksum; 2] = [[1, 1], [0, 1]];
    for pair in (0..covered.len() / 8).rev() {
        for (half, effect) in effects.iter().enumerate() {
            let at = pair * 8 + half * 4;
            for bit in 0..32 {
                let mut flipped = [covered[at], covered[at + 1], covered[at + 2], covered[at + 3]];
                let there = order.read_u32(&flipped);
                flipped[bit / 8] ^= 1 << (bit % 8);
                let change = order.read_u32(&flipped).wrapping_sub(there);
                if effect.map(|effect| effect.wrapping_mul(change)) == wanted {
                    flips.push(at * 8 + bit);
                }
            }
        }
        effects = effects.map(|[first, second]| {
            let first = first.wrapping_add(second);
            [first, second.wrapping_add(first)]
        });
    }
    flips
}

impl ByteOrder {
    fn read_u32(self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

fn checksum(seed: Checksum, bytes: &[u8], order: ByteOrder) -> Checksum {
    let [mut first, mut second] = seed;
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(order.read_u32(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(order.read_u32(&pair[4..])).wrapping_add(first);
    }
    [first, second]
}

/// The number at `at`. All numbers in headers are big-endian.
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    ByteOrder::Big.read_u32(&bytes[at..at + 4])
}
