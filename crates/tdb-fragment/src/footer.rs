//! The footer of fragment metadata, versions 3 and later.

use core::ops::Range as ByteRange;

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
};
use tdb_schema::{ArraySchema, FieldKind, Range};

use crate::{Section, SectionOffsets, Slots};

/// The table of a footer.
pub(crate) static TABLE: Structure = Structure::new(
    "footer",
    &[
        FieldRow::new("fragment version", Wire::U32),
        FieldRow::new("schema name", Wire::String64).since(Gate::SchemaFolder),
        FieldRow::new("dense", Wire::U8),
        FieldRow::new("null non-empty domain", Wire::U8).note("1: empty"),
        FieldRow::new("non-empty domain", Wire::Ranges).note("one for each dimension; zeros if empty"),
        FieldRow::new("sparse tile num", Wire::U64).note("0 if dense"),
        FieldRow::new("last tile cell num", Wire::U64).note("cells of every tile if dense"),
        FieldRow::new("has timestamps", Wire::U8).since(Gate::CellTimestamps),
        FieldRow::new("has delete metadata", Wire::U8).since(Gate::DeleteMetadata),
        FieldRow::new("file sizes", Wire::Words).note("one for each slot"),
        FieldRow::new("file var sizes", Wire::Words)
            .note("one for each slot; up to version 4, one for each attribute"),
        FieldRow::new("file validity sizes", Wire::Words).since(Gate::Nullable).note("one for each slot"),
        FieldRow::new("R-tree", Wire::U64).note("this and the following: offsets of sections"),
        FieldRow::new("tile offsets", Wire::U64).each("slot"),
        FieldRow::new("tile var offsets", Wire::U64).each("slot; up to version 4 each attribute"),
        FieldRow::new("tile var sizes", Wire::U64).each("slot; up to version 4 each attribute"),
        FieldRow::new("tile validity offsets", Wire::U64).each("slot").since(Gate::Nullable),
        FieldRow::new("tile mins", Wire::U64).each("slot").since(Gate::TileStatistics),
        FieldRow::new("tile maxes", Wire::U64).each("slot").since(Gate::TileStatistics),
        FieldRow::new("tile sums", Wire::U64).each("slot").since(Gate::TileStatistics),
        FieldRow::new("tile null counts", Wire::U64).each("slot").since(Gate::TileStatistics),
        FieldRow::new("fragment statistics", Wire::U64).since(Gate::FragmentStatistics),
        FieldRow::new("processed conditions", Wire::U64).since(Gate::DeleteFiles),
        FieldRow::new("optional section count", Wire::U32).since(Gate::OptionalSections),
        FieldRow::new("optional sections", Wire::Structure(&OPTIONAL))
            .since(Gate::OptionalSections)
            .each("optional section"),
    ],
)
.since(Gate::FragmentFooter)
.code("Footer::parse", "Footer::to_bytes");

static OPTIONAL: Structure = Structure::new(
    "optional section",
    &[
        FieldRow::new("optional section identifier", Wire::U64)
            .note("0: offsets of global-order mins, then maxes, one for each dimension"),
        FieldRow::new("optional section", Wire::String32),
    ],
);

/// An optional section of a version 23 footer, stored unparsed: no released library writes version
/// 23, and readers skip identifiers that they do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionalSection {
    /// The kind of section: [`Self::GLOBAL_ORDER_BOUNDS`], or a newer kind.
    pub identifier: u64,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl OptionalSection {
    /// The section with the offsets of [`Section::GlobalOrderMins`] and
    /// [`Section::GlobalOrderMaxes`].
    pub const GLOBAL_ORDER_BOUNDS: u64 = 0;

    /// The section with the offsets of the bounds of each dimension: all minimums, then all
    /// maximums.
    #[must_use]
    pub fn global_order_bounds(mins: &[u64], maxes: &[u64]) -> Self {
        let mut writer = Writer::new();
        mins.iter().chain(maxes).for_each(|offset| writer.u64(*offset));
        Self { identifier: Self::GLOBAL_ORDER_BOUNDS, data: writer.into_vec() }
    }
}

/// The footer: the ranges that the fragment covers, the sizes of its files, and the offsets of its
/// sections.
///
/// The table of its fields is "footer" in [`STRUCTURES`](crate::STRUCTURES). The offsets of the
/// sections are in [`SectionOffsets`]; all other fields are here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Footer {
    /// Version of the fragment. This version is authoritative, unlike the one in the fragment's
    /// name.
    pub version: FormatVersion,
    /// Name of the schema file that the fragment was written with; `None` before version 10
    /// (`__array_schema.tdb`).
    pub schema_name: Option<String>,
    /// Whether the fragment is dense: it contains whole space tiles, without coordinates.
    pub dense: bool,
    /// The non-empty domain: one interval for each dimension; `None` if the fragment is marked as
    /// empty.
    pub non_empty_domain: Option<Vec<Range>>,
    /// Number of data tiles of a sparse fragment; 0 for dense ones.
    pub sparse_tile_num: u64,
    /// Number of cells in the last tile of a sparse fragment, or in every tile of a dense one.
    pub last_tile_cell_num: u64,
    /// Whether each cell has its own timestamp (`t.tdb`).
    pub has_timestamps: bool,
    /// Whether each cell has delete metadata (`dt.tdb`, `dci.tdb`).
    pub has_delete_metadata: bool,
    /// Sizes of the data files, by slot.
    pub file_sizes: Vec<u64>,
    /// Sizes of the `_var` files, by slot.
    pub file_var_sizes: Vec<u64>,
    /// Sizes of the `_validity` files, by slot; empty before version 7.
    pub file_validity_sizes: Vec<u64>,
    /// The offsets of the sections.
    pub sections: SectionOffsets,
    /// Optional sections of version 23.
    pub optional: Vec<OptionalSection>,
    /// The position of each field in the per-field lists.
    pub slots: Slots,
    /// Offset of the footer itself: the end of the last section.
    pub offset: u64,
}

impl Footer {
    /// The footer of a sparse fragment without tiles, files and sections, at `offset` of its file.
    /// Its writer then sets what the fragment has.
    #[must_use]
    pub fn new(version: FormatVersion, slots: Slots, offset: u64) -> Self {
        Self {
            version,
            schema_name: None,
            dense: false,
            non_empty_domain: None,
            sparse_tile_num: 0,
            last_tile_cell_num: 0,
            has_timestamps: false,
            has_delete_metadata: false,
            file_sizes: Vec::new(),
            file_var_sizes: Vec::new(),
            file_validity_sizes: Vec::new(),
            sections: SectionOffsets::default(),
            optional: Vec::new(),
            slots,
            offset,
        }
    }

    /// Reads only the version and the schema name, which are needed to parse the rest.
    ///
    /// # Errors
    /// If the footer is truncated, or this build does not read the version.
    pub fn parse_head(bytes: &[u8], offset: u64) -> Result<(FormatVersion, Option<String>)> {
        head(&mut Reader::with_offset(bytes, offset))
    }

    /// Reads the footer in `bytes`, which begin at `offset` of the file. `schema` is the schema
    /// whose name is in the footer ([`Self::parse_head`]). Bytes after the last field are accepted:
    /// footers of version 11 written by later libraries have 8 of them.
    ///
    /// ```
    /// use tdb_codec::{CellValNum, Datatype};
    /// use tdb_fragment::{Footer, Section};
    /// use tdb_schema::{ArraySchema, Attribute, Dimension};
    ///
    /// let schema = ArraySchema::dense()
    ///     .dimension(Dimension::new("x", 0u8..=9).with_tile(5u8))
    ///     .attribute(Attribute::new("a", Datatype::Uint8, CellValNum::ONE))
    ///     .build()?;
    /// // version 3, dense, not empty: 0 to 9
    /// let mut bytes = vec![3, 0, 0, 0, 1, 0, 0, 9];
    /// // no sparse tiles, 5 cells per tile; file sizes of "a" and __coords, var file size of "a"
    /// let mut words = vec![0u64, 5, 50, 0, 0];
    /// // offsets of the R-tree, two lists of tile offsets, one of var offsets, one of var sizes
    /// words.extend([0, 60, 120, 180, 240]);
    /// words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    /// let footer = Footer::parse(&bytes, 300, &schema)?;
    /// assert_eq!((footer.tile_count(&schema)?, footer.file_sizes[0]), (2, 50));
    /// assert_eq!(footer.section(Section::VarSizes(0))?, Some(240..300));
    /// assert_eq!(footer.to_bytes(&schema)?, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the footer is truncated, the version is not supported, or a flag is neither 0 nor 1.
    pub fn parse(bytes: &[u8], offset: u64, schema: &ArraySchema) -> Result<Self> {
        Self::parse_from(Reader::with_offset(bytes, offset), schema)
    }

    /// Reads the footer with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>, schema: &ArraySchema) -> Result<Self> {
        let offset = reader.offset();
        let reader = &mut reader;
        let (version, schema_name) = head(reader)?;
        let dense = reader.bool("dense")?;
        let empty = reader.bool("null non-empty domain")?;
        let dimensions = &schema.domain.dimensions;
        let non_empty_domain = if empty {
            let size = dimensions.first().map_or(0, |dimension| dimension.datatype.size());
            let len = size.checked_mul(2).and_then(|size| size.checked_mul(dimensions.len()));
            reader.take(len.unwrap_or(usize::MAX), "non-empty domain")?;
            None
        } else {
            let parse = |dimension| Range::parse(reader, dimension, "non-empty domain");
            Some(dimensions.iter().map(parse).collect::<Result<_>>()?)
        };
        let sparse_tile_num = reader.u64("sparse tile num")?;
        let last_tile_cell_num = reader.u64("last tile cell num")?;
        let has_timestamps = version.has(Gate::CellTimestamps) && reader.bool("has timestamps")?;
        let has_delete_metadata = version.has(Gate::DeleteMetadata) && reader.bool("has delete metadata")?;
        let slots = Slots::new(schema, version, has_timestamps, has_delete_metadata);
        let file_sizes = reader.u64s(slots.len(), "file sizes")?;
        let file_var_sizes = reader.u64s(slots.var_len(version), "file var sizes")?;
        let file_validity_sizes = if version.has(Gate::Nullable) {
            reader.u64s(slots.len(), "file validity sizes")?
        } else {
            Vec::new()
        };
        let mut sections = SectionOffsets::parse(reader, version, slots)?;
        let mut optional = Vec::new();
        if version.has(Gate::OptionalSections) {
            let count = reader.count_u32(12, "optional section count")?;
            for _ in 0..count {
                let identifier = reader.u64("optional section identifier")?;
                let start = *reader;
                let data = reader.bytes_u32("optional section")?.to_vec();
                if identifier == OptionalSection::GLOBAL_ORDER_BOUNDS {
                    let (offsets, rest) = data.as_chunks::<8>();
                    let offsets: Vec<u64> = offsets.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
                    let (mins, maxes) = offsets.split_at(dimensions.len().min(offsets.len()));
                    if mins.len() != dimensions.len() || maxes.len() != mins.len() || !rest.is_empty() {
                        let kind = ErrorKind::WrongLength { value: to_u64(data.len()) };
                        return Err(start.error("optional section", kind));
                    }
                    sections.set_global_order_bounds(mins, maxes);
                }
                optional.push(OptionalSection { identifier, data });
            }
        }
        Ok(Self {
            version,
            schema_name,
            dense,
            non_empty_domain,
            sparse_tile_num,
            last_tile_cell_num,
            has_timestamps,
            has_delete_metadata,
            file_sizes,
            file_var_sizes,
            file_validity_sizes,
            sections,
            optional,
            slots,
            offset,
        })
    }

    /// Byte range of a section in the metadata file: from its offset to the next section or the
    /// footer. `None` if this version does not have the section.
    ///
    /// # Errors
    /// If the offset is at or past the footer.
    pub fn section(&self, section: Section) -> Result<Option<ByteRange<u64>>> {
        let Some(start) = self.sections.get(section) else { return Ok(None) };
        if start >= self.offset {
            let kind = ErrorKind::InvalidValue { value: start };
            return Err(Error::new("section offset", self.offset, kind));
        }
        let end = self.sections.next_after(start).unwrap_or(self.offset).min(self.offset);
        Ok(Some(start..end))
    }

    /// Number of data tiles: for sparse fragments, the number in the footer; for dense ones, the
    /// number of space tiles that the non-empty domain overlaps.
    ///
    /// # Errors
    /// If the non-empty domain of a dense fragment is outside the array's domain, or has more tiles
    /// than fit a `u64`.
    pub fn tile_count(&self, schema: &ArraySchema) -> Result<u64> {
        if !self.dense {
            return Ok(self.sparse_tile_num);
        }
        let bad = |value| Error::new("non-empty domain", self.offset, ErrorKind::InvalidValue { value });
        let mut count = 1u64;
        for (low, high) in self.tile_grid(schema)? {
            let tiles = high.wrapping_sub(low).checked_add(1).ok_or_else(|| bad(high))?;
            count = count.checked_mul(tiles).ok_or_else(|| bad(tiles))?;
        }
        Ok(count)
    }

    /// For each dimension, the first and last index of the space tiles that a dense fragment
    /// covers. Data tile `i` is the `i`-th of this grid in the schema's tile order.
    ///
    /// # Errors
    /// If the non-empty domain is outside the array's domain, or a dimension is not integral.
    pub fn tile_grid(&self, schema: &ArraySchema) -> Result<Vec<(u64, u64)>> {
        let bad = |value| Error::new("non-empty domain", self.offset, ErrorKind::InvalidValue { value });
        let Some(domain) = &self.non_empty_domain else { return Err(bad(0)) };
        let dimensions = &schema.domain.dimensions;
        let grid = domain.iter().zip(dimensions).map(|(range, dimension)| {
            let last = dimension.last_ordinal().ok_or_else(|| bad(0))?;
            let low = dimension.ordinal(&range.low).ok_or_else(|| bad(0))?;
            let high = dimension.ordinal(&range.high).ok_or_else(|| bad(0))?;
            if low > high || high > last {
                return Err(bad(high));
            }
            // Without an extent, the whole domain is one tile.
            let tile = |ordinal: u64| match dimension.extent_cells() {
                Some(extent) => ordinal.checked_div(extent).ok_or_else(|| bad(extent)),
                None => Ok(0),
            };
            Ok((tile(low)?, tile(high)?))
        });
        grid.collect()
    }

    /// Size of a field's data file.
    #[must_use]
    pub fn file_size(&self, kind: FieldKind) -> u64 {
        self.file_sizes.get(self.slots.field(kind)).copied().unwrap_or(0)
    }

    /// Size of a field's `_var` file.
    #[must_use]
    pub fn file_var_size(&self, kind: FieldKind) -> u64 {
        self.file_var_sizes.get(self.slots.field(kind)).copied().unwrap_or(0)
    }

    /// Size of a field's `_validity` file.
    #[must_use]
    pub fn file_validity_size(&self, kind: FieldKind) -> u64 {
        self.file_validity_sizes.get(self.slots.field(kind)).copied().unwrap_or(0)
    }

    /// Sum of all data files' sizes.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        [&self.file_sizes, &self.file_var_sizes, &self.file_validity_sizes]
            .into_iter()
            .flatten()
            .fold(0, |sum, size| sum.saturating_add(*size))
    }

    /// Number of cells of a sparse fragment: full tiles of `capacity` cells and the last one.
    #[must_use]
    pub fn sparse_cell_count(&self, capacity: u64) -> u64 {
        match self.sparse_tile_num.checked_sub(1) {
            Some(full) => full.saturating_mul(capacity).saturating_add(self.last_tile_cell_num),
            None => 0,
        }
    }

    /// Number of cells in data tile `tile` of a sparse fragment.
    #[must_use]
    pub fn sparse_tile_cells(&self, tile: u64, capacity: u64) -> u64 {
        if tile.saturating_add(1) >= self.sparse_tile_num { self.last_tile_cell_num } else { capacity }
    }
}

fn head(reader: &mut Reader<'_>) -> Result<(FormatVersion, Option<String>)> {
    let start = *reader;
    let number = reader.u32("fragment version")?;
    let unsupported = || start.error("fragment version", ErrorKind::UnsupportedVersion { version: number });
    let version = FormatVersion::parse(number).map_err(|_| unsupported())?;
    if !version.has(Gate::FragmentFooter) {
        return Err(unsupported());
    }
    let schema_name =
        if version.has(Gate::SchemaFolder) { Some(reader.string_u64("schema name")?) } else { None };
    Ok((version, schema_name))
}

mod write;

#[cfg(test)]
mod tests;
