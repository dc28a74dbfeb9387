//! Writing a tile: cut, filter each chunk, frame.

use tdb_codec::{to_u32, to_u64};
use tdb_filters::{Encoder, Scratch};

use crate::error::{Error, ErrorKind, Result};
use crate::split::{Cells, chunk_lengths};

/// Filters and frames a tile. Offsets in errors are relative to the start of the result.
///
/// ```
/// use tdb_codec::{Budget, Datatype, FormatVersion};
/// use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
/// use tdb_tile::{TileChunks, encode_tile, split::Cells};
///
/// let pipeline = Pipeline::new(vec![Filter::ByteShuffle]);
/// let context = TileContext::new(Datatype::Uint16, 2, FormatVersion::CURRENT);
/// let mut scratch = Scratch::new();
/// let bytes = encode_tile(&pipeline.encoder(context)?, &[1, 0, 2, 0], Cells::Fixed { size: 2 }, &mut scratch)?;
///
/// let mut out = [0; 4];
/// let tile = TileChunks::parse(&bytes, 0)?;
/// tile.decode(&pipeline.decoder(context)?, &mut out, &mut scratch, &Budget::unlimited())?;
/// assert_eq!(out, [1, 0, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a filter refuses a chunk, a chunk is over 4 GiB, or cell offsets are out of order.
pub fn encode_tile(
    encoder: &Encoder,
    input: &[u8],
    cells: Cells<'_>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let cells = if encoder.needs_whole_tiles() { Cells::Whole } else { cells };
    let lengths = chunk_lengths(input.len(), cells)?;
    let mut out = Vec::new();
    out.extend_from_slice(&to_u64(lengths.len()).to_le_bytes());
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    let mut rest = input;
    for (index, length) in (0u64..).zip(lengths) {
        let offset = to_u64(out.len());
        let too_long = || Error::new(offset, ErrorKind::TooLong { size: to_u64(length) });
        let (chunk, later) = rest.split_at_checked(length).ok_or_else(too_long)?;
        encoder
            .encode_chunk(chunk, scratch, &mut metadata, &mut data)
            .map_err(|error| Error::in_chunk(offset, index, ErrorKind::Filter(error)))?;
        push_chunk(length, &metadata, &data, &mut out)?;
        rest = later;
    }
    Ok(out)
}

/// Filters and frames a tile of strings whose pipeline holds their lengths: always one chunk. `offsets` tells
/// where each string begins in `values`. The offsets tile beside it is [`EMPTY_TILE`].
///
/// # Errors
/// If the pipeline does not hold strings, offsets are out of order, or the chunk is over 4 GiB.
pub fn encode_string_tile(
    encoder: &Encoder,
    values: &[u8],
    offsets: &[u64],
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    encoder
        .encode_string_chunk(values, offsets, scratch, &mut metadata, &mut data)
        .map_err(|error| Error::in_chunk(to_u64(EMPTY_TILE.len()), 0, ErrorKind::Filter(error)))?;
    let mut out = 1u64.to_le_bytes().to_vec();
    push_chunk(values.len(), &metadata, &data, &mut out)?;
    Ok(out)
}

/// A tile without chunks, which is how the offsets of such strings are stored. Never encrypted.
pub const EMPTY_TILE: [u8; 8] = [0; 8];

/// Appends a framed chunk.
fn push_chunk(original_len: usize, metadata: &[u8], data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let offset = to_u64(out.len());
    for length in [original_len, data.len(), metadata.len()] {
        let length = to_u32(length).ok_or(Error::new(offset, ErrorKind::TooLong { size: to_u64(length) }))?;
        out.extend_from_slice(&length.to_le_bytes());
    }
    out.extend_from_slice(metadata);
    out.extend_from_slice(data);
    Ok(())
}
