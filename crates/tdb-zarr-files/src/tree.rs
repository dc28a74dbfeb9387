//! Hierarchies as arrays and groups.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::schema::ArraySchema;
use tdb_array::storage::{Below, StorageLock, TEMPORARY, WriteStorage};
use tdb_array::write::{FilledArray, is_vacant};

use crate::document::{Node, open};
use crate::error::{Error, Problem, Result};
use crate::folder::{Folder, join};
use crate::import::{Imported, Plan};
use crate::metadata;
use crate::options::{ImportOptions, Note};
use crate::thresholds::MAX_DEPTH;

/// What a Zarr folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An array.
    Array,
    /// A group.
    Group,
}

/// What is in a folder; `None` if it is neither an array of Zarr nor a group. Reads nothing.
#[must_use]
pub fn kind(folder: &Path) -> Option<Kind> {
    let has = |name: &str| folder.join(name).is_file();
    if has(".zarray") {
        return Some(Kind::Array);
    }
    if has(".zgroup") {
        return Some(Kind::Group);
    }
    if !has("zarr.json") {
        return None;
    }
    match open(&Folder::new(folder), "") {
        Ok(Some(Node::Group(_))) => Some(Kind::Group),
        // What is wrong with it, an import says.
        _ => Some(Kind::Array),
    }
}

/// A group that is to be made.
struct PlannedGroup {
    path: String,
    attributes: Map<String, Value>,
    /// The names of its members, and whether they are groups.
    members: Vec<(String, bool)>,
}

/// Everything that is to be made.
#[derive(Default)]
struct Planned {
    arrays: Vec<Plan>,
    /// Those inside of others come first.
    groups: Vec<PlannedGroup>,
}

/// Makes arrays and groups of a Zarr folder: of an array one array, of a group a group with all
/// that is below it. `place` has the storage of a path in the hierarchy; the root's is empty. Each
/// storage has a lock of its own, if it has one.
///
/// All documents are read before anything is written. Nobody sees an array before all are complete;
/// if anything fails, what was written is removed again. An array is replaced only after all chunks
/// of the new one were decoded ([`WriteOptions::replace`](tdb_array::WriteOptions::replace)).
///
/// # Errors
/// Something that arrays do not have, or that is damaged, by the path of its file; errors of
/// writing.
pub fn import(
    folder: &Path,
    place: &dyn Fn(&str) -> io::Result<Arc<dyn WriteStorage>>,
    options: &ImportOptions,
) -> Result<Imported> {
    let folder = Folder::new(folder);
    let planned = Planned::new(&folder, options)?;
    let at = |path: &str| place(path).map_err(|error| folder.error(path, Problem::Io(error)));
    let all = planned.arrays.iter().fold(0u64, |all, plan| all.saturating_add(plan.cells));
    let mut made = Made::begin(&planned, &at)?;
    let mut done = 0u64;
    for plan in &planned.arrays {
        let storage = at(&plan.path)?;
        if options.write.replaces() && !is_vacant(&storage).map_err(|error| io_at(&storage, error))? {
            plan.check(&folder, options)?;
        }
        let array = plan.begin(storage, options)?;
        plan.write(&folder, array.writer(), options, (done, all))?;
        done = done.saturating_add(plan.cells);
        // Of thousands of arrays, none has an open file.
        made.filled.push((plan.path.as_str(), array.into_filled()));
    }
    made.finish(options)?;
    let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
    let notes: Vec<Note> = planned.arrays.iter().flat_map(|plan| plan.notes.clone()).collect();
    Ok(Imported {
        arrays: count(planned.arrays.len()),
        groups: count(planned.groups.len()),
        cells: all,
        notes,
    })
}

/// The schemas of the arrays that [`import`] would make, with their paths.
///
/// # Errors
/// As for [`import`], before anything is written.
pub fn schemas(folder: &Path, options: &ImportOptions) -> Result<Vec<(String, ArraySchema)>> {
    let planned = Planned::new(&Folder::new(folder), options)?;
    Ok(planned.arrays.into_iter().map(|plan| (plan.path, plan.schema)).collect())
}

/// An error of a storage.
fn io_at(storage: &Arc<dyn WriteStorage>, error: io::Error) -> Error {
    Problem::Io(error).at(storage.describe(""))
}

/// Whether there is nothing at a place but what imports left that were killed.
fn is_free(storage: &Arc<dyn WriteStorage>, path: &str, depth: usize) -> io::Result<bool> {
    let names = match storage.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        names => names?,
    };
    let below = Below::new(Arc::clone(storage), path);
    if is_vacant(if path.is_empty() { storage } else { &below })? {
        return Ok(true);
    }
    // The file of a lock says nothing.
    for entry in names.into_iter().filter(|entry| !entry.name.starts_with(TEMPORARY)) {
        if !entry.is_folder || depth > MAX_DEPTH || !is_free(storage, &join(path, &entry.name), depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refuse_taken(storage: &Arc<dyn WriteStorage>) -> Result<()> {
    if is_free(storage, "", 0).map_err(|error| io_at(storage, error))? {
        return Ok(());
    }
    Err(Error::Exists { path: storage.describe("") })
}

/// Whether there is no folder at a place.
fn is_absent(storage: &dyn WriteStorage) -> bool {
    storage.list("").is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Planned {
    fn new(folder: &Folder, options: &ImportOptions) -> Result<Self> {
        let mut planned = Self::default();
        let node = open(folder, "")?.ok_or_else(|| folder.error("", Problem::NotZarr))?;
        planned.add(folder, "", node, options, 0)?;
        Ok(planned)
    }

    fn add(
        &mut self,
        folder: &Folder,
        path: &str,
        node: Node,
        options: &ImportOptions,
        depth: usize,
    ) -> Result<()> {
        let attributes = match node {
            Node::Array(document) => {
                self.arrays.push(Plan::new(folder, path, *document, options)?);
                return Ok(());
            }
            Node::Group(attributes) => attributes,
        };
        if depth > MAX_DEPTH {
            return Err(folder.error(path, Problem::unsupported("groups are nested too deeply")));
        }
        let mut members = Vec::new();
        for one in folder.list(path)?.into_iter().filter(|one| one.is_folder) {
            let below = join(path, &one.name);
            // A folder without documents is none of the hierarchy.
            let Some(node) = open(folder, &below)? else { continue };
            if one.name.starts_with("__") {
                let what = "names that begin with two underscores are reserved, in Zarr and in arrays";
                return Err(folder.error(&below, Problem::unsupported(what)));
            }
            members.push((one.name, matches!(node, Node::Group(_))));
            self.add(folder, &below, node, options, depth + 1)?;
        }
        self.groups.push(PlannedGroup { path: path.to_owned(), attributes, members });
        Ok(())
    }
}

/// What is being made. If it is not completed, it is removed again, and nothing else is.
struct Made<'a> {
    planned: &'a Planned,
    at: &'a dyn Fn(&str) -> Result<Arc<dyn WriteStorage>>,
    /// Arrays that nobody sees yet, by their paths.
    filled: Vec<(&'a str, FilledArray)>,
    /// Arrays and groups that this process has made, by their paths: those inside of others first.
    finished: Vec<&'a str>,
    /// Groups that had no folder before.
    absent: Vec<&'a str>,
    is_complete: bool,
    /// That of the root, if it is a group: two imports into one take turns.
    _lock: StorageLock,
}

impl<'a> Made<'a> {
    /// Begins with nothing. A group may not be made where there is something already.
    fn begin(planned: &'a Planned, at: &'a dyn Fn(&str) -> Result<Arc<dyn WriteStorage>>) -> Result<Self> {
        let (mut absent, mut lock) = (Vec::new(), StorageLock::none());
        let root = planned.groups.last().map(|root| at(&root.path)).transpose()?;
        if let Some(storage) = &root {
            refuse_taken(storage)?;
            for group in &planned.groups {
                if is_absent(&*at(&group.path)?) {
                    absent.push(group.path.as_str());
                }
            }
            let failed = |error| io_at(storage, error);
            lock = loop {
                storage.create_folder("").map_err(failed)?;
                let lock = storage.lock().map_err(failed)?;
                // An import that failed may have removed the folder of which this is the lock.
                if !storage.has_folders() || !is_absent(&**storage) {
                    break lock;
                }
            };
        }
        let (filled, finished) = (Vec::new(), Vec::new());
        let made = Self { planned, at, filled, finished, absent, is_complete: false, _lock: lock };
        // Whoever had the lock before may have made it.
        root.as_ref().map_or(Ok(()), refuse_taken)?;
        Ok(made)
    }

    /// Lets readers see the arrays, and puts them into groups.
    fn finish(mut self, options: &ImportOptions) -> Result<()> {
        for (path, array) in core::mem::take(&mut self.filled) {
            array.finish()?;
            self.finished.push(path);
        }
        for group in &self.planned.groups {
            let storage = (self.at)(&group.path)?;
            options.write.clone().create_group_storage(&*storage)?;
            self.finished.push(&group.path);
            let mut writer = options.write.clone().open_group_storage(storage)?;
            for (name, is_group) in &group.members {
                let kind = if *is_group { ObjectType::Group } else { ObjectType::Array };
                writer.add(GroupMember::new(kind, name).with_name(name).with_relative_uri())?;
            }
            writer.metadata(metadata::changes(&group.attributes));
            writer.commit()?;
        }
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // Those that are not finished remove themselves.
        self.filled.clear();
        if self.is_complete {
            return;
        }
        // What cannot be removed stays, and is in the way of the next import.
        for path in &self.finished {
            if let Ok(storage) = (self.at)(path) {
                let _ = remove_object(&*storage);
            }
        }
        for path in &self.absent {
            if let Ok(storage) = (self.at)(path) {
                let _ = remove_if_empty(&*storage);
            }
        }
    }
}

/// Removes an array or a group: what has a name that begins as those of the format do.
fn remove_object(storage: &dyn WriteStorage) -> io::Result<()> {
    for entry in storage.list("")?.iter().filter(|entry| entry.name.starts_with("__")) {
        if entry.is_folder {
            storage.remove_folder(&entry.name)?;
        } else {
            storage.remove_file(&entry.name)?;
        }
    }
    remove_if_empty(storage)
}

/// Removes a folder in which there is nothing but the file of a lock.
fn remove_if_empty(storage: &dyn WriteStorage) -> io::Result<()> {
    if storage.list("")?.iter().all(|entry| entry.name.starts_with(TEMPORARY) && !entry.is_folder) {
        storage.remove_folder("")?;
    }
    Ok(())
}
