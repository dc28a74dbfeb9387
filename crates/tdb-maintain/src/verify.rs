//! Verification of a whole array: every structure is parsed, every chunk of every tile is decoded,
//! every checksum is compared, and what is stated about cells is compared with them.
//!
//! This reads everything, not only what a query needs: every schema, enumeration, commit, vacuum
//! and metadata file, every section, every chunk of every data file, and file sizes against footers
//! (`commits`, `data`, `files`). It continues after a problem.
//!
//! Then it compares what is stated about cells with the cells:
//!
//! - cells of a sparse fragment are in the order that it states, with the same comparison that
//!   checks writes in global order (`write::GlobalOrder`); no coordinates appear twice where the
//!   array forbids it; versions of a cell are newest first (`cells`);
//! - each cell is in its tile's rectangle and in the fragment's non-empty domain, each rectangle is
//!   in the one above it, and the domain is that of the tiles (`rectangles`);
//! - statistics of tiles and fragments are those that the writer would compute from the cells
//!   (`statistics`).
//!
//! One tile of all dimensions, or of one attribute, is in memory at a time, with the last cell of
//! the previous one: because of the order, equal coordinates are next to each other. Of each kind
//! of problem the first eight of a fragment are shown and the others counted, so the report is
//! bounded too (`report`).
//!
//! Odd but harmless findings are notes: codes past the end of an enumeration (`codes`), an orphaned
//! fragment, a file that no footer mentions, bytes that nothing refers to (`unused`), a rectangle
//! that is larger than its cells need. A fault that some releases of libtiledb are known to write
//! is a note if a row of the table in `known` allows it, by version, type or value.

use core::mem;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tdb_codec::{Budget, Limits};
use tdb_filters::Key;
use tdb_fragment::{TimestampedName, is_hidden_name};
use tdb_schema::{ArraySchema, Enumeration};

use crate::Error;
use crate::context::Context;
use crate::directory::{Directory, FragmentEntry, fragment_folders};
use crate::fragment::Fragment;
use crate::paths::{
    COMMITS, FRAGMENT_META, FRAGMENT_METADATA, FRAGMENTS, METADATA, OLD_SCHEMA, SCHEMA_FOLDER,
};
use crate::storage::{Entry, Storage, join};

mod cells;
mod codes;
mod commits;
mod data;
mod files;
mod known;
mod record;
mod rectangles;
mod report;
mod sections;
mod statistics;
mod unused;

use report::Findings;
pub use report::{Problem, Verification};

const ENUMERATIONS: &str = "__schema/__enumerations";

/// Verifies a whole array, at all times: schemas, enumerations, commit and metadata files, and
/// every committed fragment down to the last chunk; also that order, rectangles and statistics
/// match the cells. It continues after a problem as far as possible. What this build does not
/// support is reported like damage, each with its own message.
///
/// ```no_run
/// use tdb_array::maintain::verify;
/// use tdb_array::storage::LocalStorage;
///
/// for problem in verify(LocalStorage::new("path/to/array")).problems {
///     println!("{}: {}", problem.path, problem.what);
/// }
/// ```
pub fn verify(storage: impl Storage + 'static) -> Verification {
    verify_with(storage, None)
}

/// Verifies a whole encrypted array with its key; see [`verify`].
pub fn verify_with(storage: impl Storage + 'static, key: Option<Key>) -> Verification {
    verify_watched(storage, key, |_| ())
}

/// Verifies a whole array, with the key of an encrypted one, and tells `watch` after each file how
/// many bytes of files are checked; see [`verify`].
pub fn verify_watched(
    storage: impl Storage + 'static,
    key: Option<Key>,
    watch: impl Fn(u64) + 'static,
) -> Verification {
    let storage = Arc::new(storage);
    let limits = Limits::default();
    let budget = Arc::new(Budget::new(limits.scratch_bytes));
    let (prefetched, replay_storage, spawner) = (None, None, None);
    let counters = Arc::default();
    let (threads, by_chunk) = (1, false);
    let context = Context {
        storage,
        prefetched,
        replay_storage,
        spawner,
        counters,
        threads,
        by_chunk,
        limits,
        budget,
        key,
    };
    let mut verifier = Verifier {
        context,
        schemas: HashMap::new(),
        enumerations: HashMap::new(),
        findings: Findings::default(),
        report: Verification::default(),
        watch: Box::new(watch),
    };
    verifier.array();
    verifier.report
}

/// Verifies one fragment down to its last chunk, whether it is committed or not.
pub(crate) fn verify_fragment(context: Context, entry: FragmentEntry, schema_key: &str) -> Vec<Problem> {
    let mut verifier = Verifier {
        context,
        schemas: HashMap::new(),
        enumerations: HashMap::new(),
        findings: Findings::default(),
        report: Verification::default(),
        watch: Box::new(|_| ()),
    };
    verifier.schema(schema_key);
    verifier.fragment(entry);
    verifier.report.problems
}

struct Verifier {
    context: Context,
    /// All schemas that could be read, by key.
    schemas: HashMap<String, Arc<ArraySchema>>,
    /// All enumerations that could be read, by the name of their file.
    enumerations: HashMap<String, Enumeration>,
    /// Findings in the current fragment.
    findings: Findings,
    report: Verification,
    /// Is told how many bytes of files are checked.
    watch: Box<dyn Fn(u64)>,
}

impl Verifier {
    fn array(&mut self) {
        let directory = match Directory::load(&*self.context.storage) {
            Ok(directory) => Some(directory),
            Err(error @ Error::NotAnArray { .. }) => return self.failed(error),
            Err(error) => {
                self.failed(error);
                None
            }
        };
        let root = self.list("");
        if root.iter().any(|entry| entry.name == OLD_SCHEMA) {
            self.schema(OLD_SCHEMA);
        }
        for key in self.files(SCHEMA_FOLDER, &root) {
            self.schema(&key);
        }
        if root.iter().any(|entry| entry.name == SCHEMA_FOLDER) {
            self.enumerations();
        }
        for entry in root.iter().filter(|entry| !entry.is_folder) {
            self.commit(&entry.name);
        }
        for folder in [COMMITS, FRAGMENT_META] {
            for key in self.files(folder, &root) {
                self.commit(&key);
            }
        }
        for key in self.files(METADATA, &root) {
            self.metadata(&key);
        }
        let folders = self.fragment_folders(&root);
        let committed = match directory {
            Some(directory) => directory.fragments,
            // If commits cannot be listed, everything that looks like a fragment is checked as one.
            None => folders.iter().filter_map(|folder| entry_of(folder)).collect(),
        };
        let known: HashSet<Arc<str>> = committed.iter().map(|entry| entry.folder.clone()).collect();
        for entry in committed {
            self.fragment(entry);
        }
        for folder in folders.iter().filter(|folder| !known.contains(folder.as_str())) {
            self.note(folder, "no commit file lists this fragment, so it is not part of the array");
        }
    }

    fn schema(&mut self, key: &str) {
        let Some(payload) = self.generic_file(key) else { return };
        match ArraySchema::parse(&payload) {
            Ok(schema) => {
                self.schemas.insert(key.to_owned(), Arc::new(schema));
            }
            Err(error) => self.payload_problem(key, 0, &error),
        }
    }

    fn enumerations(&mut self) {
        let parent = self.list(SCHEMA_FOLDER);
        let exists = parent.iter().any(|entry| join(SCHEMA_FOLDER, &entry.name) == ENUMERATIONS);
        let mut files = if exists { self.list(ENUMERATIONS) } else { Vec::new() };
        files.retain(|entry| !is_hidden_name(&entry.name));
        for entry in &files {
            let key = join(ENUMERATIONS, &entry.name);
            let Some(payload) = self.generic_file(&key) else { continue };
            match Enumeration::parse(&payload) {
                Ok(enumeration) => drop(self.enumerations.insert(entry.name.clone(), enumeration)),
                Err(error) => self.payload_problem(&key, 0, &error),
            }
        }
        let schemas: Vec<_> =
            self.schemas.iter().map(|(key, schema)| (key.clone(), schema.clone())).collect();
        for (key, schema) in schemas {
            for wanted in &schema.enumerations {
                if !files.iter().any(|entry| entry.name == wanted.file_name) {
                    let name = &wanted.name;
                    self.problem(
                        &key,
                        None,
                        format!("the file of enumeration {name:?}, {}, is missing", wanted.file_name),
                    );
                }
            }
        }
    }

    fn fragment(&mut self, entry: FragmentEntry) {
        let folder = entry.folder.clone();
        let schemas = |name: Option<&str>| {
            self.schema_of(name).ok_or_else(|| {
                let what = format!("its schema, {}, cannot be read", name.unwrap_or(OLD_SCHEMA));
                Error::unsupported(self.context.describe(&folder), what)
            })
        };
        let fragment = match Fragment::open(&self.context, entry, &schemas) {
            Ok(fragment) => fragment.without_inference(),
            Err(error) => return self.failed(error),
        };
        let size = self.context.storage.size(fragment.metadata_key()).unwrap_or(0);
        self.count_file(size);
        self.sections(&fragment);
        self.unused_metadata(&fragment);
        self.covered(&fragment);
        let mut expected = self.data(&fragment);
        mem::take(&mut self.findings).finish(&mut self.report);
        expected.insert(FRAGMENT_METADATA.to_owned());
        for entry in self.list(fragment.folder()) {
            if !expected.contains(&entry.name) {
                self.note(
                    &join(fragment.folder(), &entry.name),
                    "the fragment's metadata does not mention this file",
                );
            }
        }
    }

    /// Keys of the folders that look like fragments.
    fn fragment_folders(&mut self, root: &[Entry]) -> Vec<String> {
        let fragments =
            if root.iter().any(|entry| entry.name == FRAGMENTS) { self.list(FRAGMENTS) } else { Vec::new() };
        fragment_folders(root, &fragments)
    }

    /// The schema that a fragment's footer refers to.
    fn schema_of(&self, name: Option<&str>) -> Option<Arc<ArraySchema>> {
        let key = match name {
            Some(name) if name != OLD_SCHEMA => join(SCHEMA_FOLDER, name),
            _ => OLD_SCHEMA.to_owned(),
        };
        self.schemas.get(&key).cloned()
    }
}

/// A folder's key as a committed fragment.
fn entry_of(folder: &str) -> Option<FragmentEntry> {
    let name = folder.rsplit('/').next().unwrap_or_default();
    let parsed = TimestampedName::parse(name).ok().filter(|parsed| parsed.version.is_some())?;
    Some(FragmentEntry { name: name.into(), folder: folder.into(), parsed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn a_folder_that_is_no_array_is_one_problem() {
        let found = verify(MemoryStorage::new([("x", &b"x"[..])]));
        assert_eq!(found.problems.len(), 1);
        assert!(found.problems[0].what.contains("not a TileDB array"));
    }

    #[test]
    fn every_damaged_file_is_reported_with_its_offset() {
        let found = verify(MemoryStorage::new([
            ("__schema/__1_1_x", &[99, 0, 0, 0][..]),
            ("__meta/__1_1_0123456789abcdef0123456789abcdef", &[22, 0, 0, 0, 1]),
            ("__commits/__1_1_x_22.ign", &[0xff]),
        ]));
        let places: Vec<_> = found.problems.iter().map(|p| (p.path.as_str(), p.offset)).collect();
        assert!(places.contains(&("memory:__schema/__1_1_x", Some(0))), "{places:?}");
        assert!(places.contains(&("memory:__commits/__1_1_x_22.ign", Some(0))), "{places:?}");
        let metadata = "memory:__meta/__1_1_0123456789abcdef0123456789abcdef";
        assert!(places.contains(&(metadata, Some(4))), "{places:?}");
        assert!(!found.is_clean());
    }
}
