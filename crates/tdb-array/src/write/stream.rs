//! Sparse cells that come in batches, in any order, and need not fit into memory together.

use std::mem;

use tdb_codec::to_u64;

use super::column;
use super::coordinates::{Bounds, of_dimensions};
use super::fragment::{Pending, field_kinds};
use super::{ArrayWriter, Duplicates, FragmentWriter, WriteColumn, unordered};
use crate::{Result, WriteError};

/// A write of sparse cells in any order, in batches. Cells are collected until they fill the memory they may have, then
/// sorted and written as a fragment. The fragments count all at once, with [`Self::commit`]; dropped before, they are
/// removed again.
///
/// ```
/// use tdb_array::{Array, ArraySchema, Datatype, MemoryStorage, OpenOptions, WriteColumn, WriteOptions};
/// use tdb_schema::Dimension;
///
/// let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).build()?;
/// let storage = MemoryStorage::default();
/// WriteOptions::new().create_storage(&storage, &schema)?;
/// let array = WriteOptions::new().open_storage(storage.clone())?;
/// let mut cells = array.sparse_stream(1 << 20)?;
/// cells.append(&[WriteColumn::fixed("x", &[70, 3])])?;
/// cells.append(&[WriteColumn::fixed("x", &[5])])?;
/// cells.commit()?;
///
/// let cells = OpenOptions::new().open_storage(storage)?.read().collect()?;
/// assert_eq!(cells.field("x")?.values::<i32>()?, [3, 5, 70]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SparseStream<'a> {
    fragment: FragmentWriter<'a>,
    bounds: Bounds,
    duplicates: Duplicates,
    /// Bytes of cells that are collected before a fragment is written.
    most: usize,
    pending: Pending,
    /// Cells given before those that are pending.
    written: u64,
    failed: bool,
}

impl<'a> SparseStream<'a> {
    /// Half of the memory is for cells, half for sorting them.
    pub(super) fn new(array: &'a ArrayWriter, memory: usize) -> Result<Self> {
        Ok(Self {
            fragment: FragmentWriter::sparse(array)?,
            bounds: Bounds::new(array.schema()),
            duplicates: Duplicates::Refuse,
            most: (memory / 2).max(1),
            pending: Pending::default(),
            written: 0,
            failed: false,
        })
    }

    /// Says what becomes of cells with equal coordinates, where the array does not allow them. They are looked for among the
    /// cells of a fragment only; of cells in different fragments of one write, readers see the one given last.
    #[must_use]
    pub const fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Adds cells: every attribute and every dimension.
    ///
    /// # Errors
    /// Columns that do not fit or cells outside the domain: nothing of the batch is taken then. Cells with equal
    /// coordinates, a filter that refuses values, or whatever the system says: the write is of no use then.
    pub fn append(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        self.refuse_failed()?;
        let array = self.fragment.array();
        let schema = array.schema();
        let (columns, cells) = column::check(schema, &field_kinds(schema), columns)?;
        let coordinates = of_dimensions(&columns, schema.domain.dimensions.len());
        let first = self.written.saturating_add(to_u64(self.pending.cells));
        self.bounds.check(array.context.threads, &coordinates, cells, first)?;
        self.failed = true;
        let bytes = columns.iter().map(column::CheckedColumn::bytes).fold(0, usize::saturating_add);
        let each = bytes.checked_div(cells).unwrap_or(1).max(1);
        let mut start = 0;
        while start < cells {
            let room = self.most.saturating_sub(self.pending.bytes());
            let count = room.checked_div(each).unwrap_or(1).max(1);
            let end = start.saturating_add(count).min(cells);
            self.pending.push(&columns, start..end);
            start = end;
            if self.pending.bytes().saturating_add(each) > self.most {
                self.flush()?;
            }
        }
        self.failed = false;
        Ok(())
    }

    /// Makes all cells count; returns the names of the fragments.
    ///
    /// # Errors
    /// No cells, cells with equal coordinates, a filter that refuses values, or whatever the system says. The array is then
    /// as before, or, where the very last step failed, perhaps has the cells.
    pub fn commit(mut self) -> Result<Vec<String>> {
        self.refuse_failed()?;
        self.flush()?;
        self.fragment.commit_all()
    }

    /// Sorts the cells that wait, and writes them as a fragment.
    fn flush(&mut self) -> Result<()> {
        let pending = mem::take(&mut self.pending);
        if pending.cells > 0 {
            let columns = pending.columns();
            unordered::append(&mut self.fragment, self.duplicates, &columns, pending.cells, self.written)?;
            self.fragment.finish()?;
            self.written = self.written.saturating_add(to_u64(pending.cells));
        }
        Ok(())
    }

    const fn refuse_failed(&self) -> Result<(), WriteError> {
        if self.failed { Err(WriteError::FailedBefore) } else { Ok(()) }
    }
}
