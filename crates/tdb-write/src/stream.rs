//! Sparse cells that come in batches, in any order, and need not fit into memory together.

use std::mem;

use tdb_codec::{to_u64, to_usize};

use crate::buffers::index_of;
use crate::column;
use crate::coordinates::{CoordinateBounds, of_dimensions};
use crate::fragment::{Pending, field_kinds};
use crate::going_on::GoingOn;
use crate::thresholds::{SORT_BYTES, THREAD_BYTES};
use crate::{ArrayWriter, Duplicates, FragmentWriter, WriteBatch, WriteColumn, unordered};
use crate::{OrInternal, Result, WriteError, parallel};

/// The part of a stream's memory that is used for planning; the rest is what allocators lose
/// between blocks.
pub(super) const fn planned(memory: usize) -> usize {
    memory / 4 * 3
}

/// A write of sparse cells in any order, in batches. Cells are collected until they fill the given
/// memory, then sorted and written as a fragment; if they come row by row (or column by column,
/// where the array's tiles do), and a row of tiles fits into a quarter of the memory, as one
/// fragment all together. [`Self::commit`] makes all fragments part of the array at once; if the
/// stream is dropped before, they are removed again.
///
/// ```
/// use tdb_array::schema::{ArraySchema, Datatype, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{Array, OpenOptions, WriteColumn, WriteOptions};
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
    bounds: CoordinateBounds,
    duplicates: Duplicates,
    /// The number of bytes of cells, and of what is needed to sort them, to collect before a
    /// fragment is written.
    max: usize,
    pending: Pending,
    /// The numbers of those of the pending cells that were kept when others were written: the first
    /// ones.
    kept: Vec<u64>,
    /// The number of the first pending cell behind these.
    next: u64,
    going_on: GoingOn,
    failed: bool,
}

impl ArrayWriter {
    /// Starts a write of sparse cells that come in batches and in any order, with this many bytes
    /// of memory to buffer them. Each time they fill it, a fragment is written.
    ///
    /// # Errors
    /// A dense array, or a filter that cannot be used for its field.
    pub fn sparse_stream(&self, memory: usize) -> Result<SparseStream<'_>> {
        SparseStream::new(self, memory)
    }
}

impl<'a> SparseStream<'a> {
    pub(super) fn new(array: &'a ArrayWriter, memory: usize) -> Result<Self> {
        let working = array.context.threads.saturating_mul(THREAD_BYTES);
        let max = planned(memory).saturating_sub(working).max(memory / 4);
        Ok(Self {
            fragment: FragmentWriter::sparse(array)?,
            bounds: CoordinateBounds::new(array.schema()),
            duplicates: Duplicates::Refuse,
            max,
            pending: Pending::default(),
            kept: Vec::new(),
            next: 0,
            going_on: GoingOn::new(array.schema()),
            failed: false,
        })
    }

    /// Sets what happens to cells with equal coordinates, if the array does not allow them. They
    /// are only searched for among the cells of one fragment; of cells in different fragments of
    /// one write, readers see the one given last.
    #[must_use]
    pub const fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Adds cells: every attribute and every dimension.
    ///
    /// # Errors
    /// Columns that do not fit or cells outside the domain: nothing of the batch is used then.
    /// Cells with equal coordinates, a filter that rejects values, or any I/O error of the storage:
    /// the write cannot continue then.
    pub fn append(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        self.refuse_failed()?;
        let array = self.fragment.array();
        let schema = array.schema();
        let first = self.next.saturating_add(to_u64(self.new_cells()));
        let (columns, cells) = array.check(&field_kinds(schema), columns, first)?;
        let coordinates = of_dimensions(&columns, schema.domain.dimensions.len())?;
        self.bounds.check(array.context.threads, &coordinates, cells, first)?;
        self.failed = true;
        let bytes = columns.iter().map(column::CheckedColumn::bytes).sum::<usize>();
        let each = bytes.checked_div(cells).unwrap_or(0).saturating_add(SORT_BYTES);
        let mut start = 0;
        while start < cells {
            let room = self.max.saturating_sub(self.held());
            let count = room.checked_div(each).unwrap_or(1).max(1);
            let end = start.saturating_add(count).min(cells);
            self.pending.push(&columns, start..end)?;
            start = end;
            if self.held().saturating_add(each) > self.max {
                self.flush(false)?;
            }
        }
        self.failed = false;
        Ok(())
    }

    /// Adds the cells of an iterator, like [`Self::append`]. While a batch is copied, sorted or
    /// written, the iterator makes the next one (unless there is only one thread).
    ///
    /// # Errors
    /// The first error of the iterator; as for [`Self::append`].
    pub fn append_all<B: WriteBatch>(&mut self, batches: impl IntoIterator<Item = Result<B>>) -> Result<()> {
        let threads = self.fragment.array().context.threads;
        parallel::overlap(threads, batches.into_iter(), |batch: B| self.append(&batch.columns()))
    }

    /// Makes all cells part of the array; returns the names of the fragments.
    ///
    /// # Errors
    /// No cells, cells with equal coordinates, a filter that rejects values, or any I/O error of
    /// the storage. The array is unchanged then, except that it may have the cells if the very last
    /// step failed.
    pub fn commit(mut self) -> Result<Vec<String>> {
        self.refuse_failed()?;
        self.flush(true)?;
        self.fragment.commit_all()
    }

    /// The number of pending cells that came after the last fragment was written to.
    const fn new_cells(&self) -> usize {
        self.pending.cells.saturating_sub(self.kept.len())
    }

    /// The number of bytes that the buffered cells need, including those for sorting them.
    fn held(&self) -> usize {
        self.pending.bytes().saturating_add(self.pending.cells.saturating_mul(SORT_BYTES))
    }

    /// Sorts the buffered cells, and writes them. Those that later ones may precede are kept, if
    /// the fragment can go on so.
    fn flush(&mut self, is_last: bool) -> Result<()> {
        let next = self.next.checked_add(to_u64(self.new_cells())).or_internal("more cells than numbers")?;
        let (pending, kept) = (mem::take(&mut self.pending), mem::take(&mut self.kept));
        if pending.cells == 0 {
            return Ok(());
        }
        let array = self.fragment.array();
        let (schema, columns) = (array.schema(), pending.columns());
        let coordinates = of_dimensions(&columns, schema.domain.dimensions.len())?;
        let first = self.next;
        let number = |cell: usize| match cell.checked_sub(kept.len()) {
            Some(behind) => first.saturating_add(to_u64(behind)),
            None => kept.get(cell).copied().unwrap_or(first),
        };
        let order = unordered::global_order(array, self.duplicates, &columns, pending.cells, &number)?;
        if self.going_on.has_ended(&coordinates, &order)? {
            self.fragment.finish()?;
        }
        let tile_cells = to_usize(schema.capacity).unwrap_or(usize::MAX);
        let whole =
            if is_last { order.len() } else { self.going_on.complete(&coordinates, &order, tile_cells)? };
        let (now, later) = order.split_at_checked(whole).or_internal("more complete cells than cells")?;
        unordered::append(&mut self.fragment, &columns, now)?;
        self.going_on.wrote(&coordinates, now.last().copied().filter(|_| !later.is_empty()))?;
        if later.is_empty() {
            self.fragment.finish()?;
        }
        self.kept = later.iter().map(|cell| number(index_of(*cell))).collect();
        self.next = next;
        let later = unordered::picked(&columns, later)?;
        drop((columns, coordinates, order));
        // Keeps the allocated memory.
        self.pending = pending.emptied();
        self.pending.push(&later.columns(), 0..later.cells)
    }

    const fn refuse_failed(&self) -> Result<(), WriteError> {
        if self.failed { Err(WriteError::FailedBefore) } else { Ok(()) }
    }
}
