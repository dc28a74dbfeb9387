//! A fragment that is being written.

use std::mem;

use tdb_codec::{ArrayType, Gate, to_u64};
use tdb_fragment::{DataFile, DataFilePart, TimestampedName};
use tdb_schema::{ArraySchema, FieldKind, Range};

use super::column::{self, CheckedColumn, Runs};
use super::create::write_file;
use super::merged::{self, Merged};
use super::metadata::{FieldSummary, FragmentSummary};
use super::names::{self, Nonces};
use super::sorted::GlobalOrder;
use super::tile::{EncodedTile, Encoding, FieldEncoder, Room, TileSource, Worker, interval};
use super::{ArrayWriter, WriteColumn};
use crate::directory::{COMMITS, FRAGMENT_METADATA, FRAGMENTS};
use crate::storage::{Durability, FileWriter, join};
use crate::{Error, Result, WriteError, parallel};

/// A fragment that is being written, tile by tile. [`Self::commit`] makes it count; dropped before, it is removed again
/// as far as the storage lets it.
#[derive(Debug)]
pub struct FragmentWriter<'a> {
    array: &'a ArrayWriter,
    name: TimestampedName,
    folder: String,
    nonces: Nonces,
    encoders: Vec<FieldEncoder>,
    outputs: Vec<Output<'a>>,
    summary: FragmentSummary,
    /// What a sparse fragment checks its cells against.
    order: Option<GlobalOrder>,
    /// Cells of a sparse fragment that do not fill a tile yet.
    pending: Pending,
    /// An append failed: what the files hold no longer fits together.
    failed: bool,
    committed: bool,
    /// Folders of the array were made that it did not have: their names must be synced too.
    made_folders: bool,
}

/// The files of one field.
#[derive(Debug)]
struct Output<'a> {
    fixed: DataOutput<'a>,
    values: Option<DataOutput<'a>>,
    validity: Option<DataOutput<'a>>,
}

/// A data file that is appended to.
#[derive(Debug)]
struct DataOutput<'a> {
    path: String,
    file: Box<dyn FileWriter + 'a>,
}

impl DataOutput<'_> {
    /// Appends a tile and notes where it begins.
    fn append(&mut self, tile: &[u8], tiles: &mut super::metadata::TileList) -> Result<()> {
        self.file.append(tile).map_err(|error| Error::io(&self.path, error))?;
        tiles.push(to_u64(tile.len()));
        Ok(())
    }

    fn finish(self, durability: Durability) -> Result<()> {
        self.file.finish(durability).map_err(|error| Error::io(&self.path, error))
    }
}

impl Output<'_> {
    fn append(&mut self, tile: EncodedTile, summary: &mut FieldSummary) -> Result<()> {
        self.fixed.append(&tile.fixed, &mut summary.fixed)?;
        if let (Some(output), Some((bytes, size))) = (&mut self.values, &tile.values) {
            output.append(bytes, &mut summary.values)?;
            summary.var_sizes.push(*size);
        }
        if let (Some(output), Some(bytes)) = (&mut self.validity, &tile.validity) {
            output.append(bytes, &mut summary.validity)?;
        }
        summary.note(tile.cells, &tile.statistics);
        Ok(())
    }
}

impl<'a> FragmentWriter<'a> {
    /// A fragment of cells with coordinates.
    pub(super) fn sparse(array: &'a ArrayWriter) -> Result<Self> {
        let schema = array.schema();
        if schema.array_type != ArrayType::Sparse {
            let what = "writing sparse fragments into dense arrays is not supported";
            return Err(Error::unsupported(array.describe(&array.schema_key), what));
        }
        let name = names::unique(array.options.time(), Some(schema.version))?;
        Self::new(array, sparse_kinds(schema), None, schema.capacity, Merged::new(name))
    }

    /// A fragment of whole tiles without coordinates.
    pub(super) fn dense(array: &'a ArrayWriter, domain: Vec<Range>, tile_cells: u64) -> Result<Self> {
        let name = names::unique(array.options.time(), Some(array.schema().version))?;
        Self::dense_merged(array, domain, tile_cells, Merged::new(name))
    }

    /// A fragment of whole tiles that replaces others.
    pub(crate) fn dense_merged(
        array: &'a ArrayWriter,
        domain: Vec<Range>,
        tile_cells: u64,
        merged: Merged,
    ) -> Result<Self> {
        let kinds = (0..array.schema().attributes.len()).map(FieldKind::Attribute).collect();
        Self::new(array, kinds, Some(domain), tile_cells, merged)
    }

    /// A fragment of cells with coordinates that replaces others: its cells are not compared with their neighbours.
    pub(crate) fn sparse_merged(array: &'a ArrayWriter, merged: Merged) -> Result<Self> {
        let schema = array.schema();
        let kinds = sparse_kinds(schema).into_iter().chain(merged.kinds(schema)).collect();
        let mut writer = Self::new(array, kinds, None, schema.capacity, merged)?;
        writer.order = None;
        Ok(writer)
    }

    fn new(
        array: &'a ArrayWriter,
        kinds: Vec<FieldKind>,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
        merged: Merged,
    ) -> Result<Self> {
        let schema = array.schema();
        let refuse = |what: &str| Err(Error::unsupported(array.describe(&array.schema_key), what));
        if schema.attributes.iter().any(|attribute| attribute.order != tdb_codec::DataOrder::Unordered) {
            return refuse("writing ordered attributes is not supported");
        }
        if !schema.labels.is_empty() {
            return refuse("writing arrays that have dimension labels is not supported");
        }
        let key = array.context.key.as_ref();
        let encoder = |kind: &FieldKind| match schema.field_of(*kind) {
            Some(field) => FieldEncoder::new(schema, &field, key),
            None => merged::encoder(schema, *kind, key),
        };
        let encoders = kinds.iter().map(encoder).collect::<Result<Vec<_>>>()?;
        let Merged { name, times, deletes, processed } = merged;
        let parent = if schema.version.has(Gate::FragmentFolders) { FRAGMENTS } else { "" };
        let folder = join(parent, &name.to_string());
        let schema_name = array.schema_key.rsplit('/').next().unwrap_or_default().to_owned();
        let dense = domain.is_some();
        let summaries = encoders.iter().map(FieldSummary::new).collect();
        let mut writer = Self {
            array,
            name,
            folder,
            nonces: Nonces::new()?,
            encoders,
            outputs: Vec::new(),
            summary: FragmentSummary {
                has_timestamps: times,
                has_delete_metadata: deletes,
                processed,
                ..FragmentSummary::new(schema_name, domain, tile_cells, summaries)
            },
            order: (!dense).then(|| GlobalOrder::new(schema)),
            pending: Pending::default(),
            failed: false,
            committed: false,
            made_folders: false,
        };
        writer.create()?;
        Ok(writer)
    }

    /// The fragment's name.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// Appends cells of a sparse fragment: every attribute and every dimension, in the array's global order, behind
    /// those appended before. Memory is bounded by one tile of cells and the tiles that threads are at work on.
    ///
    /// # Errors
    /// Columns that do not fit, cells out of order, outside the domain, or twice at the same coordinates (unless the array
    /// allows that), a filter that refuses values, or whatever the system says. The fragment is of no use then: it takes no
    /// more cells, and does not commit.
    pub fn append(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        self.refuse_failed()?;
        // Until all of it has succeeded.
        self.failed = true;
        self.append_cells(columns)?;
        self.failed = false;
        Ok(())
    }

    fn append_cells(&mut self, columns: &[WriteColumn<'_>]) -> Result<()> {
        let kinds: Vec<FieldKind> = self.encoders.iter().map(|encoder| encoder.kind).collect();
        let (columns, cells) = column::check(self.array.schema(), &kinds, columns)?;
        if let Some(order) = &mut self.order {
            order.check(&columns, cells)?;
        }
        self.append_run(&columns, cells)
    }

    /// Appends cells that are known to fit: a column for each encoder.
    pub(crate) fn append_merged(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
        self.refuse_failed()?;
        self.failed = true;
        self.append_run(columns, cells)?;
        self.failed = false;
        Ok(())
    }

    /// Sum of the bytes that the data files have so far.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.summary.data_bytes()
    }

    fn append_run(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
        let capacity = tdb_codec::to_usize(self.array.schema().capacity).unwrap_or(usize::MAX);
        let mut start = 0;
        if self.pending.cells > 0 {
            start = capacity.saturating_sub(self.pending.cells).min(cells);
            self.pending.push(columns, 0..start);
            if self.pending.cells == capacity {
                self.flush()?;
            }
        }
        let whole = cells.saturating_sub(start).checked_div(capacity).unwrap_or(0).saturating_mul(capacity);
        let end = start.saturating_add(whole);
        let runs = Runs { columns, tile_cells: capacity, cells: start..end };
        self.append_tiles(runs.tiles(), &runs)?;
        self.pending.push(columns, end..cells);
        Ok(())
    }

    /// Appends `count` tiles of a source, filtered by all threads and written in their order.
    pub(crate) fn append_tiles(&mut self, count: usize, source: &dyn TileSource) -> Result<()> {
        let Self { array, nonces, encoders, outputs, summary, .. } = self;
        let fields = encoders.len();
        let scratch = || Worker { room: Room::default(), encoding: Encoding::new(nonces.scratch()) };
        let run = |job: usize, worker: &mut Worker| {
            let (tile, field) = (job.checked_div(fields).unwrap_or(0), job.checked_rem(fields).unwrap_or(0));
            let encoder = encoders.get(field).ok_or(WriteError::NoCells)?;
            let cells = source.cells(encoder.kind, tile, &mut worker.room)?;
            encoder.encode(field, &cells, &mut worker.encoding)
        };
        let mut intervals = Vec::new();
        let dimensions = array.schema().domain.dimensions.len();
        let sink = |tile: EncodedTile| {
            let field = tile.field;
            let kind = encoders.get(field).map(|encoder| encoder.kind);
            if matches!(kind, Some(FieldKind::Dimension(index)) if index < dimensions) {
                intervals.extend(interval(&tile.statistics));
                if intervals.len() == dimensions {
                    summary.mbrs.push(mem::take(&mut intervals));
                }
            }
            if field == 0 {
                summary.tile_count = summary.tile_count.saturating_add(1);
                summary.last_tile_cells = to_u64(tile.cells);
            }
            match (outputs.get_mut(field), summary.fields.get_mut(field)) {
                (Some(output), Some(summary)) => output.append(tile, summary),
                _ => Ok(()),
            }
        };
        parallel::run_in_order(array.context.threads, 0..count.saturating_mul(fields), scratch, run, sink)
    }

    /// Writes the metadata and makes the fragment count. Returns its name.
    ///
    /// # Errors
    /// A sparse fragment without cells, one an append to which failed, or whatever the system says. The array is then as before, or, where the very last
    /// step failed, perhaps has the fragment.
    pub fn commit(mut self) -> Result<String> {
        self.write_files()?;
        let array = self.array;
        let version = array.schema().version;
        let (commits, suffix) =
            if version.has(Gate::FragmentFolders) { (COMMITS, "wrt") } else { ("", "ok") };
        let marker = join(commits, &format!("{}.{suffix}", self.name));
        // From here on the fragment may count even if a step fails: it must not be removed.
        self.committed = true;
        write_file(&*array.storage, &marker, &[], array.options.durability)?;
        sync(array, commits)?;
        Ok(self.name.to_string())
    }

    /// Writes all but the commit file, so that the caller can look at the fragment before it counts. Returns its folder.
    pub(crate) fn finish(mut self) -> Result<String> {
        self.write_files()?;
        self.committed = true;
        Ok(mem::take(&mut self.folder))
    }

    /// Writes what is left of the files, and makes them durable.
    fn write_files(&mut self) -> Result<()> {
        self.refuse_failed()?;
        self.flush()?;
        let array = self.array;
        let (storage, durability) = (&*array.storage, array.options.durability);
        if self.summary.tile_count == 0 {
            return Err(WriteError::NoCells.into());
        }
        for Output { fixed, values, validity } in mem::take(&mut self.outputs) {
            fixed.finish(durability)?;
            values.into_iter().chain(validity).try_for_each(|output| output.finish(durability))?;
        }
        let mut scratch = self.nonces.scratch();
        let metadata = self.summary.to_bytes(array.schema(), array.context.key.as_ref(), &mut scratch)?;
        write_file(storage, &join(&self.folder, FRAGMENT_METADATA), &metadata, durability)?;
        let (parent, _) = self.folder.rsplit_once('/').unwrap_or_default();
        sync(array, &self.folder)?;
        sync(array, parent)?;
        if self.made_folders {
            sync(array, "")?;
        }
        Ok(())
    }

    const fn refuse_failed(&self) -> Result<(), WriteError> {
        if self.failed { Err(WriteError::FailedBefore) } else { Ok(()) }
    }

    /// Makes the folder and begins the data files.
    fn create(&mut self) -> Result<()> {
        let array = self.array;
        let storage = &*array.storage;
        let schema = array.schema();
        let make = |folder: &str| {
            storage.create_folder(folder).map_err(|error| Error::io(array.describe(folder), error))
        };
        if schema.version.has(Gate::FragmentFolders) {
            let there = storage.list("").map_err(|error| Error::io(array.describe(""), error))?;
            for folder in [FRAGMENTS, COMMITS] {
                if !there.iter().any(|entry| entry.name == folder) {
                    make(folder)?;
                    self.made_folders = true;
                }
            }
        }
        make(&self.folder)?;
        for encoder in &self.encoders {
            let open = |part| -> Result<DataOutput<'a>> {
                let file =
                    merged::data_file(schema, encoder.kind).unwrap_or(DataFile::Field(encoder.kind, part));
                let name = file.name(schema, schema.version);
                let name = name.filter(|name| tdb_fragment::is_plain_name(name)).ok_or_else(|| {
                    let what = "the name of a field cannot be the name of a file, as this version needs";
                    Error::unsupported(array.describe(&array.schema_key), what)
                })?;
                let key = join(&self.folder, &name);
                let path = array.describe(&key);
                let file = storage.create_file(&key).map_err(|error| Error::io(&path, error))?;
                Ok(DataOutput { path, file })
            };
            let fixed = open(DataFilePart::Fixed)?;
            let values = encoder.cell_size.is_none().then(|| open(DataFilePart::Var)).transpose()?;
            let validity = encoder.is_nullable().then(|| open(DataFilePart::Validity)).transpose()?;
            self.outputs.push(Output { fixed, values, validity });
        }
        Ok(())
    }

    /// Writes the cells that wait as a tile of their own.
    fn flush(&mut self) -> Result<()> {
        let pending = mem::take(&mut self.pending);
        if pending.cells == 0 {
            return Ok(());
        }
        let columns = pending.columns(&self.encoders);
        let runs = Runs { columns: &columns, tile_cells: pending.cells, cells: 0..pending.cells };
        self.append_tiles(1, &runs)
    }
}

impl Drop for FragmentWriter<'_> {
    fn drop(&mut self) {
        if !self.committed {
            self.outputs.clear();
            // What cannot be removed is harmless: it does not count.
            let _ = self.array.storage.remove_folder(&self.folder);
        }
    }
}

/// The fields of a sparse fragment, in the order of their files.
fn sparse_kinds(schema: &ArraySchema) -> Vec<FieldKind> {
    let dimensions = (0..schema.domain.dimensions.len()).map(FieldKind::Dimension);
    (0..schema.attributes.len()).map(FieldKind::Attribute).chain(dimensions).collect()
}

fn sync(array: &ArrayWriter, folder: &str) -> Result<()> {
    match array.options.durability {
        Durability::Synced => {
            array.storage.sync_folder(folder).map_err(|error| Error::io(array.describe(folder), error))
        }
        Durability::Buffered => Ok(()),
    }
}

/// Cells that do not fill a tile yet, field by field.
#[derive(Debug, Default)]
struct Pending {
    cells: usize,
    fields: Vec<PendingField>,
}

#[derive(Debug, Default)]
struct PendingField {
    values: Vec<u8>,
    /// One more than cells, for var-length fields.
    offsets: Vec<u64>,
    validity: Vec<u8>,
}

impl Pending {
    /// Adds a run of the columns' cells.
    fn push(&mut self, columns: &[CheckedColumn<'_>], run: core::ops::Range<usize>) {
        if run.is_empty() {
            return;
        }
        self.fields.resize_with(columns.len(), PendingField::default);
        let mut room = Room::default();
        for (field, column) in self.fields.iter_mut().zip(columns) {
            let tile = column.tile(run.clone(), &mut room);
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
    }

    fn columns(&self, encoders: &[FieldEncoder]) -> Vec<CheckedColumn<'_>> {
        let fields = self.fields.iter().zip(encoders);
        fields
            .map(|(field, encoder)| CheckedColumn {
                kind: encoder.kind,
                cell_size: encoder.cell_size,
                value_size: encoder.datatype.size(),
                values: &field.values,
                offsets: &field.offsets,
                validity: &field.validity,
                cells: self.cells,
            })
            .collect()
    }
}
