//! An open fragment: its footer, and the other sections of its metadata, which are read when they
//! are needed.

mod bounds;
mod only_tile;
mod open;
mod read_set;
mod tile_file;

use std::collections::HashMap;
use std::io;
use std::ops::Range as ByteRangeOf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tdb_codec::{FormatVersion, Gate, Reader, to_u64, to_usize};
use tdb_fragment::{
    DataFile, DataFilePart, Footer, FooterLocation, RTree, Section, is_plain_name, parse_u64_list,
};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

pub use self::tile_file::{TileFile, TileLocation};
use crate::context::Context;
use crate::directory::FragmentEntry;
use crate::stats::Stage;
use crate::storage::{ByteRange, join};
use crate::thresholds::METADATA_TAIL_BYTES;
use crate::{Error, OrInternal, Result};

/// The file of coordinates in sparse fragments of versions 1 and 2.
const COORDS: &str = "__coords.tdb";

/// A visible fragment of an open array.
#[derive(Debug)]
pub struct Fragment {
    entry: FragmentEntry,
    schema: Arc<ArraySchema>,
    footer: Footer,
    /// The domain of its cells, if the one in the footer is wrong.
    beyond: Option<Vec<Range>>,
    metadata_key: String,
    /// Its metadata file, once it was read: the footer may come from consolidated metadata.
    own: OnceLock<Arc<MetadataFile>>,
    /// The format version of the library that wrote it, once a section was read.
    writer: OnceLock<FormatVersion>,
    lists: Mutex<HashMap<Section, Arc<Vec<u64>>>>,
    rtree: Mutex<Option<Arc<RTree>>>,
    /// Whether sections are not read if their contents follow from the footer (`only_tile`).
    infers: bool,
}

/// A fragment's metadata file.
#[derive(Debug)]
struct MetadataFile {
    size: u64,
    /// Its last bytes: often the whole file.
    tail: Bytes,
    /// The range of the footer.
    footer: ByteRangeOf<u64>,
}

impl Fragment {
    /// The folder's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The folder's path relative to the array.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.entry.folder
    }

    /// First and last millisecond it covers.
    #[must_use]
    pub const fn timestamps(&self) -> (u64, u64) {
        self.entry.parsed.timestamps
    }

    /// Its format version.
    #[must_use]
    pub const fn version(&self) -> FormatVersion {
        self.footer.version
    }

    /// The schema it was written with.
    #[must_use]
    pub fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    pub(crate) const fn shared_schema(&self) -> &Arc<ArraySchema> {
        &self.schema
    }

    /// Its footer (for versions 1 and 2, the same values from their own layout).
    #[must_use]
    pub const fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Whether it has whole space tiles without coordinates.
    #[must_use]
    pub const fn is_dense(&self) -> bool {
        self.footer.dense
    }

    /// The non-empty domain that is stored in it, one interval per dimension; `None` if it is
    /// empty. See [`Self::bounds`].
    #[must_use]
    pub fn non_empty_domain(&self) -> Option<&[Range]> {
        self.footer.non_empty_domain.as_deref()
    }

    /// Number of cells: for a sparse fragment the stored cells, for a dense one the cells of the
    /// non-empty domain.
    #[must_use]
    pub fn cell_count(&self) -> u64 {
        if !self.footer.dense {
            return self.footer.sparse_cell_count(self.schema.capacity);
        }
        let dimensions = &self.schema.domain.dimensions;
        let ranges = self.footer.non_empty_domain.iter().flatten();
        // Dimensions of dense fragments are integral, so that all ends have ordinals. A domain of
        // all numbers of 64 bits, or a product of sides, may have more cells than 64 bits count:
        // then this is the greatest number.
        ranges.zip(dimensions).fold(1, |cells: u64, (range, dimension)| {
            let low = dimension.ordinal(&range.low).unwrap_or(0);
            let high = dimension.ordinal(&range.high).unwrap_or(0);
            cells.saturating_mul(high.saturating_sub(low).saturating_add(1))
        })
    }

    /// Number of cells in its tiles: of a dense fragment those of whole tiles, some of which may be
    /// outside the non-empty domain.
    ///
    /// # Errors
    /// A non-empty domain that is not inside the domain of the array.
    pub fn stored_cell_count(&self) -> Result<u64> {
        if !self.footer.dense {
            return Ok(self.cell_count());
        }
        let tiles = self.footer.tile_count(&self.schema);
        let tiles = tiles.map_err(|error| Error::corrupt(self.metadata_key.clone(), error))?;
        // Without an extent, the whole domain is one tile.
        let side = |dimension: &Dimension| {
            let whole = dimension.last_ordinal().map(|last| last.saturating_add(1));
            dimension.extent_cells().or(whole).unwrap_or(1)
        };
        let sides = self.schema.domain.dimensions.iter().map(side);
        Ok(sides.fold(tiles, u64::saturating_mul))
    }

    /// Sum of the sizes of its data files and its metadata file. The latter is left out if the
    /// footer came from consolidated metadata and the file was not read.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.footer.data_bytes().saturating_add(self.own.get().map_or(0, |own| own.size))
    }

    /// Whether its footer was read from consolidated metadata. The only visible fragment of an
    /// array is always read from its own file.
    #[must_use]
    pub const fn is_in_consolidated_metadata(&self) -> bool {
        self.footer.offset == open::ELSEWHERE
    }

    /// Key of its metadata file.
    #[must_use]
    pub fn metadata_key(&self) -> &str {
        &self.metadata_key
    }

    /// The unfiltered payload of a section; `None` if this version does not have it.
    #[doc(hidden)]
    pub fn section(&self, context: &Context, section: Section) -> Result<Option<Vec<u8>>> {
        let _clock = context.counters.time(Stage::Sections);
        let Some((offset, bytes)) = self.section_bytes(context, section)? else { return Ok(None) };
        let (writer, payload) = context.versioned_tile(&self.metadata_key, &bytes, offset)?;
        self.writer.get_or_init(|| writer);
        Ok(Some(payload))
    }

    /// The bytes from a section's offset to the next section or the footer, with the offset.
    #[doc(hidden)]
    pub fn section_bytes(&self, context: &Context, section: Section) -> Result<Option<(u64, Bytes)>> {
        let path = || context.describe(&self.metadata_key);
        let range = self.footer.section(section).map_err(|error| Error::corrupt(path(), error))?;
        let Some(range) = range else { return Ok(None) };
        let own = self.own(context)?;
        let range = range.start..range.end.min(own.footer.start);
        if range.is_empty() {
            let detail = format!("the {} would begin after the footer", section.name());
            return Err(Error::inconsistent(path(), "section offset", range.start, detail));
        }
        let bytes = match own.cached(&range) {
            Some(bytes) => own.tail.slice_ref(bytes),
            None => read_range(context, &self.metadata_key, range.clone())?,
        };
        Ok(Some((range.start, bytes)))
    }

    /// The format version of the library that wrote the fragment, whatever the version of the
    /// array: the headers of the sections of its metadata contain it. `slot` is the slot of a field
    /// that is going to be read, so that no section is read for this alone.
    #[doc(hidden)]
    pub fn writer_version(&self, context: &Context, slot: usize) -> Result<FormatVersion> {
        if self.writer.get().is_none() {
            self.list(context, Section::TileOffsets(slot))?;
        }
        // No section is read if its contents follow from the footer: then the library is as new as
        // the fragment (`only_tile`).
        Ok(self.writer.get().copied().unwrap_or(self.footer.version))
    }

    /// The fragment's own metadata file, read once.
    fn own(&self, context: &Context) -> Result<Arc<MetadataFile>> {
        if let Some(own) = self.own.get() {
            return Ok(own.clone());
        }
        let own = MetadataFile::read(context, &self.metadata_key, FooterLocation::LengthAtEnd)?;
        Ok(self.own.get_or_init(|| Arc::new(own)).clone())
    }

    /// A section that is a list, read once.
    #[doc(hidden)]
    pub fn list(&self, context: &Context, section: Section) -> Result<Arc<Vec<u64>>> {
        let cache = || self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = cache().get(&section) {
            return Ok(list.clone());
        }
        let mut list = match self.inferred(section) {
            Some(list) => list,
            None => self.stored_list(context, section)?,
        };
        // libtiledb 2.2 lists half as many again if it wrote nullable attributes in global order:
        // the tiles of a dense fragment follow from its domain, and entries after these belong to
        // no tile.
        if self.footer.dense
            && let Some(count) = self.footer.tile_count(&self.schema).ok().and_then(to_usize)
        {
            list.truncate(count);
        }
        let list = Arc::new(list);
        cache().insert(section, list.clone());
        Ok(list)
    }

    fn stored_list(&self, context: &Context, section: Section) -> Result<Vec<u64>> {
        let Some(payload) = self.section(context, section)? else { return Ok(Vec::new()) };
        parse_u64_list(Reader::new(&payload), section.name()).map_err(|error| {
            let offset = self.footer.sections.get(section).unwrap_or(0);
            let detail = format!("{error} (of the section's payload)");
            Error::inconsistent(context.describe(&self.metadata_key), section.name(), offset, detail)
        })
    }

    /// Releases the memory of sections that were read; they are read again when they are needed.
    #[doc(hidden)]
    pub fn forget(&self) {
        // Versions 1 and 2 have no sections that could be read again.
        if self.footer.version.has(Gate::FragmentFooter) {
            *self.lists.lock().unwrap_or_else(PoisonError::into_inner) = HashMap::new();
            *self.rtree.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// One of a field's files. `kind` is that of this fragment's own schema.
    #[doc(hidden)]
    pub fn file(&self, context: &Context, kind: FieldKind, part: DataFilePart) -> Result<TileFile> {
        let slot = self.footer.slots.field(kind);
        let (section, size) = match part {
            DataFilePart::Fixed => (Section::TileOffsets(slot), self.footer.file_size(kind)),
            DataFilePart::Var => (Section::VarOffsets(slot), self.footer.file_var_size(kind)),
            DataFilePart::Validity => (Section::ValidityOffsets(slot), self.footer.file_validity_size(kind)),
        };
        let file = match kind {
            // Up to version 4 all dimensions share one file.
            FieldKind::Dimension(_) if !self.footer.version.has(Gate::DimensionFiles) => DataFile::Coords,
            _ => DataFile::Field(kind, part),
        };
        self.tile_file(context, file, section, size)
    }

    /// The file of cell timestamps, if the fragment has them.
    #[doc(hidden)]
    pub fn timestamps_file(&self, context: &Context) -> Result<Option<TileFile>> {
        self.system_file(context, DataFile::Timestamps, self.footer.slots.timestamps())
    }

    /// The file of delete timestamps, if the fragment has them.
    pub(crate) fn delete_timestamps_file(&self, context: &Context) -> Result<Option<TileFile>> {
        self.system_file(context, DataFile::DeleteTimestamps, self.footer.slots.delete_timestamps())
    }

    /// The files with the delete timestamps of cells and the conditions that deleted them, with
    /// their slots.
    #[doc(hidden)]
    pub fn delete_files(&self, context: &Context) -> Vec<(Result<TileFile>, usize)> {
        let Some(slot) = self.footer.slots.delete_timestamps() else { return Vec::new() };
        // The conditions have the slot after the timestamps.
        let files = [(DataFile::DeleteTimestamps, slot), (DataFile::DeleteConditionIndex, slot + 1)];
        files.map(|(file, slot)| (self.file_of_slot(context, file, slot), slot)).into()
    }

    fn system_file(
        &self,
        context: &Context,
        file: DataFile,
        slot: Option<usize>,
    ) -> Result<Option<TileFile>> {
        slot.map(|slot| self.file_of_slot(context, file, slot)).transpose()
    }

    /// A file of fixed-size cells that is no field's.
    fn file_of_slot(&self, context: &Context, file: DataFile, slot: usize) -> Result<TileFile> {
        let size = self.footer.file_sizes.get(slot).or_internal("a footer without the size of a file")?;
        self.tile_file(context, file, Section::TileOffsets(slot), *size)
    }

    fn tile_file(&self, context: &Context, file: DataFile, section: Section, size: u64) -> Result<TileFile> {
        let offsets = self.list(context, section)?;
        // A field that the schema does not have has no name, which is refused.
        let name = file.name(&self.schema, self.footer.version).unwrap_or_default();
        if !is_plain_name(&name) {
            let detail = format!("\"{}\" is not a file name", name.escape_debug());
            let path = context.describe(&self.metadata_key);
            return Err(Error::inconsistent(path, "field name", self.footer.offset, detail));
        }
        Ok(TileFile { key: join(&self.entry.folder, &name).into(), offsets, size })
    }

    /// Cells in data tile `tile` of a sparse fragment, checked against the limits.
    #[doc(hidden)]
    pub fn tile_cells(&self, context: &Context, tile: usize) -> Result<usize> {
        let cells = self.footer().sparse_tile_cells(to_u64(tile), self.schema().capacity);
        let fits = to_usize(cells).filter(|_| cells <= context.limits.tile_bytes);
        fits.ok_or_else(|| {
            let detail = format!("tile {tile} would have {cells} cells, which is over the limit");
            let path = context.describe(self.metadata_key());
            Error::inconsistent(path, "capacity", self.footer().offset, detail)
        })
    }

    /// Unfiltered sizes of a field's value tiles.
    #[doc(hidden)]
    pub fn var_sizes(&self, context: &Context, kind: FieldKind) -> Result<Arc<Vec<u64>>> {
        self.list(context, Section::VarSizes(self.footer.slots.field(kind)))
    }
}

impl MetadataFile {
    fn read(context: &Context, key: &str, location: FooterLocation) -> Result<Self> {
        let read = context.storage.read_tail(key, METADATA_TAIL_BYTES);
        let (size, tail) = read.map_err(|error| Error::io(context.describe(key), error))?;
        let footer = location.range(size, &tail);
        let footer = footer.map_err(|error| Error::corrupt(context.describe(key), error))?;
        Ok(Self { size, tail, footer })
    }

    /// Bytes of the file, if they were already read.
    fn cached(&self, range: &ByteRangeOf<u64>) -> Option<&[u8]> {
        let start = self.size.checked_sub(to_u64(self.tail.len()))?;
        let place = |offset: u64| offset.checked_sub(start).and_then(to_usize);
        self.tail.get(place(range.start)?..place(range.end)?)
    }
}

fn read_range(context: &Context, key: &str, range: ByteRangeOf<u64>) -> Result<Bytes> {
    let request = ByteRange { key: key.to_owned(), range };
    let read = context.storage.read_ranges(core::slice::from_ref(&request));
    let bytes = read.map_err(|error| Error::io(context.describe(key), error))?.pop();
    bytes.ok_or_else(|| Error::io(context.describe(key), io::ErrorKind::UnexpectedEof.into()))
}
