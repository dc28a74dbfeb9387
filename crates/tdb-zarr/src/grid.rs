//! Fields of dense arrays: each chunk is a box of cells.

use bytes::Bytes;
use tdb_array::error::QueryError;
use tdb_array::schema::{ArraySchema, Dimension, Range};
use tdb_array::stored::Fragment;
use tdb_array::{Array, Layout};
use tdb_cells::OrInternal;

use crate::Result;
use crate::chunk::Content;
use crate::thresholds::{MAX_CHUNK_BYTES, MAX_DIMENSIONS, MAX_SHAPE};

/// A dimension as an axis: positions are distances from the low end of its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// The number of positions.
    pub(crate) count: u64,
    /// The positions of a chunk.
    pub(crate) chunk: u64,
}

/// Where the cells of a dense field are.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// The label whose array has the field, if it is not the array itself.
    pub(crate) label: Option<String>,
    /// The field.
    pub(crate) field: String,
    /// The axes.
    pub(crate) sides: Vec<Side>,
}

/// Positions along one axis: the first and the last.
type Span = (u64, u64);

/// The axes of a dense array, or why it has none that Zarr could have.
pub(crate) fn sides(schema: &ArraySchema) -> Result<Vec<Side>, String> {
    let count = schema.domain.dimensions.len();
    if count > MAX_DIMENSIONS {
        return Err(format!(
            "it has {count} dimensions, and Zarr's readers, whose arrays are numpy's, have {MAX_DIMENSIONS} \
             at most"
        ));
    }
    let current = schema.current_domain.as_ref();
    let side = |(at, dimension): (usize, &Dimension)| {
        let range = current.and_then(|current| current.ranges.get(at));
        let last = match range {
            Some(range) => dimension.ordinal(&range.high),
            None => dimension.last_ordinal(),
        };
        let count = last.and_then(|last| last.checked_add(1)).filter(|count| *count <= MAX_SHAPE);
        let count = count.ok_or_else(|| {
            format!("dimension \"{}\" has more positions than Zarr's readers count", dimension.name)
        })?;
        Ok(Side { count, chunk: dimension.extent_cells().unwrap_or(count).clamp(1, count) })
    };
    schema.domain.dimensions.iter().enumerate().map(side).collect()
}

/// The same axes with smaller chunks if those of a field would be too large: halves of tiles,
/// quarters, and so on, along the slowest axes first.
pub(crate) fn fitted(mut sides: Vec<Side>, content: &Content) -> Vec<Side> {
    let cell = content.weight();
    let bytes = |sides: &[Side]| sides.iter().try_fold(cell, |bytes, side| bytes.checked_mul(side.chunk));
    let fits = |sides: &[Side]| bytes(sides).is_some_and(|bytes| bytes <= MAX_CHUNK_BYTES);
    for at in 0..sides.len() {
        while !fits(&sides) {
            match sides.get_mut(at) {
                Some(side) if side.chunk > 1 => side.chunk = side.chunk.div_ceil(2),
                _ => break,
            }
        }
    }
    sides
}

/// A size as a number of 64 bits.
fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

impl Grid {
    /// A chunk, or `None` if none of its cells were ever written and the fill value says so to
    /// every reader.
    pub(crate) fn chunk(&self, array: &Array, index: &[u64], content: &Content) -> Result<Option<Bytes>> {
        let opened = self.opened(array)?;
        let Some(spans) = self.spans(opened.schema(), index) else { return Ok(None) };
        if content.shown.is_plain(&content.fill) && !is_covered(&opened, &spans) {
            return Ok(None);
        }
        let mut read = opened.read().fields([self.field.as_str()]).order(Layout::RowMajor);
        for (dimension, (low, high)) in opened.schema().domain.dimensions.iter().zip(&spans) {
            let low = dimension.coordinate(*low).or_internal("a position has no coordinate")?;
            let high = dimension.coordinate(*high).or_internal("a position has no coordinate")?;
            read = read.range_bytes(dimension.name.as_str(), Some(low), Some(high));
        }
        let cells = read.collect()?;
        let column = cells.columns().first().or_internal("a result has no column")?;
        let [runs, run, all] = self.place(&spans)?;
        let mut encoder = content.encoder();
        let mut at = 0;
        for number in 0..runs {
            let start = self.start(number, index, &spans)?;
            encoder.pad(start - at)?;
            encoder.take(column, number * run..(number + 1) * run)?;
            at = start + run;
        }
        encoder.pad(all - at)?;
        Ok(Some(encoder.finish()?))
    }

    /// The chunks that have written cells: along each axis the first and the last, for each
    /// fragment.
    pub(crate) fn written(&self, array: &Array) -> Result<Vec<Vec<Span>>> {
        let opened = self.opened(array)?;
        let dimensions = &opened.schema().domain.dimensions;
        let boxes = opened.fragments().iter().map(|fragment| {
            let spans = bounds(dimensions, fragment)?;
            let chunks = self.sides.iter().zip(spans).map(|(side, (low, high))| {
                let last = side.count.checked_sub(1)?;
                (low <= last).then(|| (low / side.chunk, high.min(last) / side.chunk))
            });
            chunks.collect::<Option<Vec<Span>>>()
        });
        Ok(boxes.flatten().collect())
    }

    fn opened(&self, array: &Array) -> Result<Array> {
        match &self.label {
            Some(label) => Ok(array.label(label)?.or_internal("an array lost a label")?),
            None => Ok(array.clone()),
        }
    }

    /// The positions of a chunk that can be read; `None` if there are none.
    fn spans(&self, schema: &ArraySchema, index: &[u64]) -> Option<Vec<Span>> {
        let current = schema.current_domain.as_ref();
        let dimensions = schema.domain.dimensions.iter().enumerate();
        let span = |((at, dimension), (side, index)): ((usize, &Dimension), (&Side, &u64))| {
            let first = index.checked_mul(side.chunk).filter(|first| *first < side.count)?;
            let last = side.count.checked_sub(1)?.min(first.checked_add(side.chunk)? - 1);
            let Some(range) = current.and_then(|current| current.ranges.get(at)) else {
                return Some((first, last));
            };
            let low = dimension.ordinal(&range.low)?.max(first);
            let high = dimension.ordinal(&range.high)?.min(last);
            (low <= high).then_some((low, high))
        };
        dimensions.zip(self.sides.iter().zip(index)).map(span).collect()
    }

    /// The number of runs of cells that lie together in the box and in the chunk, the cells of a
    /// run, and the cells of the chunk.
    fn place(&self, spans: &[Span]) -> Result<[usize; 3]> {
        let length = |(low, high): &Span| high - low + 1;
        let (last, slower) = spans.split_last().or_internal("an array has no dimension")?;
        let numbers = [
            product(slower.iter().map(length)),
            product([length(last)].into_iter()),
            product(self.sides.iter().map(|side| side.chunk)),
        ];
        let [Some(runs), Some(run), Some(all)] = numbers else {
            return Err(QueryError::TooLarge { cells: u128::from(u64::MAX) }.into());
        };
        Ok([runs, run, all])
    }

    /// The number in the chunk of the first cell of a run.
    fn start(&self, run: usize, index: &[u64], spans: &[Span]) -> Result<usize> {
        let mut rest = wide(run);
        let (mut start, mut stride) = (0u64, 1u64);
        let axes = self.sides.iter().zip(index).zip(spans).enumerate().rev();
        for (at, ((side, index), (low, high))) in axes {
            let offset = low - index * side.chunk;
            // The cells of a run follow each other along the last axis.
            let within = if at + 1 == spans.len() {
                0
            } else {
                let length = high - low + 1;
                let within = rest % length;
                rest /= length;
                within
            };
            start += (offset + within) * stride;
            stride *= side.chunk;
        }
        Ok(usize::try_from(start).ok().or_internal("a chunk has more cells than memory has bytes")?)
    }
}

/// The product of numbers of cells, if memory can have so many.
fn product(mut numbers: impl Iterator<Item = u64>) -> Option<usize> {
    numbers.try_fold(1, u64::checked_mul).and_then(|product| usize::try_from(product).ok())
}

/// Whether any fragment has cells in a box. Where that is not known, it does.
fn is_covered(array: &Array, spans: &[Span]) -> bool {
    let dimensions = &array.schema().domain.dimensions;
    array.fragments().iter().any(|fragment| {
        let Some(bounds) = bounds(dimensions, fragment) else { return fragment.bounds().is_some() };
        bounds.iter().zip(spans).all(|((low, high), (first, last))| low <= last && first <= high)
    })
}

/// The positions of a fragment's cells.
fn bounds(dimensions: &[Dimension], fragment: &Fragment) -> Option<Vec<Span>> {
    let span = |(dimension, range): (&Dimension, &Range)| {
        let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
        // A low end before the domain wraps around.
        Some((if low > high { 0 } else { low }, high))
    };
    dimensions.iter().zip(fragment.bounds()?).map(span).collect()
}

/// The coordinates of a dimension, as an array of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinates {
    /// The number of the dimension.
    pub(crate) dimension: usize,
    /// Its axis.
    pub(crate) side: Side,
}

impl Coordinates {
    /// A chunk.
    pub(crate) fn chunk(&self, array: &Array, index: &[u64], content: &Content) -> Result<Option<Bytes>> {
        let [index] = index else { return Ok(None) };
        let first = index.checked_mul(self.side.chunk).filter(|first| *first < self.side.count);
        let Some(first) = first else { return Ok(None) };
        let dimension = array.schema().domain.dimensions.get(self.dimension);
        let dimension = dimension.or_internal("an array lost a dimension")?;
        let last = self.side.count.min(first + self.side.chunk);
        let mut encoder = content.encoder();
        for position in first..last {
            encoder.push(&dimension.coordinate(position).or_internal("a position has no coordinate")?)?;
        }
        let padding = usize::try_from(first + self.side.chunk - last);
        encoder.pad(padding.ok().or_internal("a chunk has more cells than memory has bytes")?)?;
        Ok(Some(encoder.finish()?))
    }
}

/// Whether positions along a dimension are its coordinates.
pub(crate) fn is_counted_from_zero(dimension: &Dimension) -> bool {
    let zero = |(low, _): &(Vec<u8>, Vec<u8>)| low.iter().all(|byte| *byte == 0);
    let plain = !dimension.datatype.is_datetime() && !dimension.datatype.is_time();
    plain && dimension.domain.as_ref().is_some_and(zero)
}

#[cfg(test)]
mod tests {
    use tdb_array::schema::{Attribute, CellValNum, Datatype};

    use super::*;
    use crate::chunk::Part;
    use crate::form::Shown;

    #[test]
    fn chunks_are_tiles_cut_at_the_end_of_the_domain_or_of_the_current_one() {
        let schema = |current: Option<Vec<Range>>| {
            let mut schema = ArraySchema::dense()
                .dimension(Dimension::new("x", -3i32..=96).with_tile(30i32))
                .dimension(Dimension::new("y", 1i32..=7).with_tile(5i32))
                .attribute(Attribute::of::<i32>("a"));
            if let Some(current) = current {
                schema = schema.current_domain(current);
            }
            schema.build().unwrap()
        };
        let side = |count, chunk| Side { count, chunk };
        assert_eq!(sides(&schema(None)).unwrap(), [side(100, 30), side(7, 5)]);
        let ranges = vec![
            Range::new((-3i32).to_le_bytes(), 6i32.to_le_bytes()),
            Range::new(2i32.to_le_bytes(), 4i32.to_le_bytes()),
        ];
        assert_eq!(sides(&schema(Some(ranges))).unwrap(), [side(10, 10), side(4, 4)]);
    }

    #[test]
    fn a_domain_that_no_reader_can_count_is_refused_by_its_dimension() {
        let schema = ArraySchema::dense()
            .dimension(Dimension::new("x", 0u64..=(1 << 63)).with_tile(10u64))
            .attribute(Attribute::of::<i32>("a"));
        let refused = sides(&schema.build().unwrap()).unwrap_err();
        assert_eq!(refused, "dimension \"x\" has more positions than Zarr's readers count");
    }

    #[test]
    fn tiles_that_are_too_large_are_cut_along_the_slowest_axes() {
        let shown = Shown::of(Datatype::Float64, CellValNum::ONE).unwrap();
        let content = Content { field: String::new(), part: Part::Values, shown, fill: shown.zeros() };
        let large = Side { count: 1 << 40, chunk: 1 << 20 };
        let cut = fitted(vec![large, large], &content);
        assert_eq!(cut.iter().map(|side| side.chunk).collect::<Vec<_>>(), [1 << 5, 1 << 20]);
        assert_eq!(fitted(vec![Side { count: 9, chunk: 3 }], &content), [Side { count: 9, chunk: 3 }]);
    }
}
