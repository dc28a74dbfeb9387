//! Fragments that leave an array, and the step that removes their files.

use std::collections::HashMap;
use std::io;

use tdb_codec::Gate;

use crate::commits::CommitFiles;
use crate::context::Context;
use crate::directory::FragmentEntry;
use crate::fragment_commit::marker_of;
use crate::paths::FRAGMENT_METADATA;
use crate::plan::{MaintenanceStep, PlannedFile, Removal, RemovedPath, Work};
use crate::storage::join;
use crate::{Error, Result};

/// Fragments of which some or all are removed in one step.
pub(super) struct Leaving<'r> {
    /// The key of the vacuum file that lists them, if one does: it goes with the last of them.
    pub(super) key: Option<&'r str>,
    /// The folders of the fragments.
    pub(super) folders: &'r [String],
    /// Whether the fragment in a folder is removed.
    pub(super) goes: &'r dyn Fn(&str) -> bool,
    /// Whether some reads still see the fragment in a folder: all those go at the same moment.
    pub(super) is_seen: &'r dyn Fn(&str) -> bool,
}

impl Leaving<'_> {
    /// The step that removes them, if there is anything to remove.
    pub(super) fn step(
        &self,
        context: &Context,
        files: &CommitFiles,
        committed: &HashMap<&str, &FragmentEntry>,
        mut removal: Removal,
    ) -> Result<Option<MaintenanceStep>> {
        let (mut markers, mut folders, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for folder in self.folders.iter().filter(|folder| (self.goes)(folder)) {
            let marker = marker_of(folder);
            let held = files
                .consolidated
                .values()
                .any(|(_, records)| records.iter().any(|(path, _)| *path == marker));
            if (self.is_seen)(folder) && !files.is_ignored(&marker) {
                removal.claimed.push(marker);
            } else if held && !files.is_ignored(&marker) {
                removal.ignore.push(marker.clone());
                if files.single.contains_key(&marker) {
                    markers.push(RemovedPath::File(marker));
                }
            } else if files.single.contains_key(&marker) {
                markers.push(RemovedPath::File(marker));
            }
            if let Some(bytes) = folder_bytes(context, folder)? {
                // In the first versions, the metadata file itself commits a fragment.
                if committed.get(folder.as_str()).is_some_and(|entry| !entry.version().has(Gate::CommitFiles))
                {
                    markers.push(RemovedPath::File(join(folder, FRAGMENT_METADATA)));
                }
                folders.push(RemovedPath::Folder(folder.clone()));
                listed.push(PlannedFile { key: folder.clone(), bytes });
            }
        }
        let key = self.key.filter(|_| self.folders.iter().all(|folder| (self.goes)(folder)));
        if listed.is_empty() && markers.is_empty() && key.is_none() {
            return Ok(None);
        }
        removal.stages = vec![markers, folders];
        if let Some(key) = key {
            let bytes = context.storage.size(key).unwrap_or(0);
            listed.push(PlannedFile { key: key.to_owned(), bytes });
            removal.stages.push(vec![RemovedPath::File(key.to_owned())]);
        }
        let what = if self.key.is_some() { "remove consolidated fragments" } else { "remove fragments" };
        Ok(Some(MaintenanceStep { what, inputs: listed, output: None, work: Work::Remove(removal) }))
    }
}

/// The sum of the sizes of a folder's files; `None` if it does not exist.
pub(super) fn folder_bytes(context: &Context, folder: &str) -> Result<Option<u64>> {
    let entries = match context.storage.list(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(context.describe(folder), error)),
    };
    let mut bytes = 0u64;
    for entry in entries.iter().filter(|entry| !entry.is_folder) {
        bytes = bytes.saturating_add(file(context, &join(folder, &entry.name))?.bytes);
    }
    Ok(Some(bytes))
}

/// A file with its size.
pub(super) fn file(context: &Context, key: &str) -> Result<PlannedFile> {
    let bytes = context.storage.size(key).map_err(|error| Error::io(context.describe(key), error))?;
    Ok(PlannedFile { key: key.to_owned(), bytes })
}
