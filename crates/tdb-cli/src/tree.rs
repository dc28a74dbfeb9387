//! Arrays, groups and folders: what is in what.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tdb_array::group::{Found, Group, ObjectType, object_type};
use tdb_array::storage::without_secrets;
use tdb_array::{Array, OpenOptions};

use crate::failure::{Failure, Result};
use crate::place::{Stores, shown};

/// Something at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its name in what it is in; of the first one, its place.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) location: PathBuf,
}

/// What is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Group,
    /// A folder that is neither. Others may be in it.
    Folder,
    /// A member of a group that cannot be looked at, and why.
    Absent(String),
}

impl Kind {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Group => "group",
            Self::Folder => "folder",
            Self::Absent(_) => "member",
        }
    }
}

impl From<ObjectType> for Kind {
    fn from(object: ObjectType) -> Self {
        match object {
            ObjectType::Array => Self::Array,
            ObjectType::Group => Self::Group,
            ObjectType::Invalid => Self::Folder,
        }
    }
}

/// Looks into places.
#[derive(Clone, Debug)]
pub(crate) struct Explorer {
    stores: Stores,
    options: OpenOptions,
}

impl Explorer {
    /// Opens arrays and groups with these options.
    pub(crate) const fn new(stores: Stores, options: OpenOptions) -> Self {
        Self { stores, options }
    }

    /// What is at a place.
    pub(crate) fn at(&self, place: &Path) -> Result<Object> {
        let kind = object_type(&self.stores.storage(place)?).map_err(|error| Failure::at(place, error))?;
        Ok(Object { name: shown(place), kind: kind.into(), location: place.to_owned() })
    }

    /// What is in a group or a folder, by name: the members of a group, wherever they are, and then
    /// what else is in its folder.
    pub(crate) fn inside(&self, object: &Object) -> Result<Vec<Object>> {
        match object.kind {
            Kind::Array | Kind::Absent(_) => Ok(Vec::new()),
            Kind::Folder => folders(&self.stores, &object.location),
            Kind::Group => {
                let mut all = members(&self.group(&object.location)?);
                let known: HashSet<String> = all.iter().map(|member| self.identity(member)).collect();
                let others = folders(&self.stores, &object.location)?;
                all.extend(others.into_iter().filter(|other| !known.contains(&self.identity(other))));
                Ok(all)
            }
        }
    }

    /// One text for all locations that mean the same folder.
    pub(crate) fn identity(&self, object: &Object) -> String {
        self.stores.places().identity(&object.location.to_string_lossy())
    }

    pub(crate) fn array(&self, place: &Path) -> Result<Array> {
        let storage = self.stores.storage(place)?;
        self.options.clone().open_storage(storage).map_err(|error| Failure::of_array(place, error))
    }

    /// Opens a group. Members in stores are looked at, too.
    pub(crate) fn group(&self, place: &Path) -> Result<Group> {
        let options = self.options.clone();
        let group = match place.to_str() {
            Some(location) => {
                let location = location.strip_prefix("file://").unwrap_or(location);
                options.open_group_in(self.stores.places(), location)
            }
            None => options.open_group(place),
        };
        group.map_err(|error| Failure::of_array(place, error))
    }

    #[cfg(feature = "browse")]
    pub(crate) const fn stores(&self) -> &Stores {
        &self.stores
    }
}

fn members(group: &Group) -> Vec<Object> {
    let object = |member| {
        let kind = match group.look(member) {
            Found::Object(ObjectType::Invalid) => Kind::Absent("neither array nor group".to_owned()),
            Found::Object(object) => object.into(),
            Found::Failed(error) => Kind::Absent(without_secrets(&error.to_string()).into_owned()),
            Found::Elsewhere => Kind::Absent("at a place that cannot be looked at".to_owned()),
            found => Kind::Absent(found.word().to_owned()),
        };
        Object { name: member.key().to_owned(), kind, location: group.location_of(member).into() }
    };
    group.members().map(object).collect()
}

/// The folders in a folder, by name, without those that belong to an array or a group.
pub(crate) fn folders(stores: &Stores, folder: &Path) -> Result<Vec<Object>> {
    let listed = stores.storage(folder)?.list("").map_err(|error| Failure::at(folder, error))?;
    let mut names: Vec<_> =
        listed.into_iter().filter(|entry| entry.is_folder).map(|entry| entry.name).collect();
    names.retain(|name| !name.starts_with("__"));
    names.sort_unstable();
    let object = |name: String| {
        let location = folder.join(&name);
        // A folder that cannot be looked into is a folder.
        let kind = object_type(&stores.storage(&location)?).unwrap_or(ObjectType::Invalid);
        Ok(Object { name, kind: kind.into(), location })
    };
    names.into_iter().map(object).collect()
}
