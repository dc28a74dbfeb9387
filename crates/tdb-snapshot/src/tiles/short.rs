//! Dense tiles that libtiledb, since 2.7, stores with fewer cells than their extents have.
//!
//! It multiplies the extents in the type of the dimensions ("Tiles of more cells than their type counts" in
//! docs/correctness_issues.md), so that the number of cells wraps around. It can only write cells that are among the
//! first cells of a tile, up to this number; 2.7 and its neighbours also write others, and cut the tile behind the last one. The
//! cells that such a tile lacks were not written.

use tdb_codec::{ArrayType, FormatVersion, Gate, to_usize};
use tdb_schema::ArraySchema;

/// How many bytes a tile may have that lacks cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// These: of the cells that libtiledb counted.
    Counted(usize),
    /// Any number of cells of this size: up to the last one that was written.
    Written(usize),
}

impl Short {
    /// The number of the `len` bytes of a tile that are stored; `found` is what its chunks add up to.
    pub(super) fn stored(self, found: u64, len: usize) -> usize {
        let may_be = |bytes: usize| match self {
            Self::Counted(counted) => bytes == counted,
            Self::Written(cell) => bytes > 0 && bytes.is_multiple_of(cell.max(1)),
        };
        to_usize(found).filter(|found| *found < len && may_be(*found)).unwrap_or(len)
    }
}

/// Whether the tiles of a fragment may lack cells, and how many of `cell_size` bytes they then have. `writer` is the version of the
/// library that wrote the fragment.
pub(super) fn short(schema: &ArraySchema, writer: FormatVersion, cell_size: usize) -> Option<Short> {
    // libtiledb 2.7 cuts a tile behind the last cell that was written; later ones write only what they count.
    let until_last = writer.has(Gate::NarrowTileCells) && !writer.has(Gate::MendedSmallIntegers);
    if until_last && exceeds_type(schema) {
        return Some(Short::Written(cell_size));
    }
    counted_cells(schema).map(|cells| Short::Counted(cells.saturating_mul(cell_size)))
}

/// Whether a tile has more cells than the type of the dimensions can count.
pub fn exceeds_type(schema: &ArraySchema) -> bool {
    let dimensions = &schema.domain.dimensions;
    let bits = dimensions.first().map_or(0, |first| first.datatype.size().saturating_mul(8));
    let cells = dimensions
        .iter()
        .try_fold(1u128, |cells, dimension| cells.checked_mul(u128::from(dimension.extent_cells()?)));
    schema.array_type == ArrayType::Dense && cells.is_some_and(|cells| bits < 128 && cells >> bits > 0)
}

/// The number of cells that libtiledb counts in a dense tile of an array, if it does not count all of them.
fn counted_cells(schema: &ArraySchema) -> Option<usize> {
    let dimensions = &schema.domain.dimensions;
    if schema.array_type != ArrayType::Dense {
        return None;
    }
    let (mut all, mut counted) = (1u64, 1u64);
    for dimension in dimensions {
        let extent = dimension.extent_cells()?;
        all = all.checked_mul(extent)?;
        // Factors are truncated to the type; products of small types are not.
        counted = match dimension.datatype.size() {
            1 => (counted & 0xff).checked_mul(extent)?,
            2 => (counted & 0xffff).checked_mul(extent).filter(|cells| i32::try_from(*cells).is_ok())?,
            4 => (counted & 0xffff_ffff).checked_mul(extent)? & 0xffff_ffff,
            _ => return None,
        };
    }
    usize::try_from(counted).ok().filter(|_| counted > 0 && counted < all)
}

#[cfg(test)]
mod tests {
    use tdb_codec::{CellValNum, Datatype};
    use tdb_schema::{Attribute, Dimension};

    use super::*;

    fn schema(array_type: ArrayType, extents: &[u8]) -> ArraySchema {
        let new = if array_type == ArrayType::Dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let dimensions = extents.iter().enumerate();
        let schema = dimensions.fold(new, |schema, (index, extent)| {
            schema.dimension(Dimension::new(format!("d{index}"), 0u8..=200).with_tile(*extent))
        });
        schema.attribute(Attribute::new("a", Datatype::Int8, CellValNum::ONE)).build().unwrap()
    }

    #[test]
    fn products_wrap_as_in_libtiledb_but_for_the_last() {
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[25, 17, 10])), Some(1690));
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[16, 17, 1])), Some(16));
    }

    #[test]
    fn a_tile_of_2_7_may_end_behind_any_cell_where_the_type_does_not_count_all() {
        let version = |number| FormatVersion::parse(number).unwrap();
        let wide = schema(ArrayType::Dense, &[28, 7, 21]);
        assert_eq!(short(&wide, version(11), 2), Some(Short::Written(2)));
        assert_eq!(short(&wide, version(22), 2), None);
        assert_eq!(short(&schema(ArrayType::Dense, &[5, 5, 5]), version(11), 2), None);
        let short = Short::Written(2);
        assert_eq!(
            [7840, 7841, 0, 8232, 9000].map(|found| short.stored(found, 8232)),
            [7840, 8232, 8232, 8232, 8232]
        );
        assert_eq!([6, 8].map(|found| Short::Counted(6).stored(found, 10)), [6, 10]);
    }

    #[test]
    fn tiles_whose_cells_the_type_counts_are_whole() {
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[25, 10, 17])), None);
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[50, 50])), None);
        assert_eq!(counted_cells(&schema(ArrayType::Sparse, &[25, 17, 10])), None);
    }
}
