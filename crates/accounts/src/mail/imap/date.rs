//! The date formats of IMAP: `16-Nov-2026` and `16-Nov-2026 08:00:00 +0100`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::fmt::strtime;

/// Parses a date with time.
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    strtime::parse("%d-%b-%Y %H:%M:%S %z", text.trim()).ok()?.to_timestamp().ok()
}

/// Formats a date.
pub fn format_date(day: Date) -> String {
    let day = day.strftime("%d-%b-%Y").to_string();
    day.trim_start_matches('0').to_owned()
}

/// Parses a date of a search term: `2026-11-16` or `2026/11/16`.
pub fn parse_search_date(text: &str) -> Option<Date> {
    text.replace('/', "-").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imap_dates_are_parsed_and_formatted() {
        let time = |text: &str| parse_timestamp(text).map(|time| time.to_string());
        assert_eq!(time("16-Nov-2026 08:00:00 +0100").as_deref(), Some("2026-11-16T07:00:00Z"));
        assert_eq!(time(" 6-Nov-2026 08:00:00 -0330").as_deref(), Some("2026-11-06T11:30:00Z"));
        assert_eq!(time("yesterday"), None);
        assert_eq!(format_date(jiff::civil::date(2026, 11, 6)), "6-Nov-2026");
        assert_eq!(parse_search_date("2026/11/6"), None);
        assert_eq!(parse_search_date("2026/11/06"), parse_search_date("2026-11-06"));
    }
}
