//! The time window of an array or a group that a command reads.

use clap::Args as Group;
use tdb_array::{OpenOptions, TimeWindow};
use tdb_text::calendar;

use super::{KeyArgs, parse_end, parse_time};
use crate::failure::Result;

/// Which point in the history of the array to look at.
#[derive(Debug, Group)]
pub(crate) struct WindowArgs {
    /// The state at this time, past or future: milliseconds since 1970, or the end of a date in UTC
    /// (or with an offset such as +01:00). Default: now.
    #[arg(long, value_name = "MS|DATE", value_parser = parse_end)]
    pub(crate) at: Option<u64>,
    /// Only what was written between these two times, inclusive: from the beginning of the first
    /// date to the end of the second. If the second one is omitted: until now.
    #[arg(long, value_name = "MS,MS", value_parser = parse_times, conflicts_with = "at")]
    pub(crate) between: Option<Between>,
}

/// A time window whose end may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) start: u64,
    /// None for the time of opening.
    pub(crate) end: Option<u64>,
}

impl WindowArgs {
    /// Options for opening an array with this window and key.
    pub(crate) fn options(&self, key: &KeyArgs) -> Result<OpenOptions> {
        let options = OpenOptions::new();
        let options = match self.asked() {
            Some(Between { start, end: Some(end) }) => options.window(TimeWindow::between(start, end)),
            Some(Between { start, end: None }) => options.since(start),
            None => options,
        };
        Ok(match key.key()? {
            Some(key) => options.key(key),
            None => options,
        })
    }

    /// The window in words, if one was given.
    pub(crate) fn text(&self) -> Option<String> {
        let Between { start, end } = self.asked()?;
        let end = end.map_or_else(|| "now".to_owned(), calendar::time_text);
        Some(format!("{} and {end}", calendar::time_text(start)))
    }

    /// The given window as shown in JSON. The end is null if it is now, so that the same command
    /// always shows the same window.
    pub(crate) fn timestamps(&self) -> [Option<u64>; 2] {
        self.asked().map_or([Some(0), None], |Between { start, end }| [Some(start), end])
    }

    /// The given window.
    pub(crate) fn asked(&self) -> Option<Between> {
        self.between.or(self.at.map(|at| Between { start: 0, end: Some(at) }))
    }
}

fn parse_times(text: &str) -> Result<Between, String> {
    let (start, end) = text.split_once(',').ok_or("two times, separated by a comma, are needed")?;
    let start = if start.is_empty() { 0 } else { parse_time(start)? };
    let end = if end.is_empty() { None } else { Some(parse_end(end)?) };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(format!("the window is empty: {start} is after {end}"));
    }
    Ok(Between { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_two_times_of_which_each_may_be_left_out() {
        assert_eq!(parse_times("5,9"), Ok(Between { start: 5, end: Some(9) }));
        assert_eq!(parse_times("5,"), Ok(Between { start: 5, end: None }));
        assert_eq!(parse_times(",1970-01-02"), Ok(Between { start: 0, end: Some(172_799_999) }));
        assert_eq!(
            parse_times("1970-01-02,1970-01-02"),
            Ok(Between { start: 86_400_000, end: Some(172_799_999) })
        );
        assert!(parse_times("9,5").is_err());
        assert!(parse_times("9").is_err());
    }
}
