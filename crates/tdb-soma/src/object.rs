//! Objects of SOMA as they are found: what their metadata says of them, and what is in them.

use std::collections::HashSet;
use std::sync::Arc;

use tdb_array::group::{Found, Group, ObjectType, Places, object_type};
use tdb_array::schema::ArrayMetadata;
use tdb_array::storage::{Storage, location_without_secrets, without_secrets};
use tdb_array::{Array, OpenOptions};

use crate::kind::{SPATIAL_VERSION, TYPE, VERSION};
use crate::{Error, Kind, Result};

/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 64;

/// An object, and everything below it.
///
/// Whatever is wrong with it is in it: the metadata may name no kind, or another one than the array
/// or group is of ([`verify`](crate::verify) says so), and a member may be unreadable.
#[derive(Debug)]
pub struct Object {
    /// The name in the collection that it is in; of the first one, nothing.
    pub name: String,
    /// The names on the way to it, as `ms/RNA/X/data`; of the first one, nothing.
    pub path: String,
    /// Its place. It may have secrets in a URL.
    pub location: String,
    /// What the metadata says it is, if that is known.
    pub kind: Option<Kind>,
    /// Its metadata.
    pub metadata: ArrayMetadata,
    /// What it consists of.
    pub content: Content,
}

/// What an object consists of.
#[derive(Debug)]
pub enum Content {
    /// An array.
    Array(Box<Array>),
    /// A group of further objects.
    Members(Vec<Object>),
    /// Nothing that could be opened, and the reason.
    Unreadable(String),
}

impl Object {
    /// Opens what is at a place, and everything below it. `options` say the time and the key.
    ///
    /// # Errors
    /// There is neither an array nor a group, or it cannot be opened. Of members, this is part of
    /// the object.
    pub fn open(options: &OpenOptions, places: &Arc<dyn Places>, location: &str) -> Result<Self> {
        let not_an_object = |why: String| Error::NotAnObject {
            location: location_without_secrets(location).into_owned(),
            why,
        };
        let storage = places
            .storage(location)
            .ok_or_else(|| not_an_object("places of this kind are not supported".to_owned()))?;
        let kind = object_type(&*storage).map_err(|error| not_an_object(error.to_string()))?;
        let mut walk = Walk { options, places, seen: HashSet::new() };
        match kind {
            ObjectType::Array => Ok(walk.array(options.clone(), String::new(), String::new(), location)?),
            ObjectType::Group => {
                walk.seen.insert(places.identity(location));
                let group = options.clone().open_group_in(places.clone(), location)?;
                Ok(walk.group(&group, String::new(), String::new(), 0)?)
            }
            ObjectType::Invalid => {
                Err(not_an_object("this is neither an array nor a group, so no object of SOMA".to_owned()))
            }
        }
    }

    /// What the metadata calls it, also if that is unknown.
    #[must_use]
    pub fn kind_name(&self) -> Option<&str> {
        self.text(TYPE)
    }

    /// The version of the encoding.
    #[must_use]
    pub fn encoding_version(&self) -> Option<&str> {
        self.text(VERSION)
    }

    /// The version of the encoding of what is about space.
    #[must_use]
    pub fn spatial_encoding_version(&self) -> Option<&str> {
        self.text(SPATIAL_VERSION)
    }

    /// An entry of the metadata that is a text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        let value = self.metadata.get(key).filter(|value| value.datatype.is_string())?;
        str::from_utf8(&value.data).ok()
    }

    /// The array, if it is one.
    #[must_use]
    pub fn array(&self) -> Option<&Array> {
        match &self.content {
            Content::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The members; none if it is no group.
    #[must_use]
    pub fn members(&self) -> &[Self] {
        match &self.content {
            Content::Members(members) => members,
            _ => &[],
        }
    }

    /// The member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|member| member.name == name)
    }

    /// The object and everything below it, each before its members.
    #[must_use]
    pub fn all(&self) -> Vec<&Self> {
        let mut found = vec![self];
        found.extend(self.members().iter().flat_map(Self::all));
        found
    }
}

/// Opens what is below an object.
struct Walk<'a> {
    options: &'a OpenOptions,
    places: &'a Arc<dyn Places>,
    /// Where it has been: groups may contain each other.
    seen: HashSet<String>,
}

impl Walk<'_> {
    fn array(
        &self,
        options: OpenOptions,
        name: String,
        path: String,
        location: &str,
    ) -> tdb_array::Result<Object> {
        let Some(storage) = self.places.storage(location) else {
            return Err(tdb_array::Error::NotAnArray {
                path: location_without_secrets(location).into_owned(),
                why: "places of this kind are not supported",
            });
        };
        let storage: Arc<dyn Storage> = Arc::from(storage);
        let array = options.open_storage(storage)?;
        let metadata = array.metadata()?;
        Ok(Object::of(name, path, location, metadata, Content::Array(Box::new(array))))
    }

    fn group(
        &mut self,
        group: &Group,
        name: String,
        path: String,
        depth: usize,
    ) -> tdb_array::Result<Object> {
        let metadata = group.metadata()?;
        let mut members = Vec::new();
        for member in group.members() {
            let (own, location) = (member.key().to_owned(), group.location_of(member));
            let below = if path.is_empty() { own.clone() } else { format!("{path}/{own}") };
            let opened = match group.look(member) {
                Found::Object(ObjectType::Array) => {
                    // All are seen as they were when the first one was opened.
                    let options = self.options.clone().window(group.window());
                    self.array(options, own.clone(), below.clone(), &location)
                }
                Found::Object(ObjectType::Group) if !self.seen.insert(self.places.identity(&location)) => {
                    members.push(Object::unreadable(
                        own,
                        below,
                        &location,
                        "it is in the experiment before".to_owned(),
                    ));
                    continue;
                }
                Found::Object(ObjectType::Group) if depth >= MAX_DEPTH => {
                    members.push(Object::unreadable(
                        own,
                        below,
                        &location,
                        "it is too deep to follow".to_owned(),
                    ));
                    continue;
                }
                Found::Object(ObjectType::Group) => group.open_member(member).and_then(|inner| {
                    self.group(&inner, own.clone(), below.clone(), depth.saturating_add(1))
                }),
                Found::Failed(error) => Err(error),
                found => {
                    let why = match found {
                        Found::Object(_) => "there is neither an array nor a group",
                        Found::Missing => "there is nothing",
                        _ => "places of this kind are not supported",
                    };
                    let shown = location_without_secrets(&location).into_owned();
                    members.push(Object::unreadable(own, below, &location, format!("{shown}: {why}")));
                    continue;
                }
            };
            members.push(
                opened.unwrap_or_else(|error| Object::unreadable(own, below, &location, error.to_string())),
            );
        }
        let location = group.location();
        Ok(Object::of(name, path, location, metadata, Content::Members(members)))
    }
}

impl Object {
    fn of(name: String, path: String, location: &str, metadata: ArrayMetadata, content: Content) -> Self {
        let mut object = Self { name, path, location: location.to_owned(), kind: None, metadata, content };
        object.kind = object.kind_name().and_then(Kind::of);
        object
    }

    fn unreadable(name: String, path: String, location: &str, why: String) -> Self {
        // It is shown as part of the object, not as an error, whose secrets a program leaves out.
        let why = without_secrets(&why).into_owned();
        Self::of(name, path, location, ArrayMetadata::default(), Content::Unreadable(why))
    }
}
