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

use tdb_array::schema::Datatype;

use crate::{Error, Result};

/// The file that errors name.
const FILE: &str = "matrix.mtx";

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Whole numbers.
    Integer,
    /// Whole numbers that are not negative.
    Unsigned,
    /// Real numbers.
    Real,
    /// No values: each entry is 1.
    Pattern,
}

impl Field {
    pub(crate) const fn datatype(self) -> Datatype {
        match self {
            Self::Integer => Datatype::Int64,
            Self::Unsigned => Datatype::Uint64,
            Self::Real | Self::Pattern => Datatype::Float64,
        }
    }
}

/// Values of some entries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Real(Vec<f64>),
}

/// Some entries: the numbers of their rows and columns, counted from 0.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) rows: Vec<i64>,
    pub(crate) columns: Vec<i64>,
    pub(crate) values: Values,
}

/// A file that is read.
pub(crate) struct Market<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    pub(crate) field: Field,
    /// The numbers of rows, columns and values.
    pub(crate) sizes: [u64; 3],
    left: u64,
    /// The entry before, as its column and row.
    last: (i64, i64),
    /// Whether the entries were ordered by columns and then by rows so far: so, none is there
    /// twice.
    pub(crate) is_ordered: bool,
}

impl<R: BufRead> Market<R> {
    /// Reads the head of a file.
    pub(crate) fn open(input: R) -> Result<Self> {
        let mut market = Self {
            input,
            line: Vec::new(),
            number: 0,
            field: Field::Real,
            sizes: [0; 3],
            left: 0,
            last: (-1, -1),
            is_ordered: true,
        };
        let head = market.next()?.then(|| String::from_utf8_lossy(&market.line).to_ascii_lowercase());
        let head = head.unwrap_or_default();
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
            if !market.next()? {
                return Err(market.wrong("the file ends before the sizes of the matrix"));
            }
            if !market.line.starts_with(b"%") && !market.line.is_empty() {
                break;
            }
        }
        let words = words_of(&market.line);
        let sizes: Vec<Option<u64>> = words.iter().map(|word| number(word)).collect();
        let [Some(rows), Some(columns), Some(values)] = sizes.as_slice() else {
            return Err(market.wrong("three sizes are expected: rows, columns, values"));
        };
        (market.sizes, market.left) = ([*rows, *columns, *values], *values);
        Ok(market)
    }

    /// At most so many entries; none at the end.
    pub(crate) fn entries(&mut self, most: usize) -> Result<Option<Entries>> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(most);
        if count == 0 {
            while self.next()? {
                if !self.line.is_empty() {
                    return Err(self.wrong(format!("there are more than {} values", self.sizes[2])));
                }
            }
            return Ok(None);
        }
        let (mut rows, mut columns) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut values = match self.field {
            Field::Integer => Values::Signed(Vec::with_capacity(count)),
            Field::Unsigned => Values::Unsigned(Vec::with_capacity(count)),
            Field::Real | Field::Pattern => Values::Real(Vec::with_capacity(count)),
        };
        while rows.len() < count {
            if !self.next()? {
                let missing = self.left.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
                return Err(self
                    .wrong(format!("the file ends, and {missing} of {} values are missing", self.sizes[2])));
            }
            if self.line.is_empty() {
                continue;
            }
            let Some((row, column)) = self.entry(&mut values) else {
                let what = format!(
                    "{:?} is no entry: a row, a column and a value are expected",
                    String::from_utf8_lossy(&self.line)
                );
                return Err(self.wrong(what));
            };
            if row < 0 || column < 0 || !self.is_inside(row, column) {
                let [of_rows, of_columns, _] = self.sizes;
                let what = format!(
                    "row {} and column {} are outside of a matrix of {of_rows} rows and {of_columns} columns",
                    row.saturating_add(1),
                    column.saturating_add(1)
                );
                return Err(self.wrong(what));
            }
            self.is_ordered &= self.last < (column, row);
            self.last = (column, row);
            rows.push(row);
            columns.push(column);
        }
        self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(Some(Entries { rows, columns, values }))
    }

    fn is_inside(&self, row: i64, column: i64) -> bool {
        let [rows, columns, _] = self.sizes;
        u64::try_from(row).is_ok_and(|row| row < rows)
            && u64::try_from(column).is_ok_and(|column| column < columns)
    }

    /// The row and the column of the line; its value is added to the others.
    fn entry(&self, values: &mut Values) -> Option<(i64, i64)> {
        let words = words_of(&self.line);
        let (row, column, value) = match words.as_slice() {
            [row, column] if self.field == Field::Pattern => (row, column, None),
            [row, column, value] if self.field != Field::Pattern => (row, column, Some(*value)),
            _ => return None,
        };
        let from_one = |word: &[u8]| number::<i64>(word)?.checked_sub(1);
        let place = (from_one(row)?, from_one(column)?);
        match (values, value) {
            (Values::Signed(values), Some(value)) => values.push(number(value)?),
            (Values::Unsigned(values), Some(value)) => values.push(number(value)?),
            (Values::Real(values), Some(value)) => values.push(number(value)?),
            (Values::Real(values), None) => values.push(1.0),
            _ => return None,
        }
        Some(place)
    }

    /// Reads the next line, without its end; `false` at the end of the file.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.input.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| self.wrong(error.to_string()))?;
        self.number = self.number.saturating_add(1);
        let end = self.line.trim_ascii_end().len();
        self.line.truncate(end);
        Ok(read > 0)
    }

    fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Input { file: FILE.to_owned(), line: Some(self.number), what: what.into() }
    }
}

fn words_of(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

fn number<T: core::str::FromStr>(word: &[u8]) -> Option<T> {
    str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((&all[0].rows, &all[0].columns), (&vec![0, 2], &vec![0, 0]));
        assert_eq!(all[0].values, Values::Signed(vec![5, -7]));
        assert_eq!(all[1].values, Values::Signed(vec![9]));
        let real = "%%matrixmarket MATRIX coordinate real general\n1 1 1\n1 1 1.5e-3";
        assert_eq!(read(real, 9).unwrap()[0].values, Values::Real(vec![0.0015]));
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n";
        assert_eq!(read(pattern, 9).unwrap()[0].values, Values::Real(vec![1.0]));
        assert!(read("%%MatrixMarket matrix coordinate real general\n0 0 0\n", 9).unwrap().is_empty());
    }

    #[test]
    fn whether_entries_are_ordered_is_known_at_the_end() {
        for (entries, ordered) in [
            ("1 1 1\n2 1 1\n1 2 1\n", true),
            ("1 1 1\n1 2 1\n2 1 1\n", false),
            ("1 1 1\n1 1 1\n2 1 1\n", false),
        ] {
            let text = format!("%%MatrixMarket matrix coordinate integer general\n2 2 3\n{entries}");
            let mut market = Market::open(text.as_bytes()).unwrap();
            while market.entries(2).unwrap().is_some() {}
            assert_eq!(market.is_ordered, ordered, "{entries}");
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
        ] {
            let error = read(text, 9).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("matrix.mtx: line {line}: ")) && error.contains(part),
                "{error}"
            );
        }
    }
}
