//! Cells of all types, and what comparisons of them are in mathematics.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test that panics has failed"
)]

use core::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Write, WriteOptions};
use tdb_arrow::{Days, Mapping, Options};

use crate::common::Random;

/// The columns: their names, types, and the nanoseconds of the unit of times (0 for numbers).
pub(crate) const COLUMNS: [(&str, Datatype, i128); 15] = [
    ("i8", Datatype::Int8, 0),
    ("u8", Datatype::Uint8, 0),
    ("i32", Datatype::Int32, 0),
    ("u32", Datatype::Uint32, 0),
    ("i64", Datatype::Int64, 0),
    ("u64", Datatype::Uint64, 0),
    ("f32", Datatype::Float32, 0),
    ("f64", Datatype::Float64, 0),
    ("s", Datatype::DatetimeSec, 1_000_000_000),
    ("ms", Datatype::DatetimeMs, 1_000_000),
    ("us", Datatype::DatetimeUs, 1_000),
    ("ns", Datatype::DatetimeNs, 1),
    ("d", Datatype::DatetimeDay, DAY),
    ("long", Datatype::TimeSec, 1_000_000_000),
    ("short", Datatype::TimeMs, 1_000_000),
];
const DAY: i128 = 86_400_000_000_000;
const REALS: usize = 6;
const TIMES: usize = 8;
const DURATION: usize = 13;

pub(crate) const OPERATORS: [&str; 8] =
    ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i128),
    Real(f64),
    /// A number with three digits behind the point.
    Decimal(i128),
    /// Nanoseconds.
    Time(i128),
}

/// Where a row is true, false or unknown.
type Truth<'a> = Box<dyn Fn(usize) -> Option<bool> + 'a>;

/// Which of two values is greater, of all their digits. NaN is after all numbers, or before them if
/// it has a sign.
fn compare(left: &Cell, right: &Cell) -> Ordering {
    match (left, right) {
        (Cell::Integer(left), Cell::Integer(right)) | (Cell::Time(left), Cell::Time(right)) => {
            left.cmp(right)
        }
        (Cell::Decimal(left), Cell::Decimal(right)) => left.cmp(right),
        (Cell::Real(left), Cell::Real(right)) => {
            left.partial_cmp(right).unwrap_or_else(|| left.total_cmp(right))
        }
        (Cell::Integer(left), Cell::Decimal(right)) => (left * 1000).cmp(right),
        (Cell::Integer(left), Cell::Real(right)) => thousandths(left * 1000, *right),
        (Cell::Decimal(left), Cell::Real(right)) => thousandths(*left, *right),
        (Cell::Real(_) | Cell::Decimal(_), _) => compare(right, left).reverse(),
        other => panic!("{other:?}"),
    }
}

fn thousandths(left: i128, right: f64) -> Ordering {
    if right.is_nan() {
        return if right.is_sign_negative() { Ordering::Greater } else { Ordering::Less };
    }
    if right.abs() > 1e30 {
        return if right > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let (whole, rest) = (right.floor() as i128, right - right.floor());
    let left_rest = left - whole * 1000;
    match left_rest {
        i128::MIN..0 => Ordering::Less,
        1000.. => Ordering::Greater,
        // Parts of 2^112 of both.
        _ => {
            let parts = rest * 2f64.powi(112);
            (left_rest << 112).cmp(&(parts as i128 * 1000)).then(0f64.total_cmp(&parts.fract()))
        }
    }
}

pub(crate) fn holds(op: &str, left: &Cell, right: &Cell) -> Option<bool> {
    match (op, left == &Cell::Null, right == &Cell::Null) {
        ("IS DISTINCT FROM", false, false) => Some(compare(left, right).is_ne()),
        ("IS DISTINCT FROM", left, right) => Some(left != right),
        ("IS NOT DISTINCT FROM", ..) => holds("IS DISTINCT FROM", left, right).map(|distinct| !distinct),
        (_, false, false) => {
            let order = compare(left, right);
            Some(match op {
                "=" => order.is_eq(),
                "<>" => order.is_ne(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
        _ => None,
    }
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(truth: Option<bool>) -> Option<bool> {
    truth.map(|truth| !truth)
}

/// The cells of an array: of each column, those of its rows.
pub(crate) struct Cells(Vec<Vec<Cell>>);

impl Cells {
    pub(crate) fn random(random: &mut Random, rows: usize) -> Self {
        let column = |column: usize, random: &mut Random| {
            let mut cells: Vec<_> = (0..rows).map(|_| cell(column, random)).collect();
            cells[rows / 2] = Cell::Null;
            cells
        };
        Self((0..COLUMNS.len()).map(|number| column(number, random)).collect())
    }

    /// The same with values where there was none.
    pub(crate) fn without_nulls(mut self) -> Self {
        for (column, cells) in self.0.iter_mut().enumerate() {
            let value = if (REALS..TIMES).contains(&column) { Cell::Real(1.0) } else { Cell::Integer(1) };
            let value = if column >= TIMES { Cell::Time(COLUMNS[column].2) } else { value };
            cells.iter_mut().filter(|cell| **cell == Cell::Null).for_each(|cell| *cell = value.clone());
        }
        self
    }

    pub(crate) fn rows(&self) -> usize {
        self.0[0].len()
    }

    pub(crate) fn cell(&self, column: usize, row: usize) -> &Cell {
        &self.0[column][row]
    }

    /// An array of these cells; its coordinates are the numbers of the rows.
    pub(crate) fn storage(&self) -> MemoryStorage {
        let builder = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=999).with_tile(10i64));
        let builder = COLUMNS.iter().fold(builder.capacity(7), |builder, (name, datatype, _)| {
            builder.attribute(Attribute::new(*name, *datatype, CellValNum::ONE).with_nulls())
        });
        let schema = builder.build().unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let mapping = Mapping::new(&schema, [], Options::new().days(Days::Date32)).unwrap();
        let writer = WriteOptions::new().threads(1).open_storage(storage.clone()).unwrap();
        let arrow = mapping.whole_arrow_schema().unwrap();
        let cells = mapping.write_batch(&self.of_types(&arrow)).unwrap();
        cells.columns().into_iter().fold(writer.write(), Write::column).commit().unwrap();
        storage
    }

    /// The same as a table in memory.
    pub(crate) fn batch(&self, array: &Array) -> RecordBatch {
        let mapping = Mapping::of(array, Options::new().days(Days::Date32)).unwrap();
        self.of_types(&mapping.whole_arrow_schema().unwrap())
    }

    fn of_types(&self, schema: &Schema) -> RecordBatch {
        let xs: ArrayRef = Arc::new((0..self.rows() as i64).map(Some).collect::<Int64Array>());
        let mut columns = vec![("x", xs, false)];
        for (number, (name, _, unit)) in COLUMNS.iter().enumerate() {
            let data_type = schema.field_with_name(name).unwrap().data_type();
            let values = self.0[number].iter().map(|cell| scalar(cell, *unit, data_type));
            columns.push((name, ScalarValue::iter_to_array(values).unwrap(), true));
        }
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    /// A comparison of a column with a constant: the column, the operator, the constant, and where
    /// it is true.
    pub(crate) fn comparison(&self, random: &mut Random) -> (&'static str, &'static str, String, Truth<'_>) {
        let column = random.below(COLUMNS.len());
        let (text, value) = self.literal(column, random);
        let op = OPERATORS[random.below(6)];
        (COLUMNS[column].0, op, text, Box::new(move |row| holds(op, self.cell(column, row), &value)))
    }

    /// A filter of one column, and where it is true.
    pub(crate) fn question(&self, random: &mut Random) -> (String, Truth<'_>) {
        let column = random.below(COLUMNS.len());
        let name = COLUMNS[column].0;
        let negated = random.below(2) == 0;
        let word = if negated { "NOT " } else { "" };
        let sign = move |truth: Option<bool>| if negated { not(truth) } else { truth };
        let op = OPERATORS[random.below(8)];
        let many = [1, 2, 4, 7, 40][random.below(5)];
        let (texts, values): (Vec<_>, Vec<_>) =
            (0..many.max(2)).map(|_| self.literal(column, random)).unzip();
        match random.below(7) {
            0 => {
                let filter = format!("{name} {word}BETWEEN {} AND {}", texts[0], texts[1]);
                let truth = move |row| {
                    let cell = self.cell(column, row);
                    sign(and(holds(">=", cell, &values[0]), holds("<=", cell, &values[1])))
                };
                (filter, Box::new(truth))
            }
            1 | 2 => {
                let filter = format!("{name} {word}IN ({})", texts[..many].join(", "));
                let truth = move |row| {
                    let equal = values[..many].iter().map(|value| holds("=", self.cell(column, row), value));
                    sign(not(equal.map(not).fold(Some(true), and)))
                };
                (filter, Box::new(truth))
            }
            // Two lists over one column, which the optimizer joins.
            3 => {
                let (first, second) = texts.split_at(texts.len() / 2);
                let (some, others) = (random.below(2) == 0, random.below(2) == 0);
                let conjunction = random.below(2) == 0;
                let written = |texts: &[String], negated| {
                    format!("{name} {}IN ({})", if negated { "NOT " } else { "" }, texts.join(", "))
                };
                let between = if conjunction { "AND" } else { "OR" };
                let filter = format!("{} {between} {}", written(first, some), written(second, others));
                let middle = first.len();
                let truth = move |row| {
                    let cell = self.cell(column, row);
                    let among = |values: &[_], negated| {
                        let apart =
                            values.iter().map(|value| not(holds("=", cell, value))).fold(Some(true), and);
                        if negated { apart } else { not(apart) }
                    };
                    let sides = [among(&values[..middle], some), among(&values[middle..], others)];
                    match conjunction {
                        true => and(sides[0], sides[1]),
                        false => not(and(not(sides[0]), not(sides[1]))),
                    }
                };
                (filter, Box::new(truth))
            }
            4 => {
                let filter = format!("CASE {name} WHEN {} THEN {negated} ELSE {} END", texts[0], !negated);
                let truth = move |row| {
                    let equal = holds("=", self.cell(column, row), &values[0]) == Some(true);
                    Some(equal == negated)
                };
                (filter, Box::new(truth))
            }
            5 => {
                let filter = format!("{word}({} {op} {name})", texts[0]);
                (filter, Box::new(move |row| sign(holds(op, &values[0], self.cell(column, row)))))
            }
            _ => {
                let filter = format!("{word}({name} {op} {})", texts[0]);
                (filter, Box::new(move |row| sign(holds(op, self.cell(column, row), &values[0]))))
            }
        }
    }

    /// Pairs of columns that can be compared.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        let kinds = [0..TIMES, TIMES..DURATION, DURATION..COLUMNS.len()];
        let pairs = kinds.into_iter().flat_map(|kind| {
            let other = kind.clone();
            kind.flat_map(move |left| other.clone().map(move |right| (left, right)))
        });
        pairs.collect()
    }

    /// A constant near a cell of a column, and its value.
    fn literal(&self, column: usize, random: &mut Random) -> (String, Cell) {
        if random.below(25) == 0 {
            return ("NULL".to_owned(), Cell::Null);
        }
        let mut near = Cell::Null;
        while near == Cell::Null {
            near = self.cell(column, random.below(self.rows())).clone();
        }
        match near {
            Cell::Time(near) if column >= DURATION => {
                let near =
                    (near + [0, 1, -1, 500_000_000][random.below(4)]).clamp(i64::MIN.into(), i64::MAX.into());
                (format!("arrow_cast({near}, 'Duration(ns)')"), Cell::Time(near))
            }
            Cell::Time(near) => time_literal(near, column, random),
            Cell::Integer(near) => number_literal(near, near as f64, random),
            Cell::Real(near) if near.is_finite() && near.abs() < 1e25 => {
                number_literal(near as i128, near, random)
            }
            Cell::Real(near) => real_literal(near),
            other => panic!("{other:?}"),
        }
    }
}

/// A cell of a column, with the limits of its type among them.
fn cell(column: usize, random: &mut Random) -> Cell {
    let (_, datatype, unit) = COLUMNS[column];
    let some = random.below(12);
    if some == 0 {
        return Cell::Null;
    }
    if (REALS..TIMES).contains(&column) {
        let special =
            [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e300, 16_777_216.0, 0.1];
        let large = [9_007_199_254_740_992.0, 9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0];
        let real = match some {
            1..6 => special[random.below(9)],
            6 | 7 => large[random.below(3)],
            8 | 9 => f64::from(i32::MAX) + random.below(3) as f64,
            _ => random.below(41) as f64 / 4.0 - 5.0,
        };
        return Cell::Real(if column == REALS { f64::from(real as f32) } else { real });
    }
    let (least, greatest): (i128, i128) = match datatype {
        Datatype::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Datatype::Uint8 => (0, u8::MAX.into()),
        Datatype::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Datatype::Uint32 => (0, u32::MAX.into()),
        Datatype::Int64 => (i64::MIN.into(), i64::MAX.into()),
        Datatype::Uint64 => (0, u64::MAX.into()),
        _ if unit == DAY => (-719_000, 2_900_000),
        Datatype::TimeSec | Datatype::TimeMs => (i64::MIN.into(), i64::MAX.into()),
        // The years 1 to 9910, as far as the unit has them: nanoseconds end in 2262.
        _ => {
            let nanoseconds = (-719_000 * DAY, 2_900_000 * DAY);
            let ends = (i128::from(i64::MIN) + 1, i128::from(i64::MAX) - 1);
            ((nanoseconds.0 / unit).max(ends.0), (nanoseconds.1 / unit).min(ends.1))
        }
    };
    let value = match some {
        1 => least,
        2 => greatest,
        3 => (1 << 53) + random.below(3) as i128,
        4 => (1 << 24) + random.below(3) as i128,
        5 => (1_577_836_800_000_000_000 + random.below(3) as i128 * 1_500_000_000) / unit.max(1),
        _ => random.below(9) as i128 - 4,
    };
    let value = value.clamp(least, greatest);
    if unit == 0 { Cell::Integer(value) } else { Cell::Time(value * unit) }
}

fn scalar(cell: &Cell, unit: i128, data_type: &DataType) -> ScalarValue {
    match cell {
        Cell::Null => ScalarValue::try_from(data_type).unwrap(),
        Cell::Real(real) if *data_type == DataType::Float32 => ScalarValue::Float32(Some(*real as f32)),
        Cell::Real(real) => ScalarValue::Float64(Some(*real)),
        Cell::Integer(value) => ScalarValue::try_from_string(value.to_string(), data_type).unwrap(),
        Cell::Time(value) if *data_type == DataType::Date32 => {
            ScalarValue::Date32(Some((value / unit) as i32))
        }
        Cell::Time(value) => ScalarValue::Int64(Some((value / unit) as i64)).cast_to(data_type).unwrap(),
        Cell::Decimal(_) => panic!("no column has decimal numbers"),
    }
}

fn real_literal(real: f64) -> (String, Cell) {
    let text = if real.is_finite() { format!("{real:e}") } else { format!("CAST('{real}' AS DOUBLE)") };
    // The sign of a NaN is lost in text.
    (text, Cell::Real(if real.is_nan() { f64::NAN } else { real }))
}

fn number_literal(near: i128, real: f64, random: &mut Random) -> (String, Cell) {
    let whole = near + [0, 0, 1, -1][random.below(4)];
    let whole = whole.clamp(i64::MIN.into(), u64::MAX.into());
    match random.below(9) {
        0 => real_literal(
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -0.0, 1e-300, 1.8446744073709552e19]
                [random.below(7)],
        ),
        1 => real_literal(real),
        2 => real_literal([real.next_up(), real.next_down(), real + 0.5][random.below(3)]),
        3 => {
            let single = real as f32;
            let text = format!("arrow_cast({:e}, 'Float32')", f64::from(single));
            (text, Cell::Real(single.into()))
        }
        4 | 5 => {
            let digits = whole * 1000 + [0, 500, 1, -1][random.below(4)];
            let (size, sign) = (digits.unsigned_abs(), if digits < 0 { "-" } else { "" });
            let text = format!("CAST('{sign}{}.{:03}' AS DECIMAL(38, 3))", size / 1000, size % 1000);
            (text, Cell::Decimal(digits))
        }
        _ => (whole.to_string(), Cell::Integer(whole)),
    }
}

fn time_literal(near: i128, column: usize, random: &mut Random) -> (String, Cell) {
    let unit = COLUMNS[column].2;
    let moved = near + [0, 0, 1, -1, unit / 2, unit, -unit][random.below(7)];
    let time = moved.clamp(i128::from(i64::MIN) + DAY, i128::from(i64::MAX) - DAY);
    let (days, rest) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let clock = |rest: i128| {
        let (seconds, behind) = (rest / 1_000_000_000, rest % 1_000_000_000);
        format!("{:02}:{:02}:{:02}.{behind:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    };
    let text = format!("{}T{}", date(days), clock(rest));
    match random.below(6) {
        0 => (format!("DATE '{}'", date(days)), Cell::Time(days * DAY)),
        1 => (format!("'{text}'"), Cell::Time(time)),
        2 => (format!("TIMESTAMP '{text}Z'"), Cell::Time(time)),
        3 => {
            let there = time + 5_400_000_000_000;
            let text = format!("{}T{}", date(there.div_euclid(DAY)), clock(there.rem_euclid(DAY)));
            (format!("TIMESTAMP '{text}+01:30'"), Cell::Time(time))
        }
        _ => (format!("TIMESTAMP '{text}'"), Cell::Time(time)),
    }
}

/// The date of a day since 1970.
fn date(days: i128) -> String {
    let mut year = 1970;
    let mut left = days;
    let length = |year: i128| if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 };
    while left < 0 {
        year -= 1;
        left += length(year);
    }
    while left >= length(year) {
        left -= length(year);
        year += 1;
    }
    let february = length(year) - 337;
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}
