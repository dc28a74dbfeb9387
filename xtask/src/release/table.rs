//! The table of the parts of a release.

use core::fmt::{self, Display, Formatter, Write};
use core::time::Duration;

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// It was installed and does what was asked of it.
    Yes(&'static str),
    /// It was made, but this machine cannot install or run it.
    Made(String),
    /// This machine cannot make it.
    NotHere(String),
    /// It cannot be released.
    Failed(String),
}

impl Display for Tried {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes(what) => write!(f, "yes: {what}"),
            Self::Made(why) => write!(f, "made, not tried: {why}"),
            Self::NotHere(why) => write!(f, "not here: {why}"),
            Self::Failed(why) => write!(f, "FAILED: {why}"),
        }
    }
}

/// A part of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) part: String,
    /// The name of the file that is published.
    pub(super) file: String,
    /// The bytes of what is installed, if they are known.
    pub(super) size: Option<u64>,
    /// The bytes of the file.
    pub(super) packed: Option<u64>,
    /// How long it took to build.
    pub(super) built: Option<Duration>,
    pub(super) tried: Tried,
}

impl Row {
    /// A part that this machine cannot make.
    pub(super) fn not_here(part: &str, why: impl Into<String>) -> Self {
        Self::without_file(part, Tried::NotHere(why.into()))
    }

    /// A part that cannot be released.
    pub(super) fn failed(part: &str, why: impl Into<String>) -> Self {
        Self::without_file(part, Tried::Failed(why.into()))
    }

    fn without_file(part: &str, tried: Tried) -> Self {
        Self { part: part.to_owned(), file: String::new(), size: None, packed: None, built: None, tried }
    }
}

/// The table in Markdown.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text =
        "| Part | File | Installed | File's size | Built in | Tried |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let size = |bytes: Option<u64>| bytes.map_or_else(String::new, megabytes);
        let built = row.built.map_or_else(String::new, minutes);
        // A cell is one line, and has no bar of its own.
        let tried = row.tried.to_string().lines().next().unwrap_or_default().replace('|', "/");
        let file = if row.file.is_empty() { String::new() } else { format!("`{}`", row.file) };
        let (installed, packed) = (size(row.size), size(row.packed));
        let _ = writeln!(text, "| {} | {file} | {installed} | {packed} | {built} | {tried} |", row.part);
    }
    text
}

/// Bytes in MB, with two digits where one says little.
fn megabytes(bytes: u64) -> String {
    let hundredths = bytes.saturating_add(5_000) / 10_000;
    if hundredths >= 1_000 {
        return format!("{} MB", hundredths.saturating_add(50) / 100);
    }
    format!("{}.{:02} MB", hundredths / 100, hundredths % 100)
}

/// A time in minutes and seconds.
fn minutes(time: Duration) -> String {
    let seconds = time.as_millis().saturating_add(500) / 1000;
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_said_as_people_read_them() {
        let sizes = [
            (0, "0.00 MB"),
            (4_999, "0.00 MB"),
            (1_234_567, "1.23 MB"),
            (9_994_999, "9.99 MB"),
            (93_400_000, "93 MB"),
        ];
        for (bytes, shown) in sizes {
            assert_eq!(megabytes(bytes), shown);
        }
        for (millis, shown) in
            [(400, "0 s"), (59_400, "59 s"), (59_600, "1 min 00 s"), (754_000, "12 min 34 s")]
        {
            assert_eq!(minutes(Duration::from_millis(millis)), shown);
        }
    }

    #[test]
    fn each_part_is_a_line_also_one_that_is_not_there() {
        let made = Row {
            part: "command".to_owned(),
            file: "tdb.tar.gz".to_owned(),
            size: Some(93_000_000),
            packed: Some(30_000_000),
            built: Some(Duration::from_secs(600)),
            tried: Tried::Yes("SQL"),
        };
        let rows = [made, Row::not_here("npm", "no a|b"), Row::failed("wheel", "one\ntwo")];
        let text = text(&rows);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| command | `tdb.tar.gz` | 93 MB | 30 MB | 10 min 00 s | yes: SQL |",
                "| npm |  |  |  |  | not here: no a/b |",
                "| wheel |  |  |  |  | FAILED: one |",
            ]
        );
    }
}
