//! Room for more cells: the domain of a new array is wide, and its current domain grows with what
//! is imported.

use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_codec::{Datatype, Physical, to_usize};
use tdb_schema::{Dimension, Domain, Range};
use tdb_text::value::coordinate_text;

use super::convert::one;
use super::table::Table;
use crate::buffers::Buffers;
use crate::ranges::parse_named;

/// The domain of a new dimension that was not given one, with room for these coordinates. Libraries
/// take the whole domain for the tile extent if there is none, so its length must fit the type.
pub(super) fn wide(datatype: Datatype, span: Option<&Range>) -> Result<Range, String> {
    let (low, high) = match (datatype, datatype.physical()) {
        (Datatype::DatetimeDay, _) => ("0001-01-01".to_owned(), "9999-12-31".to_owned()),
        (Datatype::DatetimeMs, _) => ("0001-01-01".to_owned(), "9999-12-31T23:59:59.999".to_owned()),
        (Datatype::DatetimeUs, _) => ("0001-01-01".to_owned(), "9999-12-31T23:59:59.999999".to_owned()),
        (_, Physical::F32) => ("-1e30".to_owned(), "1e30".to_owned()),
        (_, Physical::F64) => ("-1e300".to_owned(), "1e300".to_owned()),
        (Datatype::Int64, _) => ("-4000000000000000000".to_owned(), "4000000000000000000".to_owned()),
        (_, physical) => {
            let bits = u32::try_from(datatype.size().saturating_mul(8)).unwrap_or(64).min(64);
            let values = 1u128 << bits;
            if matches!(physical, Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64) {
                // A domain cannot contain all values of its type.
                let last = values.saturating_sub(1).to_le_bytes();
                if let Some(span) = span.filter(|span| last.starts_with(&span.high)) {
                    return Ok(span.clone());
                }
                ("0".to_owned(), values.saturating_sub(2).to_string())
            } else {
                let half = (values / 4).saturating_sub(1);
                (format!("-{half}"), half.to_string())
            }
        }
    };
    let mut wide = Range::new(one(datatype, &low)?, one(datatype, &high)?);
    if let Some(span) = span {
        wide.unite(datatype, span);
        if !Dimension::fixed("", datatype, wide.low.clone(), wide.high.clone()).fits_its_type() {
            return Ok(span.clone());
        }
    }
    Ok(wide)
}

/// Returns an error if a dimension would need all values of its type, which no domain may have.
/// `remedy` says how its column gets another type, whose name it is given.
pub(super) fn refuse_whole_type(
    dimension: &Dimension,
    remedy: impl FnOnce(&str) -> String,
) -> Result<(), String> {
    let Some((low, high)) = &dimension.domain else { return Ok(()) };
    let bits = u32::try_from(dimension.datatype.size().saturating_mul(8)).unwrap_or(u64::BITS);
    if dimension.last_ordinal().is_none_or(|last| u128::from(last).saturating_add(1) != 1u128 << bits) {
        return Ok(());
    }
    let wider = match dimension.datatype.physical() {
        Physical::I8 => "int16",
        Physical::U8 => "uint16",
        Physical::I16 => "int32",
        Physical::U16 => "uint32",
        Physical::I32 => "int64",
        Physical::U32 => "uint64",
        // Text is longer, and in another order, but it loses nothing.
        _ => "string",
    };
    let [low, high] = [low, high].map(|end| coordinate_text(dimension, end));
    Err(format!(
        "column {:?}: the coordinates from {low} to {high} are all values of {}, of which the domain of a dimension must leave out \
         one: {}",
        dimension.name,
        dimension.datatype,
        remedy(wider)
    ))
}

/// Replaces the domains of new dimensions by those that were given as `DIM=LO..HI`, and returns the
/// numbers of these dimensions.
pub(super) fn limit(dimensions: &mut [Dimension], given: &[String]) -> Result<Vec<usize>, String> {
    let mut limited = Vec::new();
    let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions.to_vec()));
    for text in given {
        let (index, ends) = parse_named(&schema, "--domain", text)?;
        let Some(dimension) = dimensions.get_mut(index) else { continue };
        let Some((low, high)) = &mut dimension.domain else {
            return Err(format!("--domain: dimension {:?} is text, which has no domain", dimension.name));
        };
        *low = ends.low.unwrap_or_else(|| low.clone());
        *high = ends.high.unwrap_or_else(|| high.clone());
        limited.push(index);
    }
    Ok(limited)
}

/// The current domain that an array needs to hold what is imported.
#[derive(Debug)]
pub(super) struct Growth<'s> {
    schema: &'s ArraySchema,
    ranges: Vec<Range>,
}

impl<'s> Growth<'s> {
    pub(super) fn new(schema: &'s ArraySchema) -> Self {
        let current = schema.current_domain.as_ref();
        Self { schema, ranges: current.map(|current| current.ranges.clone()).unwrap_or_default() }
    }

    /// Adds the coordinates of a table. Returns an error for the first cell outside the domain,
    /// which cannot grow.
    pub(super) fn add(&mut self, table: &Table, columns: &[Buffers]) -> Result<(), String> {
        let rows = to_usize(table.len()).unwrap_or(0);
        for (index, dimension) in self.schema.domain.dimensions.iter().enumerate() {
            let Some(column) = columns.iter().find(|column| column.name == dimension.name) else { continue };
            let mut range = self.ranges.get_mut(index);
            for (row, value) in column.cells(rows).enumerate() {
                if !is_inside(dimension, value) {
                    let line = table.line(row).unwrap_or_default();
                    return Err(outside(dimension, &table.at(line), value));
                }
                if let Some(range) = range.as_deref_mut().filter(|range| !is_open(dimension, range)) {
                    range.unite(dimension.datatype, &Range::new(value, value));
                }
            }
        }
        Ok(())
    }

    /// Adds rows with the numbers from `first` on. Returns an error if the last one is outside the
    /// domain.
    pub(super) fn add_rows(&mut self, dimension: &Dimension, first: u64, rows: u64) -> Result<(), String> {
        let Some(more) = rows.checked_sub(1).filter(|_| self.schema.array_type == ArrayType::Sparse) else {
            return Ok(());
        };
        let last = first.saturating_add(more).to_le_bytes();
        if !is_inside(dimension, &last) {
            return Err(outside(dimension, "the last row", &last));
        }
        self.unite(&[Some(Range::new(first.to_le_bytes(), last))]);
        Ok(())
    }

    /// Adds what was found in other rows.
    pub(super) fn add_growth(&mut self, other: Self) {
        let spans: Vec<_> = other.ranges.into_iter().map(Some).collect();
        self.unite(&spans);
    }

    /// Adds the range of the coordinates in each dimension, which are in the domain.
    pub(super) fn unite(&mut self, spans: &[Option<Range>]) {
        let dimensions = &self.schema.domain.dimensions;
        for ((dimension, range), span) in dimensions.iter().zip(&mut self.ranges).zip(spans) {
            if let Some(span) = span.as_ref().filter(|_| !is_open(dimension, range)) {
                range.unite(dimension.datatype, span);
            }
        }
    }

    /// The current domain; `None` if the array's own is large enough, or if there is none.
    pub(super) fn finish(self) -> Option<Vec<Range>> {
        let grows = self.schema.current_domain.as_ref().is_some_and(|current| current.ranges != self.ranges);
        grows.then_some(self.ranges)
    }
}

/// The error of a coordinate that cannot be written, with a remedy.
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

/// The dimensions that grow, each with its new range.
pub(super) fn shown(schema: &ArraySchema, ranges: &[Range]) -> Vec<(String, String)> {
    let before = schema.current_domain.iter().flat_map(|current| &current.ranges);
    let grown = schema.domain.dimensions.iter().zip(before.zip(ranges));
    let grown = grown.filter(|(_, (before, after))| before != after);
    let text = |(dimension, (_, after)): (&Dimension, (&Range, &Range))| {
        let [low, high] = [&after.low, &after.high].map(|end| coordinate_text(dimension, end));
        (dimension.name.clone(), format!("{low}..{high}"))
    };
    grown.map(text).collect()
}

/// An empty high end of an interval of strings means that the interval is open.
fn is_open(dimension: &Dimension, range: &Range) -> bool {
    dimension.is_var() && range.high.is_empty()
}
