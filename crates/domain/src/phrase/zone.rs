//! Time zones: `9:00 tokyo time`, `17:00 utc`, `9:00 America/Lima`.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::group::{Piece, Preceding};
use super::words::{Match, Words};

/// Cities that are not the last part of a zone name, and abbreviations.
const ZONE_ALIASES: [(&str, &str); 47] = [
    ("utc", "UTC"),
    ("gmt", "UTC"),
    ("cet", "Europe/Berlin"),
    ("cest", "Europe/Berlin"),
    ("bst", "Europe/London"),
    ("est", "America/New_York"),
    ("edt", "America/New_York"),
    ("et", "America/New_York"),
    ("eastern", "America/New_York"),
    ("cst", "America/Chicago"),
    ("cdt", "America/Chicago"),
    ("central", "America/Chicago"),
    ("mst", "America/Denver"),
    ("mountain", "America/Denver"),
    ("pst", "America/Los_Angeles"),
    ("pdt", "America/Los_Angeles"),
    ("pt", "America/Los_Angeles"),
    ("pacific", "America/Los_Angeles"),
    ("ist", "Asia/Kolkata"),
    ("jst", "Asia/Tokyo"),
    ("aest", "Australia/Sydney"),
    ("nyc", "America/New_York"),
    ("boston", "America/New_York"),
    ("miami", "America/New_York"),
    ("washington", "America/New_York"),
    ("atlanta", "America/New_York"),
    ("san francisco", "America/Los_Angeles"),
    ("sf", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("la", "America/Los_Angeles"),
    ("austin", "America/Chicago"),
    ("houston", "America/Chicago"),
    ("rio", "America/Sao_Paulo"),
    ("montreal", "America/Toronto"),
    ("munich", "Europe/Berlin"),
    ("hamburg", "Europe/Berlin"),
    ("frankfurt", "Europe/Berlin"),
    ("geneva", "Europe/Zurich"),
    ("barcelona", "Europe/Madrid"),
    ("milan", "Europe/Rome"),
    ("edinburgh", "Europe/London"),
    ("mumbai", "Asia/Kolkata"),
    ("delhi", "Asia/Kolkata"),
    ("bangalore", "Asia/Kolkata"),
    ("beijing", "Asia/Shanghai"),
    ("osaka", "Asia/Tokyo"),
    ("kyiv", "Europe/Kyiv"),
];

/// Abbreviations that do not need `time` after them.
const ZONE_ABBREVIATIONS: [&str; 13] =
    ["utc", "gmt", "cet", "cest", "bst", "est", "edt", "cst", "cdt", "pst", "pdt", "ist", "jst"];

/// Parses a zone, which must follow another piece.
pub(super) fn zone(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    if near == Preceding::Words {
        return None;
    }
    let text = words.at(at);
    if ZONE_ABBREVIATIONS.contains(&text) {
        return Some((Piece::Zone(zone_by_name(text)?), words.skip(at + 1, &["time"])));
    }
    if text.contains('/') {
        return Some((Piece::Zone(TimeZoneDatabase::bundled().get(text).ok()?), at + 1));
    }
    let many = (1..=3).find(|many| words.at(at + many) == "time")?;
    let name = (0..many).map(|nth| words.at(at + nth)).collect::<Vec<_>>().join(" ");
    Some((Piece::Zone(zone_by_name(&name)?), at + many + 1))
}

/// Looks up a zone by alias, or by the last part of its IANA name.
fn zone_by_name(name: &str) -> Option<TimeZone> {
    let known = TimeZoneDatabase::bundled();
    if let Some((_, zone)) = ZONE_ALIASES.iter().find(|(city, _)| *city == name) {
        return known.get(zone).ok();
    }
    let last = name.replace(' ', "_");
    let ends = |zone: &str| zone.rsplit_once('/').is_some_and(|(_, city)| city.eq_ignore_ascii_case(&last));
    let found = known.available().find(|zone| ends(zone.as_str()))?;
    known.get(found.as_str()).ok()
}

/// The city of an IANA zone name in lower case: `tokyo`.
pub(super) fn city(zone: &str) -> String {
    zone.rsplit('/').next().unwrap_or(zone).replace('_', " ").to_lowercase()
}
