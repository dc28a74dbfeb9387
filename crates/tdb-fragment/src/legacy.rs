//! Fragment metadata of versions 1 and 2: one generic tile, no footer.

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
};
use tdb_schema::{ArraySchema, Range};

/// The table of fragment metadata without a footer.
pub(crate) static TABLE: Structure = Structure::new(
    "legacy fragment metadata",
    &[
        FieldRow::new("fragment version", Wire::U32),
        FieldRow::new("non-empty domain size", Wire::U64).note("bytes; 0 if empty"),
        FieldRow::new("non-empty domain", Wire::Ranges).when("not empty").note("one for each dimension"),
        FieldRow::new("MBR count", Wire::U64).note("0 if dense"),
        FieldRow::new("MBR", Wire::Ranges).when("sparse").note("for each data tile, one for each dimension"),
        FieldRow::new("bounding coords count", Wire::U64),
        FieldRow::new("bounding coords", Wire::Bytes).each("tile").note("first cell's and last cell's tuple"),
        FieldRow::new("tile offsets", Wire::List).each("attribute, then of `__coords`"),
        FieldRow::new("tile var offsets", Wire::List).each("attribute"),
        FieldRow::new("tile var sizes", Wire::List).each("attribute"),
        FieldRow::new("last tile cell num", Wire::U64),
        FieldRow::new("file sizes", Wire::Words).note("one for each attribute, then that of `__coords.tdb`"),
        FieldRow::new("file var sizes", Wire::Words).note("one for each attribute"),
    ],
)
.until(Gate::FragmentFooter)
.code("LegacyMetadata::parse", "LegacyMetadata::to_bytes");

/// The payload of a version 1 or 2 metadata file.
///
/// The table of its fields is "legacy fragment metadata" in [`STRUCTURES`](crate::STRUCTURES).
///
/// There is no dense flag: the fragment is sparse if and only if `__coords.tdb` exists.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyMetadata {
    /// 1 or 2.
    pub version: FormatVersion,
    /// The non-empty domain; `None` if the fragment is marked as empty.
    pub non_empty_domain: Option<Vec<Range>>,
    /// MBR of each data tile; empty for dense fragments.
    pub mbrs: Vec<Vec<Range>>,
    /// Coordinates of the first and the last cell of each data tile, as raw tuples.
    pub bounding_coords: Vec<Vec<u8>>,
    /// Offsets of each attribute's tiles, then of the coordinates' tiles.
    pub tile_offsets: Vec<Vec<u64>>,
    /// Offsets of each attribute's value tiles.
    pub var_offsets: Vec<Vec<u64>>,
    /// Unfiltered sizes of each attribute's value tiles.
    pub var_sizes: Vec<Vec<u64>>,
    /// Number of cells in the last tile.
    pub last_tile_cell_num: u64,
    /// Sizes of the attributes' files, then of `__coords.tdb`.
    pub file_sizes: Vec<u64>,
    /// Sizes of the attributes' `_var` files.
    pub file_var_sizes: Vec<u64>,
}

impl LegacyMetadata {
    /// Reads the payload. `schema` is the array's `__array_schema.tdb`.
    ///
    /// ```
    /// use tdb_fragment::LegacyMetadata;
    /// use tdb_schema::{ArraySchema, Dimension};
    ///
    /// let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0u8..=9)).build()?;
    /// // version 2, 2 bytes of domain: 1 to 7; 1 MBR; 1 pair of bounding coords; 1 tile of __coords at 0
    /// let mut bytes = vec![2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 7];
    /// bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 7, 1, 0, 0, 0, 0, 0, 0, 0, 1, 7]);
    /// // 3 cells in the last tile; __coords.tdb has 40 bytes
    /// [1u64, 0, 3, 40].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    /// let metadata = LegacyMetadata::parse(&bytes, &schema)?;
    /// assert_eq!((metadata.mbrs.len(), metadata.last_tile_cell_num), (1, 3));
    /// assert_eq!(metadata.to_bytes(metadata.version, &schema)?, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the payload is truncated, bytes are left over, a count is more than the payload can
    /// contain, or the version is another one.
    pub fn parse(payload: &[u8], schema: &ArraySchema) -> Result<Self> {
        Self::parse_from(Reader::new(payload), schema)
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>, schema: &ArraySchema) -> Result<Self> {
        let number = reader.u32("fragment version")?;
        let version = FormatVersion::parse(number)
            .ok()
            .filter(|version| !version.has(Gate::FragmentFooter))
            .ok_or(Error::new("fragment version", 0, ErrorKind::UnsupportedVersion { version: number }))?;
        let reader = &mut reader;
        let dimensions = &schema.domain.dimensions;
        let ranges = |reader: &mut Reader<'_>, what| -> Result<Vec<Range>> {
            dimensions.iter().map(|dimension| Range::parse(reader, dimension, what)).collect()
        };
        let start = *reader;
        let domain_len = reader.u64("non-empty domain size")?;
        let rectangle: usize =
            dimensions.iter().map(|dimension| dimension.datatype.size().saturating_mul(2)).sum();
        let non_empty_domain = if domain_len == 0 {
            None
        } else if domain_len == to_u64(rectangle) {
            Some(ranges(reader, "non-empty domain")?)
        } else {
            let kind = ErrorKind::WrongLength { value: domain_len };
            return Err(start.error("non-empty domain size", kind));
        };
        let count = reader.count_u64(rectangle, "MBR count")?;
        let mbrs = (0..count).map(|_| ranges(reader, "MBR")).collect::<Result<_>>()?;
        let count = reader.count_u64(rectangle, "bounding coords count")?;
        let bounding_coords = (0..count)
            .map(|_| reader.take(rectangle, "bounding coords").map(<[u8]>::to_vec))
            .collect::<Result<_>>()?;
        let attributes = schema.attributes.len();
        let lists = |reader: &mut Reader<'_>, lists: usize, what| -> Result<Vec<Vec<u64>>> {
            (0..lists)
                .map(|_| {
                    let count = reader.count_u64(8, what)?;
                    reader.u64s(count, what)
                })
                .collect()
        };
        let fields = attributes.saturating_add(1);
        let tile_offsets = lists(reader, fields, "tile offsets")?;
        let var_offsets = lists(reader, attributes, "tile var offsets")?;
        let var_sizes = lists(reader, attributes, "tile var sizes")?;
        let last_tile_cell_num = reader.u64("last tile cell num")?;
        let file_sizes = reader.u64s(fields, "file sizes")?;
        let file_var_sizes = reader.u64s(attributes, "file var sizes")?;
        reader.finish("fragment metadata")?;
        Ok(Self {
            version,
            non_empty_domain,
            mbrs,
            bounding_coords,
            tile_offsets,
            var_offsets,
            var_sizes,
            last_tile_cell_num,
            file_sizes,
            file_var_sizes,
        })
    }

    /// The payload that [`Self::parse`] reads, for a fragment of `version` written with `schema`.
    /// The layouts of versions 1 and 2 differ only in the version number; how `__coords.tdb` is cut
    /// also differs, but is not part of this payload.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] for a version that has a footer instead; an error if the number
    /// of lists does not match the schema.
    pub fn to_bytes(&self, version: FormatVersion, schema: &ArraySchema) -> Result<Vec<u8>> {
        const WHAT: &str = "fragment metadata";
        if version.has(Gate::FragmentFooter) {
            return Err(Error::not_in_version(WHAT, version));
        }
        let dimensions = &schema.domain.dimensions;
        let rectangle: usize =
            dimensions.iter().map(|dimension| dimension.datatype.size().saturating_mul(2)).sum();
        let attributes = schema.attributes.len();
        let fields = attributes.saturating_add(1);
        for (what, len, expected) in [
            ("tile offsets", self.tile_offsets.len(), fields),
            ("tile var offsets", self.var_offsets.len(), attributes),
            ("tile var sizes", self.var_sizes.len(), attributes),
            ("file sizes", self.file_sizes.len(), fields),
            ("file var sizes", self.file_var_sizes.len(), attributes),
        ] {
            check_len(what, len, expected)?;
        }
        let mut writer = Writer::new();
        let out = &mut writer;
        let ranges = |out: &mut Writer, ranges: &[Range], what| -> Result<()> {
            let before = out.len();
            ranges.iter().zip(dimensions).for_each(|(range, dimension)| range.write(out, dimension));
            check_len(what, out.len().saturating_sub(before), rectangle)
        };
        out.u32(version.number());
        match &self.non_empty_domain {
            Some(domain) => {
                out.u64(to_u64(rectangle));
                ranges(out, domain, "non-empty domain")?;
            }
            None => out.u64(0),
        }
        out.u64(to_u64(self.mbrs.len()));
        self.mbrs.iter().try_for_each(|mbr| ranges(out, mbr, "MBR"))?;
        out.u64(to_u64(self.bounding_coords.len()));
        for pair in &self.bounding_coords {
            check_len("bounding coords", pair.len(), rectangle)?;
            out.bytes(pair);
        }
        for list in self.tile_offsets.iter().chain(&self.var_offsets).chain(&self.var_sizes) {
            out.u64(to_u64(list.len()));
            list.iter().for_each(|value| out.u64(*value));
        }
        out.u64(self.last_tile_cell_num);
        self.file_sizes.iter().chain(&self.file_var_sizes).for_each(|size| out.u64(*size));
        Ok(writer.into_vec())
    }
}

/// Returns an error if a list does not have the length that follows from the schema.
pub(crate) const fn check_len(what: &'static str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        Ok(())
    } else {
        Err(Error::new(what, 0, ErrorKind::WrongLength { value: to_u64(len) }))
    }
}

#[cfg(test)]
mod tests;
