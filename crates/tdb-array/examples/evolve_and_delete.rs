//! Adds an attribute to an array that has cells already, and deletes cells by a condition.
//!
//! The array is sparse: it has measurements at some points of a plane, and no cells anywhere else.
//!
//! Run it with `cargo run -p tdb-array --example evolve_and_delete`.

use std::error::Error;
use std::path::PathBuf;

use tdb_array::schema::{ArraySchema, Attribute, Dimension};
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, Layout, WriteColumn, WriteOptions, field};

/// A folder for temporary files. It is removed when the value is dropped, even after an error.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing is left to do if the folder cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes cells, evolves the schema, writes more cells, and deletes some.
pub fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("tdb-example-evolve-and-delete-{}", std::process::id());
    let folder = TemporaryFolder(std::env::temp_dir().join(name));
    let path = folder.0.join("points");

    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=999).with_tile(100i32))
        .dimension(Dimension::new("y", 0i32..=999).with_tile(100i32))
        .attribute(Attribute::of::<f64>("height"))
        .build()?;
    WriteOptions::new().create(&path, &schema)?;

    // A sparse write contains the coordinates of each cell, in any order, in addition to its
    // values.
    let writer = WriteOptions::new().open(&path)?;
    writer
        .write()
        .column(WriteColumn::fixed("x", &[700i32, 3, 250]))
        .column(WriteColumn::fixed("y", &[20i32, 4, 250]))
        .column(WriteColumn::fixed("height", &[7.5f64, 1.5, 120.0]))
        .commit()?;

    // An evolution adds a new schema file. Existing cells stay as they are: for an attribute that
    // they lack, they have its fill value, here 0.
    let quality = Attribute::of::<u8>("quality").with_fill([0u8]);
    WriteOptions::new().evolve(&path, &SchemaEvolution::new().add_attribute(quality))?;

    // A writer keeps the schema that it opened the array with, so a new one is needed to write the
    // new attribute.
    let writer = WriteOptions::new().open(&path)?;
    writer
        .write()
        .column(WriteColumn::fixed("x", &[5i32, 6]))
        .column(WriteColumn::fixed("y", &[5i32, 6]))
        .column(WriteColumn::fixed("height", &[300.0f64, 2.0]))
        .column(WriteColumn::fixed("quality", &[9u8, 8]))
        .commit()?;

    // A delete stores a condition. Cells that satisfy it, and that were written before, are no
    // longer in results. Reads at earlier times still return them, and no data file is changed.
    // `to_stored` looks up the types of the fields.
    let array = Array::open(&path)?;
    let before = array.read().collect()?.len();
    writer.delete(&field("height").gt(100.0).to_stored(&array)?)?;

    // An open array does not change, so the program opens it again to see the delete.
    let cells = Array::open(&path)?.read().order(Layout::RowMajor).collect()?;
    let (x, y): (&[i32], &[i32]) = (cells.field("x")?.values()?, cells.field("y")?.values()?);
    let height: &[f64] = cells.field("height")?.values()?;
    let quality: &[u8] = cells.field("quality")?.values()?;
    println!("{} of {before} cells are left", cells.len());
    for (((x, y), height), quality) in x.iter().zip(y).zip(height).zip(quality) {
        println!("({x}, {y}): height {height}, quality {quality}");
    }

    assert_eq!((before, cells.len()), (5, 3));
    assert_eq!((x, y), (&[3, 6, 700][..], &[4, 6, 20][..]));
    assert_eq!(height, [1.5, 2.0, 7.5]);
    assert_eq!(quality, [0, 8, 0]);
    Ok(())
}
