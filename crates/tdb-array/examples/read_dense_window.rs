//! Reads a rectangle of a dense array.
//!
//! The array has the dimensions `rows` and `cols`, both from 1 to 4, and the attribute `a`:
//!
//! ```text
//! rows\cols   1   2   3   4
//!         1   1   2   3   4
//!         2   5   6   7   8
//!         3   9  10  11  12
//!         4  13  14  15  16
//! ```
//!
//! Run it with `cargo run -p tdb-array --example read_dense_window`.

use std::error::Error;

use tdb_array::{Array, Layout};

/// An array that libtiledb 2.30.0 wrote.
const ARRAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");

/// Reads rows 2 and 3, columns 2 to 4, and prints them.
pub fn main() -> Result<(), Box<dyn Error>> {
    // Opening an array reads its schema and the metadata of its fragments, but no cells.
    let array = Array::open(ARRAY)?;
    for dimension in &array.schema().domain.dimensions {
        println!("dimension {} of type {}", dimension.name, dimension.datatype);
    }

    // A query names the fields that it wants and a range for each dimension. Both ends of 2..=3 are
    // included. A dimension without a range is read from end to end.
    let cells = array
        .read()
        .fields(["a"])
        .range("rows", 2..=3)
        .range("cols", 2..=4)
        .order(Layout::RowMajor)
        .collect()?;

    // The result of a dense read is a box: the shape says how many cells it has along each
    // dimension.
    let Some(&[rows, columns]) = cells.shape() else { return Err("the result has two dimensions".into()) };
    println!("{rows} rows of {columns} cells");

    // The values lie one after the other, here row by row. The type must be that of the attribute,
    // INT32.
    let a: &[i32] = cells.field("a")?.values()?;
    for row in a.chunks(columns) {
        println!("{row:?}");
    }

    assert_eq!((rows, columns), (2, 3));
    assert_eq!(a, [6, 7, 8, 10, 11, 12]);
    Ok(())
}
