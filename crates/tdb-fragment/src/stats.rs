//! Payloads of the sections that are lists: offsets, statistics, processed conditions.

use tdb_codec::{ErrorKind, FieldRow, Gate, Reader, Result, Structure, Wire, Writer, to_u64, to_usize};

/// The table of a section that is a list of 64-bit integers.
macro_rules! list {
    ($name:literal, $gate:ident) => {
        Structure::new($name, &[FieldRow::new($name, Wire::List).note("one for each tile")])
            .since(Gate::$gate)
            .code("parse_u64_list", "write_u64_list")
    };
}

/// The table of a section with a value for each tile.
macro_rules! values {
    ($name:literal, $gate:ident) => {
        Structure::new(
            $name,
            &[
                FieldRow::new($name, Wire::U64).note("size of the fixed part, in bytes"),
                FieldRow::new($name, Wire::U64).note("size of the var part"),
                FieldRow::new($name, Wire::Bytes)
                    .note("fixed part: a value for each tile, or u64 starts into the var part"),
                FieldRow::new($name, Wire::Bytes).note("var part"),
            ],
        )
        .since(Gate::$gate)
        .code("TileValues::parse", "TileValues::to_bytes")
    };
}

pub(crate) static TILE_OFFSETS: Structure = list!("tile offsets", FragmentFooter);
pub(crate) static VAR_OFFSETS: Structure = list!("tile var offsets", FragmentFooter);
pub(crate) static VAR_SIZES: Structure = list!("tile var sizes", FragmentFooter);
pub(crate) static VALIDITY_OFFSETS: Structure = list!("tile validity offsets", Nullable);
pub(crate) static NULL_COUNTS: Structure = list!("tile null counts", TileStatistics);
pub(crate) static SUMS: Structure = Structure::new(
    "tile sums",
    &[FieldRow::new("tile sums", Wire::List)
        .note("one for each tile: i64, u64 or f64; none if the field has no sum")],
)
.since(Gate::TileStatistics)
.code("parse_words", "write_words");
pub(crate) static MINS: Structure = values!("tile mins", TileStatistics);
pub(crate) static MAXES: Structure = values!("tile maxes", TileStatistics);
pub(crate) static GLOBAL_ORDER_MINS: Structure = values!("tile global order mins", OptionalSections);
pub(crate) static GLOBAL_ORDER_MAXES: Structure = values!("tile global order maxes", OptionalSections);

/// The table of the statistics of a whole fragment.
pub(crate) static FRAGMENT_STATISTICS: Structure = Structure::new(
    "fragment statistics",
    &[FieldRow::new("fragment statistics", Wire::Structure(&FIELD_STATISTICS)).each("slot")],
)
.since(Gate::FragmentStatistics)
.code("parse_fragment_statistics", "write_fragment_statistics");

static FIELD_STATISTICS: Structure = Structure::new(
    "field statistics",
    &[
        FieldRow::new("fragment statistics", Wire::String64).note("smallest value"),
        FieldRow::new("fragment statistics", Wire::String64).note("largest value"),
        FieldRow::new("fragment statistics", Wire::U64).note("sum: i64, u64 or f64"),
        FieldRow::new("fragment statistics", Wire::U64).note("number of nulls"),
    ],
);

/// The table of the list of delete conditions that were applied.
pub(crate) static PROCESSED_CONDITIONS: Structure = Structure::new(
    "processed conditions",
    &[
        FieldRow::new("processed conditions", Wire::U64).note("count"),
        FieldRow::new("processed conditions", Wire::String64).each("condition").note("array-relative path"),
    ],
)
.since(Gate::DeleteMetadata)
.code("parse_names", "write_names");

/// Reads `u64 n` and `n` × `u64`: tile offsets, var offsets, var sizes, validity offsets, null
/// counts.
///
/// ```
/// use tdb_codec::Reader;
///
/// let payload = [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
/// assert_eq!(tdb_fragment::parse_u64_list(Reader::new(&payload), "tile offsets")?, [7]);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// If the payload is truncated, bytes are left over, or a count is more than the payload can
/// contain.
pub fn parse_u64_list(mut reader: Reader<'_>, what: &'static str) -> Result<Vec<u64>> {
    let count = reader.count_u64(8, what)?;
    let values = reader.u64s(count, what)?;
    reader.finish(what)?;
    Ok(values)
}

/// The payload that [`parse_u64_list`] reads.
#[must_use]
pub fn write_u64_list(values: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u64(to_u64(values.len()));
    values.iter().for_each(|value| writer.u64(*value));
    writer.into_vec()
}

/// Reads `u64 n` and `n` × 8 raw bytes: tile sums, whose type follows from the field's type.
///
/// # Errors
/// As [`parse_u64_list`].
pub fn parse_words(reader: Reader<'_>, what: &'static str) -> Result<Vec<[u8; 8]>> {
    Ok(parse_u64_list(reader, what)?.into_iter().map(u64::to_le_bytes).collect())
}

/// The payload that [`parse_words`] reads.
#[must_use]
pub fn write_words(words: &[[u8; 8]]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u64(to_u64(words.len()));
    words.iter().for_each(|word| writer.bytes(word));
    writer.into_vec()
}

/// The payload that [`parse_names`] reads.
#[must_use]
pub fn write_names(names: &[String]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u64(to_u64(names.len()));
    names.iter().for_each(|name| writer.bytes_u64(name.as_bytes()));
    writer.into_vec()
}

/// Reads `u64 n` and `n` × (`u64` length, name): the paths of processed delete conditions.
///
/// ```
/// use tdb_codec::Reader;
///
/// let payload = [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, b'x'];
/// assert_eq!(tdb_fragment::parse_names(Reader::new(&payload), "processed conditions")?, ["x"]);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// If the payload is truncated, bytes are left over, or a name is not valid UTF-8.
pub fn parse_names(mut reader: Reader<'_>, what: &'static str) -> Result<Vec<String>> {
    let count = reader.count_u64(8, what)?;
    let names = (0..count).map(|_| reader.string_u64(what)).collect::<Result<_>>()?;
    reader.finish(what)?;
    Ok(names)
}

/// Minimum or maximum values of a field's tiles: the `u64` length of the fixed part, the `u64`
/// length of the var part, and both parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileValues {
    /// For fixed-size fields, the values one directly after another; for var-length fields, `u64`
    /// starts of the values in `var`.
    pub fixed: Vec<u8>,
    /// The values of a var-length field.
    pub var: Vec<u8>,
}

impl TileValues {
    /// Reads the payload of a mins or maxes section.
    ///
    /// ```
    /// use tdb_codec::Reader;
    /// use tdb_fragment::TileValues;
    ///
    /// // 2 fixed bytes, no var bytes; two tiles of UINT8
    /// let payload = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 9];
    /// let mins = TileValues::parse(Reader::new(&payload), "tile mins")?;
    /// assert_eq!(mins.value(1, Some(1)), Some(&[9][..]));
    /// # Ok::<(), tdb_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the payload is truncated or bytes are left over.
    pub fn parse(mut reader: Reader<'_>, what: &'static str) -> Result<Self> {
        let fixed = reader.u64(what)?;
        let var = reader.u64(what)?;
        let fixed = reader.take_u64(fixed, what)?.to_vec();
        let var = reader.take_u64(var, what)?.to_vec();
        reader.finish(what)?;
        Ok(Self { fixed, var })
    }

    /// The payload that [`Self::parse`] reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(to_u64(self.fixed.len()));
        writer.u64(to_u64(self.var.len()));
        writer.bytes(&self.fixed);
        writer.bytes(&self.var);
        writer.into_vec()
    }

    /// The value of tile `tile`: with `cell_size` bytes, or var-length if `cell_size` is `None`.
    #[must_use]
    pub fn value(&self, tile: usize, cell_size: Option<usize>) -> Option<&[u8]> {
        match cell_size {
            Some(size) => self.fixed.get(tile.checked_mul(size)?..tile.checked_add(1)?.checked_mul(size)?),
            None => {
                let (starts, _) = self.fixed.as_chunks::<8>();
                let start = to_usize(u64::from_le_bytes(*starts.get(tile)?))?;
                let end = match starts.get(tile.checked_add(1)?) {
                    Some(end) => to_usize(u64::from_le_bytes(*end))?,
                    None => self.var.len(),
                };
                self.var.get(start..end)
            }
        }
    }
}

/// Statistics of a whole fragment for one field slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldStatistics {
    /// Smallest value; empty if there is none.
    pub min: Vec<u8>,
    /// Largest value; empty if there is none.
    pub max: Vec<u8>,
    /// Sum, in the field's sum type (`i64`, `u64` or `f64`).
    pub sum: [u8; 8],
    /// Number of null cells.
    pub null_count: u64,
}

/// Reads the fragment statistics section: for each of `slots` field slots `u64` min size, min,
/// `u64` max size, max, 8-byte sum, `u64` null count.
///
/// ```
/// use tdb_codec::Reader;
///
/// let mut payload = vec![1, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 9]; // 3 to 9
/// payload.extend([12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // sum 12, no nulls
/// let statistics = tdb_fragment::parse_fragment_statistics(Reader::new(&payload), 1)?;
/// assert_eq!((statistics[0].max.as_slice(), u64::from_le_bytes(statistics[0].sum)), (&[9][..], 12));
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// If the payload is truncated or bytes are left over.
pub fn parse_fragment_statistics(mut reader: Reader<'_>, slots: usize) -> Result<Vec<FieldStatistics>> {
    const WHAT: &str = "fragment statistics";
    if reader.remaining().checked_div(32).is_none_or(|most| slots > most) {
        return Err(reader.error(WHAT, ErrorKind::CountTooLarge { count: to_u64(slots) }));
    }
    let mut statistics = Vec::with_capacity(slots);
    for _ in 0..slots {
        let min = reader.bytes_u64(WHAT)?.to_vec();
        let max = reader.bytes_u64(WHAT)?.to_vec();
        let sum = reader.array(WHAT)?;
        let null_count = reader.u64(WHAT)?;
        statistics.push(FieldStatistics { min, max, sum, null_count });
    }
    reader.finish(WHAT)?;
    Ok(statistics)
}

/// The payload that [`parse_fragment_statistics`] reads.
#[must_use]
pub fn write_fragment_statistics(statistics: &[FieldStatistics]) -> Vec<u8> {
    let mut writer = Writer::new();
    for FieldStatistics { min, max, sum, null_count } in statistics {
        writer.bytes_u64(min);
        writer.bytes_u64(max);
        writer.bytes(sum);
        writer.u64(*null_count);
    }
    writer.into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_read_back_as_written() {
        let statistics = vec![
            FieldStatistics { min: vec![1], max: vec![2, 3], sum: [4; 8], null_count: 5 },
            FieldStatistics::default(),
        ];
        let payload = write_fragment_statistics(&statistics);
        assert_eq!(parse_fragment_statistics(Reader::new(&payload), 2).unwrap(), statistics);
        let names = vec!["__commits/x.del".to_owned(), String::new()];
        assert_eq!(parse_names(Reader::new(&write_names(&names)), "names").unwrap(), names);
        assert_eq!(parse_u64_list(Reader::new(&write_u64_list(&[7, 9])), "list").unwrap(), [7, 9]);
        assert_eq!(parse_words(Reader::new(&write_words(&[[7; 8]])), "words").unwrap(), [[7; 8]]);
    }

    #[test]
    fn lists_are_bounded_by_their_payload_and_leave_nothing_over() {
        let mut bytes = 2u64.to_le_bytes().to_vec();
        bytes.extend(7u64.to_le_bytes());
        bytes.extend(9u64.to_le_bytes());
        assert_eq!(parse_u64_list(Reader::new(&bytes), "tile offsets").unwrap(), [7, 9]);
        for len in 0..bytes.len() {
            assert!(parse_u64_list(Reader::new(&bytes[..len]), "tile offsets").is_err());
        }
        bytes.push(0);
        let error = parse_u64_list(Reader::new(&bytes), "tile offsets").unwrap_err();
        assert_eq!((error.offset, error.kind), (24, ErrorKind::TrailingBytes { count: 1 }));
    }

    #[test]
    fn var_values_end_where_the_next_begins() {
        let mut fixed = 0u64.to_le_bytes().to_vec();
        fixed.extend(3u64.to_le_bytes());
        let values = TileValues { fixed, var: b"abcde".to_vec() };
        let read = TileValues::parse(Reader::new(&values.to_bytes()), "tile mins").unwrap();
        assert_eq!(read.value(0, None), Some(&b"abc"[..]));
        assert_eq!(read.value(1, None), Some(&b"de"[..]));
        assert_eq!(read.value(2, None), None);
    }

    #[test]
    fn fixed_values_stand_one_behind_the_other() {
        let values = TileValues { fixed: vec![1, 2, 3, 4, 5, 6], var: Vec::new() };
        assert_eq!(values.value(0, Some(2)), Some(&[1, 2][..]));
        assert_eq!(values.value(2, Some(2)), Some(&[5, 6][..]));
        assert_eq!(values.value(3, Some(2)), None);
        let read = TileValues::parse(Reader::new(&values.to_bytes()), "tile mins").unwrap();
        assert_eq!(read, values);
    }

    #[test]
    fn statistics_of_more_slots_than_the_payload_can_have_are_refused() {
        let payload = write_fragment_statistics(&[FieldStatistics::default()]);
        assert_eq!(payload.len(), 32);
        assert_eq!(parse_fragment_statistics(Reader::new(&payload), 1).unwrap().len(), 1);
        let error = parse_fragment_statistics(Reader::new(&payload), 2).unwrap_err();
        assert_eq!((error.kind, error.offset), (ErrorKind::CountTooLarge { count: 2 }, 0));
    }
}
