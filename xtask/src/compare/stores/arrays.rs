//! The arrays that are read and written on a remote server.

use core::ops::ControlFlow;
use std::fs;
use std::path::Path;

use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::{WriteColumn, WriteOptions};

type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

/// Number of cells in each fragment of the arrays with many fragments.
pub(super) const FEW: i64 = 10;

/// Creates an array in a folder that does not exist yet.
pub(super) fn make(name: &str, path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or("an array is in a folder")?)?;
    match name {
        "window" => dense(path, 2000, 100, true),
        "whole" => dense(path, 4096, 512, false),
        "box" => sparse(path, 1_000_000),
        "appends" => Ok(WriteOptions::new().create(path, &line()?)?),
        "fragments-100" => many(path, 100, false),
        "fragments-100-consolidated" => many(path, 100, true),
        "fragments-1000" => many(path, 1000, false),
        "fragments-1000-consolidated" => many(path, 1000, true),
        _ => Err(format!("there is no array {name}").into()),
    }
}

/// Numbers that no codec can compress well; they are the same in every run.
fn scattered(count: i64) -> impl Iterator<Item = i64> {
    (0..count).map(|i| i.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(i << 7))
}

fn filters(filtered: bool) -> Result<Pipeline> {
    Ok(Pipeline::new(if filtered { vec![Filter::zstd(3)?] } else { Vec::new() }))
}

/// A square with an INT32 and a FLOAT64 in each cell.
fn dense(path: &Path, side: i64, tile: i64, filtered: bool) -> Result<()> {
    let attribute = |name, datatype| {
        Ok::<_, Box<dyn std::error::Error>>(
            Attribute::new(name, datatype, CellValNum::ONE).with_filters(filters(filtered)?),
        )
    };
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0..=side - 1).with_tile(tile))
        .dimension(Dimension::new("y", 0..=side - 1).with_tile(tile))
        .attribute(attribute("a", Datatype::Int32)?)
        .attribute(attribute("b", Datatype::Float64)?)
        .build()?;
    WriteOptions::new().create(path, &schema)?;
    let cells = side.checked_mul(side).ok_or("too many cells for a square")?;
    let a: Vec<i32> = scattered(cells).map(|value| i32::from_le_bytes(low(value))).collect();
    let b: Vec<f64> = a.iter().map(|value| f64::from(*value) / 7.0).collect();
    let writer = WriteOptions::new().open(path)?;
    let write = writer.write().range("x", 0..=side - 1).range("y", 0..=side - 1);
    write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("b", &b)).commit()?;
    Ok(())
}

/// The four lowest bytes.
const fn low(value: i64) -> [u8; 4] {
    let [a, b, c, d, ..] = value.to_le_bytes();
    [a, b, c, d]
}

/// Cells at scattered positions of a square, in one fragment.
fn sparse(path: &Path, cells: i64) -> Result<()> {
    const SIDE: i64 = 100_000;
    let dimension = |name| {
        Ok::<_, Box<dyn std::error::Error>>(
            Dimension::new(name, 0..=SIDE - 1).with_tile(1000i64).with_filters(filters(true)?),
        )
    };
    let schema = ArraySchema::sparse()
        .dimension(dimension("x")?)
        .dimension(dimension("y")?)
        .attribute(Attribute::new("v", Datatype::Float64, CellValNum::ONE).with_filters(filters(true)?))
        .allow_duplicates()
        .build()?;
    WriteOptions::new().create(path, &schema)?;
    let place = |value: i64, by: u32| (value >> by).rem_euclid(SIDE);
    let x: Vec<i64> = scattered(cells).map(|value| place(value, 11)).collect();
    let y: Vec<i64> = scattered(cells).map(|value| place(value, 29)).collect();
    let v: Vec<f64> = scattered(cells).map(|value| f64::from(i32::from_le_bytes(low(value >> 17)))).collect();
    let writer = WriteOptions::new().open(path)?;
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("y", &y));
    write.column(WriteColumn::fixed("v", &v)).commit()?;
    Ok(())
}

/// The schema of the arrays with many fragments.
fn line() -> Result<ArraySchema> {
    Ok(ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=999_999).with_tile(1000i64))
        .attribute(Attribute::new("v", Datatype::Float64, CellValNum::ONE))
        .build()?)
}

/// The coordinates and the values of one of many fragments.
pub(super) fn few(number: i64) -> (Vec<i64>, Vec<f64>) {
    let x: Vec<i64> = (0..FEW).map(|cell| number * FEW + cell).collect();
    let v = (0..FEW).map(|cell| f64::from(u8::try_from(cell).unwrap_or(0))).collect();
    (x, v)
}

/// Fragments of a few cells each; with `consolidated`, their metadata is in one file.
fn many(path: &Path, fragments: i64, consolidated: bool) -> Result<()> {
    WriteOptions::new().create(path, &line()?)?;
    for number in 0..fragments {
        let (x, v) = few(number);
        let writer = WriteOptions::new().timestamp(1_700_000_000_000 + number.unsigned_abs()).open(path)?;
        writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("v", &v)).commit()?;
    }
    if consolidated {
        for what in [Stored::FragmentMetadata, Stored::Commits] {
            let writer = WriteOptions::new().open(path)?;
            Consolidation::new(what).plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))?;
        }
    }
    Ok(())
}
