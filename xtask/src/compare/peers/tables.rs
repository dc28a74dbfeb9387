//! The results as text and as Markdown.

use std::path::Path;

use super::cases::{Case, Group, Side};
use crate::compare::filters::size_of_folder;
use crate::compare::table::{Sample, aligned, duration, markdown_of, put_between};

const MARKS: (&str, &str) = ("<!-- compare-peers:begin -->", "<!-- compare-peers:end -->");

const INTRODUCTION: &str = "
## Beside Zarr and Parquet

`cargo xtask compare peers` asks the same of the same cells in tdb, libtiledb, Zarr (read by zarrs) and Parquet (read by the parquet
crate, Polars and DuckDB). All sides are processes that have answered once before, with two threads each; they take turns. A read is
timed from opening the array or the files to the result in memory: for sparse arrays and strings, columns of Arrow with strings as
views (`Utf8View`), except for libtiledb, whose buffers were set up before; for dense arrays, plain numbers. The command compares
each answer with tdb's before it times it. A side that takes longer than a second answers once; other times are medians. \u{2013} means that a
side has no such operation.

Every side has zstd at level 3 where it has zstd. Arrays of Zarr have chunks of 512 × 512 cells, as the tiles of the TileDB arrays; with
*shards* these hold chunks of 128 × 128 (lz4 and byteshuffle are Blosc's). The sparse cells lie in the order of space tiles of 100,000 ×
100,000, in TileDB in tiles of 50,000 cells, in Parquet in row groups of 122,880 with dictionaries and page indexes, one file for each
fragment. No cell has the coordinates of another, so arrays without duplicates and Parquet have the same cells; but TileDB has to find
that out. The parquet crate leaves out row groups and pages by statistics and decodes other columns only where a predicate is true.
*Group by* and *distinct* are tdb's crate for SQL; where the page was written with `--without-sql`, they are missing here, and in *SQL* below.

*Limit*: each stored chunk that a query needs through the codec's own crate, with one copy of memory for each further filter and one for
the result, two threads; a Python script counts the chunks without tdb (`xtask/peer/peers_limit.py` says which are needed). Where statistics answer,
there is no limit. *Group by* and *distinct* have that of their fields' chunks, without the grouping.
*Best other* is the fastest other side's time divided by tdb's: above 1, tdb is faster than all.
";

/// The measurements of a case.
pub(super) struct Row {
    pub(super) name: String,
    group: Group,
    pub(super) cells: u64,
    times: [Sample; Side::ALL.len()],
    pub(super) limit: Sample,
    /// Bytes that each side stored, for a write.
    pub(super) stored: Vec<(Side, u64)>,
    /// What differs between the sides' answers; `None` if nothing does.
    pub(super) wrong: Option<String>,
}

impl Row {
    pub(super) fn new(name: &str, group: Group) -> Self {
        Self {
            name: name.to_owned(),
            group,
            cells: 0,
            times: Default::default(),
            limit: Sample::default(),
            stored: Vec::new(),
            wrong: None,
        }
    }

    /// The times of a side.
    pub(super) fn sample(&mut self, side: Side) -> &mut Sample {
        match side {
            Side::Tdb => &mut self.times[0],
            Side::Libtiledb => &mut self.times[1],
            Side::Zarrs => &mut self.times[2],
            Side::Shards => &mut self.times[3],
            Side::Parquet => &mut self.times[4],
            Side::Polars => &mut self.times[5],
            Side::DuckDb => &mut self.times[6],
        }
    }

    fn median(&self, side: Side) -> Option<f64> {
        Side::ALL
            .iter()
            .zip(&self.times)
            .find(|(other, _)| **other == side)
            .and_then(|(_, sample)| sample.median())
    }

    /// The cells of a line of the table, for the sides that its group has.
    fn line(&self, sides: &[Side]) -> Vec<String> {
        let dash = || "–".to_owned();
        let tdb = self.median(Side::Tdb);
        let ratio = |other: Option<f64>| match (other, tdb) {
            _ if self.wrong.is_some() => "WRONG".to_owned(),
            (Some(other), Some(tdb)) if tdb > 0.0 => format!("{:.2}", other / tdb),
            _ => dash(),
        };
        let best = sides
            .iter()
            .filter(|side| **side != Side::Tdb)
            .filter_map(|side| self.median(*side))
            .reduce(f64::min);
        let mut line = vec![self.name.clone(), if self.cells == 0 { dash() } else { self.cells.to_string() }];
        line.extend(sides.iter().map(|side| self.median(*side).map_or_else(dash, duration)));
        line.push(ratio(best));
        if self.group != Group::Writes {
            line.push(self.limit.median().map_or_else(dash, duration));
            line.push(ratio(self.limit.median()));
        }
        line
    }

    /// A second line: what each side stored.
    fn stored_line(&self, sides: &[Side]) -> Vec<String> {
        let of = |side: &Side| self.stored.iter().find(|(other, _)| other == side);
        let mut line = vec![format!("{}, stored", self.name), "–".into()];
        line.extend(
            sides.iter().map(|side| of(side).map_or_else(|| "–".into(), |(_, bytes)| megabytes(*bytes))),
        );
        line.push("–".into());
        line
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

/// The lines of each group's table; the first line is its head.
fn grouped(rows: &[Row]) -> Vec<(Group, Vec<Vec<String>>)> {
    let mut tables = Vec::new();
    for group in Group::ALL {
        let own: Vec<&Row> = rows.iter().filter(|row| row.group == group).collect();
        let answered = |side: &Side| own.iter().any(|row| row.median(*side).is_some());
        let sides: Vec<Side> = Side::ALL.into_iter().filter(answered).collect();
        if own.is_empty() {
            continue;
        }
        let mut head = vec![group.title().to_owned(), "cells".to_owned()];
        head.extend(sides.iter().map(|side| side.name().to_owned()));
        head.push("best other".into());
        if group != Group::Writes {
            head.extend(["limit", "of limit"].map(str::to_owned));
        }
        let mut lines = vec![head];
        for row in own {
            lines.push(row.line(&sides));
            if group == Group::Writes {
                lines.push(row.stored_line(&sides));
            }
        }
        tables.push((group, lines));
    }
    tables
}

/// What the arrays and files that are read take, as lines of a table.
pub(super) fn stored(cases: &[Case], data: &Path) -> Vec<[String; 5]> {
    let mut lines = vec![["stored", "TileDB", "Zarr", "Zarr, shards", "Parquet"].map(str::to_owned)];
    let mut last = "";
    for case in cases.iter().filter(|case| case.group != Group::Writes) {
        if case.array == last {
            continue;
        }
        last = &case.array;
        let size = |folder: &str, name: &str| {
            let path = data.join(folder).join(name);
            if name.is_empty() || !path.exists() {
                "–".to_owned()
            } else {
                megabytes(size_of_folder(&path))
            }
        };
        let array = case.array.as_str();
        let [tiledb, zarr, shards] = ["tiledb", "zarr", "zarr_shards"].map(|folder| size(folder, array));
        lines.push([array.to_owned(), tiledb, zarr, shards, size("parquet", &case.parquet)]);
    }
    lines
}

/// The tables for a terminal.
pub(super) fn text(rows: &[Row], stored: &[[String; 5]], conditions: &str) -> String {
    let mut text: String = grouped(rows).iter().map(|(_, lines)| aligned(lines) + "\n").collect();
    for row in rows {
        if let Some(wrong) = &row.wrong {
            text += &format!("WRONG {}: {wrong}\n", row.name);
        }
    }
    text + &aligned(stored) + "\n" + conditions + "\n"
}

/// Writes the tables between the marks of the page.
pub(super) fn write_docs(
    page: &Path,
    rows: &[Row],
    stored: &[[String; 5]],
    conditions: &str,
) -> Result<(), String> {
    let tables: String = grouped(rows).iter().map(|(_, lines)| markdown_of(lines) + "\n").collect();
    put_between(page, MARKS, INTRODUCTION, &format!("{tables}{}\n{conditions}\n", markdown_of(stored)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seconds: &[(Side, f64)]) -> Row {
        let mut row = Row::new("a case", Group::Sparse);
        for (side, seconds) in seconds {
            row.sample(*side).add(*seconds, None);
        }
        row
    }

    #[test]
    fn the_fastest_other_side_is_compared_with_tdb() {
        let row = row(&[(Side::Tdb, 0.1), (Side::Polars, 0.2), (Side::DuckDb, 0.05)]);
        let (_, lines) = grouped(&[row]).remove(0);
        assert_eq!(
            lines[0],
            ["sparse", "cells", "tdb", "Polars", "DuckDB", "best other", "limit", "of limit"]
        );
        assert_eq!(lines[1], ["a case", "–", "100 ms", "200 ms", "50.0 ms", "0.50", "–", "–"]);
    }

    #[test]
    fn an_answer_that_differs_has_no_ratio() {
        let mut row = row(&[(Side::Tdb, 0.1), (Side::Polars, 0.2)]);
        row.wrong = Some("Polars has 1 cell, tdb has 2".into());
        assert_eq!(row.line(&[Side::Tdb, Side::Polars])[4], "WRONG");
    }

    #[test]
    fn bytes_are_shown_in_megabytes() {
        assert_eq!(megabytes(12_345_678), "12.3 MB");
    }
}
