//! Metadata of an Arrow schema in addition to what `tdb-arrow` stores: the values of enumerations,
//! and the part of a dense array that the cells are.

use std::collections::HashMap;

use arrow_schema::Schema;
use tdb_array::schema::{ArraySchema, ArrayType, Enumeration, FormatVersion, Range};
use tdb_array::{Array, Layout, Read};
use tdb_arrow::Error;

use crate::error::Result;

/// In the metadata of a schema: the order of dense cells, and their range in each dimension.
pub const SUBARRAY: &str = "tdb:subarray";
/// In the metadata of a schema: the values of the enumeration whose name follows, as the format
/// stores them.
const ENUMERATION: &str = "tdb:enumeration_values:";

/// The metadata key of the values of an enumeration.
#[must_use]
pub fn enumeration_key(name: &str) -> String {
    format!("{ENUMERATION}{name}")
}

/// A box of cells of a dense array, and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subarray {
    pub(crate) order: Layout,
    pub(crate) ranges: Vec<Range>,
}

impl Subarray {
    /// The box of a dense array with this range in each dimension. Its cells are in the order in
    /// which the array's tiles are stored, so that they can be written again as a stream.
    #[must_use]
    pub fn new(schema: &ArraySchema, ranges: Vec<Range>) -> Self {
        let order = if schema.tile_order == Layout::ColMajor { Layout::ColMajor } else { Layout::RowMajor };
        Self { order, ranges }
    }

    /// The box of a dense array that has been written; `None` for a sparse array, and if nothing
    /// was.
    #[must_use]
    pub fn written(array: &Array) -> Option<Self> {
        let dense = array.schema().array_type == ArrayType::Dense;
        dense.then(|| array.bounds()).flatten().map(|ranges| Self::new(array.schema(), ranges))
    }

    /// The box in the metadata of a file's schema, if there is one.
    ///
    /// # Errors
    /// Metadata that is not what an export writes.
    pub fn stored(arrow: &Schema) -> Result<Option<Self>> {
        subarray(arrow)
    }

    /// The order of the cells: row-major or column-major.
    #[must_use]
    pub const fn order(&self) -> Layout {
        self.order
    }

    /// The range in each dimension.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// A read of these cells, in their order, with their coordinates.
    pub fn read(&self, array: &Array) -> Read {
        let schema = array.schema();
        let read = array.read().fields(schema.fields().map(|field| field.name)).order(self.order);
        schema.domain.dimensions.iter().zip(&self.ranges).fold(read, |read, (dimension, range)| {
            read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()))
        })
    }

    fn to_text(&self) -> String {
        let order = if self.order == Layout::ColMajor { "col-major" } else { "row-major" };
        let ends = self.ranges.iter().map(|range| format!(" {}..{}", hex(&range.low), hex(&range.high)));
        order.chars().chain(ends.collect::<String>().chars()).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let order = match words.next()? {
            "row-major" => Layout::RowMajor,
            "col-major" => Layout::ColMajor,
            _ => return None,
        };
        let range = |word: &str| {
            let (low, high) = word.split_once("..")?;
            Some(Range::new(bytes(low)?, bytes(high)?))
        };
        Some(Self { order, ranges: words.map(range).collect::<Option<_>>()? })
    }
}

/// Adds what a file needs to become the array again.
pub(crate) fn put(
    metadata: &mut HashMap<String, String>,
    array: &Array,
    subarray: Option<&Subarray>,
) -> Result<()> {
    for entry in &array.schema().enumerations {
        if let Some(enumeration) = array.enumeration(&entry.name)? {
            let key = enumeration_key(&entry.name);
            let stored = enumeration.to_bytes(FormatVersion::CURRENT);
            let stored = stored.map_err(|error| wrong(&key, error.to_string()))?;
            metadata.insert(key, hex(&stored));
        }
    }
    if let Some(subarray) = subarray {
        metadata.insert(SUBARRAY.to_owned(), subarray.to_text());
    }
    Ok(())
}

/// The box in the metadata of a schema.
pub(crate) fn subarray(schema: &Schema) -> Result<Option<Subarray>> {
    let text = schema.metadata().get(SUBARRAY);
    let parsed = text.map(|text| {
        Subarray::parse(text).ok_or_else(|| wrong(SUBARRAY, "it is not an order and ranges".to_owned()))
    });
    Ok(parsed.transpose()?)
}

/// The enumerations in the metadata of a schema.
pub(crate) fn enumerations(schema: &Schema) -> Result<Vec<Enumeration>> {
    let stored = schema.metadata().iter().filter(|(key, _)| key.starts_with(ENUMERATION));
    let parsed = stored.map(|(key, text)| {
        let stored = bytes(text).ok_or_else(|| wrong(key, "it is not in hexadecimal digits".to_owned()))?;
        Enumeration::parse(&stored).map_err(|error| wrong(key, error.to_string()))
    });
    Ok(parsed.collect::<Result<_, _>>()?)
}

fn wrong(key: &str, why: String) -> Error {
    Error::Metadata { key: key.to_owned(), why }
}

fn hex(bytes: &[u8]) -> String {
    tdb_arrow::metadata::to_hex(bytes)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    tdb_arrow::metadata::from_hex(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_text_and_text_that_is_none_is_refused() {
        let ranges = vec![Range::new([1, 0], [255, 2]), Range::new([0], [9])];
        for order in [Layout::RowMajor, Layout::ColMajor] {
            let subarray = Subarray { order, ranges: ranges.clone() };
            assert_eq!(Subarray::parse(&subarray.to_text()), Some(subarray));
        }
        assert_eq!(Subarray::parse("row-major"), Some(Subarray { order: Layout::RowMajor, ranges: vec![] }));
        for text in
            ["", "unordered 00..01", "row-major 00", "row-major 0..1", "row-major é..00", "row-major  00..01"]
        {
            assert_eq!(Subarray::parse(text), None, "{text}");
        }
    }
}
