//! Room for more cells: the domain of a new array is wide, and its current domain grows with what is imported.

use tdb_array::{ArraySchema, ArrayType};
use tdb_codec::Datatype;
use tdb_schema::{Dimension, Domain, Range};

use super::table::{Table, one};
use crate::buffers::Buffers;
use crate::ranges::parse_named;
use crate::value::coordinate_text;

/// The domain of a new dimension that was not given one. Libraries take the whole domain for the tile extent if there
/// is none, so its length must fit the type.
pub(super) fn wide(datatype: Datatype, span: &Range) -> Result<Range, String> {
    let (low, high) = match datatype {
        Datatype::Int64 => ("-4000000000000000000", "4000000000000000000"),
        // A domain cannot contain all values of its type.
        Datatype::Uint64 if span.high == u64::MAX.to_le_bytes() => return Ok(span.clone()),
        Datatype::Uint64 => ("0", "18446744073709551614"),
        Datatype::Float64 => ("-1e300", "1e300"),
        Datatype::DatetimeMs => ("0001-01-01", "9999-12-31T23:59:59.999"),
        _ => ("0001-01-01", "9999-12-31"),
    };
    let mut wide = Range::new(one(datatype, low)?, one(datatype, high)?);
    wide.unite(datatype, span);
    Ok(wide)
}

/// Replaces the domains of new dimensions by those that were given as `DIM=LO..HI`.
pub(super) fn limit(dimensions: &mut [Dimension], given: &[String]) -> Result<(), String> {
    let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions.to_vec()));
    for text in given {
        let (index, ends) = parse_named(&schema, "--domain", text)?;
        let Some(dimension) = dimensions.get_mut(index) else { continue };
        let Some((low, high)) = &mut dimension.domain else {
            return Err(format!("--domain: dimension {:?} is text, which has no domain", dimension.name));
        };
        *low = ends.low.unwrap_or_else(|| low.clone());
        *high = ends.high.unwrap_or_else(|| high.clone());
    }
    Ok(())
}

/// The current domain that an array needs to hold these cells; `None` if they fit already, or if there is none.
/// Returns an error for the first cell outside the domain, which cannot grow.
pub(super) fn growth(
    schema: &ArraySchema,
    table: &Table,
    columns: &[Buffers],
) -> Result<Option<Vec<Range>>, String> {
    if schema.array_type == ArrayType::Dense {
        return Ok(None);
    }
    let mut ranges = schema.current_domain.as_ref().map(|current| current.ranges.clone()).unwrap_or_default();
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let Some(column) = columns.iter().find(|column| column.name == dimension.name) else { continue };
        let mut range = ranges.get_mut(index);
        for (row, value) in values(column, dimension).enumerate() {
            if !is_inside(dimension, value) {
                let line = table.line(row).unwrap_or_default();
                return Err(outside(dimension, &format!("line {line}"), value));
            }
            if let Some(range) = range.as_deref_mut().filter(|range| !is_open(dimension, range)) {
                range.unite(dimension.datatype, &Range::new(value, value));
            }
        }
    }
    let grows = schema.current_domain.as_ref().is_some_and(|current| current.ranges != ranges);
    Ok(grows.then_some(ranges))
}

/// Why a coordinate cannot be written, and what its user can do about it.
pub(super) fn outside(dimension: &Dimension, place: &str, value: &[u8]) -> String {
    let (low, high) = dimension.domain.clone().unwrap_or_default();
    let [value, low, high] = [value, &low, &high].map(|value| coordinate_text(dimension, value));
    let name = &dimension.name;
    format!(
        "{place}, column {name:?}: {value} is outside its domain, {low}..{high}; a domain cannot grow: import all cells into a \
         new array with --domain '{name}=LO..HI'"
    )
}

/// Whether a coordinate is in the domain. A NaN never is.
pub(super) fn is_inside(dimension: &Dimension, value: &[u8]) -> bool {
    let domain = dimension.domain.as_ref().map(|(low, high)| Range::new(low.as_slice(), high.as_slice()));
    domain.is_none_or(|domain| domain.contains(dimension.datatype, value))
}

/// What changes, dimension by dimension.
pub(super) fn shown(schema: &ArraySchema, ranges: &[Range]) -> Vec<String> {
    let before = schema.current_domain.iter().flat_map(|current| &current.ranges);
    let grown = schema.domain.dimensions.iter().zip(before.zip(ranges));
    let grown = grown.filter(|(_, (before, after))| before != after);
    let text = |(dimension, (_, after)): (&Dimension, (&Range, &Range))| {
        let [low, high] = [&after.low, &after.high].map(|end| coordinate_text(dimension, end));
        format!("{}={low}..{high}", dimension.name)
    };
    grown.map(text).collect()
}

/// An empty high end of an interval of strings means that the interval is open.
fn is_open(dimension: &Dimension, range: &Range) -> bool {
    dimension.is_var() && range.high.is_empty()
}

fn values<'b>(column: &'b Buffers, dimension: &Dimension) -> Box<dyn Iterator<Item = &'b [u8]> + 'b> {
    match &column.offsets {
        None => Box::new(column.data.chunks_exact(dimension.datatype.size())),
        Some(offsets) => Box::new(offsets.windows(2).map(|ends| {
            let [low, high] = ends else { return Default::default() };
            let (low, high) = (usize::try_from(*low).unwrap_or(0), usize::try_from(*high).unwrap_or(0));
            column.data.get(low..high).unwrap_or_default()
        })),
    }
}
