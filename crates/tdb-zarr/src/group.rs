//! Groups of arrays as hierarchies.

use std::sync::Arc;

use tdb_array::group::{Found, Group as Stored, Places, Visited};
use tdb_array::schema::ArrayMetadata;
use tdb_array::storage::Storage;
use tdb_array::{Array, OpenOptions, TimeWindow};

use crate::described::described;
use crate::node::{Group, Node};
use crate::{Hierarchy, Options, Refusal, Result, attributes};

/// What is collected on the walk over a group.
struct Walk<'a> {
    places: &'a Arc<dyn Places>,
    open: OpenOptions,
    options: &'a Options,
    arrays: Vec<Array>,
    refused: Vec<Refusal>,
}

impl Hierarchy {
    /// Shows the group at a location, with all arrays and groups below it, each under its name
    /// there. All are opened now, at one time. A member that cannot be opened is left out, and is
    /// among what is [refused](Self::refused).
    ///
    /// # Errors
    /// The location has no group, or its metadata cannot be read.
    pub fn of_group(
        places: &Arc<dyn Places>,
        location: &str,
        open: OpenOptions,
        options: &Options,
    ) -> Result<Self> {
        let group = open.clone().open_group_in(Arc::clone(places), location)?;
        let open = open.window(group.window());
        let mut walk = Walk { places, open, options, arrays: Vec::new(), refused: Vec::new() };
        let visited = group.walk();
        let root = walk.group(&group.metadata()?, &visited, 1, "")?;
        Ok(Self::of(walk.arrays, root, options, walk.refused, group.window()))
    }

    /// Shows a group whose members the caller shows: each name is that of a group without
    /// attributes and nodes, in whose place the caller has a hierarchy of its own. Names that Zarr
    /// cannot have, and those that come again, are [refused](Self::refused); a name is what is
    /// behind the last slash.
    #[must_use]
    pub fn of_members<'m>(
        metadata: &ArrayMetadata,
        names: impl IntoIterator<Item = &'m str>,
        window: TimeWindow,
        options: &Options,
    ) -> Self {
        let mut root = Group::new(attributes::of_all(metadata));
        let mut refused = Vec::new();
        for name in names.into_iter().map(node_name) {
            if let Err(reason) = root.add(name, Node::Group(Group::default())) {
                refused.push(Refusal { path: name.to_owned(), reason });
            }
        }
        Self::of(Vec::new(), root, options, refused, window)
    }
}

/// The name of the node that shows a member, of the member's name or URI.
pub(crate) fn node_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or("")
}

impl Walk<'_> {
    /// A group of the members that come first in `visited` and are at this depth.
    fn group(
        &mut self,
        metadata: &ArrayMetadata,
        visited: &[Visited],
        depth: usize,
        path: &str,
    ) -> Result<Group> {
        let mut group = Group::new(attributes::of_all(metadata));
        for (at, member) in visited.iter().enumerate().filter(|(_, member)| member.depth == depth) {
            let below = visited.get(at + 1..).unwrap_or(&[]);
            let inner = below.iter().take_while(|member| member.depth > depth).count();
            let below = below.get(..inner).unwrap_or(&[]);
            let name = node_name(member.member.key());
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let (arrays, refusals) = (self.arrays.len(), self.refused.len());
            let added = match self.member(member, below, &path) {
                Ok(node) => group.add(name, node),
                Err(why) => Err(why),
            };
            if let Err(reason) = added {
                // What lies below is not shown either.
                self.arrays.truncate(arrays);
                self.refused.truncate(refusals);
                self.refused.push(Refusal { path, reason });
            }
        }
        Ok(group)
    }

    /// A member as a node, or why it is none.
    fn member(&mut self, visited: &Visited, below: &[Visited], path: &str) -> Result<Node, String> {
        let Visited { location, found, depth, .. } = visited;
        let text = |error: tdb_array::Error| error.to_string();
        match found {
            Found::Object(tdb_array::group::ObjectType::Array) => {
                let storage = self.places.storage(location).ok_or("it is at a place of an unknown kind")?;
                let array =
                    self.open.clone().open_storage(Arc::<dyn Storage>::from(storage)).map_err(text)?;
                let shown = described(&array, self.arrays.len(), path, self.options);
                let (group, refused) = shown.map_err(|error| error.to_string())?;
                self.arrays.push(array);
                self.refused.extend(refused);
                Ok(Node::Group(group))
            }
            Found::Object(tdb_array::group::ObjectType::Group) => {
                let stored: Stored = self
                    .open
                    .clone()
                    .open_group_in(Arc::clone(self.places), location.as_str())
                    .map_err(text)?;
                let metadata = stored.metadata().map_err(text)?;
                let group = self.group(&metadata, below, depth + 1, path);
                group.map(Node::Group).map_err(|error| error.to_string())
            }
            Found::Failed(error) => Err(error.to_string()),
            Found::Repeated => Err("it is a group that is shown elsewhere in this hierarchy".to_owned()),
            Found::TooDeep => Err("it is nested too deeply".to_owned()),
            Found::Elsewhere => Err("it is at a place of an unknown kind".to_owned()),
            _ => Err("there is neither an array nor a group at its place".to_owned()),
        }
    }
}
