//! Folders whose files are applied in order of their timestamps: array and group metadata, group
//! details.

use std::collections::HashSet;

use tdb_fragment::{CommitKind, TimestampedName, is_hidden_name, parse_path_lines, vacuum_target};
use tdb_schema::{ArrayMetadata, MetadataEntry};

use crate::context::Context;
use crate::paths::PARTIAL;
use crate::storage::{Entry, Storage, join};
use crate::{Error, Result, TimeWindow};

/// The files of such a folder.
#[derive(Debug, Default)]
pub struct TimedFiles {
    /// Keys and names, oldest first.
    pub files: Vec<(String, TimestampedName)>,
    /// For each vacuum file its key, its name, and the keys of the files it lists.
    pub vacuums: Vec<(String, TimestampedName, Vec<String>)>,
}

impl TimedFiles {
    /// Reads `folder`, if the root has it. Partly written files and hidden ones are skipped.
    pub fn load(storage: &dyn Storage, root: &[Entry], folder: &str) -> Result<Self> {
        let mut loaded = Self::default();
        if !root.iter().any(|entry| entry.is_folder && entry.name == folder) {
            return Ok(loaded);
        }
        let listed = storage.list(folder).map_err(|error| Error::io(storage.describe(folder), error));
        let mut entries = listed?;
        entries.sort_unstable();
        let is_whole = |entry: &&Entry| !entry.name.ends_with(PARTIAL) && !is_hidden_name(&entry.name);
        for entry in entries.iter().filter(|entry| !entry.is_folder).filter(is_whole) {
            let key = join(folder, &entry.name);
            let corrupt = |error: tdb_fragment::NameError| Error::corrupt(storage.describe(&key), error);
            match CommitKind::of(&entry.name) {
                Some((CommitKind::Vacuum, stem)) => {
                    let name = TimestampedName::parse(stem).map_err(corrupt)?;
                    let bytes =
                        storage.read(&key).map_err(|error| Error::io(storage.describe(&key), error))?;
                    let lines = parse_path_lines(&bytes)
                        .map_err(|error| Error::corrupt(storage.describe(&key), error))?;
                    // Lines of groups are absolute URIs in every version. Only the name in them is
                    // used, so that a group that was moved still knows which files a consolidated
                    // one replaces; libtiledb compares whole URIs.
                    let target = |line: &String| join(folder, last_part(vacuum_target(line)));
                    loaded.vacuums.push((key, name, lines.iter().map(target).collect()));
                }
                _ => {
                    let name = TimestampedName::parse(&entry.name).map_err(corrupt)?;
                    loaded.files.push((key, name));
                }
            }
        }
        loaded.files.sort_by_key(|(_, name)| name.timestamps.0);
        Ok(loaded)
    }

    /// Keys of the files that are used in `window`, oldest first: those completely inside it that
    /// no vacuum file inside it lists.
    pub fn visible(&self, window: TimeWindow) -> impl Iterator<Item = &str> {
        let replaced: HashSet<&str> = self
            .vacuums
            .iter()
            .filter(|(_, name, _)| window.contains(name.timestamps))
            .flat_map(|(_, _, keys)| keys.iter().map(String::as_str))
            .collect();
        self.files
            .iter()
            .filter(move |(_, name)| window.contains(name.timestamps))
            .map(|(key, _)| key.as_str())
            .filter(move |key| !replaced.contains(key))
    }

    /// The key-value pairs that are left in `window`.
    pub fn metadata(&self, context: &Context, window: TimeWindow) -> Result<ArrayMetadata> {
        let mut metadata = ArrayMetadata::default();
        for key in self.visible(window) {
            let payload = context.generic_file(key)?;
            let entries = MetadataEntry::parse_all(&payload)
                .map_err(|error| Error::corrupt(context.describe(key), error))?;
            metadata.apply(entries);
        }
        Ok(metadata)
    }
}

/// The part of a key after the last slash: the name of a file or folder.
pub(crate) fn last_part(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(_, name)| name)
}
