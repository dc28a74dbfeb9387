//! A fragment that is being written.

use std::mem;

use tdb_codec::{ArrayType, Gate, to_u64};
use tdb_schema::{ArraySchema, FieldKind, Range};

use crate::column::{CheckedColumn, TiledColumns, check_whole};
use crate::fragment_set::FragmentSet;
use crate::merged::{self, Merged};
use crate::names::Nonces;
use crate::sorted::GlobalOrder;
use crate::tile::{BufferPool, EncodeBuffers, EncodeScratch, EncodedTile, FieldEncoder};
use crate::tile_cells::{TileBuffers, TileSource};
use crate::{ArrayWriter, WriteBatch, WriteColumn};
use crate::{Error, OrInternal, Result, WriteError, parallel};

/// A fragment that is being written, tile by tile. [`Self::commit`] makes it part of the array; if
/// it is dropped before, it is removed again as far as the storage allows. With
/// [`WriteOptions::fragment_bytes`](crate::WriteOptions::fragment_bytes) it becomes several
/// fragments, which all take effect at once.
#[derive(Debug)]
pub struct FragmentWriter<'a> {
    array: &'a ArrayWriter,
    nonces: Nonces,
    encoders: Vec<FieldEncoder>,
    parts: FragmentSet<'a>,
    /// The order against which the cells of a sparse fragment are checked.
    order: Option<GlobalOrder>,
    /// Cells of a sparse fragment that do not fill a tile yet.
    pending: Pending,
    spare: BufferPool,
    /// An append failed: the contents of the files are no longer consistent.
    failed: bool,
}

impl ArrayWriter {
    /// Starts a sparse fragment whose cells come in batches, in the array's global order.
    ///
    /// # Errors
    /// A dense array, a filter that cannot be used for its field, or any I/O error of the storage.
    pub fn sparse_fragment(&self) -> Result<FragmentWriter<'_>> {
        FragmentWriter::sparse(self)
    }
}

/// The fields that a sparse write must give: attributes, then dimensions.
pub(super) fn field_kinds(schema: &ArraySchema) -> Vec<FieldKind> {
    let dimensions = (0..schema.domain.dimensions.len()).map(FieldKind::Dimension);
    (0..schema.attributes.len()).map(FieldKind::Attribute).chain(dimensions).collect()
}

/// The fields that a dense write must give.
pub(super) fn dense_kinds(schema: &ArraySchema) -> Vec<FieldKind> {
    (0..schema.attributes.len()).map(FieldKind::Attribute).collect()
}

impl<'a> FragmentWriter<'a> {
    /// A fragment of cells with coordinates.
    pub(super) fn sparse(array: &'a ArrayWriter) -> Result<Self> {
        let schema = array.schema();
        if schema.array_type != ArrayType::Sparse {
            let what = "writing sparse fragments into dense arrays is not supported";
            return Err(Error::unsupported(array.describe(&array.schema_key), what));
        }
        let mut kinds = field_kinds(schema);
        if !schema.version.has(Gate::DimensionFiles) {
            // One file for all dimensions.
            kinds.truncate(schema.attributes.len().saturating_add(1));
        }
        let parts = FragmentSet::new(array, None, schema.capacity)?;
        let order = Some(GlobalOrder::new(schema));
        Self::new(array, kinds, parts, order)
    }

    /// A fragment of whole tiles, without coordinates.
    pub(super) fn dense(array: &'a ArrayWriter, domain: Vec<Range>, tile_cells: u64) -> Result<Self> {
        Self::new(
            array,
            dense_kinds(array.schema()),
            FragmentSet::new(array, Some(domain), tile_cells)?,
            None,
        )
    }

    /// A fragment of whole tiles that replaces others.
    #[doc(hidden)]
    pub fn dense_merged(
        array: &'a ArrayWriter,
        domain: Vec<Range>,
        tile_cells: u64,
        merged: Merged,
    ) -> Result<Self> {
        let parts = FragmentSet::merged(array, Some(domain), tile_cells, merged)?;
        Self::new(array, dense_kinds(array.schema()), parts, None)
    }

    /// A fragment of cells with coordinates that replaces others: the order of its cells is not
    /// checked.
    #[doc(hidden)]
    pub fn sparse_merged(array: &'a ArrayWriter, merged: Merged) -> Result<Self> {
        let schema = array.schema();
        let kinds = field_kinds(schema).into_iter().chain(merged.kinds(schema)).collect();
        Self::new(array, kinds, FragmentSet::merged(array, None, schema.capacity, merged)?, None)
    }

    fn new(
        array: &'a ArrayWriter,
        kinds: Vec<FieldKind>,
        parts: FragmentSet<'a>,
        order: Option<GlobalOrder>,
    ) -> Result<Self> {
        let schema = array.schema();
        let key = array.context.key.as_ref();
        let encoder = |kind: &FieldKind| match schema.field_of(*kind) {
            Some(field) => FieldEncoder::new(schema, &field, key),
            None => merged::encoder(schema, *kind, key),
        };
        let encoders = kinds.iter().map(encoder).collect::<Result<Vec<_>>>()?;
        let (nonces, pending, spare) = (Nonces::new()?, Pending::default(), BufferPool::default());
        Ok(Self { array, nonces, encoders, order, parts, pending, spare, failed: false })
    }

    /// The fragment's name; the first one's if there are several.
    #[must_use]
    pub fn name(&self) -> String {
        self.parts.name()
    }

    pub(super) const fn array(&self) -> &'a ArrayWriter {
        self.array
    }

    /// Appends cells of a sparse fragment: every attribute and every dimension, in the array's
    /// global order, after those appended before. Memory is bounded by one tile of cells and the
    /// tiles that threads are working on.
    ///
    /// # Errors
    /// Columns that do not fit, cells out of order, outside the domain, or twice at the same
    /// coordinates (unless the array allows that), a filter that rejects values, or any I/O error
    /// of the storage. The fragment cannot be used any more then: it accepts no more cells, and
    /// cannot be committed.
    pub fn append(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        self.refuse_failed()?;
        // Until the whole append has succeeded.
        self.failed = true;
        self.append_cells(columns)?;
        self.failed = false;
        Ok(())
    }

    fn append_cells(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        let given = self.order.as_ref().map_or(0, GlobalOrder::cells);
        let (columns, cells) = self.array.check(&field_kinds(self.array.schema()), columns, given)?;
        if let Some(order) = &mut self.order {
            order.check(self.array.context.threads, &columns, cells)?;
        }
        self.append_run(&columns, cells)
    }

    /// The number of bytes of all tiles of the fragment so far.
    #[doc(hidden)]
    pub fn data_bytes(&self) -> u64 {
        self.parts.open_bytes()
    }

    /// Appends cells that were checked already, in global order: one column for each encoder. Cells
    /// that do not fill a tile are kept until later.
    #[doc(hidden)]
    pub fn append_in_order(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
        self.refuse_failed()?;
        self.failed = true;
        self.append_run(columns, cells)?;
        self.failed = false;
        Ok(())
    }

    fn append_run(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
        check_whole(columns, cells)?;
        // A tile of more cells than that is never full.
        let capacity = tdb_codec::to_usize(self.parts.tile_cells()).unwrap_or(usize::MAX);
        let mut start = 0;
        if self.pending.cells > 0 {
            start = capacity.saturating_sub(self.pending.cells).min(cells);
            self.pending.push(columns, 0..start)?;
            if self.pending.cells == capacity {
                self.flush()?;
            }
        }
        let tiles = cells.saturating_sub(start).checked_div(capacity).or_internal("tiles without cells")?;
        let whole = tiles.saturating_mul(capacity);
        let end = start.saturating_add(whole);
        let runs = TiledColumns { columns, tile_cells: capacity, cells: start..end };
        self.append_tiles(runs.tiles(), &runs)?;
        self.pending.push(columns, end..cells)
    }

    /// Appends `count` tiles of a source, filtered by all threads and written in order.
    pub(crate) fn append_tiles(&mut self, count: usize, source: &dyn TileSource) -> Result<()> {
        let Self { array, nonces, encoders, parts, spare, .. } = self;
        let fields = encoders.len();
        let scratch = || EncodeBuffers {
            room: TileBuffers::default(),
            encoding: EncodeScratch::new(nonces.scratch(), spare),
        };
        let run = |job: usize, worker: &mut EncodeBuffers<'_>| {
            let place = job.checked_div(fields).zip(job.checked_rem(fields));
            let (tile, field) = place.or_internal("a tile of a fragment without fields")?;
            encoders.get(field).or_internal("a field without an encoder")?.encode(source, tile, worker)
        };
        let mut row = Vec::with_capacity(fields);
        let sink = |tile: EncodedTile| {
            row.push(tile);
            if row.len() == fields {
                spare.give(parts.append(mem::take(&mut row), encoders, nonces)?);
            }
            Ok(())
        };
        let jobs = count.checked_mul(fields).or_internal("more tiles than can be counted")?;
        parallel::run_in_order(array.context.threads, 0..jobs, scratch, run, sink)?;
        row.is_empty().then_some(()).or_internal("a row of tiles without one of each field")
    }

    /// Appends the cells of an iterator, like [`Self::append`]. While the tiles of one batch are
    /// filtered and stored, the iterator makes the next one (unless there is only one thread).
    ///
    /// # Errors
    /// The first error of the iterator; as for [`Self::append`].
    pub fn append_all<B: WriteBatch>(&mut self, batches: impl IntoIterator<Item = Result<B>>) -> Result<()> {
        let threads = self.array.context.threads;
        parallel::overlap(threads, batches.into_iter(), |batch: B| self.append(&batch.columns()))
    }

    /// Writes the metadata and makes the fragment part of the array. Returns its name; the first
    /// one's if there are several.
    ///
    /// # Errors
    /// A sparse fragment without cells, a fragment to which an append failed, or any I/O error of
    /// the storage. The array is unchanged then, except that it may have the fragment if the very
    /// last step failed.
    pub fn commit(self) -> Result<String> {
        self.commit_all()?.into_iter().next().or_internal("a commit without a fragment")
    }

    /// Like [`Self::commit`]; returns the names of all fragments that were written.
    ///
    /// # Errors
    /// As for [`Self::commit`].
    pub fn commit_all(mut self) -> Result<Vec<String>> {
        self.finish()?;
        self.parts.commit()
    }

    /// Writes everything except the commit file, so that the caller can check the fragment before
    /// it takes effect. Returns its folder, which the caller must remove if it is not needed.
    #[doc(hidden)]
    pub fn finish_unmarked(mut self) -> Result<String> {
        self.finish()?;
        self.parts.keep()
    }

    /// Ends the fragment that is being written; later cells go into another one.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.refuse_failed()?;
        self.failed = true;
        self.flush()?;
        self.parts.finish(&self.nonces)?;
        self.failed = false;
        Ok(())
    }

    const fn refuse_failed(&self) -> Result<(), WriteError> {
        if self.failed { Err(WriteError::FailedBefore) } else { Ok(()) }
    }

    /// Writes the buffered cells as one tile.
    fn flush(&mut self) -> Result<()> {
        let pending = mem::take(&mut self.pending);
        if pending.cells == 0 {
            return Ok(());
        }
        let columns = pending.columns();
        let runs = TiledColumns { columns: &columns, tile_cells: pending.cells, cells: 0..pending.cells };
        self.append_tiles(1, &runs)
    }
}

/// Cells that do not fill a tile yet, by field.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) cells: usize,
    fields: Vec<PendingField>,
}

#[derive(Debug)]
struct PendingField {
    kind: FieldKind,
    cell_size: Option<usize>,
    value_size: usize,
    is_real: bool,
    values: Vec<u8>,
    /// One more than the number of cells, for var-length fields.
    offsets: Vec<u64>,
    validity: Vec<u8>,
}

impl Pending {
    /// The cells of the only tile of a source, which has these columns.
    pub(super) fn of_tile(
        columns: &[CheckedColumn<'_>],
        source: &dyn TileSource,
        cells: usize,
    ) -> Result<Self> {
        let mut fields: Vec<_> = columns.iter().map(PendingField::new).collect();
        let mut room = TileBuffers::default();
        for field in &mut fields {
            let tile = source.cells(field.kind, 0, &mut room)?;
            field.values.extend_from_slice(tile.values);
            field.validity.extend_from_slice(tile.validity);
            if field.cell_size.is_none() {
                field.offsets.extend_from_slice(tile.offsets);
                field.offsets.push(to_u64(tile.values.len()));
            }
        }
        Ok(Self { cells, fields })
    }

    /// Adds a run of the columns' cells.
    pub(super) fn push(&mut self, columns: &[CheckedColumn<'_>], run: core::ops::Range<usize>) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        if self.fields.is_empty() {
            self.fields.extend(columns.iter().map(PendingField::new));
        }
        let kinds = self.fields.iter().map(|field| field.kind);
        if !kinds.eq(columns.iter().map(|column| column.kind)) {
            return Err(Error::internal("batches with different columns"));
        }
        let mut room = TileBuffers::default();
        for (field, column) in self.fields.iter_mut().zip(columns) {
            let tile = column.tile(run.clone(), &mut room)?;
            let before = to_u64(field.values.len());
            if column.cell_size.is_none() {
                field.offsets.pop();
                field.offsets.extend(tile.offsets.iter().map(|offset| before.saturating_add(*offset)));
                field.offsets.push(before.saturating_add(to_u64(tile.values.len())));
            }
            field.values.extend_from_slice(tile.values);
            field.validity.extend_from_slice(tile.validity);
        }
        self.cells = self.cells.saturating_add(run.len());
        Ok(())
    }

    /// The number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.column(self.cells).bytes()).sum()
    }

    /// An empty one that keeps the allocated memory.
    pub(super) fn emptied(mut self) -> Self {
        self.cells = 0;
        for field in &mut self.fields {
            field.values.clear();
            field.offsets.clear();
            field.validity.clear();
        }
        self
    }

    pub(super) fn columns(&self) -> Vec<CheckedColumn<'_>> {
        self.fields.iter().map(|field| field.column(self.cells)).collect()
    }
}

impl PendingField {
    fn new(column: &CheckedColumn<'_>) -> Self {
        let CheckedColumn { kind, cell_size, value_size, is_real, .. } = *column;
        let (values, offsets, validity) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, cell_size, value_size, is_real, values, offsets, validity }
    }

    fn column(&self, cells: usize) -> CheckedColumn<'_> {
        let Self { kind, cell_size, value_size, is_real, values, offsets, validity } = self;
        let (kind, cell_size, value_size, is_real) = (*kind, *cell_size, *value_size, *is_real);
        CheckedColumn { kind, cell_size, value_size, is_real, values, offsets, validity, cells }
    }
}
