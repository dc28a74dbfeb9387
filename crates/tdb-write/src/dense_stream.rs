//! Dense cells that come in batches and need not fit into memory together.

use tdb_codec::{DataOrder, Layout, to_u64, to_usize};
use tdb_schema::Range;

use crate::column::CheckedColumn;
use crate::dense::{BoxPlan, append_box, cell_sizes};
use crate::fragment::{Pending, dense_kinds};
use crate::stream::planned;
use crate::thresholds::THREAD_BYTES;
use crate::{ArrayWriter, FragmentWriter, WriteBatch, WriteColumn};
use crate::{Error, OrInternal, Result, WriteError, parallel};

/// A write of a box of a dense array, in batches of any number of cells, each of which continues
/// where the previous one ended. In row- and column-major order, cells are buffered until a row of
/// tiles is complete; in global order, until a tile is. [`Self::commit`] makes them part of the
/// array; if the stream is dropped before, what was written is removed again.
///
/// ```
/// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{OpenOptions, WriteColumn, WriteOptions};
///
/// let schema = ArraySchema::dense()
///     .dimension(Dimension::new("row", 0i32..=5).with_tile(2i32))
///     .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
///     .build()?;
/// let storage = MemoryStorage::default();
/// WriteOptions::new().create_storage(&storage, &schema)?;
/// let array = WriteOptions::new().open_storage(storage.clone())?;
/// let mut cells = array.write().range("row", 1..=5).stream(1 << 22)?;
/// cells.append(&[WriteColumn::fixed("a", &[1i64, 2, 3])])?;
/// cells.append(&[WriteColumn::fixed("a", &[4i64, 5])])?;
/// cells.commit()?;
///
/// let cells = OpenOptions::new().open_storage(storage)?.read().range("row", 1..=5).collect()?;
/// assert_eq!(cells.field("a")?.values::<i64>()?, [1, 2, 3, 4, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DenseStream<'a> {
    fragment: FragmentWriter<'a>,
    domain: Vec<Range>,
    order: Layout,
    slabs: Slabs,
    /// Maximum number of bytes of buffered cells.
    room: usize,
    pending: Pending,
    /// Number of slabs written, and of complete slabs that are buffered.
    written: u64,
    waiting: u64,
    /// Number of cells given so far, and of the whole box.
    given: u64,
    cells: u64,
    failed: bool,
}

/// A box cut along the slowest dimension in the order of its cells: a slab is the part in one row
/// of tiles.
#[derive(Debug)]
struct Slabs {
    /// The index of the dimension.
    axis: usize,
    /// The begin and end of each slab along it, in ordinals.
    ends: Vec<(u64, u64)>,
    /// Number of cells of the box with one ordinal of the dimension.
    across: u64,
}

impl Slabs {
    /// Number of cells of slab `index`; 0 after the last one.
    fn cells(&self, index: u64) -> u64 {
        let ends = to_usize(index).and_then(|index| self.ends.get(index));
        ends.map_or(0, |(low, high)| high.saturating_sub(*low).saturating_add(1).saturating_mul(self.across))
    }
}

impl<'a> DenseStream<'a> {
    pub(super) fn new(
        array: &'a ArrayWriter,
        domain: Vec<Range>,
        order: Layout,
        memory: usize,
    ) -> Result<Self> {
        let schema = array.schema();
        let unsupported = |what: &str| Err(Error::unsupported(array.describe(&array.schema_key), what));
        if schema.attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered) {
            return unsupported("streaming cells of attributes with a defined order");
        }
        let plan = BoxPlan::new(schema, &domain)?;
        if order == Layout::GlobalOrder && !plan.is_aligned() {
            return unsupported(
                "writing a dense subarray in global order that does not end at tile boundaries",
            );
        }
        let axis = if order == Layout::ColMajor { domain.len().saturating_sub(1) } else { 0 };
        if order != Layout::GlobalOrder && !plan.stores_rows_of(axis, schema.tile_order) {
            return unsupported("streaming cells in an order that conflicts with the order of tiles");
        }
        let (ends, across) = plan.slabs(axis)?;
        let slabs = Slabs { axis, ends, across };
        let sizes = cell_sizes(schema);
        let cell = sizes.iter().fold(0, |sum: usize, size| sum.saturating_add(*size));
        array.context.tile_len(plan.tile_cells, sizes.iter().copied().max().unwrap_or(1))?;
        let threads = array.context.threads;
        let working = plan.working(&sizes, threads).saturating_add(THREAD_BYTES.saturating_mul(threads));
        let unit = match order {
            Layout::GlobalOrder => to_u64(plan.tile_cells),
            _ => (0..to_u64(slabs.ends.len())).map(|index| slabs.cells(index)).max().unwrap_or(0),
        };
        // If the size of fragments is limited, all tiles of a slab are made before the first is
        // stored.
        let copies = if array.options.fragment_bytes.is_some() { 2 } else { 1 };
        let unit = to_usize(unit).unwrap_or(usize::MAX).saturating_mul(cell).saturating_mul(copies);
        let min = working.saturating_add(unit);
        if planned(memory) < min {
            let min = min.saturating_add(min / 3).saturating_add(3);
            let why = format!(
                "cells are buffered until {} is complete: that needs at least {min} bytes of memory, but {memory} are given",
                if order == Layout::GlobalOrder { "a tile" } else { "a row of tiles" }
            );
            return Err(Error::refused("streaming", why));
        }
        let room = planned(memory).saturating_sub(working).checked_div(copies).unwrap_or(0);
        let cells = to_u64(plan.cells);
        let fragment = FragmentWriter::dense(array, domain.clone(), to_u64(plan.tile_cells))?;
        Ok(Self {
            fragment,
            domain,
            order,
            slabs,
            room,
            pending: Pending::default(),
            written: 0,
            waiting: 0,
            given: 0,
            cells,
            failed: false,
        })
    }

    /// Adds the next cells: every attribute.
    ///
    /// # Errors
    /// Columns that do not fit, or more cells than the box has: nothing of the batch is used then.
    /// A filter that rejects values, strings that need more memory than there is, or any I/O error
    /// of the storage: the write cannot continue then.
    pub fn append(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        self.refuse_failed()?;
        let array = self.fragment.array();
        let (columns, cells) = array.check(&dense_kinds(array.schema()), columns, self.given)?;
        let given = self.given.saturating_add(to_u64(cells));
        self.check_count(given, given > self.cells)?;
        self.failed = true;
        match self.order {
            Layout::GlobalOrder => self.fragment.append_in_order(&columns, cells)?,
            _ => self.append_slabs(&columns, cells)?,
        }
        self.given = given;
        self.failed = false;
        Ok(())
    }

    /// Adds the batches of an iterator. While the tiles of one batch are filtered and stored, the
    /// iterator makes the next one (unless there is only one thread), so two batches are held in
    /// addition to the memory of the stream.
    ///
    /// # Errors
    /// The first error of the iterator; as for [`Self::append`].
    pub fn append_all<B: WriteBatch>(&mut self, batches: impl IntoIterator<Item = Result<B>>) -> Result<()> {
        let threads = self.fragment.array().context.threads;
        parallel::overlap(threads, batches.into_iter(), |batch: B| self.append(&batch.columns()))
    }

    /// Makes the cells part of the array; returns the names of the fragments: one, unless the size
    /// of fragments is limited.
    ///
    /// # Errors
    /// Fewer cells than the box has, or any I/O error of the storage. The array is unchanged then,
    /// except that the cells may have become part of it if the very last step failed.
    pub fn commit(self) -> Result<Vec<String>> {
        self.refuse_failed()?;
        self.check_count(self.given, self.given != self.cells)?;
        if self.pending.cells > 0 {
            return Err(Error::internal("cells of a row of tiles that is not complete"));
        }
        self.fragment.commit_all()
    }

    fn check_count(&self, given: u64, wrong: bool) -> Result<(), WriteError> {
        if !wrong {
            return Ok(());
        }
        let first = self.fragment.array().schema().attributes.first();
        let field = first.map_or_else(String::new, |attribute| attribute.name.clone());
        Err(WriteError::CellCount { field, given, expected: self.cells })
    }

    fn append_slabs(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
        let mut start = 0;
        while start < cells {
            let (mut end, mut whole) = (start, 0u64);
            if self.pending.cells == 0 {
                // Slabs that are complete in the batch are not copied.
                loop {
                    let slab = self.slabs.cells(self.written.saturating_add(whole));
                    let next = to_usize(slab).and_then(|slab| end.checked_add(slab));
                    let Some(next) = next.filter(|next| slab > 0 && *next <= cells) else { break };
                    (end, whole) = (next, whole.saturating_add(1));
                }
            }
            if whole > 0 {
                let part =
                    columns.iter().map(|column| column.part(start..end)).collect::<Result<Vec<_>>>()?;
                self.put(whole, &part)?;
            } else {
                end = self.wait(columns, start, cells)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Buffers cells up to the end of a slab, and first writes the buffered ones if there is no
    /// room for another slab. Returns the first cell that is not buffered.
    fn wait(&mut self, columns: &[CheckedColumn<'_>], start: usize, cells: usize) -> Result<usize> {
        let first = self.written;
        let until = |slabs: u64| {
            (first..=first.saturating_add(slabs))
                .fold(0u64, |sum, slab| sum.saturating_add(self.slabs.cells(slab)))
        };
        // A row that does not fit into memory is never complete.
        let missing = to_usize(until(self.waiting)).unwrap_or(usize::MAX).saturating_sub(self.pending.cells);
        if missing == 0 {
            return Err(Error::internal("a complete row of tiles that was not written"));
        }
        let end = start.saturating_add(missing).min(cells);
        self.pending.push(columns, start..end)?;
        let bytes = self.pending.bytes();
        if end.saturating_sub(start) == missing {
            self.waiting = self.waiting.saturating_add(1);
            let each = bytes.checked_div(to_usize(self.waiting).unwrap_or(usize::MAX)).unwrap_or(bytes);
            let last = self.slabs.cells(self.written.saturating_add(self.waiting)) == 0;
            if last || bytes.saturating_add(each) > self.room {
                let pending = core::mem::take(&mut self.pending);
                self.put(self.waiting, &pending.columns())?;
                self.pending = pending.emptied();
                self.waiting = 0;
            }
        } else if bytes > self.room {
            let why = format!(
                "the strings of a row of tiles need more than the {} bytes of memory that are left",
                self.room
            );
            return Err(Error::refused("streaming", why));
        }
        Ok(end)
    }

    /// Writes the next slabs.
    fn put(&mut self, slabs: u64, columns: &[CheckedColumn<'_>]) -> Result<()> {
        let schema = self.fragment.array().schema();
        let end = self.written.saturating_add(slabs);
        let ends = |slab: u64| to_usize(slab).and_then(|slab| self.slabs.ends.get(slab)).copied();
        let both = ends(self.written).zip(end.checked_sub(1).and_then(ends));
        let ((low, _), (_, high)) = both.or_internal("a row of tiles that is not in the box")?;
        let mut domain = self.domain.clone();
        let axis = self.slabs.axis;
        let both = domain.get_mut(axis).zip(schema.domain.dimensions.get(axis));
        let (range, dimension) = both.or_internal("rows of tiles without a dimension")?;
        let value =
            |at| dimension.coordinate(at).or_internal("a dimension without a coordinate of a row of tiles");
        *range = Range::new(value(low)?, value(high)?);
        append_box(&mut self.fragment, schema, BoxPlan::new(schema, &domain)?, self.order, columns)?;
        self.written = end;
        Ok(())
    }

    const fn refuse_failed(&self) -> Result<(), WriteError> {
        if self.failed { Err(WriteError::FailedBefore) } else { Ok(()) }
    }
}
