//! Deletes of cells that a delete file's condition cannot tell from others, by their coordinates.

use std::collections::BTreeSet;

use tdb_codec::{ArrayType, Datatype, Gate};
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::Dimension;

use crate::array::Array;
use crate::expression::QueryCondition;
use crate::{Cells, Column, Error, Layout, OrInternal, Result};

const WHAT: &str = "delete by coordinates";

/// The most cells that one delete lists. Each later read compares its cells with the list: with
/// 1,000 cells of two dimensions, a read of a million cells took libtiledb 2.30 3.7 s instead of
/// 0.05 s, and a debug build of tdb 0.2 s, until a consolidation purged them (30 November 2026, two
/// cores).
pub const MAX_LISTED_CELLS: u64 = 1000;

impl Array {
    /// A condition on the dimensions alone that exactly those cells satisfy which satisfy another
    /// one now, and their number: for deletes by conditions that a delete file cannot contain
    /// (tests for null), or that would take cells for which they are unknown.
    ///
    /// # Errors
    /// A dense array, one with duplicates (others may be at the same coordinates), more than
    /// [`MAX_LISTED_CELLS`] cells; as for [`Read::collect`](crate::Read::collect).
    pub fn cells_condition(&self, condition: &QueryCondition) -> Result<(Condition, u64)> {
        let schema = self.schema();
        let refused = |why: String| Err(Error::refused(WHAT, why));
        if schema.array_type != ArrayType::Sparse {
            return refused("cells can be deleted from sparse arrays only".to_owned());
        }
        if schema.allows_duplicates {
            return refused(
                "the array allows duplicates, and others may be at the same coordinates".to_owned(),
            );
        }
        let cells = self.delete_counts(condition)?.satisfying;
        if cells > MAX_LISTED_CELLS {
            return refused(format!(
                "{cells} cells satisfy the condition, and at most {MAX_LISTED_CELLS} can be listed: each later read compares its \
                 cells with them"
            ));
        }
        let names: Vec<&str> = schema.domain.dimensions.iter().map(|own| own.name.as_str()).collect();
        let read = self.read().condition(condition.clone()).fields(names).order(Layout::RowMajor);
        let rows = Rows::of(&read.collect()?, &schema.domain.dimensions)?;
        self.refuse_zeros_of_both_signs(&rows)?;
        let has_sets = schema.version.has(Gate::SetConditions);
        Ok((rows.condition(has_sets), cells))
    }

    /// Zeros of both signs are different coordinates, and a condition cannot tell them apart.
    fn refuse_zeros_of_both_signs(&self, listed: &Rows<'_>) -> Result<()> {
        for (at, dimension) in listed.dimensions.iter().enumerate() {
            let is_real = matches!(dimension.datatype, Datatype::Float32 | Datatype::Float64);
            if !is_real || !listed.rows.iter().any(|row| row.get(at).is_some_and(|value| is_zero(value))) {
                continue;
            }
            let zero: Vec<u8> = vec![0; dimension.datatype.size()];
            let names = listed.dimensions.iter().map(|own| own.name.as_str());
            let read = self.read().fields(names).order(Layout::RowMajor);
            let zeros = read.range_bytes(&dimension.name, Some(negative(&zero)), Some(zero)).collect()?;
            let zeros = Rows::of(&zeros, listed.dimensions)?;
            let plain = |row: &Row| -> Row {
                let real = |(value, own): (&Vec<u8>, &Dimension)| {
                    let is_real = matches!(own.datatype, Datatype::Float32 | Datatype::Float64);
                    if is_real && is_zero(value) { vec![0; value.len()] } else { value.clone() }
                };
                row.iter().zip(listed.dimensions).map(real).collect()
            };
            let exact: BTreeSet<&Row> = listed.rows.iter().collect();
            let signless: BTreeSet<Row> = listed.rows.iter().map(plain).collect();
            if zeros.rows.iter().any(|row| !exact.contains(row) && signless.contains(&plain(row))) {
                let why = format!(
                    "in dimension {}, a cell at one of 0 and -0 would go with one at the other: conditions cannot tell them apart",
                    dimension.name
                );
                return Err(Error::refused(WHAT, why));
            }
        }
        Ok(())
    }
}

/// The coordinates of a cell, as the format stores them.
type Row = Vec<Vec<u8>>;

/// The coordinates of cells in row-major order.
struct Rows<'d> {
    dimensions: &'d [Dimension],
    rows: Vec<Row>,
}

impl<'d> Rows<'d> {
    fn of(cells: &Cells, dimensions: &'d [Dimension]) -> Result<Self> {
        let columns: Vec<&Column> =
            dimensions.iter().map(|dimension| cells.field(&dimension.name)).collect::<Result<_>>()?;
        let row = |at: usize| -> Result<Row> {
            let value = |column: &&Column| {
                column.cell(at).map(<[u8]>::to_vec).or_internal("a cell has no coordinate")
            };
            columns.iter().map(value).collect()
        };
        Ok(Self { dimensions, rows: (0..cells.len).map(row).collect::<Result<_>>()? })
    }

    /// The condition that these cells satisfy: of the last dimension sets where the version has
    /// them.
    fn condition(&self, has_sets: bool) -> Condition {
        let names: Vec<&str> = self.dimensions.iter().map(|own| own.name.as_str()).collect();
        let rows: Vec<&[Vec<u8>]> = self.rows.iter().map(Vec::as_slice).collect();
        let value = |field: &str, comparison| Condition::Value {
            field: field.to_owned(),
            comparison,
            operands: Vec::new(),
        };
        match names.first() {
            // No cell at all: nothing is less than itself.
            Some(name) if rows.is_empty() => value(name, Comparison::AlwaysFalse),
            _ => listed(&names, &rows, has_sets),
        }
    }
}

/// A condition for rows, whose first coordinates are those of the first name.
fn listed(names: &[&str], rows: &[&[Vec<u8>]], has_sets: bool) -> Condition {
    let Some((name, names)) = names.split_first() else {
        return Condition::Expression { junction: Junction::And, children: Vec::new() };
    };
    let value = |comparison, operands| Condition::Value { field: (*name).to_owned(), comparison, operands };
    let first = |row: &&[Vec<u8>]| row.first().cloned();
    if names.is_empty() && has_sets {
        return value(Comparison::In, rows.iter().filter_map(first).collect());
    }
    let mut children = Vec::new();
    for group in rows.chunk_by(|one, other| one.first() == other.first()) {
        let Some(row) = group.first() else { continue };
        let equal = value(Comparison::Equal, first(row).into_iter().collect());
        if names.is_empty() {
            children.push(equal);
            continue;
        }
        let rest: Vec<&[Vec<u8>]> = group.iter().filter_map(|row| row.get(1..)).collect();
        let children_of = vec![equal, listed(names, &rest, has_sets)];
        children.push(Condition::Expression { junction: Junction::And, children: children_of });
    }
    match children.len() {
        1 => children.swap_remove(0),
        _ => Condition::Expression { junction: Junction::Or, children },
    }
}

/// Whether the bytes of a real number are those of a zero, of either sign.
fn is_zero(value: &[u8]) -> bool {
    value.split_last().is_some_and(|(last, rest)| last & 0x7f == 0 && rest.iter().all(|byte| *byte == 0))
}

/// A number with a minus.
fn negative(zero: &[u8]) -> Vec<u8> {
    let mut negative = zero.to_vec();
    if let Some(last) = negative.last_mut() {
        *last |= 0x80;
    }
    negative
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[i32]) -> Row {
        values.iter().map(|value| value.to_le_bytes().to_vec()).collect()
    }

    #[test]
    fn cells_become_sets_of_the_last_dimension_where_the_version_has_sets() {
        let dimensions = [Dimension::new("x", 0i32..=9), Dimension::new("y", 0i32..=9)];
        let rows = Rows { dimensions: &dimensions, rows: vec![row(&[1, 2]), row(&[1, 4]), row(&[3, 2])] };
        let Condition::Expression { junction: Junction::Or, children } = rows.condition(true) else {
            panic!("no OR")
        };
        let Condition::Expression { junction: Junction::And, children: first } = &children[0] else {
            panic!("no AND")
        };
        let set = Condition::Value { field: "y".into(), comparison: Comparison::In, operands: row(&[2, 4]) };
        assert_eq!((children.len(), &first[1]), (2, &set));
        let Condition::Expression { children, .. } = rows.condition(false) else { panic!("no OR") };
        assert!(matches!(&children[0], Condition::Expression { children, .. }
            if matches!(&children[1], Condition::Expression { junction: Junction::Or, children } if children.len() == 2)));
        let one = Rows { dimensions: &dimensions[..1], rows: vec![row(&[7])] };
        let equal =
            Condition::Value { field: "x".into(), comparison: Comparison::Equal, operands: row(&[7]) };
        assert_eq!(one.condition(false), equal);
    }

    #[test]
    fn zeros_are_zeros_with_either_sign() {
        assert!(is_zero(&0f64.to_le_bytes()) && is_zero(&(-0f32).to_le_bytes()));
        assert!(!is_zero(&f64::MIN_POSITIVE.to_le_bytes()) && !is_zero(&[]));
        assert_eq!(negative(&0f64.to_le_bytes()), (-0f64).to_le_bytes());
    }
}
