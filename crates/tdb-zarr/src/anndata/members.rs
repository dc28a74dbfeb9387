//! The members of an experiment by their names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tdb_array::group::Visited;

use crate::Refusal;
use crate::group::node_name;

/// The members, each by the names of the groups that it is in, and its own.
pub(super) struct Members(BTreeMap<Vec<String>, Visited>);

impl Members {
    /// What a walk has found, and those that are called as others are.
    pub(super) fn of(visited: Vec<Visited>) -> (Self, Vec<Refusal>) {
        let (mut names, mut found) = (Vec::<String>::new(), BTreeMap::new());
        let (mut refused, mut left_out) = (Vec::new(), usize::MAX);
        for member in visited {
            if member.depth > left_out {
                continue;
            }
            left_out = usize::MAX;
            names.truncate(member.depth.saturating_sub(1));
            // A name is one as a whole; a member without one is called as its folder is.
            let own = &member.member;
            names.push(own.name.as_deref().unwrap_or_else(|| node_name(&own.uri)).to_owned());
            match found.entry(names.clone()) {
                Entry::Vacant(place) => {
                    place.insert(member);
                }
                Entry::Occupied(_) => {
                    left_out = member.depth;
                    let reason = "there is another member of this name".to_owned();
                    refused.push(Refusal { path: names.join("/"), reason });
                }
            }
        }
        (Self(found), refused)
    }

    /// The member that these names lead to.
    pub(super) fn get(&self, names: &[&str]) -> Option<&Visited> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.0.get(&names)
    }

    /// The names directly in a group.
    pub(super) fn inside(&self, group: &[&str]) -> Vec<String> {
        let own = |names: &&Vec<String>| {
            names.len() == group.len() + 1 && names.iter().zip(group).all(|(name, of)| name == of)
        };
        self.0.keys().filter(own).filter_map(|names| names.last().cloned()).collect()
    }
}
