//! The common part of the matrix and the chains: cells of every type, encoding and decoding of
//! tiles, and the documented behaviour of each filter, written independently of the code under
//! test.

pub(crate) mod cells;
pub(crate) mod rules;

use tdb_codec::{Budget, FormatVersion};
use tdb_filters::{Decoder, Encoder, Error, Filter, Key, Pipeline, Scratch, TileContext, registry};
use tdb_tile::split::Cells;
use tdb_tile::{ErrorKind, TileChunks, encode_string_tile, encode_tile};

/// A tile before it is filtered.
pub(crate) struct Tile<'a> {
    pub(crate) context: TileContext,
    pub(crate) input: &'a [u8],
    /// The start of each cell, for values of variable length.
    pub(crate) starts: Option<&'a [u64]>,
}

impl Tile<'_> {
    /// How a writer must cut the tile.
    pub(crate) fn cells(&self) -> Cells<'_> {
        match self.starts {
            Some(offsets) => Cells::Var { offsets, value_size: self.context.datatype.size() as u64 },
            None => Cells::Fixed { size: self.context.cell_size },
        }
    }
}

/// A tile that was encoded and decoded again.
pub(crate) struct Back {
    pub(crate) cells: Vec<u8>,
    /// The starts of strings, for pipelines that store the strings' lengths.
    pub(crate) starts: Option<Vec<u64>>,
}

/// Encodes and decodes.
///
/// # Errors
/// The outer result: if resolving the pipeline or encoding fails. The inner result: if decoding the
/// encoded tile fails.
pub(crate) fn there_and_back(
    pipeline: &Pipeline,
    tile: &Tile<'_>,
    scratch: &mut Scratch,
) -> Result<Result<Back, tdb_tile::Error>, Error> {
    let (encoder, decoder) = resolve(pipeline, tile.context)?;
    let refused = |error: tdb_tile::Error| match error.kind {
        ErrorKind::Filter(error) => error,
        kind => panic!("not an error of a filter: {kind}"),
    };
    assert_eq!(encoder.encodes_strings(), decoder.decodes_strings());
    let encoded = match tile.starts.filter(|_| encoder.encodes_strings()) {
        Some(starts) => encode_string_tile(&encoder, tile.input, starts, scratch),
        None => encode_tile(&encoder, tile.input, tile.cells(), scratch),
    }
    .map_err(refused)?;
    Ok(decode(&decoder, &encoded, tile, scratch))
}

fn resolve(pipeline: &Pipeline, context: TileContext) -> Result<(Encoder, Decoder), Error> {
    let key = key_for(&pipeline.filters);
    let encoder = pipeline.encoder_with_key(context, key.as_ref())?;
    let decoder = pipeline.decoder_with_key(context, key.as_ref());
    Ok((encoder, decoder.expect("a pipeline that resolves for encoding also resolves for decoding")))
}

fn decode(
    decoder: &Decoder,
    encoded: &[u8],
    tile: &Tile<'_>,
    scratch: &mut Scratch,
) -> Result<Back, tdb_tile::Error> {
    let budget = Budget::new(1 << 28);
    let chunks = TileChunks::parse(encoded, 0).expect("what we frame parses");
    if decoder.decodes_strings() {
        let (cells, starts) = chunks.decode_strings(decoder, scratch, &budget)?;
        return Ok(Back { cells, starts: Some(starts) });
    }
    let mut cells = vec![0xaa; tile.input.len()];
    chunks.decode(decoder, &mut cells, scratch, &budget)?;
    Ok(Back { cells, starts: None })
}

/// A key if a filter needs one.
pub(crate) fn key_for(filters: &[Filter]) -> Option<Key> {
    filters.contains(&Filter::Aes256Gcm).then(|| Key::new(*b"0123456789abcdeF0123456789abcdeF"))
}

/// Scratch memory whose nonces are a counter.
pub(crate) fn scratch() -> Scratch {
    let mut count = 0u64;
    Scratch::new().with_nonces(move || {
        count += 1;
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&count.to_le_bytes());
        nonce
    })
}

/// One filter of every row of the registry, with ordinary options. The build must have all of them.
pub(crate) fn registry_filters() -> Vec<Filter> {
    assert!(registry::all().iter().all(|row| row.available), "these tests need every codec");
    registry::all().iter().map(registry::Row::sample).collect()
}

/// A version by its number.
pub(crate) fn version(number: u32) -> FormatVersion {
    FormatVersion::parse(number).unwrap()
}

/// A small generator that returns the same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// SplitMix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}
