//! Reads footers from consolidated fragment metadata, so that opening an array with many fragments
//! reads few files.
//!
//! These files only save reads: if one cannot be read, or does not list a fragment, that fragment's
//! own file is read.

use std::collections::HashMap;
use std::ops::Range;

use tdb_codec::{Gate, Reader, to_usize};
use tdb_fragment::{CommitKind, TimestampedName, parse_consolidated_footers};

use crate::context::Context;
use crate::directory::Directory;
use crate::paths::FRAGMENT_META;
use crate::storage::join;
use crate::timed::last_part;

/// Footers of fragments, by the names of their folders.
#[derive(Debug, Default)]
pub(crate) struct ConsolidatedFooters {
    payloads: Vec<Vec<u8>>,
    /// The number of a footer's payload, and its range in it.
    positions: HashMap<String, (usize, Range<usize>)>,
}

impl ConsolidatedFooters {
    /// The keys of the array's files.
    pub(crate) fn keys(context: &Context, directory: &Directory) -> Vec<String> {
        let mut keys = directory.root_meta.clone();
        if directory.has_fragment_meta {
            // If it cannot be listed, footers are read from the files of the fragments.
            let mut listed = context.storage.list(FRAGMENT_META).unwrap_or_default();
            listed.sort_unstable();
            keys.extend(listed.iter().filter(|e| !e.is_folder).map(|entry| join(FRAGMENT_META, &entry.name)));
        }
        keys.retain(|key| has_bare_names(key));
        keys
    }

    /// Reads these files. If several list a fragment, the first one is used, as in libtiledb.
    pub(crate) fn load(context: &Context, keys: &[String]) -> Self {
        let mut footers = Self::default();
        for key in keys {
            // `verify` reports unreadable files.
            if let Ok(payload) = context.generic_file(key) {
                footers.add(payload);
            }
        }
        footers
    }

    fn add(&mut self, payload: Vec<u8>) {
        let Ok(entries) = parse_consolidated_footers(Reader::new(&payload)) else { return };
        for entry in entries {
            let start = to_usize(entry.offset);
            let end = start.and_then(|start| start.checked_add(entry.bytes.len()));
            let Some((start, end)) = start.zip(end) else { continue };
            self.positions.entry(entry.name).or_insert((self.payloads.len(), start..end));
        }
        self.payloads.push(payload);
    }

    /// The footer of a fragment, by its folder's name.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        let (payload, range) = self.positions.get(name)?;
        self.payloads.get(*payload)?.get(range.clone())
    }
}

/// Whether the file is consolidated metadata that lists fragments by their folder names.
fn has_bare_names(key: &str) -> bool {
    let Some((CommitKind::ConsolidatedMetadata, stem)) = CommitKind::of(last_part(key)) else { return false };
    let version = TimestampedName::parse(stem).ok().and_then(|parsed| parsed.version);
    version.is_some_and(|version| version.has(Gate::RelativeConsolidatedNames))
}

#[cfg(test)]
mod tests;
