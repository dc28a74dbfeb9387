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
    let index = match rest.strip_prefix("c/") {
        Some(places) if formats.v3() => places.split('/').map(place).collect::<Option<Vec<u64>>>()?,
        None if formats.v2() => rest.split('.').map(place).collect::<Option<Vec<u64>>>()?,
        _ => return None,
    };
    Some(Asked::Chunk(node, index))
}

/// A number as keys have it: digits, and no zero before others.
fn place(text: &str) -> Option<u64> {
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

/// The key of a chunk below its array.
pub(crate) fn chunk_v3(index: &[u64]) -> String {
    index.iter().fold("c".to_owned(), |key, place| format!("{key}/{place}"))
}

/// The key of a chunk below its array, in version 2.
pub(crate) fn chunk_v2(index: &[u64]) -> String {
    index.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
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
        assert_eq!((chunk_v3(&[1, 20]), chunk_v2(&[1, 20])), ("c/1/20".to_owned(), "1.20".to_owned()));
    }
}
