//! Matrix Market, as Cell Ranger writes it: genes are rows, cells are columns, and both are counted
//! from 1.
//!
//! ```text
//! %%MatrixMarket matrix coordinate integer general
//! % comments
//! 5 9 18          rows, columns, values
//! 2 1 27          row, column, value
//! ```

use std::io::BufRead;

use crate::entries::{Entries, Field, Place, number};
use crate::lines::Lines;
use crate::{Error, Result};

/// Bytes of a line that a message repeats.
const MAX_SHOWN: usize = 80;

/// A file that is read.
pub(crate) struct Market<R> {
    lines: Lines<R>,
    pub(crate) field: Field,
    /// The numbers of rows, columns and values.
    pub(crate) sizes: [u64; 3],
    left: u64,
    /// The place of the entry before.
    last: Place,
    /// The last entry of the part before: others at its place may follow.
    held: Option<Entries>,
    /// Whether the entries were ordered by columns and then by rows so far: so, those at the same
    /// place follow each other, and each place is in one part.
    pub(crate) is_ordered: bool,
    /// How many entries were added to others at the same place.
    pub(crate) added: u64,
}

impl<R: BufRead> Market<R> {
    /// Reads the head of a file.
    pub(crate) fn open(input: R) -> Result<Self> {
        let mut market = Self {
            lines: Lines::new(input, "matrix.mtx"),
            field: Field::Real,
            sizes: [0; 3],
            left: 0,
            last: (-1, -1),
            held: None,
            is_ordered: true,
            added: 0,
        };
        let head =
            if market.lines.next()? { market.lines.text()?.to_ascii_lowercase() } else { String::new() };
        let words: Vec<&str> = head.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", format, field, symmetry] = words.as_slice() else {
            return Err(market
                .wrong("this is no file of Matrix Market: it does not begin with %%MatrixMarket matrix"));
        };
        if *format != "coordinate" {
            return Err(market.wrong(format!("the format {format} is not read: only coordinate is")));
        }
        market.field = match *field {
            "integer" => Field::Integer,
            "unsigned-integer" => Field::Unsigned,
            "real" | "double" => Field::Real,
            "pattern" => Field::Pattern,
            other => {
                return Err(market.wrong(format!(
                    "values of the type {other} are not read: integer, real and pattern are"
                )));
            }
        };
        if *symmetry != "general" {
            return Err(market
                .wrong(format!("{symmetry} matrices are not read: a matrix of genes and cells is general")));
        }
        loop {
            if !market.lines.next()? {
                return Err(market.wrong("the file ends before the sizes of the matrix"));
            }
            let line = market.lines.bytes().trim_ascii_end();
            if !line.starts_with(b"%") && !line.is_empty() {
                break;
            }
        }
        let words = words_of(market.lines.bytes());
        let sizes: Vec<Option<u64>> = words.iter().map(|word| number(word)).collect();
        let [Some(rows), Some(columns), Some(values)] = sizes.as_slice() else {
            return Err(market.wrong("three sizes are expected: rows, columns, values"));
        };
        (market.sizes, market.left) = ([*rows, *columns, *values], *values);
        Ok(market)
    }

    /// The entries of at most so many lines, in the order of their places; `None` at the end. Those
    /// at the same place are added up, as scipy does for `tdb.soma.from_10x`.
    pub(crate) fn entries(&mut self, most: usize) -> Result<Option<Entries>> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(most);
        if count == 0 {
            while self.lines.next()? {
                if !self.lines.bytes().trim_ascii().is_empty() {
                    return Err(self.wrong(format!("there are more than {} values", self.sizes[2])));
                }
            }
            return Ok(None);
        }
        let held = self.held.take();
        let mut entries = held.unwrap_or_else(|| Entries::new(self.field, count));
        for read in 0..count {
            let missing = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
            loop {
                if !self.lines.next()? {
                    return Err(self.wrong(format!(
                        "the file ends, and {missing} of {} values are missing",
                        self.sizes[2]
                    )));
                }
                if !self.lines.bytes().trim_ascii().is_empty() {
                    break;
                }
            }
            let place = self.entry(&mut entries)?;
            self.is_ordered &= self.last <= place;
            self.last = place;
        }
        self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
        let added = entries.add_up(self.is_ordered).map_err(|(column, row)| {
            let datatype = self.field.datatype();
            self.wrong(format!(
                "the values in row {} and column {}, added up, are more than {datatype} has",
                row.saturating_add(1),
                column.saturating_add(1)
            ))
        })?;
        self.added = self.added.saturating_add(added);
        if self.is_ordered && self.left > 0 {
            self.held = entries.take_last();
        }
        Ok(Some(entries))
    }

    fn is_inside(&self, row: i64, column: i64) -> bool {
        let [rows, columns, _] = self.sizes;
        u64::try_from(row).is_ok_and(|row| row < rows)
            && u64::try_from(column).is_ok_and(|column| column < columns)
    }

    /// Adds the entry of the line, and returns its place.
    fn entry(&self, entries: &mut Entries) -> Result<Place> {
        let line = self.lines.bytes();
        let none = || {
            let shown = line.trim_ascii_end();
            let shown = String::from_utf8_lossy(shown.get(..MAX_SHOWN).unwrap_or(shown));
            self.wrong(format!("{shown:?} is no entry: a row, a column and a value are expected"))
        };
        let words = words_of(line);
        let (row, column, value) = match words.as_slice() {
            [row, column] if self.field == Field::Pattern => (row, column, None),
            [row, column, value] if self.field != Field::Pattern => (row, column, Some(*value)),
            _ => return Err(none()),
        };
        let from_one = |word: &[u8]| number::<i64>(word)?.checked_sub(1);
        let (row, column) = from_one(row).zip(from_one(column)).ok_or_else(none)?;
        if !self.is_inside(row, column) {
            let [of_rows, of_columns, _] = self.sizes;
            return Err(self.wrong(format!(
                "row {} and column {} are outside of a matrix of {of_rows} rows and {of_columns} columns",
                row.saturating_add(1),
                column.saturating_add(1)
            )));
        }
        entries.push((column, row), value).ok_or_else(none)?;
        Ok((column, row))
    }

    fn wrong(&self, what: impl Into<String>) -> Error {
        self.lines.wrong(what)
    }
}

fn words_of(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::Values;

    fn read(text: &str, most: usize) -> Result<Vec<Entries>> {
        let mut market = Market::open(text.as_bytes())?;
        let mut all = Vec::new();
        while let Some(entries) = market.entries(most)? {
            all.push(entries);
        }
        Ok(all)
    }

    #[test]
    fn entries_come_in_parts_and_are_counted_from_0() {
        let text = "%%MatrixMarket matrix coordinate integer general\r\n%\n\n3 2 3\n1 1 5\n3 1 -7\n\n2 2 9\n";
        let all = read(text, 2).unwrap();
        // The last entry of a part waits for others at its place.
        assert_eq!((&all[0].rows, &all[0].columns), (&vec![0], &vec![0]));
        assert_eq!((&all[1].rows, &all[1].columns), (&vec![2, 1], &vec![0, 1]));
        assert_eq!(all[0].values, Values::Signed(vec![5]));
        assert_eq!(all[1].values, Values::Signed(vec![-7, 9]));
        let real = "%%matrixmarket MATRIX coordinate real general\n1 1 1\n1 1 1.5e-3";
        assert_eq!(read(real, 9).unwrap()[0].values, Values::Real(vec![0.0015]));
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n";
        assert_eq!(read(pattern, 9).unwrap()[0].values, Values::Real(vec![1.0]));
        assert!(read("%%MatrixMarket matrix coordinate real general\n0 0 0\n", 9).unwrap().is_empty());
    }

    #[test]
    fn whether_entries_are_ordered_and_how_many_were_added_is_known_at_the_end() {
        for (entries, most, ordered, added) in [
            ("1 1 1\n2 1 1\n1 2 1\n", 2, true, 0),
            ("1 1 1\n1 2 1\n2 1 1\n", 2, false, 0),
            ("1 1 1\n1 1 1\n1 1 1\n", 1, true, 2),
            ("1 1 1\n1 1 1\n2 1 1\n", 2, true, 1),
            ("2 1 1\n1 1 1\n2 1 1\n", 3, false, 1),
            // Nobody sees that the places of two parts are the same.
            ("2 1 1\n1 1 1\n2 1 1\n", 2, false, 0),
        ] {
            let text = format!("%%MatrixMarket matrix coordinate integer general\n2 2 3\n{entries}");
            let mut market = Market::open(text.as_bytes()).unwrap();
            let mut sum = 0;
            while let Some(part) = market.entries(most).unwrap() {
                let Values::Signed(values) = part.values else { panic!("{entries}") };
                sum += values.iter().sum::<i64>();
            }
            assert_eq!((market.is_ordered, market.added, sum), (ordered, added, 3), "{entries}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n";
        for (text, line, part) in [
            ("", 1, "no file of Matrix Market"),
            ("%%MatrixMarket matrix array real general\n", 1, "the format array is not read"),
            ("%%MatrixMarket matrix coordinate complex general\n", 1, "values of the type complex"),
            ("%%MatrixMarket matrix coordinate real symmetric\n", 1, "symmetric matrices"),
            ("%%MatrixMarket matrix coordinate real general\n%\n", 3, "before the sizes"),
            ("%%MatrixMarket matrix coordinate real general\n2 2\n", 2, "three sizes"),
            (head, 4, "1 of 2 values are missing"),
            (&format!("{head}2 2 1\n1 2 1\n"), 5, "more than 2 values"),
            (&format!("{head}2 3 1\n"), 4, "row 2 and column 3 are outside"),
            (&format!("{head}0 1 1\n"), 4, "row 0 and column 1 are outside"),
            (&format!("{head}2 2 1.5\n"), 4, "is no entry"),
            (&format!("{head}2 2\n"), 4, "is no entry"),
            (&format!("{head}{} 2 1\n", "2".repeat(1 << 20)), 4, "more than 1048576 bytes"),
            (&format!("{head}1 1 {}\n", i64::MAX), 4, "row 1 and column 1, added up, are more than INT64"),
        ] {
            let error = read(text, 9).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("matrix.mtx: line {line}: ")) && error.contains(part),
                "{error}"
            );
        }
    }
}
