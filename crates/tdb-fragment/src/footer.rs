//! The footer of fragment metadata, versions 3 and later.

use core::ops::Range as ByteRange;

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
};
use tdb_schema::{ArraySchema, FieldKind, Range};

use crate::legacy::check_len;
use crate::{Section, SectionOffsets, Slots};

/// The table of a footer.
pub(crate) static TABLE: Structure = Structure::new(
    "footer",
    &[
        FieldRow::new("fragment version", Wire::U32),
        FieldRow::new("schema name", Wire::String64).since(Gate::SchemaFolder),
        FieldRow::new("dense", Wire::U8),
        FieldRow::new("null non-empty domain", Wire::U8).note("1: empty"),
        FieldRow::new("non-empty domain", Wire::Ranges).note("one a dimension; zeros if empty"),
        FieldRow::new("sparse tile num", Wire::U64).note("0 if dense"),
        FieldRow::new("last tile cell num", Wire::U64).note("cells of every tile if dense"),
        FieldRow::new("has timestamps", Wire::U8).since(Gate::CellTimestamps),
        FieldRow::new("has delete metadata", Wire::U8).since(Gate::DeleteMetadata),
        FieldRow::new("file sizes", Wire::Words).note("one a slot"),
        FieldRow::new("file var sizes", Wire::Words).note("one a slot; up to 4 one an attribute"),
        FieldRow::new("file validity sizes", Wire::Words).since(Gate::Nullable).note("one a slot"),
        FieldRow::new("R-tree", Wire::U64).note("this and the following: offsets of sections"),
        FieldRow::new("tile offsets", Wire::U64).each("slot"),
        FieldRow::new("tile var offsets", Wire::U64).each("slot; up to 4 attribute"),
        FieldRow::new("tile var sizes", Wire::U64).each("slot; up to 4 attribute"),
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
            .note("0: offsets of global-order mins, then maxes, one a dimension"),
        FieldRow::new("optional section", Wire::String32),
    ],
);

/// An optional section of a version 23 footer, kept as read: no released library writes version 23, and readers pass over
/// identifiers they do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionalSection {
    /// What it is: [`Self::GLOBAL_ORDER_BOUNDS`], or something newer.
    pub identifier: u64,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl OptionalSection {
    /// The section with the offsets of [`Section::GlobalOrderMins`] and [`Section::GlobalOrderMaxes`].
    pub const GLOBAL_ORDER_BOUNDS: u64 = 0;

    /// The section that says where the bounds of each dimension lie: all minimums, then all maximums.
    #[must_use]
    pub fn global_order_bounds(mins: &[u64], maxes: &[u64]) -> Self {
        let mut writer = Writer::new();
        mins.iter().chain(maxes).for_each(|offset| writer.u64(*offset));
        Self { identifier: Self::GLOBAL_ORDER_BOUNDS, data: writer.into_vec() }
    }
}

/// The footer: what the fragment covers, how large its files are, and where its sections lie.
///
/// | field | type | versions |
/// |---|---|---|
/// | version | `u32` | all |
/// | schema name | `u64` length, bytes | 10 on |
/// | dense | `u8` | 3 on |
/// | null non-empty domain | `u8`, 1 = empty | 3 on |
/// | non-empty domain | one [`Range`] a dimension | always takes its space |
/// | sparse tile num, last tile cell num | `u64`, `u64` | 3 on |
/// | has timestamps | `u8` | 14 on |
/// | has delete metadata | `u8` | 15 on |
/// | file sizes, var sizes, validity sizes | `u64` a slot | validity: 7 on |
/// | section offsets | [`SectionOffsets`] | 3 on |
/// | optional sections | `u32` count, sections | 23 |
#[derive(Clone, Debug, PartialEq)]
pub struct Footer {
    /// Version of the fragment. Unlike the name's, it is authoritative.
    pub version: FormatVersion,
    /// Name of the schema file the fragment was written with; `None` before version 10
    /// (`__array_schema.tdb`).
    pub schema_name: Option<String>,
    /// Whether the fragment holds whole space tiles without coordinates.
    pub dense: bool,
    /// What the fragment covers: one interval a dimension; `None` if it says it is empty.
    pub non_empty_domain: Option<Vec<Range>>,
    /// Number of data tiles of a sparse fragment; 0 for dense ones.
    pub sparse_tile_num: u64,
    /// Cells in the last tile of a sparse fragment; cells in every tile of a dense one.
    pub last_tile_cell_num: u64,
    /// Whether each cell has a timestamp of its own (`t.tdb`).
    pub has_timestamps: bool,
    /// Whether each cell has delete metadata (`dt.tdb`, `dci.tdb`).
    pub has_delete_metadata: bool,
    /// Sizes of the data files, by slot.
    pub file_sizes: Vec<u64>,
    /// Sizes of the `_var` files, by slot.
    pub file_var_sizes: Vec<u64>,
    /// Sizes of the `_validity` files, by slot; empty before version 7.
    pub file_validity_sizes: Vec<u64>,
    /// Where the sections are.
    pub sections: SectionOffsets,
    /// Optional sections of version 23.
    pub optional: Vec<OptionalSection>,
    /// Where each field sits in the per-field arrays.
    pub slots: Slots,
    /// Where the footer itself begins: the end of the last section.
    pub offset: u64,
}

impl Footer {
    /// Reads only the version and the schema name, which say what the rest must be parsed with.
    ///
    /// # Errors
    /// Truncation, or a version this build does not read.
    pub fn parse_head(bytes: &[u8], offset: u64) -> Result<(FormatVersion, Option<String>)> {
        head(&mut Reader::with_offset(bytes, offset))
    }

    /// Reads the footer in `bytes`, which begin at `offset` of the file. `schema` is the one the footer
    /// names ([`Self::parse_head`]). Bytes after the last field are tolerated: footers of version 11 written
    /// by later libraries have 8 of them.
    ///
    /// # Errors
    /// Truncation, an unsupported version, or flags other than 0 and 1.
    pub fn parse(bytes: &[u8], offset: u64, schema: &ArraySchema) -> Result<Self> {
        Self::parse_from(Reader::with_offset(bytes, offset), schema)
    }

    /// Reads the footer with a reader of the caller's, e.g. a traced one.
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

    /// The footer's bytes, without the length that may follow it in the file ([`FooterLocation::end`]). The version to
    /// write is the footer's own.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] for what the version cannot say, [`ErrorKind::WrongLength`] for a list that is not as long
    /// as the schema and the flags say; an optional section of 4 GiB or more.
    ///
    /// [`FooterLocation::end`]: crate::FooterLocation::end
    pub fn to_bytes(&self, schema: &ArraySchema) -> Result<Vec<u8>> {
        self.check_for_writing(schema)?;
        let mut writer = Writer::new();
        writer.u32(self.version.number());
        if let Some(name) = &self.schema_name {
            writer.bytes_u64(name.as_bytes());
        }
        writer.bool(self.dense);
        writer.bool(self.non_empty_domain.is_none());
        match &self.non_empty_domain {
            Some(ranges) => {
                for (range, dimension) in ranges.iter().zip(&schema.domain.dimensions) {
                    range.write(&mut writer, dimension);
                }
            }
            None => {
                let dimensions = &schema.domain.dimensions;
                let size = dimensions.first().map_or(0, |dimension| dimension.datatype.size());
                writer.bytes(&vec![0; size.saturating_mul(2).saturating_mul(dimensions.len())]);
            }
        }
        writer.u64(self.sparse_tile_num);
        writer.u64(self.last_tile_cell_num);
        if self.version.has(Gate::CellTimestamps) {
            writer.bool(self.has_timestamps);
        }
        if self.version.has(Gate::DeleteMetadata) {
            writer.bool(self.has_delete_metadata);
        }
        for sizes in [&self.file_sizes, &self.file_var_sizes, &self.file_validity_sizes] {
            sizes.iter().for_each(|size| writer.u64(*size));
        }
        self.sections.write(&mut writer);
        if self.version.has(Gate::OptionalSections) {
            writer.len_u32(self.optional.len(), "optional section count")?;
            for section in &self.optional {
                writer.u64(section.identifier);
                writer.bytes_u32(&section.data, "optional section")?;
            }
        }
        Ok(writer.into_vec())
    }

    /// What would not read back as it is.
    fn check_for_writing(&self, schema: &ArraySchema) -> Result<()> {
        let version = self.version;
        for (what, said, gate) in [
            ("fragment version", true, Gate::FragmentFooter),
            ("schema name", self.schema_name.is_some(), Gate::SchemaFolder),
            ("has timestamps", self.has_timestamps, Gate::CellTimestamps),
            ("has delete metadata", self.has_delete_metadata, Gate::DeleteMetadata),
            ("optional section", !self.optional.is_empty(), Gate::OptionalSections),
        ] {
            if said && !version.has(gate) {
                return Err(Error::not_in_version(what, version));
            }
        }
        if self.schema_name.as_deref().unwrap_or_default().is_empty() && version.has(Gate::SchemaFolder) {
            return Err(Error::new("schema name", 0, ErrorKind::WrongLength { value: 0 }));
        }
        let dimensions = &schema.domain.dimensions;
        if let Some(ranges) = &self.non_empty_domain {
            check_len("non-empty domain", ranges.len(), dimensions.len())?;
            for (range, dimension) in
                ranges.iter().zip(dimensions).filter(|(_, dimension)| !dimension.is_var())
            {
                check_len("non-empty domain", range.low.len(), dimension.datatype.size())?;
                check_len("non-empty domain", range.high.len(), dimension.datatype.size())?;
            }
        }
        let slots = Slots::new(schema, version, self.has_timestamps, self.has_delete_metadata);
        let validity = if version.has(Gate::Nullable) { slots.len() } else { 0 };
        check_len("file sizes", self.file_sizes.len(), slots.len())?;
        check_len("file var sizes", self.file_var_sizes.len(), slots.var_len(version))?;
        check_len("file validity sizes", self.file_validity_sizes.len(), validity)?;
        let (found, expected) = self.sections.counts(version, slots);
        check_len("section offset", found, expected)
    }

    /// Byte range of a section in the metadata file: from its offset to the next section or the footer.
    /// `None` if this version does not have the section.
    ///
    /// # Errors
    /// An offset at or past the footer.
    pub fn section(&self, section: Section) -> Result<Option<ByteRange<u64>>> {
        let Some(start) = self.sections.get(section) else { return Ok(None) };
        if start >= self.offset {
            let kind = ErrorKind::InvalidValue { value: start };
            return Err(Error::new("section offset", self.offset, kind));
        }
        let end = self.sections.next_after(start).unwrap_or(self.offset).min(self.offset);
        Ok(Some(start..end))
    }

    /// Number of data tiles: as the footer says for sparse fragments; for dense ones the number of space
    /// tiles the non-empty domain touches.
    ///
    /// # Errors
    /// A dense fragment whose non-empty domain lies outside the array's domain, or has more tiles than fit
    /// a `u64`.
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

    /// For each dimension the first and last space tile index a dense fragment covers. Data tile `i` is the
    /// `i`-th of this grid in the schema's tile order.
    ///
    /// # Errors
    /// A non-empty domain outside the array's domain, or dimensions that are not integral.
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
            // Without an extent the whole domain is one tile.
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

    /// Cells in data tile `tile` of a sparse fragment.
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

#[cfg(test)]
mod tests;
