//! The files of one fragment, and how it is committed.

use std::mem;

use tdb_codec::{Gate, to_u64};
use tdb_fragment::{CommitKind, CommitRecord, TimestampedName, write_consolidated_commits};
use tdb_schema::Range;

use crate::ArrayWriter;
use crate::boxes::Boxes;
use crate::directory::{Directory, FragmentEntry};
use crate::fragment_metadata::{FieldSummary, FragmentSummary};
use crate::merged::{Marks, Merged};
use crate::names::{Names, Nonces, uuid};
use crate::output::{DataOutput, Output};
use crate::paths::{COMMITS, FRAGMENT_METADATA, FRAGMENTS};
use crate::put::{never_put, put_new, sync_folder};
use crate::storage::{StorageLock, WriteStorage, join};
use crate::tile::{EncodedTile, FieldEncoder};
use crate::transaction::lock_if_any;
use crate::{Error, OrInternal, Result, WriteError};

/// The fragments of one write: one, or several if their size is limited.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    array: &'a ArrayWriter,
    /// Their names, all of the time at which they are written.
    names: Names,
    /// The name of the first one, until it is begun.
    first: Option<TimestampedName>,
    /// The area that a dense fragment covers; `None` for sparse ones.
    domain: Option<Vec<Range>>,
    tile_cells: u64,
    /// The maximum number of bytes of tiles in a fragment; for dense ones, `boxes` has the limit.
    limit: Option<u64>,
    boxes: Option<Boxes>,
    open: Option<Part<'a>>,
    finished: Vec<Finished<'a>>,
    /// What a fragment that replaces others stores in addition to its cells.
    marks: Marks,
}

impl<'a> Parts<'a> {
    pub(super) fn new(array: &'a ArrayWriter, domain: Option<Vec<Range>>, tile_cells: u64) -> Result<Self> {
        let mut names = array.fragment_names()?;
        let first = names.next_fragment(array.schema().version)?;
        Self::named(array, names, first, domain, tile_cells)
    }

    fn named(
        array: &'a ArrayWriter,
        names: Names,
        first: TimestampedName,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
    ) -> Result<Self> {
        let limit = array.options.fragment_bytes;
        let boxes =
            domain.as_ref().zip(limit).map(|(domain, limit)| Boxes::new(array.schema(), domain, limit));
        let boxes = boxes.transpose()?;
        let limit = limit.filter(|_| domain.is_none());
        let (open, finished, marks) = (None, Vec::new(), Marks::default());
        Ok(Self { array, names, first: Some(first), domain, tile_cells, limit, boxes, open, finished, marks })
    }

    /// One fragment that replaces others, of whatever size.
    pub(super) fn merged(
        array: &'a ArrayWriter,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
        merged: Merged,
    ) -> Result<Self> {
        let Merged { name, marks } = merged;
        let parts = Self::named(array, Names::first(name.timestamps.1), name, domain, tile_cells)?;
        Ok(Self { marks, limit: None, boxes: None, ..parts })
    }

    /// The number of bytes of tiles in the current fragment.
    pub(super) fn open_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.bytes)
    }

    /// Number of cells in a whole tile.
    pub(super) const fn tile_cells(&self) -> u64 {
        self.tile_cells
    }

    /// Leaves the fragment durable but without a marker; returns its folder.
    pub(super) fn keep(mut self) -> Result<String> {
        let Some(mut fragment) = self.finished.pop() else { return Err(WriteError::NoCells.into()) };
        if !self.finished.is_empty() {
            return Err(Error::internal("several fragments where there is one"));
        }
        let parent = fragment.folder.key.rsplit_once('/').map_or("", |(parent, _)| parent);
        sync(self.array, parent)?;
        if fragment.made_folders {
            sync(self.array, "")?;
        }
        fragment.folder.keep = true;
        Ok(mem::take(&mut fragment.folder.key))
    }

    /// The name of the first fragment.
    pub(super) fn name(&self) -> String {
        let begun = self.open.as_ref().map(|open| &open.name).or(self.first.as_ref());
        let first = self.finished.first().map(|finished| &finished.name).or(begun);
        // Only after a failed append there is none.
        first.map(TimestampedName::to_string).unwrap_or_default()
    }

    /// Appends a tile of every field, and begins a new fragment if it would make the current one
    /// too large. Returns tiles that were written.
    pub(super) fn append(
        &mut self,
        row: Vec<EncodedTile>,
        encoders: &[FieldEncoder],
        nonces: &Nonces,
    ) -> Result<Vec<EncodedTile>> {
        if let Some(boxes) = &mut self.boxes {
            let Some(slab) = boxes.push(row) else { return Ok(Vec::new()) };
            self.append_slab(&slab, encoders, nonces)?;
            return Ok(slab.into_iter().flatten().collect());
        }
        let size = size_of_row(&row);
        if let Some(limit) = self.limit {
            if size > limit {
                return Err(WriteError::TileSize { bytes: size, limit }.into());
            }
            if self.open_bytes().saturating_add(size) > limit {
                self.finish(nonces)?;
            }
        }
        self.append_open(&row, encoders)?;
        Ok(row)
    }

    /// Appends all tiles at one place along the slowest dimension: to the current fragment, to a
    /// new one, or cut into several.
    fn append_slab(
        &mut self,
        slab: &[Vec<EncodedTile>],
        encoders: &[FieldEncoder],
        nonces: &Nonces,
    ) -> Result<()> {
        let sizes: Vec<u64> = slab.iter().map(|row| size_of_row(row)).collect();
        let bytes = sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
        let limit = self.boxes.as_ref().or_internal("a slab without a box")?.limit;
        if self.open_bytes().saturating_add(bytes) > limit {
            self.finish(nonces)?;
        }
        if bytes <= limit {
            slab.iter().try_for_each(|row| self.append_open(row, encoders))?;
        } else if let Some(boxes) = &self.boxes {
            let groups = boxes.cut(&sizes)?.into_iter();
            let groups = groups.map(|group| Ok((boxes.covered_by(&group)?, group.rows)));
            for (domain, rows) in groups.collect::<Result<Vec<_>>>()? {
                let rows = slab.get(rows).or_internal("a group of tiles that are not in the slab")?;
                rows.iter().try_for_each(|row| self.append_open(row, encoders))?;
                self.finish_over(Some(domain), nonces)?;
            }
        }
        if let Some(boxes) = &mut self.boxes {
            boxes.advance();
            if self.open.is_none() {
                boxes.restart();
            }
        }
        Ok(())
    }

    /// Appends to the current fragment, or to a new one if there is none.
    fn append_open(&mut self, row: &[EncodedTile], encoders: &[FieldEncoder]) -> Result<()> {
        let mut part = match self.open.take() {
            Some(part) => part,
            None => {
                let name = match self.first.take() {
                    Some(first) => first,
                    None => self.names.next_fragment(self.array.schema().version)?,
                };
                let mut part = Part::begin(self.array, name, self.domain.clone(), self.tile_cells, encoders)?;
                part.summary.marks.clone_from(&self.marks);
                part
            }
        };
        part.append(row)?;
        self.open = Some(part);
        Ok(())
    }

    /// Ends the current fragment, if there is one.
    pub(super) fn finish(&mut self, nonces: &Nonces) -> Result<()> {
        if self.boxes.as_ref().is_some_and(Boxes::is_within_slab) {
            return Err(Error::internal("a slab without all of its tiles"));
        }
        let covered = self.boxes.as_ref().map(Boxes::covered).transpose()?;
        self.finish_over(covered, nonces)?;
        if let Some(boxes) = &mut self.boxes {
            boxes.restart();
        }
        Ok(())
    }

    /// Like [`Self::finish`]; the fragment covers this box, if it does not cover the whole one.
    fn finish_over(&mut self, covered: Option<Vec<Range>>, nonces: &Nonces) -> Result<()> {
        if let Some(mut part) = self.open.take() {
            if covered.is_some() {
                part.summary.domain = covered;
            }
            self.finished.push(part.finish(nonces)?);
        }
        Ok(())
    }

    /// Commits all fragments; returns their names.
    pub(super) fn commit(self) -> Result<Vec<String>> {
        if self.finished.is_empty() {
            return Err(WriteError::NoCells.into());
        }
        commit(self.array, self.names.time(), self.finished)
    }
}

/// The number of bytes of a tile of every field, in all files.
fn size_of_row(row: &[EncodedTile]) -> u64 {
    row.iter().map(EncodedTile::len).fold(0, u64::saturating_add)
}

/// A fragment's folder, which is removed again unless the fragment is committed.
#[derive(Debug)]
struct Folder<'a> {
    array: &'a ArrayWriter,
    key: String,
    keep: bool,
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // If it cannot be removed, it is harmless, because it is not committed.
            let _ = self.array.storage.remove_folder(&self.key);
        }
    }
}

/// A fragment to which tiles are appended.
#[derive(Debug)]
struct Part<'a> {
    name: TimestampedName,
    // Declared before the folder, so that files are closed before it is removed.
    outputs: Vec<Output<'a>>,
    folder: Folder<'a>,
    summary: FragmentSummary,
    bytes: u64,
    /// Folders were created that the array did not have: their names must be synced too.
    made_folders: bool,
}

impl<'a> Part<'a> {
    /// Creates the folder and begins the data files.
    fn begin(
        array: &'a ArrayWriter,
        name: TimestampedName,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
        encoders: &[FieldEncoder],
    ) -> Result<Self> {
        let storage = &*array.storage;
        let make = |folder: &str| {
            storage.create_folder(folder).map_err(|error| Error::io(array.describe(folder), error))
        };
        let in_folders = array.schema().version.has(Gate::FragmentFolders);
        let mut made_folders = false;
        if in_folders && storage.has_folders() {
            let there = storage.list("").map_err(|error| Error::io(array.describe(""), error))?;
            for folder in [FRAGMENTS, COMMITS] {
                if !there.iter().any(|entry| entry.name == folder) {
                    make(folder)?;
                    made_folders = true;
                }
            }
        }
        let key = join(if in_folders { FRAGMENTS } else { "" }, &name.to_string());
        make(&key)?;
        let folder = Folder { array, key, keep: false };
        let outputs = encoders.iter().map(|encoder| Output::begin(array, &folder.key, encoder));
        let outputs = outputs.collect::<Result<_>>()?;
        let schema_name = array.schema_key.rsplit('/').next().unwrap_or_default().to_owned();
        let fields = encoders.iter().map(FieldSummary::new).collect();
        let summary = FragmentSummary::new(schema_name, domain, tile_cells, fields);
        Ok(Self { name, outputs, folder, summary, bytes: 0, made_folders })
    }

    /// Appends a tile of every field.
    fn append(&mut self, row: &[EncodedTile]) -> Result<()> {
        let summary = &mut self.summary;
        let cells = row.first().or_internal("a row without tiles")?.cells;
        let same = row.len() == self.outputs.len() && row.iter().all(|tile| tile.cells == cells);
        if !same || row.len() != summary.fields.len() {
            return Err(Error::internal("a row without a tile of each field, of the same cells"));
        }
        let mut mbr = Vec::new();
        for (tile, (output, field)) in row.iter().zip(self.outputs.iter_mut().zip(&mut summary.fields)) {
            mbr.extend_from_slice(&tile.intervals);
            output.append(tile, field)?;
        }
        summary.last_tile_cells = to_u64(cells);
        if summary.domain.is_none() {
            if mbr.len() != self.folder.array.schema().domain.dimensions.len() {
                return Err(Error::internal("a tile without an interval of each dimension"));
            }
            summary.mbrs.push(mbr);
        }
        summary.tile_count = summary.tile_count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size_of_row(row));
        Ok(())
    }

    /// Ends the data files, and then writes the metadata.
    fn finish(self, nonces: &Nonces) -> Result<Finished<'a>> {
        let Self { name, mut outputs, folder, summary, made_folders, .. } = self;
        let array = folder.array;
        let durability = array.options.durability;
        summary.check_tiles(array.schema())?;
        outputs.iter_mut().for_each(Output::end);
        let schema = array.schema();
        let metadata = summary.to_bytes(schema, array.context.key.as_ref(), &mut nonces.scratch())?;
        // In versions without commit files, the metadata commits the fragment. Otherwise it is a
        // file like the others.
        let (own, metadata) = if schema.version.has(Gate::CommitFiles) {
            (Some(DataOutput::whole(array, &join(&folder.key, FRAGMENT_METADATA), &metadata)?), None)
        } else {
            (None, Some(metadata))
        };
        outputs.into_iter().try_for_each(|output| output.finish(durability))?;
        if let Some(own) = own {
            own.finish(durability)?;
            sync(array, &folder.key)?;
        }
        Ok(Finished { name, folder, made_folders, metadata })
    }
}

/// A fragment whose files are all written, except the metadata if that commits the fragment.
#[derive(Debug)]
struct Finished<'a> {
    name: TimestampedName,
    folder: Folder<'a>,
    made_folders: bool,
    metadata: Option<Vec<u8>>,
}

impl Finished<'_> {
    /// Puts the metadata file, which commits the fragment.
    fn put_metadata(&mut self) -> Result<()> {
        let array = self.folder.array;
        if let Some(metadata) = self.metadata.take() {
            let key = join(&self.folder.key, FRAGMENT_METADATA);
            put_new(&*array.storage, &key, &metadata, array.options.durability)?;
        }
        sync(array, &self.folder.key)
    }
}

/// Commits fragments, all at once if the version can: one by its own marker, several by a common
/// list.
fn commit(array: &ArrayWriter, time: u64, mut finished: Vec<Finished<'_>>) -> Result<Vec<String>> {
    let version = array.schema().version;
    let in_folders = version.has(Gate::FragmentFolders);
    sync(array, if in_folders { FRAGMENTS } else { "" })?;
    if finished.iter().any(|fragment| fragment.made_folders) {
        sync(array, "")?;
    }
    let (storage, durability) = (&*array.storage, array.options.durability);
    let (commits, kind) = if in_folders { (COMMITS, CommitKind::Write) } else { ("", CommitKind::Ok) };
    let marker = |name: &TimestampedName| join(commits, &format!("{name}{}", kind.suffix()));
    if in_folders && finished.len() > 1 {
        // If fragments have the same first timestamp, libtiledb takes those in such a list for
        // older. So existing ones with that timestamp are listed too, and libtiledb then compares
        // their names, as it does with markers. The lock prevents these from being vacuumed in the
        // meantime. A new array has no such fragments, and is locked already.
        let _lock = if array.is_new { StorageLock::none() } else { lock_if_any(storage)? };
        let there =
            if array.is_new { Vec::new() } else { Directory::load(&*array.context.storage)?.fragments };
        let same = |entry: &&FragmentEntry| {
            entry.parsed.timestamps.0 == time && entry.version().has(Gate::FragmentFolders)
        };
        let older = there.iter().filter(same).map(|entry| &entry.parsed);
        let records: Vec<CommitRecord<'_>> = older
            .chain(finished.iter().map(|fragment| &fragment.name))
            .map(|name| CommitRecord { path: marker(name), delete: None })
            .collect();
        let list = write_consolidated_commits(&records, version)
            .map_err(|error| WriteError::Schema(Box::new(error.into())))?;
        let name = TimestampedName::of_fragment((time, time), uuid()?, version);
        let key = join(commits, &format!("{name}{}", CommitKind::Consolidated.suffix()));
        // From here on the fragments may be committed even if a step fails, so they must not be
        // removed.
        finished.iter_mut().for_each(|fragment| fragment.folder.keep = true);
        if let Err(error) = put_new(storage, &key, &list, durability) {
            let keep = !never_put(storage, &key, &error);
            finished.iter_mut().for_each(|fragment| fragment.folder.keep = keep);
            return Err(error);
        }
    } else {
        for fragment in &mut finished {
            fragment.folder.keep = true;
            if version.has(Gate::CommitFiles) {
                let key = marker(&fragment.name);
                if let Err(error) = put_new(storage, &key, &[], durability) {
                    fragment.folder.keep = !never_put(storage, &key, &error);
                    return Err(error);
                }
            } else {
                fragment.put_metadata()?;
            }
        }
    }
    sync(array, commits)?;
    array.renew_manifest(&[])?;
    Ok(finished.iter().map(|fragment| fragment.name.to_string()).collect())
}

fn sync(array: &ArrayWriter, folder: &str) -> Result<()> {
    sync_folder(&*array.storage, folder, array.options.durability)
}
