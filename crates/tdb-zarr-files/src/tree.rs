//! Hierarchies as arrays and groups.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::schema::ArraySchema;
use tdb_array::storage::{Below, WriteStorage};
use tdb_array::write::NewArray;

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
/// that is below it. `place` has the storage of a path in the hierarchy; the root's is empty.
///
/// All documents are read before anything is written. Nobody sees an array before all are complete;
/// if anything fails, what was written is removed again.
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
    // A group may not be made where there is something already.
    if let Some(root) = planned.groups.last() {
        let storage = at(&root.path)?;
        let place = storage.describe("");
        if !is_free(&storage, "", 0).map_err(|error| Problem::Io(error).at(&place))? {
            return Err(Error::Exists { path: place });
        }
    }
    let all = planned.arrays.iter().fold(0u64, |all, plan| all.saturating_add(plan.cells));
    let made = Made { planned: &planned, at: &at, is_complete: false };
    let (mut done, mut begun) = (0u64, Vec::new());
    for plan in &planned.arrays {
        let array = plan.begin(at(&plan.path)?, options)?;
        plan.write(&folder, array.writer(), options, (done, all))?;
        done = done.saturating_add(plan.cells);
        begun.push(array);
    }
    made.finish(begun, options)?;
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

/// Whether there is nothing at a place but what imports left that were killed.
fn is_free(storage: &Arc<dyn WriteStorage>, path: &str, depth: usize) -> io::Result<bool> {
    let names = match storage.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        names => names?,
    };
    let below = Below::new(Arc::clone(storage), path);
    if names.is_empty() || tdb_array::write::is_vacant(if path.is_empty() { storage } else { &below })? {
        return Ok(true);
    }
    for entry in names {
        if !entry.is_folder || depth > MAX_DEPTH || !is_free(storage, &join(path, &entry.name), depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
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

/// What is being made. If it is not completed, it is removed again.
struct Made<'a> {
    planned: &'a Planned,
    at: &'a dyn Fn(&str) -> Result<Arc<dyn WriteStorage>>,
    is_complete: bool,
}

impl Made<'_> {
    /// Lets readers see the arrays, and puts them into groups.
    fn finish(mut self, begun: Vec<NewArray>, options: &ImportOptions) -> Result<()> {
        begun.into_iter().try_for_each(NewArray::finish)?;
        for group in &self.planned.groups {
            let storage = (self.at)(&group.path)?;
            options.write.clone().create_group_storage(&*storage)?;
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
        // A single array removes itself. Of a group, nothing was there before.
        if self.is_complete || self.planned.groups.is_empty() {
            return;
        }
        let arrays = self.planned.arrays.iter().map(|plan| plan.path.as_str());
        let groups = self.planned.groups.iter().map(|group| group.path.as_str());
        for path in arrays.chain(groups) {
            if let Ok(storage) = (self.at)(path) {
                // If it cannot be removed, it stays, and is in the way of the next import.
                let _ = remove(&*storage, "", 0);
            }
        }
    }
}

/// Removes all that is in a folder, and the folder.
fn remove(storage: &dyn WriteStorage, folder: &str, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for entry in storage.list(folder)? {
        let path = join(folder, &entry.name);
        if entry.is_folder {
            remove(storage, &path, depth + 1)?;
        } else {
            storage.remove_file(&path)?;
        }
    }
    storage.remove_folder(folder)
}
