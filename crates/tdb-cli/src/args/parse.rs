//! Numbers and times of the command line.

use core::num::NonZeroU16;

use tdb_text::calendar::{self, BadDate};

/// A number of things.
pub(crate) fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number, such as 10"))
}

/// A number of threads.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroU16, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number of threads, which is 1 or more"))
}

/// Milliseconds, or the beginning of an ISO date.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    span(text).map(|(first, _)| first)
}

/// Milliseconds, or the end of an ISO date.
pub(crate) fn parse_end(text: &str) -> Result<u64, String> {
    span(text).map(|(_, last)| last)
}

/// The first and the last millisecond of a time.
fn span(text: &str) -> Result<(u64, u64), String> {
    if let Ok(millis) = text.parse() {
        return Ok((millis, millis));
    }
    calendar::span_millis(text).map_err(|error| {
        let why = match error {
            BadDate::Syntax => "is neither a number of milliseconds nor a date such as 2020-02-29T12:30",
            BadDate::TooFine => "is more precise than a millisecond",
            BadDate::TooFar => "is before 1970 or too far away",
        };
        format!("{text:?} {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_or_dates() {
        assert_eq!(parse_time("17"), Ok(17));
        assert_eq!(parse_time("1970-01-02"), Ok(86_400_000));
        assert_eq!((parse_end("17"), parse_end("1970-01-01")), (Ok(17), Ok(86_399_999)));
        assert_eq!(parse_end("1970-01-01T00:00:01+00:00"), Ok(1999));
        assert!(parse_time("yesterday").unwrap_err().contains("yesterday"));
    }
}
