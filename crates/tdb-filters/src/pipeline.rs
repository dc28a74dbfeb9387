//! The list of filters as stored in schemas and generic tiles (docs/format/filters.md).

mod stored_filter;

use tdb_codec::{FormatVersion, Reader, Result, Writer};

use crate::filter::Filter;
use crate::registry;

/// A list of filters in encoding order: the first one gets the cells, the last one produces the
/// stored bytes.
///
/// | Field | Type |
/// |---|---|
/// | max chunk size | u32 |
/// | number of filters | u32 |
/// | per filter: filter type | u8 |
/// | per filter: options length, options | u32, bytes |
///
/// ```
/// use tdb_codec::{FormatVersion, Reader, Writer};
/// use tdb_filters::{Filter, Pipeline};
///
/// // The pipeline of every generic tile: 65536-byte chunks, one filter, gzip with 5 option bytes: level 1.
/// let bytes = [0, 0, 1, 0, 1, 0, 0, 0, 1, 5, 0, 0, 0, 1, 1, 0, 0, 0];
/// let pipeline = Pipeline::parse(&mut Reader::new(&bytes), FormatVersion::CURRENT)?;
/// assert_eq!(pipeline.max_chunk_size, 65536);
/// assert_eq!(pipeline.filters, [Filter::Gzip { level: 1 }]);
///
/// let mut writer = Writer::new();
/// pipeline.write(&mut writer, FormatVersion::CURRENT)?;
/// assert_eq!(writer.as_slice(), bytes);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Largest size of a chunk in bytes. Writers since libtiledb 2.0 use 65536 regardless of it,
    /// except that 0 means one chunk for each tile. Readers ignore it.
    pub max_chunk_size: u32,
    /// The filters, in encoding order.
    pub filters: Vec<Filter>,
}

impl Default for Pipeline {
    /// No filters, chunks of 65536 bytes.
    fn default() -> Self {
        Self { max_chunk_size: Self::DEFAULT_CHUNK_SIZE, filters: Vec::new() }
    }
}

impl Pipeline {
    /// The chunk size that writers use.
    pub const DEFAULT_CHUNK_SIZE: u32 = 65536;

    /// A pipeline of these filters with the default chunk size.
    #[must_use]
    pub const fn new(filters: Vec<Filter>) -> Self {
        Self { max_chunk_size: Self::DEFAULT_CHUNK_SIZE, filters }
    }

    /// The bytes of a chunk as writers since libtiledb 2.0 cut it; `None` where a tile is one
    /// chunk. `strings` says whether its tiles are the values of texts of variable length, which
    /// RLE and dictionaries take as a whole. Chunks may be of any size all the same.
    #[must_use]
    pub fn usual_chunk(&self, strings: bool) -> Option<u32> {
        let takes_tiles = |filter: &Filter| match filter {
            Filter::WebP(_) => true,
            Filter::Rle { .. } | Filter::Dictionary { .. } => strings,
            _ => false,
        };
        let is_whole = self.max_chunk_size == 0 || self.filters.iter().any(takes_tiles);
        (!is_whole).then_some(Self::DEFAULT_CHUNK_SIZE)
    }

    /// About how many tenths of a nanosecond it takes to decode a byte: the sum of the filters' in
    /// [`crate::registry`].
    #[must_use]
    pub fn effort(&self) -> u16 {
        let of = |filter: &Filter| registry::by_code(filter.code()).map_or(0, |row| row.effort);
        self.filters.iter().map(of).fold(0, u16::saturating_add)
    }

    /// Whether values may come back changed: numbers with fewer digits, lossy images. What a
    /// fragment says of its values, such as their extremes, is about those that were written then.
    #[must_use]
    pub fn changes_values(&self) -> bool {
        self.filters.iter().any(|filter| match filter {
            Filter::ScaleFloat(_) => true,
            Filter::WebP(options) => !options.lossless,
            _ => false,
        })
    }

    /// Reads a pipeline. Codes that the format does not define become [`Filter::Unknown`]. The
    /// layout differs between versions only in a reinterpret byte, and the options' length also
    /// shows whether it is present; `version` is a parameter only for symmetry with
    /// [`Self::write`].
    ///
    /// # Errors
    /// If the bytes end early or an option is not allowed; the error contains the file offset.
    pub fn parse(reader: &mut Reader<'_>, version: FormatVersion) -> Result<Self> {
        let _ = version;
        let max_chunk_size = reader.u32("max chunk size")?;
        let count = reader.count_u32(MIN_FILTER_SIZE, "filter count")?;
        let mut filters = Vec::with_capacity(count);
        for _ in 0..count {
            filters.push(Filter::parse(reader)?);
        }
        Ok(Self { max_chunk_size, filters })
    }

    /// Appends the pipeline as a schema or header of `version` stores it.
    ///
    /// # Errors
    /// If a filter has an option that `version` cannot store.
    pub fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        writer.u32(self.max_chunk_size);
        writer.len_u32(self.filters.len(), "filter count")?;
        self.filters.iter().try_for_each(|filter| filter.write(writer, version))
    }
}

impl registry::Row {
    /// A pipeline with the sample as its only filter.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline {
        Pipeline { filters: vec![self.sample()], ..Pipeline::default() }
    }
}

/// Code and option length.
const MIN_FILTER_SIZE: usize = 5;

#[cfg(test)]
mod tests {
    use tdb_codec::{Datatype, ErrorKind};

    use super::*;
    use crate::registry;

    fn version(number: u32) -> FormatVersion {
        FormatVersion::parse(number).unwrap()
    }

    fn write(pipeline: &Pipeline, at: u32) -> Vec<u8> {
        let mut writer = Writer::new();
        pipeline.write(&mut writer, version(at)).unwrap();
        writer.into_vec()
    }

    #[test]
    fn every_filter_reads_back_as_written_and_no_truncation_is_accepted() {
        let mut filters: Vec<_> = registry::all().iter().map(registry::Row::sample).collect();
        filters.push(Filter::Unknown { code: 17, options: vec![1, 2, 3] });
        let pipeline = Pipeline { max_chunk_size: 7, filters };
        let bytes = write(&pipeline, 22);
        let mut reader = Reader::new(&bytes);
        assert_eq!(Pipeline::parse(&mut reader, version(22)).unwrap(), pipeline);
        reader.finish("pipeline").unwrap();
        for len in 0..bytes.len() {
            assert!(Pipeline::parse(&mut Reader::new(&bytes[..len]), version(22)).is_err(), "{len}");
        }
    }

    #[test]
    fn option_blocks_have_the_lengths_of_the_reference() {
        let expected = [
            ("none", 0),
            ("gzip", 5),
            ("zstd", 5),
            ("lz4", 5),
            ("rle", 5),
            ("bzip2", 5),
            ("double-delta", 6),
            ("bit-width-reduction", 4),
            ("bitshuffle", 0),
            ("byteshuffle", 0),
            ("positive-delta", 4),
            ("aes-256-gcm", 0),
            ("checksum-md5", 0),
            ("checksum-sha256", 0),
            ("dictionary", 5),
            ("scale-float", 24),
            ("xor", 0),
            ("webp", 12),
            ("delta", 6),
        ];
        assert_eq!(expected.len(), registry::all().len());
        for (name, len) in expected {
            let pipeline = registry::by_name(name).unwrap().pipeline();
            assert_eq!(write(&pipeline, 22).len() - 8 - 5, len, "{name}");
        }
    }

    #[test]
    fn the_default_double_delta_block_of_version_20_ends_in_any() {
        let pipeline = registry::by_name("double-delta").unwrap().pipeline();
        assert_eq!(write(&pipeline, 20)[13..], [6, 0xff, 0xff, 0xff, 0xff, 0x11]);
        assert_eq!(write(&pipeline, 19)[13..], [6, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn a_reinterpret_type_that_the_version_cannot_store_is_refused() {
        let filter = Filter::DoubleDelta { level: 1, reinterpret: Some(Datatype::Int32) };
        let mut writer = Writer::new();
        let error = Pipeline::new(vec![filter]).write(&mut writer, version(19)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidValue { value: 0 });
    }

    #[test]
    fn a_compressor_code_of_another_filter_is_refused_with_its_offset() {
        let bytes = [0, 0, 1, 0, 1, 0, 0, 0, 14, 5, 0, 0, 0, 14, 1, 0, 0, 0];
        let error = Pipeline::parse(&mut Reader::with_offset(&bytes, 100), version(22)).unwrap_err();
        assert_eq!((error.offset, error.kind), (113, ErrorKind::InvalidValue { value: 14 }));
    }

    #[test]
    fn option_bytes_past_what_a_filter_needs_are_skipped() {
        let bytes = [0, 0, 1, 0, 1, 0, 0, 0, 9, 2, 0, 0, 0, 7, 7, 99];
        let mut reader = Reader::new(&bytes);
        assert_eq!(Pipeline::parse(&mut reader, version(22)).unwrap().filters, [Filter::ByteShuffle]);
        assert_eq!(reader.rest(), [99]);
    }

    #[test]
    fn a_hostile_filter_count_is_refused() {
        let bytes = [0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0];
        let error = Pipeline::parse(&mut Reader::new(&bytes), version(22)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::from(u32::MAX) });
    }
}
