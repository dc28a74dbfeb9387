//! New objects, with the schemas and the metadata that tiledbsoma gives them.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline, Range};
use tdb_array::storage::{WriteStorage, location_without_secrets};
use tdb_array::write::MetadataChanges;
use tdb_array::{Array, ArrayWriter, Key, OpenOptions, TimeWindow, WriteOptions};

use crate::facts::DATA;
use crate::kind::{TYPE, VERSION};
use crate::{ENCODING_VERSIONS, Error, Kind, Result};

/// Cells in a tile.
const CAPACITY: u64 = 100_000;
/// Coordinates in a tile.
pub(crate) const TILE: i64 = 2048;
/// Cells of a measurement in a tile of its values: they are read and trained on by few at a time,
/// and 64 with 2,048 of their genes have some 8,192 values.
const CELLS: i64 = 64;
/// The values in such a tile.
const CAPACITY_OF_CELLS: u64 = 8192;
/// The entry of the metadata that says, as JSON, which column was the index of a table of pandas.
pub(crate) const INDEX: &str = "soma_dataframe_original_index_name";
/// What a name of a member may have in the name of its folder, beside letters and digits.
const SAFE: &[u8] = b"-_.()^!@+={}~'";
/// How the names of the format's own folders and fields begin: a member that is called `__meta`
/// would be taken for the metadata of its collection.
pub(crate) const RESERVED: &str = "__";

/// Where an experiment is written, and how.
pub struct Target<'a> {
    /// The storage of the folder at a path below the experiment's place; of the experiment itself,
    /// the path is empty.
    pub storage: &'a dyn Fn(&str) -> Result<Arc<dyn WriteStorage>>,
    /// The time and the key.
    pub options: WriteOptions,
    /// The same key, with which what was written is looked at.
    pub key: Option<Key>,
    /// The memory of what is written at a time, in bytes.
    pub memory: usize,
}

/// An experiment that is being written: what is below it comes first, and its own group last.
pub struct Build<'a> {
    /// Where it is written.
    pub target: &'a Target<'a>,
    /// The paths of what was made, in this order.
    made: RefCell<Vec<String>>,
}

impl<'a> Build<'a> {
    /// Begins at a place at which there is nothing.
    ///
    /// # Errors
    /// There is something, or the place cannot be looked at.
    pub fn new(target: &'a Target<'a>) -> Result<Self> {
        let storage = (target.storage)("")?;
        let listed = match storage.list("") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        };
        let location = || location_without_secrets(&storage.describe("")).into_owned();
        let listed =
            listed.map_err(|error| Error::NotAnObject { location: location(), why: error.to_string() })?;
        // The locks of those who make the folder.
        if let Some(entry) = listed.iter().find(|entry| !entry.name.starts_with('.')) {
            let why = format!("there is something here already: {}", entry.name);
            return Err(Error::NotAnObject { location: location(), why });
        }
        Ok(Self { target, made: RefCell::default() })
    }

    /// Removes what was made, as far as the storages allow: the last one first, so that no
    /// collection is there without its members.
    pub fn remove(&self) {
        self.remove_from(0);
    }

    /// Makes something, of which nothing is left if that fails.
    ///
    /// # Errors
    /// That of what makes it.
    pub fn whole_or_not<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let before = self.made.borrow().len();
        make().inspect_err(|_| self.remove_from(before))
    }

    /// Removes what was made after so many others.
    fn remove_from(&self, first: usize) {
        let made = {
            let mut made = self.made.borrow_mut();
            let first = first.min(made.len());
            made.split_off(first)
        };
        for path in made.iter().rev() {
            if let Ok(storage) = (self.target.storage)(path) {
                // What cannot be removed is part of no experiment.
                let _ = storage.remove_folder("");
            }
        }
    }

    /// Notes that something is made, whether or not that fails in the middle, unless it is another
    /// process's. The experiment's own group removes what it has written itself: all else is below.
    fn making<T>(&self, path: &str, made: tdb_array::Result<T>) -> Result<T> {
        if !path.is_empty() && !matches!(made, Err(tdb_array::Error::Write(WriteError::Exists))) {
            self.made.borrow_mut().push(path.to_owned());
        }
        Ok(made?)
    }

    /// Opens an array that was written, whatever time was given to it.
    pub(crate) fn written(&self, path: &str) -> Result<Array> {
        let mut options = OpenOptions::new().window(TimeWindow::ALL);
        if let Some(key) = &self.target.key {
            options = options.key(key.clone());
        }
        Ok(options.open_storage((self.target.storage)(path)?)?)
    }

    /// Creates a sparse matrix without values. The members of a collection `X` are values of cells.
    pub(crate) fn matrix(&self, path: &str, datatype: Datatype, shape: [u64; 2]) -> Result<ArrayWriter> {
        let sizes = shape.map(size_of);
        let data = Attribute::new(DATA, datatype, CellValNum::ONE).with_filters(zstd(-1));
        let is_of_cells = path.rsplit('/').nth(1) == Some("X");
        let (rows, capacity) = if is_of_cells { (CELLS, CAPACITY_OF_CELLS) } else { (TILE, CAPACITY) };
        let schema = ArraySchema::sparse()
            .dimension(axis("soma_dim_0", rows))
            .dimension(axis("soma_dim_1", TILE))
            .attribute(data);
        let mut schema = finished(schema, &sizes)?;
        schema.capacity = capacity;
        self.array(path, self.target.options.clone(), &schema, &marks(Kind::SparseNdArray))
    }

    /// Creates a collection of what is in the folders of these names below it.
    pub(crate) fn collection(&self, path: &str, kind: Kind, members: &[(&str, ObjectType)]) -> Result<()> {
        self.new_collection(path, kind, members, MetadataChanges::new())
    }

    /// Creates a collection of what is in the folders of these names below it
    /// ([`folder_of`](crate::folder_of)). `more` are further entries of its metadata.
    ///
    /// # Errors
    /// A name that no member can have, or any error of writing.
    pub fn new_collection(
        &self,
        path: &str,
        kind: Kind,
        members: &[(&str, ObjectType)],
        more: MetadataChanges,
    ) -> Result<()> {
        let storage = (self.target.storage)(path)?;
        let mut group = self.making(path, self.target.options.clone().begin_group_storage(storage))?;
        for (name, object) in members {
            group.add(GroupMember::new(*object, folder_of(name)?).with_name(*name).with_relative_uri())?;
        }
        let entries = marked(kind, more);
        group.metadata(match kind {
            Kind::Experiment => entries.put_text("dataset_type", "soma"),
            _ => entries,
        });
        Ok(group.commit()?)
    }

    pub(crate) fn array(
        &self,
        path: &str,
        options: WriteOptions,
        schema: &ArraySchema,
        entries: &MetadataChanges,
    ) -> Result<ArrayWriter> {
        let storage = (self.target.storage)(path)?;
        self.making(path, options.create_storage(&*storage, schema))?;
        let writer = self.target.options.clone().open_storage(storage)?;
        writer.write_metadata(entries)?;
        Ok(writer)
    }
}

pub(crate) fn zstd(level: i32) -> Pipeline {
    Pipeline::new(vec![Filter::Zstd { level }])
}

/// A dimension that can grow to nearly all of its type.
pub(crate) fn axis(name: &str, tile: i64) -> Dimension {
    let last = i64::MAX.saturating_sub(1).saturating_sub(tile);
    Dimension::new(name, 0..=last).with_tile(tile).with_filters(zstd(3))
}

/// The schema with what all arrays have in common.
pub(crate) fn finished(schema: tdb_array::schema::SchemaBuilder, sizes: &[i64]) -> Result<ArraySchema> {
    let range = |size: &i64| Range::new(0i64.to_le_bytes(), size.saturating_sub(1).to_le_bytes());
    let offsets = vec![
        Filter::DoubleDelta { level: -1, reinterpret: None },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::Zstd { level: -1 },
    ];
    let schema = schema
        .current_domain(sizes.iter().map(range).collect())
        .capacity(CAPACITY)
        .offsets_filters(Pipeline::new(offsets))
        .build();
    schema.map_err(Error::Schema)
}

/// The size of an axis that has so many positions: one has at least one.
pub(crate) fn size_of(count: u64) -> i64 {
    i64::try_from(count.max(1)).unwrap_or(i64::MAX)
}

/// The entries of the metadata that say what an object is.
pub(crate) fn marks(kind: Kind) -> MetadataChanges {
    marked(kind, MetadataChanges::new())
}

/// Entries of the metadata, and those that say what an object is.
pub(crate) fn marked(kind: Kind, more: MetadataChanges) -> MetadataChanges {
    let [.., version] = ENCODING_VERSIONS;
    more.put_text(TYPE, kind.name()).put_text(VERSION, version)
}

/// The name of the folder of a member, as the Python package calls it.
///
/// # Errors
/// No folder can be called so.
pub fn folder_of(name: &str) -> Result<String> {
    let why = match name {
        "" | "." | ".." => Some("a folder cannot be called so"),
        _ if name.starts_with(RESERVED) => Some("names that begin with __ are for the format's own folders"),
        _ => None,
    };
    if let Some(why) = why {
        let what = format!("{name:?} is no name of a member: {why}");
        return Err(Error::Input { file: String::new(), line: None, what });
    }
    let mut folder = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || SAFE.contains(&byte) {
            folder.push(char::from(byte));
        } else {
            folder.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members_become_names_of_folders() {
        assert_eq!(folder_of("RNA").unwrap(), "RNA");
        assert_eq!(folder_of("a b/ü").unwrap(), "a%20b%2F%C3%BC");
        assert!(folder_of("..").is_err() && folder_of("").is_err());
        assert_eq!(folder_of("_x__").unwrap(), "_x__");
        let error = folder_of("__meta").unwrap_err().to_string();
        assert!(error.starts_with("\"__meta\" is no name of a member: names that begin with __"), "{error}");
    }
}
