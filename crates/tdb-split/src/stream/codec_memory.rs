//! The memory that codecs take while a tile is decoded.

use std::sync::Arc;

use tdb_filters::{Filter, Pipeline};
use tdb_schema::ArraySchema;

use crate::fragment::Fragment;

/// Bytes that a thread holds in addition to tiles: its stack and codec states (32 KiB for gzip, 160
/// KiB for zstd, 60 KiB for the planes of a bit shuffle), and the memory that an allocator retains.
const THREAD: u64 = 384 << 10;
/// Bytes that decoding bzip2 takes for its largest blocks: 4 bytes for each of 900,000, and tables.
const BZIP2: u64 = 4 << 20;

/// The memory of a thread's decoders, in addition to cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codecs {
    pub(super) bytes: u64,
    /// Whether tiles pass from one filter to another as a whole.
    pub(super) take_tiles: bool,
}

/// The memory of a thread's decoders for the fields of all these fragments.
pub(super) fn codecs(schema: &ArraySchema, fragments: &[Arc<Fragment>]) -> Codecs {
    let mut found = Codecs { bytes: THREAD, take_tiles: false };
    let mut schemas: Vec<&ArraySchema> = vec![schema];
    schemas.extend(fragments.iter().map(|fragment| fragment.schema()));
    schemas.dedup_by(|a, b| core::ptr::eq(*a, *b));
    for schema in schemas {
        let fields = schema.fields().map(|field| field.filters);
        let all = fields.chain([&schema.coords_filters, &schema.offsets_filters, &schema.validity_filters]);
        for pipeline in all {
            found.bytes = found.bytes.max(bytes_of(pipeline));
            // A single filter decodes to where the cells go. What RLE and dictionaries make of
            // texts is smaller than these.
            found.take_tiles |= pipeline.filters.len() > 1 && pipeline.usual_chunk(false).is_none();
        }
    }
    found
}

fn bytes_of(pipeline: &Pipeline) -> u64 {
    let own = pipeline.filters.iter().map(|filter| match filter {
        Filter::Bzip2 { .. } => BZIP2,
        // The decoder's own pixels, and a copy where an image has another number of channels than
        // the tile.
        Filter::WebP(options) => {
            let row = u64::from(options.x_extent).div_ceil(3);
            row.saturating_mul(u64::from(options.y_extent)).saturating_mul(8)
        }
        _ => 0,
    });
    // Two chunk buffers between filters, which lists of parts may make somewhat longer.
    let chunks = u64::from(Pipeline::DEFAULT_CHUNK_SIZE).saturating_mul(3);
    own.fold(THREAD.saturating_add(chunks), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use tdb_filters::{PixelFormat, WebP};

    use super::*;

    #[test]
    fn bzip2_and_images_are_counted_among_the_codecs_and_max_chunk_sizes_are_not() {
        let with = |filters| bytes_of(&Pipeline::new(filters));
        let image = WebP {
            quality: 100.0,
            format: PixelFormat::Rgba,
            lossless: true,
            y_extent: 1000,
            x_extent: 4000,
        };
        assert!(with(vec![Filter::WebP(image)]) >= with(Vec::new()) + 8_000_000);
        let large = Pipeline { max_chunk_size: u32::MAX, filters: Vec::new() };
        assert_eq!(bytes_of(&large), with(Vec::new()));
        assert!(with(vec![Filter::Bzip2 { level: 9 }]) > with(vec![Filter::Gzip { level: 9 }]) + (3 << 20));
    }
}
