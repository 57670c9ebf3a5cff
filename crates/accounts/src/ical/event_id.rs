//! The ids of events: the UID, and for an occurrence the UID with its time.

use jiff::tz::TimeZone;

use super::moment::{Moment, format_utc};

/// Returns the id of an occurrence.
pub(crate) fn occurrence_id(uid: &str, time: &Moment, home: &TimeZone) -> String {
    match time {
        Moment::Day(day) => format!("{uid}_{}", day.strftime("%Y%m%d")),
        Moment::InZone(..) | Moment::Floating(_) => {
            format!("{uid}_{}", time.to_timestamp(home).map(format_utc).unwrap_or_default())
        }
    }
}

/// Splits the id of an occurrence into UID and time.
pub(crate) fn split_occurrence_id(id: &str) -> Option<(&str, &str)> {
    id.rsplit_once('_').filter(|(uid, time)| !uid.is_empty() && [8, 16].contains(&time.len()))
}

/// Returns the UID of the series if `id` may be an occurrence.
pub(crate) fn series_id(id: &str) -> Option<&str> {
    split_occurrence_id(id).map(|(uid, _)| uid)
}

/// Returns an id for an event without a UID: a hash of its content.
pub(crate) fn content_id(part: &[u8]) -> String {
    let hash = part.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("unnamed-{hash:016x}")
}

/// Formats ten random bytes as a new id.
pub(crate) fn random_id(random: [u8; 10]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    random.iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect()
}
