//! Tiles.

use tdb_codec::{Budget, Datatype, FormatVersion, Limits, to_u64, to_usize};
use tdb_filters::{Key, Pipeline, Scratch, TileContext};
use tdb_tile::{Encryption, GenericTile, TileChunks};

use crate::BUDGET;

/// Generic tiles: header, pipeline, chunks, payload.
pub fn generic_tile(data: &[u8]) {
    let Ok(tile) = GenericTile::parse(data, 0) else { return };
    assert!(tile.total_len() <= to_u64(data.len()), "longer than the file");
    let mut limits = Limits::default();
    limits.metadata_bytes = BUDGET;
    let budget = Budget::new(BUDGET);
    let key = Key::new([7; 32]);
    let key = (tile.encryption == Encryption::Aes256Gcm).then_some(&key);
    if let Ok(payload) = tile.decode(key, &limits, &budget) {
        assert_eq!(to_u64(payload.len()), tile.tile_size, "length of the payload");
    }
    assert_eq!(budget.available(), BUDGET, "what was charged is given back");
}

/// Framing of chunks: every byte belongs to one chunk, and tiles without filters decode.
pub fn tile_chunks(data: &[u8]) {
    let Ok(tile) = TileChunks::parse(data, 0) else { return };
    let framed: usize =
        tile.chunks().map(|chunk| tdb_tile::CHUNK_HEADER_LEN + chunk.metadata.len() + chunk.data.len()).sum();
    assert_eq!(framed.checked_add(8), Some(data.len()), "every byte is framed");
    let len = to_usize(tile.original_len()).filter(|len| to_u64(*len) <= BUDGET);
    let context = TileContext::new(Datatype::Uint8, 1, FormatVersion::CURRENT);
    let (Some(len), Ok(decoder)) = (len, Pipeline::default().decoder(context)) else { return };
    let mut out = vec![0; len];
    if tile.decode(&decoder, &mut out, &mut Scratch::new(), &Budget::new(BUDGET)).is_ok() {
        let stored: Vec<u8> = tile.chunks().flat_map(|chunk| chunk.data.iter().copied()).collect();
        assert_eq!(out, stored, "no filter changes nothing");
    }
}
