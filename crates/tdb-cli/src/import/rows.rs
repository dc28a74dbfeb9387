//! The dimension that numbers the rows of a table.

use tdb_array::Array;
use tdb_array::schema::ArraySchema;
use tdb_codec::{CellValNum, Datatype};
use tdb_schema::{Dimension, Domain, Range};

use crate::buffers::Buffers;

/// A name that no column has.
pub(super) fn name(columns: &[String]) -> String {
    let numbered = (2u32..).map(|number| format!("{}_{number}", Domain::ROW_NAMES.last().unwrap_or(&"row")));
    let mut names = Domain::ROW_NAMES.into_iter().map(str::to_owned).chain(numbered);
    names.find(|name| !columns.contains(name)).unwrap_or_default()
}

/// The dimension of a new sparse array, which has room for more rows than there will ever be, and
/// the range of the first `count` rows.
pub(super) fn dimension(columns: &[String], count: u64) -> (Dimension, Range) {
    let mut dimension = Dimension::string(name(columns));
    (dimension.datatype, dimension.cell_val_num) = (Datatype::Uint64, CellValNum::ONE);
    // The number of values of a domain must fit its type.
    dimension.domain = Some((0u64.to_le_bytes().to_vec(), (u64::MAX - 1).to_le_bytes().to_vec()));
    let last = count.saturating_sub(1);
    (dimension, Range::new(0u64.to_le_bytes(), last.to_le_bytes()))
}

/// The only dimension of an array, if it numbers the rows of tables: it has the name of such a
/// dimension, which is the name of no column.
pub(super) fn along<'s>(schema: &'s ArraySchema, columns: &[String]) -> Option<&'s Dimension> {
    schema.domain.row_numbers(schema.array_type).filter(|dimension| !columns.contains(&dimension.name))
}

/// The number of the first row that is added to an array: one after the last that was ever written.
pub(super) fn next(array: &Array, dimension: &Dimension) -> u64 {
    let last = array.bounds().and_then(|bounds| bounds.into_iter().next()).map(|range| number(&range.high));
    let first = dimension.domain.as_ref().map_or(0, |(low, _)| number(low));
    last.map_or(first, |last| last.saturating_add(1))
}

/// The numbers of rows, as a column. Numbers that are too large are outside every domain.
pub(super) fn column(dimension: &Dimension, first: u64, count: u64) -> Buffers {
    let numbers = (0..count).flat_map(|row| first.saturating_add(row).to_le_bytes());
    Buffers { name: dimension.name.clone(), data: numbers.collect(), offsets: None, validity: None }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_no_column() {
        let name =
            |columns: &[&str]| name(&columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(name(&["a", "rows"]), "row");
        assert_eq!(name(&["row", "a"]), "row_number");
        assert_eq!(name(&["row_number", "row", "row_number_2"]), "row_number_3");
    }
}
