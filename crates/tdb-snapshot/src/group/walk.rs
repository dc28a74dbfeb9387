//! Lists the members of a group and, recursively, of the groups in it.

use std::collections::HashSet;

use tdb_schema::{GroupMember, ObjectType};

use super::Group;
use crate::{Error, Result};

/// The deepest nesting that is followed. A group may contain itself under ever longer names.
const MAX_DEPTH: usize = 64;

/// The object that was found at a member's location.
#[derive(Debug)]
pub enum Found {
    /// An array, a group, or a folder that is neither.
    Object(ObjectType),
    /// Nothing.
    Missing,
    /// The location is of a kind that this build does not look at, such as `s3://…`.
    Elsewhere,
    /// A group that the walk has already visited; its members are not returned again.
    Repeated,
    /// A group that is nested too deeply to be followed.
    TooDeep,
    /// The member could not be read.
    Failed(Error),
}

impl Found {
    /// A word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Object(ObjectType::Invalid) => "other",
            Self::Object(object) => object.name(),
            Self::Missing => "missing",
            Self::Elsewhere => "elsewhere",
            Self::Repeated => "repeated",
            Self::TooDeep => "too deep",
            Self::Failed(_) => "failed",
        }
    }
}

/// A member that a walk visits.
#[derive(Debug)]
pub struct Visited {
    /// The number of groups that contain it; 1 for the members of the first group.
    pub depth: usize,
    /// The member, as its group describes it.
    pub member: GroupMember,
    /// Its place.
    pub location: String,
    /// The object at this location.
    pub found: Found,
}

impl Group {
    /// All members; those of member groups follow the group they are in. Every group is visited
    /// once, even if it is listed several times, so a group that contains itself does not make the
    /// walk endless.
    #[must_use]
    pub fn walk(&self) -> Vec<Visited> {
        let mut seen = HashSet::from([self.places.identity(&self.location)]);
        let mut visited = Vec::new();
        self.walk_into(1, &mut seen, &mut visited);
        visited
    }

    fn walk_into(&self, depth: usize, seen: &mut HashSet<String>, visited: &mut Vec<Visited>) {
        for member in self.members() {
            let location = self.location_of(member);
            let mut found = self.look(member);
            let mut inner = None;
            if matches!(found, Found::Object(ObjectType::Group)) {
                if !seen.insert(self.places.identity(&location)) {
                    found = Found::Repeated;
                } else if depth >= MAX_DEPTH {
                    found = Found::TooDeep;
                } else {
                    let opened: Result<Self> = self.open_member(member);
                    match opened {
                        Ok(group) => inner = Some(group),
                        Err(error) => found = Found::Failed(error),
                    }
                }
            }
            visited.push(Visited { depth, member: member.clone(), location, found });
            if let Some(group) = inner {
                group.walk_into(depth + 1, seen, visited);
            }
        }
    }
}
