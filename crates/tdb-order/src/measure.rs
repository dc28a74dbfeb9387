//! Measures the coordinates of a dimension: the range of numbers, the common prefix of strings. The
//! number of bits that a sort key needs follows from it.

use tdb_codec::{Native, PhysicalVisitor};
use tdb_schema::Dimension;

use super::sort::useful_threads;
use super::table::{CellTable, Piece};
use crate::bits::{float_bits, integer};
use crate::{OrInternal, Result, parallel};

/// The range of the values of a dimension, as distances from the start of its domain, or as the
/// ordered bits of reals.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueRange {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// The common prefix of the strings of a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringStats {
    pub(super) prefix: usize,
    /// Bytes of the longest string after the prefix.
    pub(super) longest: usize,
}

/// The common prefix of a dimension's strings; `None` without cells.
pub(super) fn string_stats(
    threads: usize,
    table: &CellTable<'_>,
    dimension: usize,
) -> Result<Option<StringStats>> {
    let Some(model) = table.pieces().first().map(|piece| table.value(piece, dimension, 0)) else {
        return Ok(None);
    };
    let found = map_pieces(threads, table, |piece| {
        let (mut prefix, mut longest) = (model.len(), 0usize);
        for index in 0..piece.cells {
            let value = table.value(piece, dimension, index);
            longest = longest.max(value.len());
            let shared = value.get(..prefix).is_some_and(|start| model.starts_with(start));
            if !shared {
                prefix = model.iter().zip(value).take_while(|(a, b)| a == b).count();
            }
        }
        Ok((prefix, longest))
    })?;
    let prefix = found.iter().map(|(prefix, _)| *prefix).min().unwrap_or(0);
    let longest = found.iter().map(|(_, longest)| *longest).max().unwrap_or(0);
    let longest = longest.checked_sub(prefix).or_internal("a prefix that is longer than its strings")?;
    Ok(Some(StringStats { prefix, longest }))
}

/// The range of a dimension's numbers.
pub(super) fn value_range(
    threads: usize,
    table: &CellTable<'_>,
    dimension: &Dimension,
    index: usize,
) -> Result<ValueRange> {
    let found = map_pieces(threads, table, |piece| {
        let values = table.fixed_values(piece, index).or_internal("cells without their coordinates")?;
        Ok(dimension.datatype.physical().visit(MeasureRange { values, dimension }))
    })?;
    let min = found.iter().map(|range| range.min).min().unwrap_or(0);
    let max = found.iter().map(|range| range.max).max().unwrap_or(0);
    Ok(ValueRange { min: min.min(max), max })
}

/// The results of a function for all pieces of a table, in their order.
fn map_pieces<R: Send>(
    threads: usize,
    table: &CellTable<'_>,
    find: impl Fn(&Piece) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = useful_threads(threads, table.cells());
    parallel::run(threads, table.pieces().iter().collect(), || (), |piece: &Piece, ()| find(piece))
}

/// Finds the least and the greatest value.
struct MeasureRange<'a> {
    values: &'a [u8],
    dimension: &'a Dimension,
}

impl PhysicalVisitor for MeasureRange<'_> {
    type Output = ValueRange;

    fn visit<T: Native>(self) -> ValueRange {
        let low = domain_low::<T>(self.dimension);
        let mut range = ValueRange { min: u64::MAX, max: 0 };
        for value in self.values.chunks_exact(T::SIZE) {
            let word = if T::PHYSICAL.is_float() {
                float_bits(value)
            } else {
                integer(value, T::PHYSICAL.is_signed_integer()).wrapping_sub(low)
            };
            range.min = range.min.min(word);
            range.max = range.max.max(word);
        }
        range
    }
}

/// The low end of a dimension's domain, in the form of [`integer`].
pub(super) fn domain_low<T: Native>(dimension: &Dimension) -> u64 {
    let low = dimension.domain.as_ref().map_or(&[][..], |(low, _)| low);
    integer(low, T::PHYSICAL.is_signed_integer())
}
