//! Creates a dense array, writes cells and metadata into it, and reads them back.
//!
//! The array has a temperature and a remark for each hour of each day. The remark is a text, and it
//! may be missing.
//!
//! Run it with `cargo run -p tdb-array --example write_array`.

use std::error::Error;
use std::path::PathBuf;

use tdb_array::schema::{ArraySchema, Attribute, Dimension, Filter, Pipeline};
use tdb_array::write::MetadataChanges;
use tdb_array::{Array, WriteColumn, WriteOptions};

/// A folder for temporary files. It is removed when the value is dropped, even after an error.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing is left to do if the folder cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Creates, writes and reads the array.
pub fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("tdb-example-write-array-{}", std::process::id());
    let folder = TemporaryFolder(std::env::temp_dir().join(name));
    let path = folder.0.join("weather");

    // The schema describes the array. `with_tile` sets the tile extent: how many coordinates of the
    // dimension a tile covers. All dimensions of a dense array have the same type. Filters are
    // applied in the order of the list when values are written.
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("day", 1i32..=365).with_tile(7i32))
        .dimension(Dimension::new("hour", 0i32..=23).with_tile(24i32))
        .attribute(
            Attribute::of::<f32>("temperature")
                .with_filters(Pipeline::new(vec![Filter::ByteShuffle, Filter::zstd(5)?])),
        )
        .attribute(Attribute::string("remark").with_nulls())
        .build()?;
    WriteOptions::new().create(&path, &schema)?;

    // One write covers one box of the array: here day 10, hours 6 to 8. It contains the cells of
    // all attributes.
    let writer = WriteOptions::new().open(&path)?;
    let temperatures = [-1.5f32, 0.0, 2.25];
    // The texts are stored one after the other. Text `i` is bytes `offsets[i]..offsets[i + 1]`, so
    // there is one more offset than texts. A validity of 0 means that the cell is null.
    let (texts, offsets, validity) = ("fogclear", [0u64, 3, 3, 8], [1u8, 0, 1]);
    let fragment = writer
        .write()
        .range("day", 10..=10)
        .range("hour", 6..=8)
        .column(WriteColumn::fixed("temperature", &temperatures))
        .column(WriteColumn::var("remark", texts.as_bytes(), &offsets).nullable(&validity))
        .commit()?;
    println!("wrote fragment {fragment}");

    // Metadata are typed values with a name.
    writer.write_metadata(&MetadataChanges::new().put_text("unit", "degree Celsius"))?;

    // A program that opens the array from now on sees the new cells. Unwritten cells have the fill
    // value, which is NaN for real numbers, and null for attributes that may be null.
    let array = Array::open(&path)?;
    let cells = array.read().range("day", 10..=10).range("hour", 6..=9).collect()?;
    let (temperature, remark) = (cells.field("temperature")?, cells.field("remark")?);
    let values: &[f32] = temperature.values()?;
    for (cell, value) in values.iter().enumerate() {
        let text = if remark.is_null(cell) { None } else { remark.cell(cell) };
        let text = text.map(String::from_utf8_lossy);
        println!("{value:5} {}", text.as_deref().unwrap_or("no remark"));
    }

    assert_eq!(values.get(..3), Some(&temperatures[..]));
    assert!(values.get(3).is_some_and(|value| value.is_nan()));
    assert_eq!(remark.validity(), Some(&[1, 0, 1, 0][..]));
    assert_eq!((remark.cell(0), remark.cell(2)), (Some(&b"fog"[..]), Some(&b"clear"[..])));
    let metadata = array.metadata()?;
    assert_eq!(metadata.get("unit").map(|value| value.data.as_slice()), Some(&b"degree Celsius"[..]));
    Ok(())
}
