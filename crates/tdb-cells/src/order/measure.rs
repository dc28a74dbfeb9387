//! What the values of a dimension are like: the range of numbers, the common prefix of strings.
//! Keys need as many bits as that leaves.

use tdb_codec::{Native, PhysicalVisitor};
use tdb_schema::Dimension;

use super::sort::useful_threads;
use super::table::{CellTable, CoordinatesRef, Piece};
use super::{float_bits, integer};
use crate::{Result, parallel};

/// The range of the values of a dimension, as distances from the start of its domain, or as the
/// ordered bits of reals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// The common prefix of the strings of a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) prefix: usize,
    /// Bytes of the longest string after the prefix.
    pub(super) longest: usize,
}

pub(super) fn text(threads: usize, table: &CellTable<'_>, dimension: usize) -> Result<Option<Text>> {
    let Some(model) = table.pieces().first().map(|piece| table.value(piece, dimension, 0)) else {
        return Ok(None);
    };
    let found = of_pieces(threads, table, |piece| {
        let (mut prefix, mut longest) = (model.len(), 0usize);
        for index in 0..piece.cells {
            let value = table.value(piece, dimension, index);
            longest = longest.max(value.len());
            let shared = value.get(..prefix).is_some_and(|start| model.starts_with(start));
            if !shared {
                prefix = model.iter().zip(value).take_while(|(a, b)| a == b).count();
            }
        }
        (prefix, longest)
    })?;
    let prefix = found.iter().map(|(prefix, _)| *prefix).min().unwrap_or(0);
    let longest = found.iter().map(|(_, longest)| *longest).max().unwrap_or(0).saturating_sub(prefix);
    Ok(Some(Text { prefix, longest }))
}

pub(super) fn spread(
    threads: usize,
    table: &CellTable<'_>,
    dimension: &Dimension,
    index: usize,
) -> Result<Spread> {
    let found = of_pieces(threads, table, |piece| {
        let size = dimension.datatype.size();
        let start = piece.at.saturating_mul(size);
        let end = start.saturating_add(piece.cells.saturating_mul(size));
        let CoordinatesRef { values, .. } = table.coordinates(piece, index);
        let values = values.get(start..end).unwrap_or_default();
        dimension.datatype.physical().visit(Measure { values, dimension })
    })?;
    let min = found.iter().map(|spread| spread.min).min().unwrap_or(0);
    let max = found.iter().map(|spread| spread.max).max().unwrap_or(0);
    Ok(Spread { min: min.min(max), max })
}

/// What is found of each piece of a table.
fn of_pieces<R: Send>(
    threads: usize,
    table: &CellTable<'_>,
    find: impl Fn(&Piece) -> R + Sync,
) -> Result<Vec<R>> {
    let threads = useful_threads(threads, table.cells());
    parallel::run(threads, table.pieces().iter().collect(), || (), |piece: &Piece, ()| Ok(find(piece)))
}

/// Finds the least and the greatest value.
struct Measure<'a> {
    values: &'a [u8],
    dimension: &'a Dimension,
}

impl PhysicalVisitor for Measure<'_> {
    type Output = Spread;

    fn visit<T: Native>(self) -> Spread {
        let low = domain_low::<T>(self.dimension);
        let mut spread = Spread { min: u64::MAX, max: 0 };
        for value in self.values.chunks_exact(T::SIZE) {
            let word = if T::PHYSICAL.is_float() {
                float_bits(value)
            } else {
                integer(value, T::PHYSICAL.is_signed_integer()).wrapping_sub(low)
            };
            spread.min = spread.min.min(word);
            spread.max = spread.max.max(word);
        }
        spread
    }
}

pub(super) fn domain_low<T: Native>(dimension: &Dimension) -> u64 {
    let low = dimension.domain.as_ref().map_or(&[][..], |(low, _)| low);
    integer(low, T::PHYSICAL.is_signed_integer())
}
