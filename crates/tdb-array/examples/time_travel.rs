//! Reads an array as it was at different times.
//!
//! A write never changes the files of earlier writes: it adds a fragment, whose name contains the
//! time of the write. So a reader can leave out what was written later, or earlier, than it wants.
//!
//! Run it with `cargo run -p tdb-array --example time_travel`.

use std::error::Error;
use std::path::{Path, PathBuf};

use tdb_array::history::history;
use tdb_array::schema::{ArraySchema, Attribute, Dimension};
use tdb_array::storage::LocalStorage;
use tdb_array::{Array, TimeWindow, WriteColumn, WriteOptions};

/// A folder for temporary files. It is removed when the value is dropped, even after an error.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing is left to do if the folder cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes an array at three times, and reads it at each of them.
pub fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("tdb-example-time-travel-{}", std::process::id());
    let folder = TemporaryFolder(std::env::temp_dir().join(name));
    let path = folder.0.join("counters");

    // Times are milliseconds since 1970. Without `timestamp`, tdb uses the time of the clock. This
    // program uses small numbers, so that its output is always the same.
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("counter", 1i32..=4))
        .attribute(Attribute::of::<i64>("count").with_fill(0i64.to_le_bytes()))
        .build()?;
    WriteOptions::new().timestamp(1000).create(&path, &schema)?;
    write(&path, 1000, 1, &[10, 20, 30, 40])?;
    write(&path, 2000, 2, &[21, 31])?;
    write(&path, 3000, 3, &[32, 42])?;

    // The newest cells: if writes overlap, the later one counts.
    assert_eq!(counts(&Array::open(&path)?)?, [10, 21, 32, 42]);

    // The array as it was at a time: what was written at exactly that time is included.
    for time in [1000, 2000, 3000] {
        let array = Array::open_at(&path, TimeWindow::until(time))?;
        println!("at {time}: {:?}, from {} fragments", counts(&array)?, array.fragments().len());
    }
    assert_eq!(counts(&Array::open_at(&path, TimeWindow::until(1000))?)?, [10, 20, 30, 40]);
    assert_eq!(counts(&Array::open_at(&path, TimeWindow::until(2999))?)?, [10, 21, 31, 40]);

    // Only what was written between two times. The other cells have the fill value.
    let second = Array::open_at(&path, TimeWindow::between(1001, 2000))?;
    println!("between 1001 and 2000: {:?}", counts(&second)?);
    assert_eq!(counts(&second)?, [0, 21, 31, 0]);

    // The history lists what happened to the array. The key is for encrypted arrays.
    let events = history(LocalStorage::new(&path), None)?.events;
    for event in &events {
        println!("{:?}: {:?}", event.timestamps, event.kind);
    }
    assert_eq!(events.len(), 4, "one schema and three writes");
    Ok(())
}

/// Writes counts at a time, from the counter `first` on.
fn write(path: &Path, time: u64, first: i32, counts: &[i64]) -> Result<(), Box<dyn Error>> {
    let last = first + i32::try_from(counts.len())? - 1;
    let writer = WriteOptions::new().timestamp(time).open(path)?;
    writer.write().range("counter", first..=last).column(WriteColumn::fixed("count", counts)).commit()?;
    Ok(())
}

/// The counts of all counters.
fn counts(array: &Array) -> Result<Vec<i64>, tdb_array::Error> {
    Ok(array.read().collect()?.field("count")?.values()?.to_vec())
}
