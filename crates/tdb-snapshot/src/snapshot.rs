//! Snapshots: an array at a point in time.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use tdb_codec::ArrayType;
use tdb_fragment::CommitKind;
use tdb_schema::{ArrayMetadata, ArraySchema, Enumeration};

use crate::context::Context;
use crate::deletes::Delete;
use crate::directory::{Directory, FragmentEntry, fragment_folders};
use crate::fragment::Fragment;
use crate::memo::SnapshotMemo;
use crate::paths::{FRAGMENTS, OLD_SCHEMA, SCHEMA_FOLDER};
use crate::schemas::load_enumeration;
use crate::stats::QueryStats;
use crate::storage::join;
use crate::{ConditionTarget, Error, Result, TimeWindow};

/// A TileDB array at one point of its history: its schema, its visible fragments, its deletes, and
/// its storage. Programs use an `Array`, which is a snapshot whose cells can be read.
///
/// Clones are cheap: they share what was read of the array.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its storage, and the settings it was opened with.
    pub(crate) context: Arc<Context>,
    directory: Arc<Directory>,
    schema: Arc<ArraySchema>,
    schema_key: Arc<str>,
    /// The visible fragments, oldest first.
    fragments: Arc<Vec<Arc<Fragment>>>,
    /// Delete conditions in force, oldest first.
    deletes: Arc<Vec<Delete>>,
    window: TimeWindow,
    memo: Arc<SnapshotMemo>,
}

impl Snapshot {
    /// The same array for one query, which fetches into its own memory.
    ///
    /// # Errors
    /// See `Context::for_query`.
    pub fn for_query(&self) -> Result<Self> {
        Ok(Self { context: self.context.for_query()?, ..self.clone() })
    }

    /// The same array for a query that uses at most this many threads.
    #[must_use]
    pub fn with_threads(&self, threads: usize) -> Self {
        let context = Context { threads: threads.max(1), ..self.context.as_ref().clone() };
        Self { context: Arc::new(context), ..self.clone() }
    }

    /// The same array for a query that reads tiles chunk by chunk, where that is possible.
    #[must_use]
    pub fn by_chunk(&self) -> Self {
        let context = Context { by_chunk: true, ..self.context.as_ref().clone() };
        Self { context: Arc::new(context), ..self.clone() }
    }

    /// The same array with only these fragments and this schema, and without deletes.
    pub fn restricted(self, folders: &[String], schema: Arc<ArraySchema>, schema_key: String) -> Self {
        let named = |fragment: &&Arc<Fragment>| folders.iter().any(|folder| folder == fragment.folder());
        let fragments = Arc::new(self.fragments.iter().filter(named).cloned().collect());
        let schema_key = schema_key.into();
        // The facts hold for all fragments of the array; these may have others.
        let (deletes, memo) = (Arc::default(), Arc::default());
        Self { fragments, schema, schema_key, deletes, memo, ..self }
    }

    /// The same array with one of its fragments, and the schema that the fragment was written with.
    #[must_use]
    pub fn only(&self, fragment: &Fragment) -> Self {
        let schema_key = match &fragment.footer().schema_name {
            Some(name) if name != OLD_SCHEMA => join(SCHEMA_FOLDER, name),
            _ => OLD_SCHEMA.to_owned(),
        };
        let folders = [fragment.folder().to_owned()];
        self.clone().restricted(&folders, fragment.shared_schema().clone(), schema_key)
    }

    /// The facts that queries have established about it and its clones.
    #[must_use]
    pub fn known(&self) -> &SnapshotMemo {
        &self.memo
    }

    /// The same array for one asynchronous task, which has its own answers.
    pub fn for_task(&self) -> Self {
        Self { context: self.context.for_task(), ..self.clone() }
    }

    /// Its storage, and the settings it was opened with.
    #[must_use]
    pub const fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Delete conditions in force, oldest first.
    #[must_use]
    pub fn deletes(&self) -> &[Delete] {
        &self.deletes
    }

    /// Counts of the bytes that were read and decoded since the array was opened, including the
    /// opening itself.
    #[must_use]
    pub fn stats(&self) -> QueryStats {
        self.context.counters.stats()
    }

    /// The schema in force at the end of the window.
    #[must_use]
    pub fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    /// Key of that schema's file.
    #[must_use]
    pub fn schema_key(&self) -> &str {
        &self.schema_key
    }

    /// Keys of all schema files, oldest first.
    #[must_use]
    pub fn schema_keys(&self) -> &[String] {
        &self.directory.schemas
    }

    /// The window the array was opened in; by default, it ends at the time of opening.
    #[must_use]
    pub const fn window(&self) -> TimeWindow {
        self.window
    }

    /// The visible fragments, oldest first: if they overlap, later ones win.
    #[must_use]
    pub fn fragments(&self) -> &[Arc<Fragment>] {
        &self.fragments
    }

    /// Committed fragments that are not visible, and whether they are in the window nevertheless.
    pub fn invisible_fragments(&self) -> impl Iterator<Item = (&FragmentEntry, bool)> {
        let visible: HashSet<&str> = self.fragments.iter().map(|fragment| fragment.folder()).collect();
        let others = self.directory.fragments.iter().filter(move |entry| !visible.contains(&*entry.folder));
        let dense = self.schema.array_type == ArrayType::Dense;
        others.map(move |entry| (entry, Directory::sees(self.window, dense, &entry.parsed)))
    }

    /// Keys of the fragments that visible ones replace, as long as their folders are there, in the
    /// order of their names.
    ///
    /// # Errors
    /// The fragments of the array cannot be listed.
    pub fn replaced_fragments(&self) -> Result<Vec<String>> {
        let dense = self.schema.array_type == ArrayType::Dense;
        let vacuums = self.directory.vacuums.iter();
        let effective = vacuums.filter(|(_, name, _)| Directory::sees(self.window, dense, name));
        let mut keys: Vec<String> = effective.flat_map(|(_, _, folders)| folders).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        let committed: HashSet<&str> = self.directory.fragments.iter().map(|entry| &*entry.folder).collect();
        if keys.iter().any(|key| !committed.contains(key.as_str())) {
            // Some may be there all the same: what replaces them has taken over their commit.
            let list = |folder: &str| match self.context.storage.list(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
                listed => listed.map_err(|error| Error::io(self.context.describe(folder), error)),
            };
            let folders: HashSet<String> =
                fragment_folders(&list("")?, &list(FRAGMENTS)?).into_iter().collect();
            keys.retain(|key| folders.contains(key));
        }
        Ok(keys)
    }

    /// Whether the folder has the empty lock file of version 10 and before. libtiledb 1.7 to 2.5 do
    /// not open such an array without it; other versions ignore it.
    #[must_use]
    pub fn has_lock_file(&self) -> bool {
        self.directory.has_lock
    }

    /// Keys of the update files in the window. They are read as libtiledb reads them: the cells
    /// that an update concerns are dropped, and its new values are not used.
    pub fn updates(&self) -> impl Iterator<Item = &str> {
        let paths = self.deletes.iter().map(|delete| delete.path.as_str());
        paths.filter(|path| path.ends_with(CommitKind::Update.suffix()))
    }

    /// The array's key-value metadata, as of the window.
    ///
    /// # Errors
    /// A damaged metadata file.
    pub fn metadata(&self) -> Result<ArrayMetadata> {
        self.directory.metadata.metadata(&self.context, self.window)
    }

    /// An enumeration of the schema, by name; `None` if the schema has none of that name.
    ///
    /// # Errors
    /// A missing or damaged enumeration file.
    pub fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        let Some(entry) = self.schema.enumerations.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        load_enumeration(&self.context, &self.schema_key, entry).map(Some)
    }

    /// The path of a key of this array's storage, for messages.
    #[must_use]
    pub fn describe(&self, key: &str) -> String {
        self.context.describe(key)
    }
}

impl ConditionTarget for Snapshot {
    fn schema(&self) -> &ArraySchema {
        Self::schema(self)
    }

    fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        Self::enumeration(self, name)
    }
}

mod domains;
mod options;

pub use self::options::SnapshotOptions;
