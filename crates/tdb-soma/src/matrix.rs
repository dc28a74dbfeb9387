//! New matrices, whose values come in parts.

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype};
use tdb_array::write::SparseStream;
use tdb_array::{ArrayWriter, WriteColumn};

use crate::create::{Build, axis, finished, marks, size_of, zstd};
use crate::facts::{DATA, count};
use crate::{Error, Kind, Result};

/// Coordinates in a tile of a dense matrix, by the number of its axes, and of one with more axes.
const DENSE_TILES: [i64; 3] = [2048, 512, 128];
const DENSE_TILE: i64 = 4;

/// A sparse matrix that has been created, and has no values yet.
#[derive(Debug)]
pub struct NewMatrix {
    writer: ArrayWriter,
    path: String,
}

/// The values of a new sparse matrix.
#[derive(Debug)]
pub struct MatrixValues<'a> {
    stream: SparseStream<'a>,
    path: &'a str,
    values: u64,
    /// The entry before.
    last: Option<(i64, i64)>,
    /// Whether the entries ascend by rows, and by columns: so, none is there twice.
    is_ascending: [bool; 2],
}

impl Build<'_> {
    /// Creates a sparse matrix without values.
    ///
    /// # Errors
    /// Any error of writing.
    pub fn new_matrix(&self, path: &str, datatype: Datatype, shape: [u64; 2]) -> Result<NewMatrix> {
        let writer = self.matrix(path, datatype, shape)?;
        Ok(NewMatrix { writer, path: path.to_owned() })
    }

    /// Bytes of a tile of a dense matrix with so many axes, which is written as a whole whatever
    /// shape the matrix has.
    #[must_use]
    pub fn dense_tile(datatype: Datatype, axes: usize) -> u64 {
        let side = dense_side(axes).unsigned_abs();
        let bytes = u64::try_from(datatype.size()).unwrap_or(u64::MAX);
        (0..axes).fold(bytes, |bytes, _| bytes.saturating_mul(side))
    }

    /// Creates a dense matrix of these values, in row-major order.
    ///
    /// # Errors
    /// Values that are not as many as the shape says; any error of writing.
    pub fn new_dense(&self, path: &str, datatype: Datatype, shape: &[u64], values: &[u8]) -> Result<()> {
        let sizes: Vec<i64> = shape.iter().map(|size| size_of(*size)).collect();
        let side = dense_side(sizes.len());
        let names: Vec<String> = (0..sizes.len()).map(|at| format!("soma_dim_{at}")).collect();
        let data = Attribute::new(DATA, datatype, CellValNum::ONE).with_filters(zstd(-1));
        let mut schema = ArraySchema::dense().attribute(data);
        for name in &names {
            schema = schema.dimension(axis(name, side));
        }
        let schema = finished(schema, &sizes)?;
        let entries = marks(Kind::DenseNdArray);
        let writer = self.array(path, self.target.options.clone(), &schema, &entries)?;
        let ranges = names.iter().zip(&sizes);
        let write = ranges.fold(writer.write(), |write, (name, size)| {
            write.range(name.as_str(), 0..=size.saturating_sub(1))
        });
        write.column(WriteColumn::bytes(DATA, values)).commit()?;
        Ok(())
    }

    /// Refuses a matrix of which several cells were written at one place: in which other values
    /// hide some of so many.
    fn expect_all(&self, path: &str, values: u64) -> Result<()> {
        let counted = count(&self.written(path)?)?;
        if counted == values {
            return Ok(());
        }
        let what = format!("{} values are at places that others have", values.saturating_sub(counted));
        Err(Error::Input { file: path.to_owned(), line: None, what })
    }
}

/// Coordinates in a tile along each of so many axes.
fn dense_side(axes: usize) -> i64 {
    axes.checked_sub(1).and_then(|at| DENSE_TILES.get(at)).copied().unwrap_or(DENSE_TILE)
}

impl NewMatrix {
    /// Begins to write values, with this much memory.
    ///
    /// # Errors
    /// Any error of writing.
    pub fn values(&self, memory: usize) -> Result<MatrixValues<'_>> {
        let stream = self.writer.sparse_stream(memory)?;
        Ok(MatrixValues { stream, path: &self.path, values: 0, last: None, is_ascending: [true; 2] })
    }
}

impl MatrixValues<'_> {
    /// Adds values, with their rows and columns, counted from 0.
    ///
    /// # Errors
    /// A place that is outside of the matrix, or has a value already; any error of writing.
    pub fn append(&mut self, rows: &[i64], columns: &[i64], values: &[u8]) -> Result<()> {
        for place in rows.iter().copied().zip(columns.iter().copied()) {
            if let Some(last) = self.last.replace(place) {
                let turned = |(row, column): (i64, i64)| (column, row);
                let [by_rows, by_columns] = &mut self.is_ascending;
                *by_rows &= last < place;
                *by_columns &= turned(last) < turned(place);
            }
        }
        let places = [WriteColumn::fixed("soma_dim_0", rows), WriteColumn::fixed("soma_dim_1", columns)];
        self.stream.append(&[&places[..], &[WriteColumn::bytes(DATA, values)]].concat())?;
        self.values = self.values.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Makes the values part of the matrix, all at once; returns their number.
    ///
    /// # Errors
    /// Two values at one place; any error of writing.
    pub fn finish(self, build: &Build<'_>) -> Result<u64> {
        if self.values == 0 {
            return Ok(0);
        }
        let fragments = self.stream.commit()?;
        // Two parts may have a value at the same place.
        if fragments.len() > 1 && self.is_ascending == [false; 2] {
            build.expect_all(self.path, self.values)?;
        }
        Ok(self.values)
    }
}
