//! The files of one fragment while its tiles are written, and the commit of finished fragments.

use tdb_codec::{Gate, to_u64};
use tdb_fragment::{CommitKind, CommitRecord, TimestampedName, write_consolidated_commits};
use tdb_schema::Range;

use crate::ArrayWriter;
use crate::directory::{Directory, FragmentEntry};
use crate::fragment_metadata::{FieldSummary, FragmentSummary};
use crate::names::{Nonces, uuid};
use crate::output::{DataOutput, Output};
use crate::paths::{COMMITS, FRAGMENT_METADATA, FRAGMENTS};
use crate::put::{never_put, put_new, sync_folder};
use crate::storage::{StorageLock, WriteStorage, join};
use crate::tile::{EncodedTile, FieldEncoder};
use crate::transaction::lock_if_any;
use crate::{Error, OrInternal, Result, WriteError};

/// The number of bytes of a tile of every field, in all files.
pub(super) fn size_of_row(row: &[EncodedTile]) -> u64 {
    row.iter().map(EncodedTile::len).sum()
}

/// A fragment's folder, which is removed again unless the fragment is committed.
#[derive(Debug)]
pub(super) struct FragmentFolder<'a> {
    pub(super) array: &'a ArrayWriter,
    pub(super) key: String,
    pub(super) keep: bool,
}

impl Drop for FragmentFolder<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // If it cannot be removed, it is harmless, because it is not committed.
            let _ = self.array.storage.remove_folder(&self.key);
        }
    }
}

/// A fragment to which tiles are appended.
#[derive(Debug)]
pub(super) struct OpenFragment<'a> {
    pub(super) name: TimestampedName,
    // Declared before the folder, so that files are closed before it is removed.
    pub(super) outputs: Vec<Output<'a>>,
    pub(super) folder: FragmentFolder<'a>,
    pub(super) summary: FragmentSummary,
    pub(super) bytes: u64,
    /// Folders were created that the array did not have: their names must be synced too.
    pub(super) made_folders: bool,
}

impl<'a> OpenFragment<'a> {
    /// Creates the folder and begins the data files.
    pub(super) fn begin(
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
        let folder = FragmentFolder { array, key, keep: false };
        let outputs = encoders.iter().map(|encoder| Output::begin(array, &folder.key, encoder));
        let outputs = outputs.collect::<Result<_>>()?;
        let schema_name = array.schema_key.rsplit('/').next().unwrap_or_default().to_owned();
        let fields = encoders.iter().map(FieldSummary::new).collect();
        let summary = FragmentSummary::new(schema_name, domain, tile_cells, fields);
        Ok(Self { name, outputs, folder, summary, bytes: 0, made_folders })
    }

    /// Appends a tile of every field.
    pub(super) fn append(&mut self, row: &[EncodedTile]) -> Result<()> {
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
    pub(super) fn finish(self, nonces: &Nonces) -> Result<FinishedFragment<'a>> {
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
        Ok(FinishedFragment { name, folder, made_folders, metadata })
    }
}

/// A fragment whose files are all written, except the metadata if that commits the fragment.
#[derive(Debug)]
pub(super) struct FinishedFragment<'a> {
    pub(super) name: TimestampedName,
    pub(super) folder: FragmentFolder<'a>,
    pub(super) made_folders: bool,
    pub(super) metadata: Option<Vec<u8>>,
}

impl FinishedFragment<'_> {
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
pub(super) fn commit(
    array: &ArrayWriter,
    time: u64,
    mut finished: Vec<FinishedFragment<'_>>,
) -> Result<Vec<String>> {
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

pub(super) fn sync(array: &ArrayWriter, folder: &str) -> Result<()> {
    sync_folder(&*array.storage, folder, array.options.durability)
}
