//! What keys ask for.

use crate::Formats;
use crate::node::{ArrayNode, Group, Node};

/// What a key asks for.
#[derive(Debug)]
pub(crate) enum Asked<'n> {
    /// `zarr.json` of a group.
    GroupV3(&'n Group),
    /// `.zgroup`.
    GroupV2,
    /// `.zattrs` of a group.
    GroupAttributes(&'n Group),
    /// `.zmetadata`, which only the root has.
    Consolidated(&'n Group),
    /// `zarr.json` of an array.
    ArrayV3(&'n ArrayNode),
    /// `.zarray`.
    ArrayV2(&'n ArrayNode),
    /// `.zattrs` of an array.
    ArrayAttributes(&'n ArrayNode),
    /// A chunk, by its place among the chunks.
    Chunk(&'n ArrayNode, Vec<u64>),
}

/// What a key asks for; `None` if there is nothing of this name.
pub(crate) fn find<'n>(root: &'n Group, key: &str, formats: Formats) -> Option<Asked<'n>> {
    let (mut group, mut rest) = (root, key);
    while let Some((name, inner)) = rest.split_once('/') {
        match group.child(name)? {
            Node::Group(child) => (group, rest) = (child, inner),
            Node::Array(node) => return in_array(node, inner, formats),
        }
    }
    match rest {
        "zarr.json" if formats.v3() => Some(Asked::GroupV3(group)),
        ".zgroup" if formats.v2() => Some(Asked::GroupV2),
        ".zattrs" if formats.v2() => Some(Asked::GroupAttributes(group)),
        ".zmetadata" if formats.v2() && !key.contains('/') => Some(Asked::Consolidated(group)),
        _ => None,
    }
}

fn in_array<'n>(node: &'n ArrayNode, rest: &str, formats: Formats) -> Option<Asked<'n>> {
    match rest {
        "zarr.json" if formats.v3() => return Some(Asked::ArrayV3(node)),
        ".zarray" if formats.v2() => return Some(Asked::ArrayV2(node)),
        ".zattrs" if formats.v2() => return Some(Asked::ArrayAttributes(node)),
        _ => {}
    }
    let notation = if rest.starts_with(Notation::V3.head()) { Notation::V3 } else { Notation::V2 };
    let places = Notation::of(formats).find(|one| *one == notation)?.places(rest)?;
    Some(Asked::Chunk(node, places))
}

/// A number as keys have it: digits, and no zero before others.
pub(crate) fn place(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

/// The node of a path; the root is a group.
pub(crate) fn node<'n>(root: &'n Group, path: &str) -> Option<Found<'n>> {
    let mut found = Found::Group(root);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let Found::Group(group) = found else { return None };
        found = match group.child(name)? {
            Node::Group(child) => Found::Group(child),
            Node::Array(node) => Found::Array(node),
        };
    }
    Some(found)
}

/// A node that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'n> {
    /// A group.
    Group(&'n Group),
    /// An array.
    Array(&'n ArrayNode),
}

/// How the keys of chunks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// Version 2: `1.20`.
    V2,
    /// Version 3: `c/1/20`.
    V3,
}

impl Notation {
    /// How hierarchies of these versions have the keys of chunks.
    pub(crate) fn of(formats: Formats) -> impl Iterator<Item = Self> {
        let v3 = formats.v3().then_some(Self::V3);
        v3.into_iter().chain(formats.v2().then_some(Self::V2))
    }

    /// What comes before the places.
    pub(crate) const fn head(self) -> &'static str {
        match self {
            Self::V2 => "",
            Self::V3 => "c/",
        }
    }

    /// What is between places.
    pub(crate) const fn separator(self) -> &'static str {
        match self {
            Self::V2 => ".",
            Self::V3 => "/",
        }
    }

    /// The places in the key of a chunk below its array.
    fn places(self, key: &str) -> Option<Vec<u64>> {
        key.strip_prefix(self.head())?.split(self.separator()).map(place).collect()
    }

    /// The key of a chunk below its array.
    pub(crate) fn chunk(self, index: &[u64]) -> String {
        let places = index.iter().map(u64::to_string).collect::<Vec<_>>();
        format!("{}{}", self.head(), places.join(self.separator()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_without_signs_or_leading_zeros() {
        assert_eq!(
            (place("0"), place("10"), place("18446744073709551615")),
            (Some(0), Some(10), Some(u64::MAX))
        );
        for wrong in ["", "01", "+1", "-1", "1e3", " 1", "18446744073709551616", "०"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
        assert_eq!(Notation::V3.chunk(&[1, 20]), "c/1/20");
        assert_eq!(Notation::V2.chunk(&[1, 20]), "1.20");
    }
}
