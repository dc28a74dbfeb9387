//! Matrices: dense ones, of which zeros are no values, and sparse ones, whose values are read in
//! parts.

use serde_json::{Map, Value};
use tdb_array::schema::{CellValNum, Datatype};
use tdb_soma::{Build, MatrixValues, whole};
use tdb_zarr_files::{ArrayReader, Block, Opened, Reader};

use crate::cursor::Cursor;
use crate::encoding::{Encoding, encoding};
use crate::error::{Result, internal};
use crate::thresholds::{MIN_VALUES, PART_DIVISOR, VALUE_BYTES, WRITER_DIVISOR};

/// A matrix that can be read.
#[derive(Debug)]
pub(crate) struct Matrix {
    path: String,
    pub(crate) shape: [u64; 2],
    form: Form,
}

/// How a matrix is stored.
#[derive(Debug)]
enum Form {
    Dense(Box<ArrayReader>),
    Sparse(Box<Sparse>),
}

/// A sparse matrix.
#[derive(Debug)]
struct Sparse {
    /// Whether it is stored column by column.
    by_columns: bool,
    data: ArrayReader,
    indices: ArrayReader,
    indptr: ArrayReader,
}

/// Values that are handed on together.
struct Part<'p, 'w> {
    writing: &'p mut MatrixValues<'w>,
    size: usize,
    most: usize,
    rows: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<u8>,
}

impl Matrix {
    /// The matrix at a path; `None` if nothing is there, or it says that there is nothing.
    pub(crate) fn open(reader: &Reader, path: &str) -> Result<Option<Self>> {
        let said = |attributes: &Map<String, Value>| {
            encoding(attributes).map_err(|what| reader.unsupported(path, what))
        };
        let found = match reader.open(path)? {
            None => return Ok(None),
            Some(Opened::Array(array)) => match said(array.attributes())? {
                Encoding::Null => return Ok(None),
                Encoding::Unsaid | Encoding::Array => Self::dense(reader, path, array)?,
                _ => return Err(reader.unsupported(path, "only matrices of numbers are kept here").into()),
            },
            Some(Opened::Group(attributes)) => match said(&attributes)? {
                kind @ (Encoding::Csr | Encoding::Csc) => {
                    Self::sparse(reader, path, &attributes, kind == Encoding::Csc)?
                }
                Encoding::DataFrame => {
                    let what = "this is a table, whose columns have names: only matrices are kept here";
                    return Err(reader.unsupported(path, what).into());
                }
                _ => return Err(reader.unsupported(path, "only matrices of numbers are kept here").into()),
            },
        };
        Ok(Some(found))
    }

    fn dense(reader: &Reader, path: &str, array: Box<ArrayReader>) -> Result<Self> {
        let &[rows, columns] = array.shape() else {
            let what =
                format!("this has the shape {:?}: only matrices with two axes are kept", array.shape());
            return Err(reader.unsupported(path, what).into());
        };
        expect_numbers(reader, &array)?;
        if !array.is_zero_without_chunks() {
            array.expect_chunks()?;
        }
        Ok(Self { path: path.to_owned(), shape: [rows, columns], form: Form::Dense(array) })
    }

    fn sparse(
        reader: &Reader,
        path: &str,
        attributes: &Map<String, Value>,
        by_columns: bool,
    ) -> Result<Self> {
        let sizes = attributes.get("shape").and_then(Value::as_array).map(Vec::as_slice);
        let shape = match sizes {
            Some([rows, columns]) => rows.as_u64().zip(columns.as_u64()),
            _ => None,
        };
        let shape =
            shape.ok_or_else(|| reader.damaged(path, "shape is not the number of rows and columns"))?;
        let array = |name: &str| -> Result<ArrayReader> {
            let path = format!("{path}/{name}");
            match reader.open(&path)? {
                Some(Opened::Array(array)) if array.shape().len() == 1 => Ok(*array),
                _ => Err(reader.damaged(&path, "there is no array with one axis here").into()),
            }
        };
        let (data, indices, indptr) = (array("data")?, array("indices")?, array("indptr")?);
        expect_numbers(reader, &data)?;
        for array in [&indices, &indptr] {
            let datatype = array.datatype();
            if array.cell_val_num() != CellValNum::ONE || whole(datatype, &vec![0; datatype.size()]).is_none()
            {
                return Err(reader
                    .damaged(array.path(), format!("{datatype} is no type of positions"))
                    .into());
            }
        }
        let shape = [shape.0, shape.1];
        let own = if by_columns { shape[1] } else { shape[0] };
        if indptr.shape() != [own.saturating_add(1)] {
            let what = format!("this has the shape {:?}, and {own} + 1 are expected", indptr.shape());
            return Err(reader.damaged(indptr.path(), what).into());
        }
        let form = Form::Sparse(Box::new(Sparse { by_columns, data, indices, indptr }));
        Ok(Self { path: path.to_owned(), shape, form })
    }

    /// Refuses a matrix of another shape, of which `None` may have any number of columns but none.
    pub(crate) fn expect_shape(&self, reader: &Reader, rows: u64, columns: Option<u64>) -> Result<()> {
        let [own_rows, own_columns] = self.shape;
        if own_rows != rows || columns.is_some_and(|columns| columns != own_columns) {
            let columns = columns.map_or_else(|| "any number of".to_owned(), |columns| columns.to_string());
            let what = format!(
                "this has {own_rows} rows and {own_columns} columns, and {rows} rows and {columns} columns are \
                 expected"
            );
            return Err(reader.damaged(&self.path, what).into());
        }
        if columns.is_none() && own_columns == 0 {
            return Err(reader.unsupported(&self.path, "this has no columns: leave it out").into());
        }
        Ok(())
    }

    /// The number of values that are stored, or of cells.
    pub(crate) fn size(&self) -> u64 {
        match &self.form {
            Form::Dense(_) => self.shape[0].saturating_mul(self.shape[1]),
            Form::Sparse(sparse) => sparse.data.shape().first().copied().unwrap_or(0),
        }
    }

    /// Writes the values as a sparse matrix; returns their number. `heard` is told how many of
    /// [`Self::size`] are done.
    pub(crate) fn write(
        &self,
        reader: &Reader,
        build: &Build<'_>,
        path: &str,
        heard: &dyn Fn(u64),
    ) -> Result<u64> {
        let stored = match &self.form {
            Form::Dense(array) => array,
            Form::Sparse(sparse) => &sparse.data,
        };
        let datatype = stored.datatype();
        let matrix = build.new_matrix(path, datatype, self.shape)?;
        let mut writing = matrix.values(build.target.memory / WRITER_DIVISOR)?;
        let most = (build.target.memory / PART_DIVISOR / VALUE_BYTES).max(MIN_VALUES);
        let mut part = Part {
            writing: &mut writing,
            size: datatype.size(),
            most,
            rows: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
        };
        match &self.form {
            Form::Dense(array) => {
                let mut done = 0u64;
                // A zero is no value, and may be that of any number of chunks that are not there.
                let blocks =
                    if array.is_zero_without_chunks() { array.written_blocks()? } else { array.blocks() };
                for block in blocks {
                    let block = block?;
                    part.take_dense(&block, datatype)?;
                    done = done.saturating_add(block.shape.iter().product());
                    heard(done);
                }
            }
            Form::Sparse(sparse) => sparse.hand_on(reader, self, &mut part, build, heard)?,
        }
        part.flush()?;
        Ok(writing.finish(build)?)
    }
}

impl Sparse {
    /// Where rows (or columns) end, which a folder may say wrongly: the ends ascend, and there are
    /// values up to the last one.
    fn ends(&self, reader: &Reader, memory: u64) -> Result<Vec<u64>> {
        let count = self.indptr.shape().first().copied().unwrap_or(0);
        let bytes = count.saturating_mul(8);
        if bytes > memory {
            return Err(reader.too_large(self.indptr.path(), "all cells", bytes, memory).into());
        }
        let damaged = |what: String| reader.damaged(self.indptr.path(), what);
        let datatype = self.indptr.datatype();
        let (mut ends, mut cursor) = (Vec::new(), Cursor::new(&self.indptr));
        loop {
            let available = cursor.available()?;
            if available == 0 {
                break;
            }
            for value in cursor.take(available)?.chunks_exact(datatype.size()) {
                let end = whole(datatype, value).ok_or_else(|| internal("a number is none"))?;
                let last = ends.last().copied().unwrap_or(0);
                match u64::try_from(end) {
                    Ok(0) if ends.is_empty() => ends.push(0),
                    Ok(end) if !ends.is_empty() && end >= last => ends.push(end),
                    _ => {
                        let at = ends.len();
                        return Err(damaged(format!(
                            "the ends of rows ascend from 0, but number {at} is {end}"
                        ))
                        .into());
                    }
                }
            }
        }
        let (last, length) = (ends.last().copied().unwrap_or(0), |array: &ArrayReader| {
            array.shape().first().copied().unwrap_or(0)
        });
        let (indices, data) = (length(&self.indices), length(&self.data));
        if last > indices.min(data) {
            let what =
                format!("the last row ends at {last}, but there are {indices} indices and {data} values");
            return Err(damaged(what).into());
        }
        Ok(ends)
    }

    fn hand_on(
        &self,
        reader: &Reader,
        matrix: &Matrix,
        part: &mut Part<'_, '_>,
        build: &Build<'_>,
        heard: &dyn Fn(u64),
    ) -> Result<()> {
        let memory = u64::try_from(build.target.memory).unwrap_or(u64::MAX) / 4;
        let ends = self.ends(reader, memory)?;
        let total = ends.last().copied().unwrap_or(0);
        let [rows, columns] = matrix.shape;
        let across = if self.by_columns { rows } else { columns };
        let of = self.indices.datatype();
        let (mut data, mut indices) = (Cursor::new(&self.data), Cursor::new(&self.indices));
        // The row (or column) of the next value, and where it ends.
        let mut later = ends.iter().copied().skip(1);
        let (mut own, mut end) = (0i64, later.next().unwrap_or(0));
        let mut done = 0u64;
        while done < total {
            let left = usize::try_from(total - done).unwrap_or(usize::MAX);
            let count = data.available()?.min(indices.available()?).min(left).min(part.most);
            if count == 0 {
                return Err(internal("a sparse matrix has fewer values than it says"));
            }
            for place in indices.take(count)?.chunks_exact(of.size()) {
                while end <= done {
                    own = own.saturating_add(1);
                    end = later.next().ok_or_else(|| internal("a value is in no row"))?;
                }
                let other = whole(of, place).ok_or_else(|| internal("a number is none"))?;
                let inside = u64::try_from(other).is_ok_and(|other| other < across);
                let Some(other) = i64::try_from(other).ok().filter(|_| inside) else {
                    let what = format!("value {done} has the index {other}, and {across} are there");
                    return Err(reader.damaged(self.indices.path(), what).into());
                };
                let (row, column) = if self.by_columns { (other, own) } else { (own, other) };
                part.rows.push(row);
                part.columns.push(column);
                done += 1;
            }
            let values = data.take(count)?;
            if self.data.datatype() == Datatype::Bool {
                part.values.extend(values.iter().map(|byte| u8::from(*byte != 0)));
            } else {
                part.values.extend_from_slice(values);
            }
            if part.rows.len() >= part.most {
                part.flush()?;
            }
            heard(done);
        }
        Ok(())
    }
}

impl Part<'_, '_> {
    /// Adds the values of a box that are not zero.
    fn take_dense(&mut self, block: &Block, datatype: Datatype) -> Result<()> {
        let ([first, left], [_, width]) = (block.start.as_slice(), block.shape.as_slice()) else {
            return Err(internal("a box of a matrix has other than two axes"));
        };
        let [Ok(first), Ok(left), Ok(width)] = [*first, *left, *width].map(i64::try_from) else {
            return Err(internal("a box of a matrix is outside of its axes"));
        };
        let (mut row, mut column) = (0i64, 0i64);
        for value in block.values.chunks_exact(self.size) {
            if !is_zero(datatype, value) {
                self.rows.push(first + row);
                self.columns.push(left + column);
                self.values.extend_from_slice(value);
                if self.rows.len() >= self.most {
                    self.flush()?;
                }
            }
            column += 1;
            if column == width {
                (row, column) = (row + 1, 0);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.writing.append(&self.rows, &self.columns, &self.values)?;
            self.rows.clear();
            self.columns.clear();
            self.values.clear();
        }
        Ok(())
    }
}

/// Whether a value is a zero, of real numbers also a negative one.
fn is_zero(datatype: Datatype, value: &[u8]) -> bool {
    let Some((last, rest)) = value.split_last() else { return true };
    let last = if datatype.physical().is_float() { last & 0x7f } else { *last };
    last == 0 && rest.iter().all(|byte| *byte == 0)
}

/// Refuses values that SOMA does not keep in matrices.
pub(crate) fn expect_numbers(reader: &Reader, array: &ArrayReader) -> Result<()> {
    let datatype = array.datatype();
    let is_number = matches!(datatype, Datatype::Bool | Datatype::Float32 | Datatype::Float64)
        || whole(datatype, &vec![0; datatype.size()]).is_some();
    if is_number && array.cell_val_num() == CellValNum::ONE {
        return Ok(());
    }
    let what = format!("values of the type {datatype} are not kept: numbers and truth values are");
    Err(reader.unsupported(array.path(), what).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_those_of_numpy() {
        assert!(is_zero(Datatype::Float64, &(-0.0f64).to_le_bytes()));
        assert!(!is_zero(Datatype::Float32, &f32::NAN.to_le_bytes()));
        assert!(!is_zero(Datatype::Float32, &f32::from_bits(1).to_le_bytes()));
        assert!(is_zero(Datatype::Int32, &[0; 4]) && !is_zero(Datatype::Int8, &[0x80]));
    }
}
