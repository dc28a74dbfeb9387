//! The destination of the cells of tables: fragments that become part of the array together.

use tdb_array::schema::ArrayType;
use tdb_array::write::{DenseStream, FragmentWriter, SparseStream};
use tdb_array::{ArrayWriter, Layout, WriteColumn};
use tdb_schema::Dimension;

use super::rows;
use crate::buffers::Buffers;
use crate::thresholds::{DENSE_BUFFER, SPARSE_BUFFER};

/// The destination of the cells of tables.
pub(super) enum Target<'w> {
    /// None: this is a dry run.
    None,
    /// Rows that are numbered, and so in order.
    Sorted(Box<FragmentWriter<'w>>),
    Any(Box<SparseStream<'w>>),
    Dense(Box<DenseStream<'w>>),
}

impl<'w> Target<'w> {
    /// For tables with these columns and this many rows.
    pub(super) fn new(writer: &'w ArrayWriter, columns: &[String], rows: u64) -> tdb_array::Result<Self> {
        let schema = writer.schema();
        match (schema.array_type, rows::along(schema, columns)) {
            (ArrayType::Dense, along) => {
                let stream = |memory| {
                    let mut write = writer.write();
                    if let Some(dimension) = along {
                        let (low, high) = ends(dimension, rows);
                        write = write.range_bytes(&dimension.name, low, high);
                    }
                    write.stream(memory)
                };
                Ok(Self::Dense(Box::new(stream(DENSE_BUFFER).or_else(|_| stream(usize::MAX))?)))
            }
            (ArrayType::Sparse, Some(_)) if schema.cell_order != Layout::Hilbert => {
                Ok(Self::Sorted(Box::new(writer.sparse_fragment()?)))
            }
            (ArrayType::Sparse, _) => Ok(Self::Any(Box::new(writer.sparse_stream(SPARSE_BUFFER)?))),
        }
    }

    /// Adds the cells of a table.
    pub(super) fn append(&mut self, columns: &[Buffers]) -> tdb_array::Result<()> {
        let columns: Vec<WriteColumn<'_>> = columns.iter().map(Buffers::column).collect();
        match self {
            Self::None => Ok(()),
            Self::Sorted(fragment) => fragment.append(&columns),
            Self::Any(stream) => stream.append(&columns),
            Self::Dense(stream) => stream.append(&columns),
        }
    }

    /// Makes the cells part of the array.
    pub(super) fn commit(self) -> tdb_array::Result<()> {
        match self {
            Self::None => {}
            Self::Sorted(fragment) => drop(fragment.commit()?),
            Self::Any(stream) => drop(stream.commit()?),
            Self::Dense(stream) => drop(stream.commit()?),
        }
        Ok(())
    }
}

/// The ends of this many rows at the low end of a dimension.
fn ends(dimension: &Dimension, rows: u64) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let low = dimension.domain.as_ref().map(|(low, _)| low.clone());
    (low, dimension.coordinate(rows.saturating_sub(1)))
}
