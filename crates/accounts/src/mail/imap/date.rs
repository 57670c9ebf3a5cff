//! The date formats of IMAP: `16-Nov-2026` and `16-Nov-2026 08:00:00 +0100`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::fmt::strtime;

/// Parses a date with time.
pub fn read(text: &str) -> Option<Timestamp> {
    strtime::parse("%d-%b-%Y %H:%M:%S %z", text.trim()).ok()?.to_timestamp().ok()
}

/// Formats a date.
pub fn write(day: Date) -> String {
    let day = day.strftime("%d-%b-%Y").to_string();
    day.trim_start_matches('0').to_owned()
}

/// Parses a date of a search term: `2026-11-16` or `2026/11/16`.
pub fn said(text: &str) -> Option<Date> {
    text.replace('/', "-").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_as_the_other_side_does() {
        let time = |text: &str| read(text).map(|time| time.to_string());
        assert_eq!(time("16-Nov-2026 08:00:00 +0100").as_deref(), Some("2026-11-16T07:00:00Z"));
        assert_eq!(time(" 6-Nov-2026 08:00:00 -0330").as_deref(), Some("2026-11-06T11:30:00Z"));
        assert_eq!(time("yesterday"), None);
        assert_eq!(write(jiff::civil::date(2026, 11, 6)), "6-Nov-2026");
        assert_eq!(said("2026/11/6"), None);
        assert_eq!(said("2026/11/06"), said("2026-11-06"));
    }
}
