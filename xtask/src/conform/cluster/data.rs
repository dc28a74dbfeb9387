//! The arrays: orders and their lines, customers, parts and suppliers, as in TPC-H. What a row says
//! follows from its number.

use std::path::Path;

use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline, SchemaBuilder,
};
use tdb_array::{WriteColumn, WriteOptions};

use crate::conform::random::Random;

/// Every order has this many lines.
const LINES: u64 = 4;
/// The number of lines of one fragment, at most.
const BATCH: u64 = 4_000_000;
/// The first day of orders, 1992-01-01, and how many days have any.
const FIRST_DAY: i64 = 8035;
const DAYS: u64 = 2400;

/// The names of the arrays.
pub(super) const ARRAYS: [&str; 5] = ["lineitem", "orders", "customer", "part", "supplier"];

/// Writes all arrays below a folder; the lines are as many cells as asked for.
pub(super) fn write(folder: &Path, cells: u64) -> Result<(), String> {
    let orders = cells.div_ceil(LINES).max(1);
    let sizes = Sizes { customers: orders / 10 + 1, parts: orders / 5 + 1, suppliers: orders / 100 + 1 };
    for begin in (0..cells).step_by(usize::try_from(BATCH).map_err(said)?) {
        lines(begin..cells.min(begin.saturating_add(BATCH)), &sizes).write(folder, "lineitem")?;
    }
    let per_fragment = usize::try_from(BATCH).map_err(said)?;
    for begin in (0..orders).step_by(per_fragment) {
        of_orders(begin..orders.min(begin.saturating_add(BATCH)), &sizes).write(folder, "orders")?;
    }
    customers(sizes.customers).write(folder, "customer")?;
    parts(sizes.parts).write(folder, "part")?;
    suppliers(sizes.suppliers).write(folder, "supplier")
}

/// How many rows each array has.
struct Sizes {
    customers: u64,
    parts: u64,
    suppliers: u64,
}

/// Numbers that follow from a row's number.
const fn of(row: u64, salt: u64) -> Random {
    Random::new(row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// One of some words, for a row.
fn word(row: u64, salt: u64, words: &[&'static str]) -> &'static str {
    of(row, salt).pick(words).copied().unwrap_or("")
}

/// A column of a fragment.
enum Column {
    Integers(Vec<i64>),
    Days(Vec<i64>),
    Reals(Vec<f64>),
    Words { bytes: Vec<u8>, offsets: Vec<u64> },
}

impl Column {
    const fn datatype(&self) -> (Datatype, CellValNum) {
        match self {
            Self::Integers(_) => (Datatype::Int64, CellValNum::ONE),
            Self::Days(_) => (Datatype::DatetimeDay, CellValNum::ONE),
            Self::Reals(_) => (Datatype::Float64, CellValNum::ONE),
            Self::Words { .. } => (Datatype::StringUtf8, CellValNum::Var),
        }
    }
}

/// The columns of a fragment, those of the dimensions first.
struct Table {
    dimensions: usize,
    columns: Vec<(&'static str, Column)>,
}

impl Table {
    const fn new(dimensions: usize) -> Self {
        Self { dimensions, columns: Vec::new() }
    }

    fn integers(mut self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        self.columns.push((name, Column::Integers(values.map(signed).collect())));
        self
    }

    fn days(mut self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        let values = values.map(|day| FIRST_DAY.saturating_add(signed(day)));
        self.columns.push((name, Column::Days(values.collect())));
        self
    }

    fn reals(mut self, name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        self.columns.push((name, Column::Reals(values.collect())));
        self
    }

    fn words(mut self, name: &'static str, values: impl Iterator<Item = &'static str>) -> Self {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        for value in values {
            bytes.extend(value.as_bytes());
            offsets.push(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        self.columns.push((name, Column::Words { bytes, offsets }));
        self
    }

    fn schema(&self) -> Result<ArraySchema, String> {
        let zstd = || Filter::zstd(3).map(|filter| Pipeline::new(vec![filter])).map_err(said);
        let mut builder: SchemaBuilder = ArraySchema::sparse().capacity(50_000);
        for (at, (name, column)) in self.columns.iter().enumerate() {
            if at < self.dimensions {
                let dimension = Dimension::new(*name, 0i64..=1 << 40).with_tile(1i64 << 20);
                builder = builder.dimension(dimension);
            } else {
                let (datatype, count) = column.datatype();
                builder = builder.attribute(Attribute::new(*name, datatype, count).with_filters(zstd()?));
            }
        }
        builder.build().map_err(said)
    }

    /// Writes a fragment; the array is created if it is not there.
    fn write(&self, folder: &Path, name: &str) -> Result<(), String> {
        let path = folder.join(name);
        if !path.exists() {
            WriteOptions::new().create(&path, &self.schema()?).map_err(said)?;
        }
        let writer = WriteOptions::new().open(&path).map_err(said)?;
        let write = self.columns.iter().fold(writer.write(), |write, (name, column)| match column {
            Column::Integers(values) | Column::Days(values) => write.column(WriteColumn::fixed(name, values)),
            Column::Reals(values) => write.column(WriteColumn::fixed(name, values)),
            Column::Words { bytes, offsets } => write.column(WriteColumn::var(name, bytes, offsets)),
        });
        write.commit().map(|_| ()).map_err(said)
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Hundredths as a real number.
fn cents(value: u64) -> f64 {
    value as f64 / 100.0
}

fn lines(rows: core::ops::Range<u64>, sizes: &Sizes) -> Table {
    let rows = || rows.clone();
    let order = |row: u64| row / LINES;
    let ordered = |row: u64| of(order(row), 1).below(DAYS);
    let shipped = move |row: u64| ordered(row) + 1 + of(row, 2).below(120);
    let received = move |row: u64| shipped(row) + 1 + of(row, 3).below(30);
    Table::new(2)
        .integers("l_orderkey", rows().map(order))
        .integers("l_linenumber", rows().map(|row| row % LINES))
        .integers("l_partkey", rows().map(|row| of(row, 4).below(sizes.parts)))
        .integers("l_suppkey", rows().map(|row| of(row, 5).below(sizes.suppliers)))
        .integers("l_quantity", rows().map(|row| 1 + of(row, 6).below(50)))
        .reals("l_extendedprice", rows().map(|row| cents(90_000 + of(row, 7).below(10_000_000))))
        .reals("l_discount", rows().map(|row| cents(of(row, 8).below(11))))
        .reals("l_tax", rows().map(|row| cents(of(row, 9).below(9))))
        .days("l_shipdate", rows().map(shipped))
        .days("l_commitdate", rows().map(move |row| ordered(row) + 30 + of(row, 10).below(60)))
        .days("l_receiptdate", rows().map(received))
        .words("l_returnflag", rows().map(|row| word(row, 11, &["A", "N", "R"])))
        .words("l_linestatus", rows().map(|row| word(row, 12, &["F", "O"])))
        .words(
            "l_shipmode",
            rows().map(|row| word(row, 13, &["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"])),
        )
        .words(
            "l_shipinstruct",
            rows().map(|row| word(row, 14, &["COLLECT COD", "DELIVER IN PERSON", "NONE"])),
        )
}

fn of_orders(rows: core::ops::Range<u64>, sizes: &Sizes) -> Table {
    let rows = || rows.clone();
    Table::new(1)
        .integers("o_orderkey", rows())
        .integers("o_custkey", rows().map(|row| of(row, 20).below(sizes.customers)))
        .days("o_orderdate", rows().map(|row| of(row, 1).below(DAYS)))
        .reals("o_totalprice", rows().map(|row| cents(of(row, 21).below(50_000_000))))
        .words(
            "o_orderpriority",
            rows().map(|row| word(row, 22, &["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"])),
        )
}

fn customers(count: u64) -> Table {
    let rows = || 0..count;
    Table::new(1)
        .integers("c_custkey", rows())
        .integers("c_nationkey", rows().map(|row| of(row, 30).below(25)))
        .reals("c_acctbal", rows().map(|row| cents(of(row, 31).below(1_000_000))))
        .words(
            "c_mktsegment",
            rows()
                .map(|row| word(row, 32, &["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"])),
        )
}

fn parts(count: u64) -> Table {
    let rows = || 0..count;
    Table::new(1)
        .integers("p_partkey", rows())
        .integers("p_size", rows().map(|row| 1 + of(row, 40).below(50)))
        .words("p_brand", rows().map(|row| word(row, 41, &["Brand#12", "Brand#23", "Brand#34"])))
        .words(
            "p_type",
            rows().map(|row| word(row, 42, &["PROMO BRASS", "PROMO STEEL", "STANDARD TIN", "SMALL COPPER"])),
        )
        .words("p_container", rows().map(|row| word(row, 43, &["SM CASE", "MED BAG", "LG BOX"])))
}

fn suppliers(count: u64) -> Table {
    let rows = || 0..count;
    Table::new(1)
        .integers("s_suppkey", rows())
        .integers("s_nationkey", rows().map(|row| of(row, 50).below(25)))
}

fn said(error: impl core::fmt::Display) -> String {
    error.to_string()
}
