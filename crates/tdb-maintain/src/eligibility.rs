//! Rules for the fragments that can be consolidated: every read at every time must return the same
//! cells as before.

use std::collections::BTreeSet;
use std::sync::Arc;

use tdb_codec::{ArrayType, Gate};
use tdb_fragment::TimestampedName;
use tdb_schema::{ArraySchema, Attribute, Dimension, Range};

use crate::fragment::Fragment;
use crate::lossy::refuses_values;
use crate::{OrInternal, Result, Snapshot};

/// The schemas of an array, oldest first, with their keys.
pub(super) type AllSchemas = Vec<(String, Arc<ArraySchema>)>;

/// The schema of consolidated fragments: the newest one that loses nothing, or the reason why there
/// is none.
pub(super) fn target(
    array: &Snapshot,
    schemas: &AllSchemas,
    inputs: &[&Fragment],
    purge: bool,
) -> Result<(String, Arc<ArraySchema>), String> {
    // The reason for the newest schema is the one that users need.
    let mut why = None;
    for (key, candidate) in schemas.iter().rev() {
        // Schemas that are neither current nor used by an input are not considered.
        let used = inputs.iter().any(|fragment| fragment.schema() == &**candidate);
        if candidate.as_ref() != array.schema() && !used {
            continue;
        }
        match fits(schemas, inputs, candidate, purge) {
            Ok(()) => return Ok((key.clone(), candidate.clone())),
            Err(problem) => why = why.or(Some(problem)),
        }
    }
    Err(why.unwrap_or_else(|| "there are no fragments".to_owned()))
}

fn fits(schemas: &AllSchemas, inputs: &[&Fragment], target: &ArraySchema, purge: bool) -> Result<(), String> {
    let version = target.version;
    if !version.has(Gate::CommitFiles) {
        return Err(format!(
            "fragments of version {version} cannot be written; upgrade the array to consolidate it"
        ));
    }
    if target.array_type == ArrayType::Sparse && !version.has(Gate::OverlappingTimeWindows) {
        return Err(format!(
            "fragments of version {version} do not record when their cells were written, so earlier times would be lost; \
             upgrade the array to consolidate it"
        ));
    }
    if target.array_type == ArrayType::Sparse && target.coords_filters.changes_values() {
        return Err("the times of cells are stored with the filters of coordinates, and these change values"
            .to_owned());
    }
    if purge && !version.has(Gate::DeleteFiles) {
        return Err(format!("fragments of version {version} do not support deletes"));
    }
    let holes = has_holes(inputs, target);
    for fragment in inputs {
        let own = fragment.schema();
        for (_, schema) in schemas {
            for attribute in &schema.attributes {
                keeps(attribute, own, target, holes)?;
            }
        }
    }
    Ok(())
}

/// Whether the common box of dense fragments may have cells that none of them has. They get the
/// fill value of the target's schema.
fn has_holes(inputs: &[&Fragment], target: &ArraySchema) -> bool {
    if target.array_type == ArrayType::Sparse {
        return false;
    }
    let boxes = || inputs.iter().filter_map(|fragment| fragment.bounds());
    // A sparse fragment of a dense array has some cells of its box.
    let mut full =
        inputs.iter().filter(|fragment| fragment.is_dense()).filter_map(|fragment| fragment.bounds());
    let dimensions = &target.domain.dimensions;
    let compare = |dimension: &Dimension, a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let contains = |own: &[Range], other: &[Range]| {
        own.iter().zip(other).zip(dimensions).all(|((own, other), dimension)| {
            compare(dimension, &own.low, &other.low).is_le()
                && compare(dimension, &other.high, &own.high).is_le()
        })
    };
    !full.any(|own| boxes().all(|other| contains(own, other)))
}

/// Whether a reader with `attribute` in its schema sees the same cells of a fragment before and
/// after. With `holes`, there are also cells that were never written.
fn keeps(attribute: &Attribute, own: &ArraySchema, target: &ArraySchema, holes: bool) -> Result<(), String> {
    let find = |schema: &ArraySchema| -> Option<Attribute> {
        let same = |other: &&Attribute| {
            other.name == attribute.name
                && other.datatype == attribute.datatype
                && other.cell_val_num == attribute.cell_val_num
        };
        schema.attributes.iter().find(same).cloned()
    };
    let name = &attribute.name;
    match (find(own), find(target)) {
        (Some(_), None) => Err(format!(
            "cells of attribute \"{name}\" would be lost, which reads at earlier times still see"
        )),
        (Some(before), Some(after)) if before.nullable && !after.nullable => Err(format!(
            "nulls of attribute \"{name}\" would be lost, which reads at earlier times still see"
        )),
        (Some(before), Some(after))
            if before.filters != after.filters
                && (after.filters.changes_values() || refuses_values(&after.filters)) =>
        {
            Err(format!("the filters of attribute \"{name}\" at another time may not keep all of its values"))
        }
        (before, Some(after)) if (before.is_none() || holes) && !fill_alike(&after, attribute) => {
            Err(format!("attribute \"{name}\" has another fill value at another time"))
        }
        _ => Ok(()),
    }
}

/// Whether cells that were never written are the same.
fn fill_alike(a: &Attribute, b: &Attribute) -> bool {
    a.fill_value == b.fill_value
        && a.nullable == b.nullable
        && (!a.nullable || a.fill_validity == b.fill_validity)
}

/// The reason why a fragment cannot be consolidated at all; `None` if it can.
pub(super) fn ineligible(fragment: &Fragment, sparse: bool) -> Option<String> {
    let (first, last) = fragment.timestamps();
    if fragment.non_empty_domain().is_none() {
        return Some("it is empty".to_owned());
    }
    if !sparse {
        return None;
    }
    if fragment.is_dense() {
        return Some("it is a dense fragment of a sparse array".to_owned());
    }
    let by_cell = fragment.footer().has_timestamps && fragment.version().has(Gate::OverlappingTimeWindows);
    (first != last && !by_cell).then(|| {
        format!(
            "it covers times {first} to {last}, but readers see it only as a whole (version {})",
            fragment.version()
        )
    })
}

/// The reason why those visible fragments of `first..=last` for which `chosen` is true cannot be
/// consolidated; `None` if they can. With `purge`, deleted cells are left out.
pub(super) fn blocked(
    array: &Snapshot,
    (first, last): (usize, usize),
    chosen: &dyn Fn(usize) -> bool,
    amplification: f64,
    purge: bool,
) -> Option<String> {
    let fragments = array.fragments();
    let dimensions = &array.schema().domain.dimensions;
    let dense = array.schema().array_type == ArrayType::Dense;
    let mut union: Option<Vec<Range>> = None;
    let mut cells = 0u128;
    for (_, fragment) in fragments.iter().enumerate().filter(|(index, _)| chosen(*index)) {
        // Empty fragments are not chosen.
        let Some(domain) = fragment.bounds() else { continue };
        match &mut union {
            None => union = Some(domain.to_vec()),
            Some(union) => {
                for ((range, other), dimension) in union.iter_mut().zip(domain).zip(dimensions) {
                    range.unite(dimension.datatype, other);
                }
            }
        }
        cells = cells.saturating_add(u128::from(fragment.cell_count()));
    }
    let union = union?;
    let inputs =
        || fragments.iter().enumerate().filter(|(index, _)| chosen(*index)).map(|(_, fragment)| fragment);
    let deletes =
        !array.deletes().is_empty() || inputs().any(|fragment| fragment.footer().has_delete_metadata);
    let hides = purge && deletes && !dense && !array.schema().allows_duplicates;
    let newest = inputs().map(|fragment| fragment.timestamps().1).max().unwrap_or(0);
    let overlaps = |fragment: &Fragment| {
        // An empty one is taken to overlap everything.
        let domain = fragment.bounds().unwrap_or_default();
        domain.iter().zip(&union).zip(dimensions).all(|((a, b), dimension)| {
            let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
            compare(&a.low, &b.high).is_le() && compare(&b.low, &a.high).is_le()
        })
    };
    for (index, fragment) in fragments.iter().enumerate().filter(|(index, _)| !chosen(*index)) {
        let between = first < index && index < last;
        // A dense fragment covers its whole box, also where no input had cells.
        let below = dense && index < first;
        // The newest version of a cell, which was deleted, hides older ones. Without it they would
        // be seen again. A fragment that covers a time has newer versions than some of those that
        // begin later.
        let hidden = hides && (index < first || fragment.timestamps().0 <= newest);
        let name = fragment.name();
        if hidden && overlaps(fragment) {
            return Some(format!(
                "fragment {name}, which is not among them, may have older versions of deleted cells, and a purge would show them"
            ));
        }
        if (between || below) && overlaps(fragment) {
            return Some(format!("fragment {name}, which is not among them, has cells in the same area"));
        }
    }
    if dense {
        let sides = union.iter().zip(dimensions).map(|(range, dimension)| {
            // A domain that is damaged is refused when it is read.
            let ordinal = |value: &[u8]| dimension.ordinal(value).unwrap_or(0);
            u128::from(ordinal(&range.high).saturating_sub(ordinal(&range.low)).saturating_add(1))
        });
        let all = sides.fold(1u128, u128::saturating_mul);
        #[expect(clippy::cast_precision_loss, reason = "a ratio chosen by users need not be exact")]
        let too_many = all as f64 > amplification * cells as f64;
        if too_many {
            return Some(format!("their common box has {all} cells, but they only have {cells}"));
        }
    }
    None
}

/// Whether a new fragment with this folder takes the place of some inputs among the fragments of
/// its first time: those are ordered by their paths.
pub(super) fn is_in_place(array: &Snapshot, inputs: &BTreeSet<&str>, first: u64, folder: &str) -> bool {
    let is_input = |fragment: &&Arc<Fragment>| inputs.contains(fragment.folder());
    let is_tied = |fragment: &&Arc<Fragment>| fragment.timestamps().0 == first && !is_input(fragment);
    let fragments = array.fragments().iter();
    let mut older = fragments.clone().take_while(|fragment| !is_input(fragment)).filter(is_tied);
    let mut newer = fragments.skip_while(|fragment| !is_input(fragment)).filter(is_tied);
    older.all(|fragment| fragment.folder() < folder) && newer.all(|fragment| fragment.folder() > folder)
}

/// A name for the new fragment with which it takes the place of the inputs.
///
/// If all inputs have one time, it comes right behind the newest one. A fragment that another
/// process writes at that time while the inputs are merged also sorts after the newest input, and
/// after the new fragment.
pub(super) fn name(
    array: &Snapshot,
    inputs: &[&Fragment],
    target: &ArraySchema,
    uuid: &dyn Fn() -> Result<String>,
) -> Result<Option<TimestampedName>> {
    let first = inputs.iter().map(|fragment| fragment.timestamps().0).min();
    let last = inputs.iter().map(|fragment| fragment.timestamps().1).max();
    let (first, last) = first.zip(last).or_internal("a choice without a fragment")?;
    let folders = inputs.iter().map(|input| input.folder()).collect();
    let named = |uuid: String| TimestampedName::new((first, last), uuid, Some(target.version));
    let fits = |name: &TimestampedName| is_in_place(array, &folders, first, &folder_of(name, target));
    let newest = inputs.last().and_then(|fragment| TimestampedName::parse(fragment.name()).ok());
    let behind = newest.and_then(|name| name.unique_behind(1)).map(named).filter(fits);
    if first == last && behind.is_some() {
        return Ok(behind);
    }
    let fresh = named(uuid()?);
    Ok(Some(fresh).filter(fits).or(behind))
}

/// The folder of a fragment with this name and schema.
pub(super) fn folder_of(name: &TimestampedName, schema: &ArraySchema) -> String {
    let parent = if schema.version.has(Gate::FragmentFolders) { crate::paths::FRAGMENTS } else { "" };
    crate::storage::join(parent, &name.to_string())
}

/// The first and the last of some numbers.
pub(crate) fn ends_of(chosen: &[usize]) -> Result<(usize, usize)> {
    let ends = chosen.first().copied().zip(chosen.last().copied());
    ends.or_internal("a choice without a fragment")
}
