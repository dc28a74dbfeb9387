//! Dense tiles that libtiledb, since 2.7, stores with fewer cells than their extents have.
//!
//! It multiplies the extents in the type of the dimensions ("Tiles of more cells than their type counts" in
//! docs/correctness_issues.md), so that the number of cells wraps around. It can only write cells that are among the
//! first cells of a tile, up to this number. The cells that such a tile lacks were not written.

use tdb_codec::ArrayType;
use tdb_schema::ArraySchema;

/// The number of cells that libtiledb counts in a dense tile of an array, if it does not count all of them.
pub(super) fn counted_cells(schema: &ArraySchema) -> Option<usize> {
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
    fn tiles_whose_cells_the_type_counts_are_whole() {
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[25, 10, 17])), None);
        assert_eq!(counted_cells(&schema(ArrayType::Dense, &[50, 50])), None);
        assert_eq!(counted_cells(&schema(ArrayType::Sparse, &[25, 17, 10])), None);
    }
}
