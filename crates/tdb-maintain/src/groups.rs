//! Groups of fragments whose consolidation leaves fragments that do not overlap, and few small
//! ones.

use tdb_query::Array;
use tdb_schema::{ArraySchema, Range};

use crate::{Error, Result};

/// Fragments that become one.
struct Group {
    /// Their numbers.
    members: Vec<usize>,
    /// The smallest box with all their cells.
    domain: Vec<Range>,
    /// The sum of their sizes.
    bytes: u64,
}

/// Chooses fragments to consolidate, as `tiledb_consolidation_plan_create_with_mbr` does: those
/// whose boxes overlap, then small ones (of at most half of `bytes`) whose common box overlaps no
/// other fragment. A single fragment of one and a half times `bytes` is a group of its own, which
/// can be cut. Each group has the numbers of its fragments.
///
/// ```
/// use tdb_array::Array;
/// use tdb_array::maintain::consolidation_groups;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// // There is one fragment, of less than a MiB.
/// let array = Array::open(path)?;
/// assert!(consolidation_groups(&array, 1 << 20)?.is_empty());
/// assert_eq!(consolidation_groups(&array, 1)?, [[0]]);
/// # Ok::<(), tdb_array::Error>(())
/// ```
///
/// # Errors
/// A file of metadata whose size cannot be found out.
pub fn consolidation_groups(array: &Array, bytes: u64) -> Result<Vec<Vec<usize>>> {
    let snapshot = array.snapshot();
    let context = snapshot.context();
    let mut groups = Vec::new();
    for (number, fragment) in snapshot.fragments().iter().enumerate() {
        let key = fragment.metadata_key();
        let metadata = context.storage.size(key).map_err(|error| Error::io(context.describe(key), error))?;
        groups.push(Group {
            members: vec![number],
            domain: fragment.non_empty_domain().unwrap_or_default().to_vec(),
            bytes: fragment.footer().data_bytes().saturating_add(metadata),
        });
    }
    Ok(choose(groups, snapshot.schema(), bytes))
}

fn choose(mut groups: Vec<Group>, schema: &ArraySchema, bytes: u64) -> Vec<Vec<usize>> {
    unite_while(&mut groups, schema, |_, group, other| overlap(schema, &group.domain, &other.domain));
    let small = bytes / 2;
    unite_while(&mut groups, schema, |groups, group, other| {
        group.bytes <= small && other.bytes <= small && {
            let domain = united(schema, &group.domain, &other.domain);
            let is_other = |third: &&Group| third.members != group.members && third.members != other.members;
            !groups.iter().filter(is_other).any(|third| overlap(schema, &third.domain, &domain))
        }
    });
    // The order is that of libtiledb, which moves groups as `std::partition` does.
    let combined = partition(&mut groups, |group| group.members.len() > 1);
    let is_large = |group: &Group| u128::from(group.bytes) * 2 >= u128::from(bytes) * 3;
    let rest = groups.get_mut(combined..).unwrap_or_default();
    let chosen = combined.saturating_add(partition(rest, is_large));
    groups.truncate(chosen);
    groups.into_iter().map(|group| group.members).collect()
}

/// Unites pairs of groups that a function chooses, until it chooses none.
fn unite_while(
    groups: &mut Vec<Group>,
    schema: &ArraySchema,
    chooses: impl Fn(&[Group], &Group, &Group) -> bool,
) {
    let mut found = true;
    while found {
        found = false;
        let mut first = 0usize;
        while first < groups.len() {
            let mut second = first.saturating_add(1);
            while let Some((group, other)) = groups.get(first).zip(groups.get(second)) {
                if !chooses(groups, group, other) {
                    second = second.saturating_add(1);
                    continue;
                }
                found = true;
                let domain = united(schema, &group.domain, &other.domain);
                let other = groups.remove(second);
                if let Some(group) = groups.get_mut(first) {
                    group.domain = domain;
                    group.members.extend(other.members);
                    group.bytes = group.bytes.saturating_add(other.bytes);
                }
            }
            first = first.saturating_add(1);
        }
    }
}

/// Moves the items for which a function is true to the front, and returns how many there are.
fn partition<T>(items: &mut [T], is_first: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut high) = (0usize, items.len());
    loop {
        while low < high && items.get(low).is_some_and(&is_first) {
            low = low.saturating_add(1);
        }
        while low < high && !items.get(high.saturating_sub(1)).is_some_and(&is_first) {
            high = high.saturating_sub(1);
        }
        if low >= high {
            return low;
        }
        items.swap(low, high.saturating_sub(1));
        (low, high) = (low.saturating_add(1), high.saturating_sub(1));
    }
}

fn overlap(schema: &ArraySchema, a: &[Range], b: &[Range]) -> bool {
    let dimensions = &schema.domain.dimensions;
    a.iter().zip(b).zip(dimensions).all(|((a, b), dimension)| a.overlaps(dimension.datatype, b))
}

fn united(schema: &ArraySchema, a: &[Range], b: &[Range]) -> Vec<Range> {
    let mut domain = a.to_vec();
    for ((range, other), dimension) in domain.iter_mut().zip(b).zip(&schema.domain.dimensions) {
        range.unite(dimension.datatype, other);
    }
    domain
}

#[cfg(test)]
mod tests {
    use tdb_schema::{Attribute, Dimension};

    use super::*;

    fn groups(boxes: &[((i32, i32), u64)], bytes: u64) -> Vec<Vec<usize>> {
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("x", 0i32..=999))
            .attribute(Attribute::of::<i32>("a"))
            .build()
            .unwrap();
        let group = |(number, ((low, high), bytes)): (usize, &((i32, i32), u64))| Group {
            members: vec![number],
            domain: vec![Range::new(low.to_le_bytes(), high.to_le_bytes())],
            bytes: *bytes,
        };
        choose(boxes.iter().enumerate().map(group).collect(), &schema, bytes)
    }

    #[test]
    fn fragments_that_overlap_are_one_group_even_through_others() {
        let boxes = [((0, 10), 50), ((20, 30), 50), ((5, 25), 50), ((40, 50), 50)];
        assert_eq!(groups(&boxes, 60), [[0, 2, 1]]);
    }

    #[test]
    fn small_fragments_are_one_group_unless_a_larger_one_is_between_them() {
        let small = [((0, 10), 5), ((20, 30), 5), ((40, 50), 5)];
        assert_eq!(groups(&small, 60), [[0, 1, 2]]);
        let between = [((0, 10), 5), ((20, 30), 50), ((40, 50), 5)];
        assert_eq!(groups(&between, 60), [[0usize; 0]; 0]);
    }

    #[test]
    fn a_large_fragment_is_a_group_of_its_own_behind_the_others() {
        let boxes = [((0, 10), 90), ((20, 30), 89), ((40, 50), 5), ((60, 70), 5)];
        assert_eq!(groups(&boxes, 60), [vec![2, 3], vec![0]]);
    }
}
